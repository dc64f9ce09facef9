#include "sim/step/schedule/schedule.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::schedule {

int stage_count(const StageMap& map) {
  switch (map.placement) {
    case Placement::bidirectional:
      return map.devices;
    case Placement::loop:
      return map.devices * map.chunks;
    case Placement::vee:
      return 2 * map.devices;
  }
  return map.devices;
}

int virtual_stage(const StageMap& map, Position at) {
  switch (map.placement) {
    case Placement::loop:
      return at.chunk * map.devices + at.device;
    case Placement::vee:
      return at.chunk == 0 ? at.device : 2 * map.devices - 1 - at.device;
    case Placement::bidirectional:
      return at.chunk == 0 ? at.device : map.devices - 1 - at.device;
  }
  return at.device;
}

Position position_of_stage(const StageMap& map, int stage, int direction) {
  ORRERY_CHECK(stage >= 0 && stage < stage_count(map), "stage {} of a pipeline of {} stages", stage,
               stage_count(map));
  switch (map.placement) {
    case Placement::loop:
      return {stage % map.devices, stage / map.devices};
    case Placement::vee:
      return stage < map.devices ? Position{stage, 0} : Position{2 * map.devices - 1 - stage, 1};
    case Placement::bidirectional:
      return direction == 0 ? Position{stage, 0} : Position{map.devices - 1 - stage, 1};
  }
  return {stage, 0};
}

std::optional<Position> downstream(const StageMap& map, Position at) {
  const int stage = virtual_stage(map, at);
  if (stage + 1 == stage_count(map)) {
    return std::nullopt;
  }
  return position_of_stage(map, stage + 1, at.chunk);
}

std::optional<Position> upstream(const StageMap& map, Position at) {
  const int stage = virtual_stage(map, at);
  if (stage == 0) {
    return std::nullopt;
  }
  return position_of_stage(map, stage - 1, at.chunk);
}

namespace {

constexpr std::array<char, 4> kLetters = {'F', 'B', 'I', 'W'};  // by OpKind

// Activations held along each list, given which kind of operation besides B releases one.
std::vector<int> peaks(const Schedule& schedule, OpKind release) {
  std::vector<int> peaks;
  peaks.reserve(schedule.lists.size());
  for (const std::vector<PipelineOp>& list : schedule.lists) {
    int held = 0;
    int peak = 0;
    for (const PipelineOp& op : list) {
      if (op.kind == OpKind::forward) {
        peak = std::max(peak, ++held);
      } else if (op.kind == OpKind::backward || op.kind == release) {
        --held;
      }
    }
    peaks.push_back(peak);
  }
  return peaks;
}

// What has run of one chunk and micro-batch so far.
struct Progress {
  bool forward = false;
  bool backward = false;
  bool input = false;
  bool weight = false;
};

std::optional<std::string> note_op(Progress& done, const PipelineOp& op, const std::string& text) {
  const std::string full = "B" + text.substr(1);
  switch (op.kind) {
    case OpKind::forward:
      if (std::exchange(done.forward, true)) {
        return fmt::format("{} occurs twice", text);
      }
      return std::nullopt;
    case OpKind::backward:
    case OpKind::backward_input:
      if (done.backward || done.input) {
        return fmt::format("{} repeats the backward of its micro-batch", text);
      }
      (op.kind == OpKind::backward ? done.backward : done.input) = true;
      return std::nullopt;
    case OpKind::backward_weight:
      if (done.backward) {
        return fmt::format("weight gradient {} follows a full backward {}", text, full);
      }
      if (!done.input) {
        return fmt::format("weight gradient {} before its input gradient", text);
      }
      if (std::exchange(done.weight, true)) {
        return fmt::format("{} occurs twice", text);
      }
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> find_list_fault(const Schedule& schedule,
                                           const std::vector<PipelineOp>& list) {
  const int m = schedule.micro_batches_per_chunk();
  std::vector<Progress> progress(static_cast<std::size_t>(schedule.chunks) *
                                 static_cast<std::size_t>(m));
  for (const PipelineOp& op : list) {
    const std::string text = to_string(op, schedule.chunks);
    if (op.chunk < 0 || op.chunk >= schedule.chunks || op.micro_batch < 0 || op.micro_batch >= m) {
      return fmt::format("{} does not exist: {} chunks of {} micro-batches", text, schedule.chunks,
                         m);
    }
    Progress& done = progress[static_cast<std::size_t>(op.chunk) * static_cast<std::size_t>(m) +
                              static_cast<std::size_t>(op.micro_batch)];
    if (auto fault = note_op(done, op, text)) {
      return fault;
    }
  }
  if (!list.empty() && list.back().with_next) {
    return fmt::format("{} overlaps with nothing", to_string(list.back(), schedule.chunks));
  }
  for (std::size_t i = 0; i < progress.size(); ++i) {
    const Progress& done = progress[i];
    if (!done.forward || !(done.backward || (done.input && done.weight))) {
      const auto chunk = static_cast<std::int16_t>(i / static_cast<std::size_t>(m));
      const auto micro_batch = static_cast<std::int32_t>(i % static_cast<std::size_t>(m));
      const OpKind missing = !done.forward ? OpKind::forward
                             : done.input  ? OpKind::backward_weight
                                           : OpKind::backward;
      return fmt::format("{} is missing", to_string(PipelineOp{missing, false, chunk, micro_batch},
                                                    schedule.chunks));
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> peak_in_flight(const Schedule& schedule) {
  return peaks(schedule, OpKind::backward_input);
}

std::vector<int> peak_until_weight(const Schedule& schedule) {
  return peaks(schedule, OpKind::backward_weight);
}

std::string to_string(const PipelineOp& op, int chunks) {
  const char letter = kLetters[static_cast<std::size_t>(op.kind)];
  return chunks == 1 ? fmt::format("{}{}", letter, op.micro_batch)
                     : fmt::format("{}{}.{}", letter, op.micro_batch, op.chunk);
}

std::string to_string(std::span<const PipelineOp> list, int chunks) {
  std::string text;
  bool overlapped = false;
  for (const PipelineOp& op : list) {
    if (!text.empty()) {
      text += overlapped ? '+' : ' ';
    }
    text += to_string(op, chunks);
    overlapped = op.with_next;
  }
  return text;
}

std::optional<std::string> find_list_fault(const Schedule& schedule) {
  for (std::size_t device = 0; device < schedule.lists.size(); ++device) {
    if (auto fault = find_list_fault(schedule, schedule.lists[device])) {
      return fmt::format("device {}: {}", device, *fault);
    }
  }
  return std::nullopt;
}

}  // namespace orrery::schedule
