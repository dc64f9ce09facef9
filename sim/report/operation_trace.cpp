#include "sim/report/operation_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/report/trace_words.hpp"
#include "sim/step/operation_timeline.hpp"

namespace orrery::report {

namespace {

using schedule::Stream;
using step::Operation;
using step::OperationKind;
using step::OperationStream;
using step::OperationTimeline;
using step::PlacedOperation;
using step::Slice;

constexpr std::int64_t kLanesPerStream = 100;
constexpr std::int64_t kWaitingThread = kLanesPerStream * 10;

constexpr std::array<std::string_view, 9> kKindNames = {
    "gemm", "attention", "memory", "collective", "message", "update", "launch", "copy", "wait"};

// A slice beside compute, before it has a lane.
struct Beside {
  SimTime start;
  SimTime end;
  std::string name;
  std::uint32_t operation = 0;
  SimTime exposed;
};

class OperationTrace {
 public:
  explicit OperationTrace(const Evaluation& evaluation)
      : evaluation_(evaluation),
        timeline_(*evaluation.step.operation_timeline),
        builder_(evaluation.echo.name),
        devices_(std::max<std::size_t>(1, evaluation.step.stage_ledgers.size())) {}

  Trace build() && {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      Device& device = devices_[d];
      device.process = builder_.process(fmt::format("pipeline device {}", d));
      device.compute = builder_.thread(device.process, "compute", 0);
    }
    for (std::size_t i = 0; i < evaluation_.step.slices.size(); ++i) {
      add_task(i);
    }
    add_messages();
    for (Device& device : devices_) {
      add_beside(device);
    }
    add_waits();
    return std::move(builder_).build();
  }

 private:
  struct Device {
    TrackId process = kNoTrack;
    TrackId compute = kNoTrack;
    std::array<std::vector<Beside>, step::kOperationStreams> beside;
  };

  void add_task(std::size_t index);
  void add_layers(const Slice& slice, const std::vector<PlacedOperation>& placed, TrackId thread);
  void add_messages();
  void add_beside(Device& device);
  void add_waits();
  void describe(std::uint32_t operation, SimTime start, SimTime end, SimTime exposed);

  const Evaluation& evaluation_;
  const OperationTimeline& timeline_;
  TraceBuilder builder_;
  std::vector<Device> devices_;
};

void OperationTrace::describe(std::uint32_t index, SimTime start, SimTime end, SimTime exposed) {
  const Operation& operation = timeline_.operations[index];
  if (operation.flop > 0.0) {
    builder_.argument("flop", static_cast<std::int64_t>(operation.flop));
  }
  if (operation.bytes > Bytes{}) {
    builder_.argument("bytes", static_cast<std::int64_t>(in_bytes(operation.bytes)));
  }
  if (operation.kind == OperationKind::collective) {
    builder_.argument("ranks", operation.ranks);
    builder_.argument("nodes", operation.nodes);
    builder_.argument("exposed_ns", exposed.ns);
    builder_.argument("hidden_ns", (end - start - exposed).ns);
  }
}

// Spans of neighbouring operations of one layer.
void OperationTrace::add_layers(const Slice& slice,
                                const std::vector<PlacedOperation>& placed,
                                TrackId thread) {
  for (std::size_t i = 0; i < placed.size();) {
    std::size_t end = i;
    while (end < placed.size() && placed[end].layer == placed[i].layer) {
      ++end;
    }
    const SimTime begin = slice.start + placed[i].booked_from;
    const SimTime last = slice.start + placed[end - 1].booked_from + placed[end - 1].booked;
    if (placed[i].layer != step::kNoLayer && last > begin) {
      builder_.slice({thread, begin, last, step::layer_name(placed[i].layer), "layer"});
    }
    i = end;
  }
}

void OperationTrace::add_task(std::size_t index) {
  const Slice& slice = evaluation_.step.slices[index];
  if (slice.task.device < 0 || static_cast<std::size_t>(slice.task.device) >= devices_.size()) {
    return;
  }
  Device& device = devices_[static_cast<std::size_t>(slice.task.device)];
  const auto placed = step::place_operations(timeline_, timeline_.runs[index]);
  const bool computes = slice.task.stream == Stream::compute;
  if (computes) {
    builder_.slice({device.compute, slice.start, slice.end, task_name(slice.task), "task"});
    add_layers(slice, placed, device.compute);
  }
  for (const PlacedOperation& one : placed) {
    const Operation& operation = timeline_.operations[one.operation];
    const SimTime start = std::max(slice.start + one.start, SimTime{});
    const SimTime end = slice.start + one.end;
    const bool on_compute =
        operation.stream == OperationStream::compute || operation.kind == OperationKind::wait;
    if (computes && on_compute) {
      builder_.slice({device.compute,
                      start,
                      end,
                      operation.name,
                      kKindNames[static_cast<std::size_t>(operation.kind)]});
      describe(one.operation, start, end, one.booked);
    } else {
      device.beside[static_cast<std::size_t>(operation.stream)].push_back(
          {start,
           end,
           step::full_name(timeline_, one),
           one.operation,
           computes ? one.booked : std::min(timeline_.runs[index].exposed, end - start)});
    }
  }
}

void OperationTrace::add_messages() {
  for (const step::MessageRun& message : timeline_.messages) {
    const auto from = evaluation_.step.slices[message.from].task.device;
    if (!message.is_slice && message.end > message.start) {
      devices_[static_cast<std::size_t>(from)]
          .beside[static_cast<std::size_t>(OperationStream::pipeline)]
          .push_back({message.start,
                      message.end,
                      timeline_.operations[message.operation].name,
                      message.operation,
                      {}});
    }
  }
}

// Each slice goes to the first lane of its stream that is free.
void OperationTrace::add_beside(Device& device) {
  for (std::size_t stream = 0; stream < step::kOperationStreams; ++stream) {
    std::vector<Beside>& slices = device.beside[stream];
    std::stable_sort(slices.begin(), slices.end(), [](const Beside& a, const Beside& b) {
      return a.start < b.start;
    });
    std::vector<std::pair<TrackId, SimTime>> lanes;  // free from
    for (const Beside& slice : slices) {
      auto lane = std::find_if(lanes.begin(), lanes.end(), [&slice](const auto& one) {
        return one.second <= slice.start;
      });
      if (lane == lanes.end()) {
        const std::string_view name = step::kOperationStreamNames[stream];
        const auto number = static_cast<std::int64_t>(lanes.size());
        lanes.emplace_back(
            builder_.thread(
                device.process,
                number == 0 ? std::string(name) : fmt::format("{} ({})", name, number + 1),
                static_cast<std::int64_t>(stream + 1) * kLanesPerStream + number),
            SimTime{});
        lane = std::prev(lanes.end());
      }
      lane->second = slice.end;
      const Operation& operation = timeline_.operations[slice.operation];
      builder_.slice({lane->first,
                      slice.start,
                      slice.end,
                      slice.name,
                      kKindNames[static_cast<std::size_t>(operation.kind)]});
      describe(slice.operation, slice.start, slice.end, slice.exposed);
    }
  }
}

void OperationTrace::add_waits() {
  std::vector<TrackId> threads(devices_.size(), kNoTrack);
  for (const step::DeviceWait& wait : timeline_.waits) {
    const auto d = static_cast<std::size_t>(wait.device);
    if (threads[d] == kNoTrack) {
      threads[d] = builder_.thread(devices_[d].process, "waiting", kWaitingThread);
    }
    builder_.slice({threads[d], wait.start, wait.end, step::to_string(wait.category), "wait"});
  }
}

}  // namespace

Trace operation_trace(const Evaluation& evaluation) {
  if (!evaluation.step.operation_timeline) {
    return TraceBuilder(evaluation.echo.name).build();
  }
  return OperationTrace(evaluation).build();
}

}  // namespace orrery::report
