#pragma once

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

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

// The policy and the modules that input.spec.recompute.memory_budget asks for; needs the budget.
[[nodiscard]] RecomputeSpec meet_memory_budget(StepInput input, const cost::CostModel& costs);

}  // namespace orrery::step
