#include "sim/step/simulate/stages/speed_spread.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/files/stop_point.hpp"
#include "sim/base/random.hpp"
#include "sim/step/layout/placement.hpp"

namespace orrery::step {

namespace {

using Counts = std::vector<std::vector<std::int64_t>>;  // [pipeline device][type]: GPUs

// Type 0 is that of the first nodes.
std::size_t type_of_node(const StepInput& input, std::int64_t node) {
  std::size_t type = 0;
  while (type < input.mixed.size() && input.mixed[type].first_node <= node) {
    ++type;
  }
  return type;
}

Counts count_types(const StepInput& input) {
  Counts counts(static_cast<std::size_t>(input.layout.pipeline),
                std::vector<std::int64_t>(input.mixed.size() + 1, 0));
  const layout::RankMap map(input.layout);
  for (std::int64_t rank = 0; rank < input.layout.gpus; ++rank) {
    const std::size_t type = type_of_node(input, rank / input.cluster.gpus_per_node);
    const auto at = map.coordinates(RankId{static_cast<std::int32_t>(rank)});
    ++counts[static_cast<std::size_t>(at.pipeline)][type];
  }
  return counts;
}

double pass_seconds(const StageCosts& stages, std::size_t device) {
  Seconds sum;
  for (const ChunkCosts& chunk : stages.devices[device].chunks) {
    for (const std::uint32_t bucket : chunk.buckets) {
      sum += stages.buckets[bucket].forward.total() + stages.buckets[bucket].backward.total();
    }
  }
  return in_seconds(sum);
}

// Appends the device of one type, its buckets behind those of the types before.
void take_device(StageCosts& into, const StageCosts& from, std::size_t device, std::size_t first) {
  DeviceCosts taken = from.devices[device];
  for (ChunkCosts& chunk : taken.chunks) {
    for (std::uint32_t& bucket : chunk.buckets) {
      bucket += static_cast<std::uint32_t>(first);
    }
  }
  into.devices.push_back(std::move(taken));
  into.send_forward.push_back(from.send_forward[device]);
  into.send_backward.push_back(from.send_backward[device]);
}

using layout::Sharding;

constexpr double kFastest = 0.1;  // of the nominal time: a wide normal must not go below zero

// Of the GPUs of a node that are slow by place.
double slow_by_place(const VariationSpec& spec, std::int64_t node, std::int64_t gpu) {
  double factor = 1.0;
  for (const SlowGpu& slow : spec.slow_gpus) {
    factor =
        slow.node == node && slow.gpu.value_or(gpu) == gpu ? std::max(factor, slow.factor) : factor;
  }
  return factor;
}

double standard_normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double gpu_time(const VariationSpec& spec, std::uint32_t draw, std::uint32_t rank, double node) {
  RandomStream stream(static_cast<std::uint64_t>(spec.seed), draw, Purpose::gpu_speed, rank);
  const double own = 1.0 + spec.gpu_sigma * stream.normal() + spec.node_sigma * node;
  const bool slow = stream.uniform01() < spec.slow_share;
  return std::max(kFastest, own) * (slow ? spec.slow_factor : 1.0);
}

}  // namespace

StageCosts cluster_stage_costs(const StepInput& input, const cost::CostModel& costs,
                               const std::vector<std::vector<int>>& buckets, CostMemo* memo) {
  if (input.mixed.empty()) {
    return stage_costs(input, costs, buckets, memo);
  }
  std::vector<StageCosts> types = {stage_costs(input, costs, buckets)};
  for (const GpuBlock& block : input.mixed) {
    types.push_back(stage_costs(input, *block.costs, buckets));
  }
  StageCosts result;
  std::vector<std::size_t> first;
  for (const StageCosts& type : types) {
    first.push_back(result.buckets.size());
    result.buckets.insert(result.buckets.end(), type.buckets.begin(), type.buckets.end());
  }
  const auto slowest_type =
      std::ranges::max_element(types, [](const StageCosts& a, const StageCosts& b) {
        return pass_seconds(a, 0) < pass_seconds(b, 0);
      });
  result.combined = slowest_type->combined;  // of steps that run a forward with a backward
  const Counts counts = count_types(input);
  for (std::size_t d = 0; d < counts.size(); ++d) {
    std::size_t slowest = types.size();
    double sum = 0.0;
    std::int64_t gpus = 0;
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (counts[d][t] == 0) {
        continue;
      }
      const double time = pass_seconds(types[t], d);
      sum += time * static_cast<double>(counts[d][t]);
      gpus += counts[d][t];
      if (slowest == types.size() || time > pass_seconds(types[slowest], d)) {
        slowest = t;
      }
    }
    take_device(result, types[slowest], d, first[slowest]);
    result.types.push_back(slowest);
    const double longest = pass_seconds(types[slowest], d);
    result.speeds.push_back(
        {1.0, longest > 0.0 ? sum / (longest * static_cast<double>(gpus)) : 1.0});
  }
  return result;
}

void apply_smallest_memory(const StepInput& input, std::vector<StageMemory>& memory) {
  if (input.mixed.empty()) {
    return;
  }
  const Counts counts = count_types(input);
  for (std::size_t d = 0; d < memory.size(); ++d) {
    const Bytes first = memory[d].limit;
    std::optional<Bytes> smallest;
    for (std::size_t t = 0; t < counts[d].size(); ++t) {
      const Bytes limit = t == 0 ? first : input.mixed[t - 1].costs->gpu().memory.value();
      if (counts[d][t] > 0) {
        smallest = std::min(smallest.value_or(limit), limit);
      }
    }
    memory[d].limit = smallest.value_or(first);
  }
}

std::int64_t lockstep_replicas(const StepInput& input) {
  const layout::Layout& layout = input.layout;
  const bool gathers = layout.sharding == Sharding::zero3 || layout.sharding == Sharding::hsdp;
  const bool reduces = input.choices.reduction == hardware::GradientReduction::per_micro_batch;
  if (has_replicas(input) && (gathers || reduces)) {
    return layout.data;
  }
  if (!input.model.moe) {
    return 1;
  }
  const std::int64_t replica = layout.tensor * layout.context;
  const std::int64_t sharing = layout.expert * layout.expert_tensor;
  return std::clamp<std::int64_t>((sharing + replica - 1) / replica, 1, layout.data);
}

std::vector<double> draw_gpu_times(const StepInput& input, std::int64_t draw) {
  const VariationSpec& spec = input.spec.variation;
  const auto trial = static_cast<std::uint32_t>(draw);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(input.layout.gpus));
  double node_speed = 0.0;
  for (std::int64_t rank = 0; rank < input.layout.gpus; ++rank) {
    if (spec.node_sigma > 0.0 && rank % input.cluster.gpus_per_node == 0) {
      const auto node = static_cast<std::uint32_t>(rank / input.cluster.gpus_per_node);
      RandomStream stream(static_cast<std::uint64_t>(spec.seed), trial, Purpose::node_speed, node);
      node_speed = stream.normal();
    }
    times.push_back(gpu_time(spec, trial, static_cast<std::uint32_t>(rank), node_speed) *
                    slow_by_place(spec, rank / input.cluster.gpus_per_node,
                                  rank % input.cluster.gpus_per_node));
  }
  return times;
}

double beyond_jitter(double slowest, double jitter) {
  return slowest <= 1.0 ? slowest : std::max(1.0, slowest - jitter);
}

std::vector<SpeedRange> speed_ranges(const StepInput& input) {
  std::vector<SpeedRange> ranges;
  for (std::int64_t draw = 0; draw < input.spec.variation.draws; ++draw) {
    const std::vector<double> times = draw_gpu_times(input, draw);
    const auto [fastest, slowest] = std::ranges::minmax_element(times);
    ranges.push_back({*fastest, *slowest});
  }
  return ranges;
}

SpeedDraw draw_speeds(const StepInput& input, std::int64_t lockstep, std::int64_t draw) {
  const layout::Layout& layout = input.layout;
  const auto devices = static_cast<std::size_t>(layout.pipeline);
  const auto groups = static_cast<std::size_t>((layout.data + lockstep - 1) / lockstep);
  SpeedDraw result;
  result.groups.assign(groups, std::vector<double>(devices, 0.0));
  result.mean.assign(devices, 0.0);
  const layout::RankMap map(layout);
  std::int32_t rank = 0;
  for (const double time : draw_gpu_times(input, draw)) {
    const layout::RankCoordinates at = map.coordinates(RankId{rank++});
    const auto device = static_cast<std::size_t>(at.pipeline);
    double& slowest = result.groups[static_cast<std::size_t>(at.data / lockstep)][device];
    slowest = std::max(slowest, time);
    result.mean[device] += time;
  }
  for (double& mean : result.mean) {
    mean *= static_cast<double>(layout.pipeline) / static_cast<double>(layout.gpus);
  }
  return result;
}

std::span<const SpeedDraw> SpeedDraws::of(const StepInput& input, std::int64_t lockstep,
                                          const ParallelOptions& parallel) {
  const layout::Layout& layout = input.layout;
  Key key{.spec = input.spec.variation,
          .degrees = {layout.gpus, layout.tensor, layout.context, layout.pipeline, layout.data,
                      layout.expert, layout.expert_tensor},
          .order = layout.order,
          .gpus_per_node = input.cluster.gpus_per_node,
          .lockstep = lockstep};
  if (!draws_.empty() && key == key_) {
    return draws_;
  }
  draws_.assign(static_cast<std::size_t>(key.spec.draws), {});
  const bool complete =
      parallel_for(key.spec.draws, parallel, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          draws_[static_cast<std::size_t>(i)] = draw_speeds(input, lockstep, i);
        }
      });
  if (!complete) {
    draws_.clear();
    stop_point(parallel.stop);
  }
  key_ = std::move(key);
  return draws_;
}

std::vector<std::size_t> slowest_first(const SpeedDraw& draw) {
  std::vector<double> slowest;
  for (const std::vector<double>& group : draw.groups) {
    slowest.push_back(*std::ranges::max_element(group));
  }
  std::vector<std::size_t> order(slowest.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&slowest](std::size_t a, std::size_t b) { return slowest[a] > slowest[b]; });
  return order;
}

// E[max] = integral of 1 - F(x)^n over x > 0, less that of F(x)^n over x < 0; trapezoids.
double expected_maximum(std::int64_t n) {
  constexpr double kEnd = 10.0;
  constexpr int kIntervals = 4000;
  constexpr double kWidth = kEnd / kIntervals;
  const auto count = static_cast<double>(n);
  double sum = 0.0;
  for (int i = 0; i <= kIntervals; ++i) {
    const double x = kWidth * i;
    const double weight = i == 0 || i == kIntervals ? 0.5 : 1.0;
    // 1 - (1 - q)^n without cancellation, q the upper tail.
    const double upper = -std::expm1(count * std::log1p(-standard_normal_below(-x)));
    const double lower = std::pow(standard_normal_below(-x), count);
    sum += weight * (upper - lower);
  }
  return sum * kWidth;
}

}  // namespace orrery::step
