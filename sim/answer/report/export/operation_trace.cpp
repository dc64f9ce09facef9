#include "sim/answer/report/export/operation_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/answer/report/export/step_counters.hpp"
#include "sim/answer/report/export/trace_words.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

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

constexpr std::array<std::string_view, 10> kKindNames = {
    "gemm",   "attention", "memory", "collective", "message",
    "update", "launch",    "copy",   "wait",       "slowdown"};

// A slice beside compute, before it has a lane.
struct Beside {
  SimTime start;
  SimTime end;
  std::string name;
  std::uint32_t operation = 0;
  SimTime exposed;
  SimTime slowed = {};
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
    add_link_counters(evaluation_, builder_);
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
  void describe(std::uint32_t operation, SimTime start, SimTime end, SimTime exposed,
                SimTime slowed);

  const Evaluation& evaluation_;
  const OperationTimeline& timeline_;
  TraceBuilder builder_;
  std::vector<Device> devices_;
};

void OperationTrace::describe(std::uint32_t index, SimTime start, SimTime end, SimTime exposed,
                              SimTime slowed) {
  const Operation& operation = timeline_.operations[index];
  if (operation.flop > 0.0) {
    builder_.argument("flop", static_cast<std::int64_t>(operation.flop));
  }
  if (operation.bytes > Bytes{}) {
    builder_.argument("bytes", static_cast<std::int64_t>(in_bytes(operation.bytes)));
  }
  if (slowed > SimTime{}) {
    builder_.argument("slowed_ns", slowed.ns);
  }
  if (operation.kind == OperationKind::collective) {
    builder_.argument("ranks", operation.ranks);
    builder_.argument("nodes", operation.nodes);
    builder_.argument("exposed_ns", exposed.ns);
    builder_.argument("hidden_ns", (end - start - exposed - slowed).ns);
  }
}

// Two passes of one task take turns, layer by layer.
std::string span_name(const PlacedOperation& placed) {
  const std::string layer = step::layer_name(placed.layer);
  switch (placed.pass) {
    case step::PartPass::forward:
      return layer + " forward";
    case step::PartPass::backward:
      return layer + " backward";
    case step::PartPass::whole_task:
      break;
  }
  return layer;
}

SimTime booked_until(const PlacedOperation& placed) {
  return placed.booked_from + placed.booked + placed.slowed;
}

// Spans of neighbouring operations of one layer; what runs beside compute is in none.
void OperationTrace::add_layers(const Slice& slice, const std::vector<PlacedOperation>& placed,
                                TrackId thread) {
  for (std::size_t i = 0; i < placed.size();) {
    const PlacedOperation& first = placed[i];
    SimTime last = booked_until(first);
    for (; i < placed.size(); ++i) {
      const PlacedOperation& one = placed[i];
      if (booked_until(one) > one.booked_from) {
        if (one.layer != first.layer || one.pass != first.pass) {
          break;
        }
        last = booked_until(one);
      }
    }
    if (first.layer != step::kNoLayer && last > first.booked_from) {
      builder_.slice(
          {thread, slice.start + first.booked_from, slice.start + last, span_name(first), "layer"});
    }
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
    const bool on_compute = operation.stream == OperationStream::compute ||
                            operation.kind == OperationKind::wait ||
                            operation.kind == OperationKind::slowdown;
    if (computes && on_compute) {
      builder_.slice({device.compute, start, end, operation.name,
                      kKindNames[static_cast<std::size_t>(operation.kind)]});
      describe(one.operation, start, end, one.booked, one.slowed);
    } else {
      device.beside[static_cast<std::size_t>(operation.stream)].push_back(
          {start, end, step::full_name(timeline_, one), one.operation,
           computes ? one.booked : std::min(timeline_.runs[index].exposed, end - start),
           one.slowed});
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
    std::ranges::stable_sort(slices, {}, &Beside::start);
    std::vector<std::pair<TrackId, SimTime>> lanes;  // free from
    for (const Beside& slice : slices) {
      auto lane = std::ranges::find_if(
          lanes, [&slice](const auto& one) { return one.second <= slice.start; });
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
      builder_.slice({lane->first, slice.start, slice.end, slice.name,
                      kKindNames[static_cast<std::size_t>(operation.kind)]});
      describe(slice.operation, slice.start, slice.end, slice.exposed, slice.slowed);
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
