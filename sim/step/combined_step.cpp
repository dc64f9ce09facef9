#include "sim/step/combined_step.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/step/offload.hpp"
#include "sim/step/task_times.hpp"

namespace orrery::step {

namespace {

using schedule::LayerNode;

constexpr bool is_weight(LayerNode node) {
  return node == LayerNode::mlp_weight || node == LayerNode::attention_weight;
}

constexpr bool is_forward(LayerNode node) {
  return node == LayerNode::attention_forward || node == LayerNode::dispatch_forward ||
         node == LayerNode::mlp_forward || node == LayerNode::combine_forward;
}

constexpr std::size_t index(LayerNode node) {
  return static_cast<std::size_t>(node);
}

// The nodes of a combined step with what they are made of.
class Streams {
 public:
  Streams(const StageCosts& costs,
          const ChunkCosts& forward,
          const ChunkCosts& backward,
          bool with_weights)
      : overlap_(schedule::build_layer_overlap(
            {.forward_layers = static_cast<int>(forward.layers.size()),
             .backward_layers = static_cast<int>(backward.layers.size())})) {
    std::array<std::size_t, schedule::kLayerNodes> seen{};
    durations_.reserve(overlap_.nodes.size());
    for (const LayerNode node : overlap_.nodes) {
      const std::size_t k = seen[index(node)]++;
      const std::uint8_t sort =
          is_forward(node) ? forward.layers[k] : backward.layers[backward.layers.size() - 1 - k];
      const Parts& parts = costs.combined.nodes_of(sort)[index(node)];
      const bool runs = with_weights || !is_weight(node);
      durations_.push_back(runs ? to_sim_time(parts.total()) : SimTime{});
      if (schedule::is_all_to_all(node)) {
        all_to_all_ += durations_.back();
      } else if (runs) {
        work_.add(parts);
        compute_ += durations_.back();
      }
    }
  }

  [[nodiscard]] const Parts& work() const {
    return work_;
  }

  [[nodiscard]] std::vector<CombinedNode> order(const ChunkCosts& backward) {
    (void)replay();
    std::vector<std::size_t> ids(durations_.size());
    std::iota(ids.begin(), ids.end(), std::size_t{0});
    std::stable_sort(ids.begin(), ids.end(), [this](std::size_t a, std::size_t b) {
      return timing_.start[a] < timing_.start[b];
    });
    std::vector<std::size_t> nth(durations_.size());
    std::array<std::size_t, schedule::kLayerNodes> seen{};
    for (std::size_t i = 0; i < nth.size(); ++i) {
      nth[i] = seen[index(overlap_.nodes[i])]++;
    }
    std::vector<CombinedNode> nodes;
    for (const std::size_t i : ids) {
      const LayerNode node = overlap_.nodes[i];
      if (durations_[i] > SimTime{}) {
        const bool forward = is_forward(node);
        nodes.push_back({node, forward, forward ? nth[i] : backward.layers.size() - 1 - nth[i]});
      }
    }
    return nodes;
  }

  // All-to-all that nothing hides, and what hiding the rest costs the compute.
  [[nodiscard]] Seconds exposed(double slowdown) {
    SimTime makespan = replay();
    const SimTime hidden = compute_ + all_to_all_ - makespan;
    if (slowdown > 0.0 && hidden > SimTime{} && compute_ > SimTime{}) {
      const double stretch =
          1.0 + slowdown * in_seconds(to_seconds(hidden)) / in_seconds(to_seconds(compute_));
      for (std::size_t i = 0; i < durations_.size(); ++i) {
        if (!schedule::is_all_to_all(overlap_.nodes[i])) {
          durations_[i] = to_sim_time(to_seconds(durations_[i]) * stretch);
        }
      }
      // Never worse than one after the other.
      makespan = std::min(replay(), compute_ + all_to_all_);
    }
    return to_seconds(std::max(makespan - compute_, SimTime{}));
  }

 private:
  [[nodiscard]] SimTime replay() {
    engine::replay_linear(overlap_.graph, durations_, {}, timing_);
    return timing_.makespan;
  }

  schedule::LayerOverlap overlap_;
  std::vector<SimTime> durations_;
  engine::Timing timing_;
  Parts work_;
  SimTime compute_;
  SimTime all_to_all_;
};

}  // namespace

double expert_slowdown(const cost::CostModel& costs) {
  const hardware::SoftwareProfile& software = costs.software();
  if (!software.expert_all_to_all_sms) {
    return software.communication_slowdown.value();
  }
  const double all = static_cast<double>(std::max<std::int64_t>(costs.gpu().sm_count, 1));
  return std::min(software.expert_all_to_all_sms->value() / all, 1.0);
}

std::vector<CombinedNode> combined_order(const StageCosts& costs,
                                         const ChunkCosts& forward,
                                         const ChunkCosts& backward,
                                         bool with_weights) {
  return Streams(costs, forward, backward, with_weights).order(backward);
}

Parts combined_step(const StageCosts& costs,
                    const DeviceCosts& device,
                    std::size_t forward_chunk,
                    std::size_t backward_chunk,
                    bool with_weights) {
  const ChunkCosts& forward = device.chunks[forward_chunk];
  const ChunkCosts& backward = device.chunks[backward_chunk];
  const CombinedLayers& combined = costs.combined;
  Streams streams(costs, forward, backward, with_weights);
  Parts parts = streams.work();
  cost::Cost exposed = cost::term(streams.exposed(combined.slowdown), combined.source);
  parts.add(StepCategory::exposed_expert, exposed);
  Seconds host;
  for (const std::uint8_t sort : forward.layers) {
    host += combined.host[sort].forward;
  }
  for (const std::uint8_t sort : backward.layers) {
    host += combined.host[sort].backward_input;
    host += with_weights ? combined.host[sort].backward_weight : Seconds{};
  }
  const Seconds missing = host - parts.total();
  if (missing > Seconds{}) {
    parts.add(StepCategory::launch_gap, cost::term(missing, combined.source));
  }
  for (const std::uint32_t bucket : forward.buckets) {
    parts.add(costs.buckets[bucket].edges.forward);
  }
  for (const std::uint32_t bucket : backward.buckets) {
    parts.add(costs.buckets[bucket].edges.backward_input);
    if (with_weights) {
      parts.add(costs.buckets[bucket].edges.backward_weight);
    }
  }
  parts.add(StepCategory::idle, cost::term(parts.total() * combined.jitter, combined.source));
  PassCopies copies;
  for (const std::uint32_t bucket : forward.buckets) {
    copies.add(costs.buckets[bucket].copies.forward);
  }
  for (const std::uint32_t bucket : backward.buckets) {
    copies.add(costs.buckets[bucket].copies.backward_input);
    if (with_weights) {
      copies.add(costs.buckets[bucket].copies.backward_weight);
    }
  }
  add_exposed(parts, copies, combined.copies_overlap, combined.copies_source);
  return parts;
}

}  // namespace orrery::step
