#include "sim/step/simulate/stages/mixed_gpus.hpp"

#include <algorithm>

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
      std::max_element(types.begin(), types.end(), [](const StageCosts& a, const StageCosts& b) {
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

}  // namespace orrery::step
