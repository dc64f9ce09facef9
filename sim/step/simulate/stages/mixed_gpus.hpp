#pragma once

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

#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

// stage_costs() for clusters of one or of several types.
[[nodiscard]] StageCosts cluster_stage_costs(const StepInput& input, const cost::CostModel& costs,
                                             const std::vector<std::vector<int>>& buckets,
                                             CostMemo* memo = nullptr);

// The limits of the devices that hold smaller GPUs than the first type.
void apply_smallest_memory(const StepInput& input, std::vector<StageMemory>& memory);

}  // namespace orrery::step
