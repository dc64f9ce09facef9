#include "sim/step/simulate/replay/combined_step.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/step/engine/replay.hpp"
#include "sim/step/simulate/replay/task_times.hpp"
#include "sim/step/simulate/stages/host_launches.hpp"
#include "sim/step/simulate/stages/offload.hpp"

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

constexpr std::size_t index(LayerNode node) { return static_cast<std::size_t>(node); }

constexpr bool is_exchange(LayerNode node) { return schedule::is_all_to_all(node); }

// The nodes of a combined step with what they are made of, and when they run.
class Streams {
 public:
  Streams(const StageCosts& costs, const ChunkCosts& forward, const ChunkCosts& backward,
          bool with_weights)
      : overlap_(schedule::build_layer_overlap(
            {.forward_layers = static_cast<int>(forward.layers.size()),
             .backward_layers = static_cast<int>(backward.layers.size())})),
        backward_layers_(backward.layers.size()) {
    std::array<std::size_t, schedule::kLayerNodes> seen{};
    durations_.reserve(overlap_.nodes.size());
    for (const LayerNode node : overlap_.nodes) {
      const std::size_t k = seen[index(node)]++;
      const std::uint8_t sort =
          is_forward(node) ? forward.layers[k] : backward.layers[backward.layers.size() - 1 - k];
      const Parts& parts = costs.combined.nodes_of(sort)[index(node)];
      const bool runs = with_weights || !is_weight(node);
      durations_.push_back(runs ? to_sim_time(parts.total()) : SimTime{});
      if (is_exchange(node)) {
        all_to_all_ += durations_.back();
      } else if (runs) {
        work_.add(parts);
        compute_ += durations_.back();
      }
    }
    replay(costs.combined.slowdown);
  }

  [[nodiscard]] const Parts& work() const { return work_; }

  // All-to-all that nothing hides, at least `least` of it, and what hiding the rest costs the
  // compute.
  [[nodiscard]] Seconds exposed(double least) const {
    return std::max(to_seconds(std::max(timing_.makespan - compute_, SimTime{})),
                    to_seconds(all_to_all_) * least);
  }

  [[nodiscard]] std::vector<CombinedNode> nodes() const;

 private:
  void replay(double slowdown);
  void run_one_after_the_other();

  schedule::LayerOverlap overlap_;
  std::size_t backward_layers_;
  std::vector<SimTime> durations_;  // alone
  engine::Timing timing_;
  Parts work_;
  SimTime compute_;
  SimTime all_to_all_;
};

void Streams::replay(double slowdown) {
  engine::replay_linear(overlap_.graph, durations_, {}, timing_);
  const SimTime hidden = compute_ + all_to_all_ - timing_.makespan;
  if (slowdown <= 0.0 || hidden <= SimTime{} || compute_ <= SimTime{}) {
    return;
  }
  const double stretch =
      1.0 + slowdown * in_seconds(to_seconds(hidden)) / in_seconds(to_seconds(compute_));
  std::vector<SimTime> slowed = durations_;
  for (std::size_t i = 0; i < slowed.size(); ++i) {
    if (!is_exchange(overlap_.nodes[i])) {
      slowed[i] = to_sim_time(to_seconds(slowed[i]) * stretch);
    }
  }
  engine::replay_linear(overlap_.graph, slowed, {}, timing_);
  if (timing_.makespan > compute_ + all_to_all_) {
    run_one_after_the_other();  // never worse than that
  }
}

// Nodes are numbered so that all comes after what it waits for.
void Streams::run_one_after_the_other() {
  SimTime clock;
  for (std::size_t i = 0; i < durations_.size(); ++i) {
    timing_.start[i] = clock;
    clock += durations_[i];
    timing_.end[i] = clock;
  }
  timing_.makespan = clock;
}

std::vector<CombinedNode> Streams::nodes() const {
  std::vector<CombinedNode> nodes;
  std::vector<CombinedNode> exchanges;
  std::array<std::size_t, schedule::kLayerNodes> seen{};
  for (std::size_t i = 0; i < durations_.size(); ++i) {
    const LayerNode node = overlap_.nodes[i];
    const std::size_t k = seen[index(node)]++;
    if (durations_[i] <= SimTime{}) {
      continue;
    }
    CombinedNode made{node,
                      is_forward(node),
                      is_forward(node) ? k : backward_layers_ - 1 - k,
                      timing_.start[i],
                      timing_.end[i],
                      {},
                      {}};
    if (is_exchange(node)) {
      exchanges.push_back(made);
    } else {
      made.slowed = made.end - made.start - durations_[i];
      nodes.push_back(made);
    }
  }
  // Both streams run in order, and compute goes on when an all-to-all ends: what it waits for is
  // the end of one, or whole ones.
  SimTime waits_from;
  auto next = exchanges.begin();
  for (std::size_t i = 0; i <= nodes.size(); ++i) {
    const SimTime waits_until = i < nodes.size() ? nodes[i].start : timing_.makespan;
    for (; next != exchanges.end() && next->end <= waits_until; ++next) {
      next->exposed = std::max(next->end - std::max(next->start, waits_from), SimTime{});
    }
    waits_from = i < nodes.size() ? nodes[i].end : waits_until;
  }
  nodes.insert(nodes.end(), exchanges.begin(), exchanges.end());
  const auto place = [](const CombinedNode& one) {
    const SimTime at = one.exposed > SimTime{} ? one.end - one.exposed : one.start;
    return std::pair(at, !is_exchange(one.node));
  };
  std::ranges::stable_sort(
      nodes, [&](const CombinedNode& a, const CombinedNode& b) { return place(a) < place(b); });
  return nodes;
}

}  // namespace

std::vector<CombinedNode> combined_nodes(const StageCosts& costs, const ChunkCosts& forward,
                                         const ChunkCosts& backward, bool with_weights) {
  return Streams(costs, forward, backward, with_weights).nodes();
}

Parts combined_step(const StageCosts& costs, const DeviceCosts& device, std::size_t forward_chunk,
                    std::size_t backward_chunk, bool with_weights) {
  const ChunkCosts& forward = device.chunks[forward_chunk];
  const ChunkCosts& backward = device.chunks[backward_chunk];
  const CombinedLayers& combined = costs.combined;
  const Streams streams(costs, forward, backward, with_weights);
  Parts parts = streams.work();
  cost::Cost exposed = cost::term(streams.exposed(combined.exposed_share), combined.source);
  parts.add(StepCategory::exposed_expert, exposed);
  Seconds host;
  for (const std::uint8_t sort : forward.layers) {
    host += combined.host[sort].forward;
  }
  for (const std::uint8_t sort : backward.layers) {
    host += combined.host[sort].backward_input;
    host += with_weights ? combined.host[sort].backward_weight : Seconds{};
  }
  const Seconds missing = launch_gap(parts.total(), host, combined.host_sharpness);
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
