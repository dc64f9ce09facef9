#pragma once

// Slow-down of the compute of each pipeline device when GPUs differ in speed:
//
//   time of a GPU    = 1 + gpu_sigma Z_gpu + node_sigma Z_node, x slow_factor for the slow ones,
//                      x factor for those that slow_gpus names
//   lockstep group   = max over its GPUs: they meet in every layer
//   step             = max over the lockstep groups of the pipeline's makespan at their speeds
//
// symbol  | meaning                                                              | unit | origin
// --------|----------------------------------------------------------------------|------|---------
// slowest | of the GPUs that a pipeline device of the group waits for, / nominal | 1    | drawn
// mean    | of all GPUs of the pipeline device / nominal                         | 1    | drawn
// group   | replicas in lockstep: all where parameters are gathered or gradients | -    | layout
//         | reduced in every micro-batch; those that share experts; else one     |      |
//
// The stack's jitter is the slowest of N GPUs as well, fitted to whole runs. Both do not add up: of
// the slowest of a group counts what exceeds 1 + jitter.
//
// Draws are one per GPU and per node, keyed by (seed, draw, purpose, rank or node), so that a
// change of layout keeps every GPU's speed. With gpu_sigma alone the slowest of N has the mean
// 1 + gpu_sigma E_max(N); E_max is the expected maximum of N standard normals. Only compute,
// recomputation and the optimizer scale; wires and hosts do not.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/parallel.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

struct SpeedDraw {
  std::vector<std::vector<double>> groups;  // [lockstep group][pipeline device]: slowest
  std::vector<double> mean;                 // by pipeline device
};

// What a slow GPU costs beyond the jitter, which the passes of a stack hold already.
[[nodiscard]] double beyond_jitter(double slowest, double jitter);

// The GPUs of one draw at either end: time / nominal.
struct SpeedRange {
  double fastest = 1.0;
  double slowest = 1.0;
};

// By draw, whatever the layout.
[[nodiscard]] std::vector<SpeedRange> speed_ranges(const StepInput& input);

// Data-parallel replicas that run in lockstep.
[[nodiscard]] std::int64_t lockstep_replicas(const StepInput& input);

// Of one draw, by rank: time / nominal.
[[nodiscard]] std::vector<double> draw_gpu_times(const StepInput& input, std::int64_t draw);

[[nodiscard]] SpeedDraw draw_speeds(const StepInput& input, std::int64_t lockstep,
                                    std::int64_t draw);

// All draws of a step, kept for the next one with the same ranks: a step is simulated again and
// again with other costs, and drawing 16,384 speeds takes longer than a replay.
class SpeedDraws {
 public:
  // `input.spec.variation.draws` of them. They hold until the next call. Throws Error(interrupted).
  [[nodiscard]] std::span<const SpeedDraw> of(const StepInput& input, std::int64_t lockstep,
                                              const ParallelOptions& parallel);

 private:
  // All that a draw follows from.
  struct Key {
    VariationSpec spec;
    std::array<std::int64_t, 7> degrees{};
    std::vector<layout::Axis> order;
    std::int64_t gpus_per_node = 0;
    std::int64_t lockstep = 0;

    friend bool operator==(const Key&, const Key&) = default;
  };

  Key key_;
  std::vector<SpeedDraw> draws_;
};

// Groups with the slowest device first: the order in which a bound ends the search soonest.
[[nodiscard]] std::vector<std::size_t> slowest_first(const SpeedDraw& draw);

// Expected maximum of n independent standard normals; 0 for n = 1.
[[nodiscard]] double expected_maximum(std::int64_t n);

// Costs of a step on a cluster of unequal GPUs: those of the slowest type of each pipeline device.
//
//   device d    = costs of the type whose passes take longest among the GPUs of d
//   its memory  = the smallest of those types
//   its mean    = sum over types of share * passes(type) / passes(slowest): the others wait, idle
//
// symbol | meaning                                                          | unit | origin
// -------|------------------------------------------------------------------|------|--------
// type   | GPU profile of a block of nodes; ranks follow the order of nodes | -    | cluster
// passes | forward and backward of one micro-batch                          | s    | stage costs
//
// A tensor, context or data group meets at least once a step and works in lockstep with the rest of
// its pipeline device. A group over several types communicates at the rates of the slowest.

// stage_costs() for clusters of one or of several types.
[[nodiscard]] StageCosts cluster_stage_costs(const StepInput& input, const cost::CostModel& costs,
                                             const std::vector<std::vector<int>>& buckets,
                                             CostMemo* memo = nullptr);

// The limits of the devices that hold smaller GPUs than the first type.
void apply_smallest_memory(const StepInput& input, std::vector<StageMemory>& memory);

}  // namespace orrery::step
