#include "sim/answer/report/export/step_counters.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/step/simulate/operations/operation_timeline.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"

namespace orrery::report {

namespace {

using schedule::TaskKind;

struct Held {
  SimTime from = kForever;
  SimTime until;
};

// (micro-batch, chunk) -> from the begin of its forward until the end of its last backward.
using HeldPasses = std::map<std::pair<std::int32_t, std::int32_t>, Held>;

void add_slice(HeldPasses& passes, const step::Slice& slice) {
  const schedule::StepTask& task = slice.task;
  Held& held = passes[{task.micro_batch, task.chunk}];
  switch (task.kind) {
    case TaskKind::forward:
      held.from = std::min(held.from, slice.start);
      break;
    case TaskKind::overlapped: {
      held.from = std::min(held.from, slice.start);
      Held& other = passes[{task.backward_micro_batch, task.backward_chunk}];
      other.until = std::max(other.until, slice.end);
      break;
    }
    default:
      held.until = std::max(held.until, slice.end);
  }
}

bool is_pass(TaskKind kind) {
  return kind == TaskKind::forward || kind == TaskKind::backward ||
         kind == TaskKind::backward_input || kind == TaskKind::backward_weight ||
         kind == TaskKind::overlapped;
}

}  // namespace

std::vector<MemorySample> memory_over_time(const Evaluation& evaluation, std::int64_t stage) {
  HeldPasses passes;
  for (const step::Slice& slice : evaluation.step.slices) {
    if (slice.task.device == stage && is_pass(slice.task.kind)) {
      add_slice(passes, slice);
    }
  }
  std::map<SimTime, int> changes;
  for (const auto& [key, held] : passes) {
    if (held.from < held.until) {
      ++changes[held.from];
      --changes[held.until];
    }
  }
  const auto index = static_cast<std::size_t>(stage);
  if (changes.empty() || index >= evaluation.step.memory.size()) {
    return {};
  }
  int count = 0;
  int most = 0;
  for (const auto& [time, change] : changes) {
    count += change;
    most = std::max(most, count);
  }
  const step::StageMemory& memory = evaluation.step.memory[index];
  const Bytes fixed = memory.peak() - memory.activations;
  std::vector<MemorySample> samples = {{SimTime{}, fixed}};
  count = 0;
  for (const auto& [time, change] : changes) {
    count += change;
    const double share = static_cast<double>(count) / static_cast<double>(most);
    samples.push_back({time, fixed + memory.activations * share});
  }
  return samples;
}

namespace {

// What changes when communication begins or ends.
struct LinkChange {
  SimTime at;
  bool outside = false;
  double by = 0.0;  // bytes per second
};

void add_change(std::vector<LinkChange>& changes, const step::Operation& operation, SimTime begin,
                SimTime end) {
  const bool communicates = operation.kind == step::OperationKind::collective ||
                            operation.kind == step::OperationKind::message;
  if (!communicates || operation.bytes <= Bytes{} || end <= begin) {
    return;
  }
  const double rate = in_bytes_per_second(operation.bytes / to_seconds(end - begin));
  changes.push_back({begin, operation.nodes > 1, rate});
  changes.push_back({end, operation.nodes > 1, -rate});
}

// What is offered beyond the rate waits until there is room for it.
std::vector<LinkSample> carried(const std::vector<LinkSample>& offered, BytesPerSecond nic) {
  std::vector<LinkSample> samples;
  Bytes waiting;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    LinkSample now = offered[i];
    const SimTime until = i + 1 < offered.size() ? offered[i + 1].from : kForever;
    const Seconds length = to_seconds(until - now.from);
    const BytesPerSecond room = nic - now.outside;
    const bool full = waiting > Bytes{} || room < BytesPerSecond{};
    const bool drains = !full || (room > BytesPerSecond{} && waiting / room < length);
    if (full) {
      samples.push_back({now.from, now.inside, nic});
    }
    if (drains) {
      const SimTime after = full ? to_sim_time(waiting / room) : SimTime{};
      samples.push_back({now.from + after, now.inside, now.outside});
    }
    waiting = drains ? Bytes{} : waiting - room * length;
  }
  return samples;
}

}  // namespace

std::vector<LinkSample> link_use_over_time(const Evaluation& evaluation, std::int64_t stage,
                                           BytesPerSecond nic) {
  if (!evaluation.step.operation_timeline) {
    return {};
  }
  const step::OperationTimeline& timeline = *evaluation.step.operation_timeline;
  const std::vector<step::Slice>& slices = evaluation.step.slices;
  std::map<std::uint32_t, std::vector<step::PlacedOperation>> placed;  // by kind of task
  std::vector<LinkChange> changes;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].task.device != stage) {
      continue;
    }
    const std::uint32_t kind = timeline.runs[i].kind;
    auto known = placed.find(kind);
    if (known == placed.end()) {
      known = placed.emplace(kind, step::place_operations(timeline, {kind, {}, {}})).first;
    }
    for (const step::PlacedOperation& one : known->second) {
      add_change(changes, timeline.operations[one.operation], slices[i].start + one.start,
                 slices[i].start + one.end);
    }
  }
  for (const step::MessageRun& message : timeline.messages) {
    if (!message.is_slice && slices[message.from].task.device == stage) {
      add_change(changes, timeline.operations[message.operation], message.start, message.end);
    }
  }
  std::ranges::stable_sort(changes, {}, &LinkChange::at);
  std::vector<LinkSample> samples;
  double inside = 0.0;
  double outside = 0.0;
  constexpr double kRounding = 1.0;  // byte per second: what sums and differences leave
  const auto rate = [](double value) { return bytes_per_second(value < kRounding ? 0.0 : value); };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    (changes[i].outside ? outside : inside) += changes[i].by;
    const bool last = i + 1 == changes.size() || changes[i + 1].at > changes[i].at;
    if (last) {
      if (samples.empty() && changes[i].at > SimTime{}) {
        samples.push_back({SimTime{}, {}, {}});
      }
      samples.push_back({changes[i].at, rate(inside), rate(outside)});
    }
  }
  return nic > BytesPerSecond{} ? carried(samples, nic) : samples;
}

void add_link_counters(const Evaluation& evaluation, TraceBuilder& builder) {
  constexpr double kPercent = 100.0;
  if (!evaluation.step.network || evaluation.step.network->links.empty()) {
    return;
  }
  const TrackId network = builder.process("network");
  for (const step::SharedLink& link : evaluation.step.network->links) {
    const TrackId counter = builder.counter(network, link.name, "% of its rate");
    builder.sample(counter, {}, 0.0);
    for (const step::LinkLoad& sample : link.over_time) {
      builder.sample(counter, sample.from, kPercent * sample.load);
    }
  }
}

}  // namespace orrery::report
