#include "sim/report/step_counters.hpp"

#include <algorithm>
#include <map>
#include <utility>

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

}  // namespace orrery::report
