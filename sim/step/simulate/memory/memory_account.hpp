#pragma once

// Peak memory of one GPU of each pipeline device while its list of operations runs:
//
//   peak     = states + max over the list of (activations in flight + working) + communication
//              + overhead
//   overhead = memory_overhead + fragmentation * (everything else)
//
// symbol        | meaning                                                   | unit | origin
// --------------|-----------------------------------------------------------|------|-----------
// states        | parameters, gradients, optimizer of the rank's shard      | byte | layout
// activations   | kept from a chunk's forward to its (weight) backward      | byte | model
// working       | transient of the layer that runs (recomputation)          | byte | model
// communication | gathered parameters (ZeRO-3), reduction bucket            | byte | this file
// overhead      | context, libraries, allocator                             | byte | software
//
// Gradients that are sharded but reduced once a step are whole from a chunk's first backward until
// its last: a breadth-first order keeps few chunks in that state. The walk follows the schedule's
// own list, so uneven stages and early or late releases count as they are. A split backward
// releases at its weight gradient: an upper bound, since only part of the activations is needed
// after the input gradient.

#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/schedule/live_peaks.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_input.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::step {

// By device of the pipeline, from the moments that can be its peak.
[[nodiscard]] std::vector<StageMemory> memory_account(const StepInput& input,
                                                      const cost::CostModel& costs,
                                                      const schedule::LivePeaks& peaks,
                                                      const StageCosts& stage_costs);

// The largest of them: of each run of devices alike the one that needs most.
[[nodiscard]] std::vector<StageMemory> peak_memory(const StepInput& input,
                                                   const cost::CostModel& costs,
                                                   const schedule::LivePeaks& peaks,
                                                   const StageCosts& stage_costs);

// A node is counted as if all its GPUs were of the stage that needs most host memory.
[[nodiscard]] Feasibility judge(const std::vector<StageMemory>& stages, const StepInput& input);

// What a budget of memory recomputes: activations that are cheap to compute again for their bytes
// are given up first, module by module, until a layer keeps no more than the budget.
//
//   kept <= full + B (none - full)
//
// symbol     | meaning                                              | unit   | origin
// -----------|------------------------------------------------------|--------|---------
// B          | recompute.memory_budget: 1 keeps all, 0 nothing      | 1      | scenario
// none, full | what the layers keep without recomputation, in full  | byte   | model/memory.hpp
// order      | seconds to run a module again / bytes that it frees  | s/byte | cost/
//
// The modules are those of model::RecomputeModules; where all of them are not enough whole layers
// are recomputed. PyTorch's partitioner (torch._functorch.config.activation_memory_budget, which
// torchtitan sets) solves the same problem for single operations, so that it meets a budget more
// closely: here less is kept than the budget allows.

// The policy and the modules that input.spec.recompute.memory_budget asks for; needs the budget.
[[nodiscard]] RecomputeSpec meet_memory_budget(StepInput input, const cost::CostModel& costs);

}  // namespace orrery::step
