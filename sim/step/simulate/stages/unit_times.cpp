#include "sim/step/simulate/stages/unit_times.hpp"

#include <vector>

namespace orrery::step {

namespace {

using schedule::OpKind;
using schedule::StepTask;
using schedule::TaskKind;

class Ticks {
 public:
  Ticks(const layout::Layout& layout, const std::vector<std::vector<int>>& buckets)
      : layout_(layout), buckets_(buckets) {}

  [[nodiscard]] SimTime of(const StepTask& task) const {
    switch (task.kind) {
      case TaskKind::forward:
      case TaskKind::backward_input:
      case TaskKind::backward_weight:
        return times(layers(task), 1);
      case TaskKind::backward:
        return times(layers(task), 2);
      case TaskKind::overlapped:
        return times(chunk_layers(task.device, task.chunk), 1) +
               times(chunk_layers(task.device, task.backward_chunk),
                     task.backward_kind == OpKind::backward ? 2 : 1);
      default:
        return {};
    }
  }

 private:
  [[nodiscard]] static SimTime times(std::int64_t layers, std::int64_t passes) {
    return {layers * passes * kTick.ns};
  }

  [[nodiscard]] std::int64_t chunk_layers(std::int16_t device, std::int16_t chunk) const {
    return layout_.stages[static_cast<std::size_t>(device)][static_cast<std::size_t>(chunk)]
        .num_layers;
  }

  // Layers [L b / n, L (b + 1) / n) belong to bucket b of n.
  [[nodiscard]] std::int64_t layers(const StepTask& task) const {
    const std::int64_t all = chunk_layers(task.device, task.chunk);
    if (task.bucket == schedule::kWholeChunk) {
      return all;
    }
    const std::int64_t n =
        buckets_[static_cast<std::size_t>(task.device)][static_cast<std::size_t>(task.chunk)];
    return all * (task.bucket + 1) / n - all * task.bucket / n;
  }

  const layout::Layout& layout_;
  const std::vector<std::vector<int>>& buckets_;
};

}  // namespace

engine::Timing unit_timing(const schedule::StepGraph& graph, const layout::Layout& layout,
                           const std::vector<std::vector<int>>& buckets) {
  const Ticks ticks(layout, buckets);
  std::vector<SimTime> durations;
  durations.reserve(graph.tasks.size());
  for (const StepTask& task : graph.tasks) {
    durations.push_back(ticks.of(task));
  }
  const std::vector<SimTime> delays(graph.graph.delay_count());
  engine::Timing timing;
  engine::replay_linear(graph.graph, durations, delays, timing);
  return timing;
}

}  // namespace orrery::step
