#pragma once

// Memory that a pipeline device holds beside states and activations: for communication, for casts,
// for the stack itself. Part of the account of memory_account.hpp. Used inside step/ only.

#include <array>
#include <cstdint>
#include <optional>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_input.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::step {

struct CommunicationBytes {
  Bytes layer;  // while a layer runs backward
  Bytes head;   // while the head does
};

[[nodiscard]] CommunicationBytes communication_bytes(const StepInput& input,
                                                     const cost::CostModel& costs,
                                                     const StageCosts& stages, std::int64_t device);

[[nodiscard]] Bytes empty_gradients(const StepInput& input, const cost::CostModel& costs,
                                    std::int64_t device, EmptyGradients& known_sizes);

[[nodiscard]] Bytes cached_weights(const StepInput& input, const cost::CostModel& costs,
                                   std::int64_t device, NarrowElements* of_layer);

void move_states(const StepInput& input, const StageCosts& stages, std::int64_t device,
                 StageMemory& memory);

}  // namespace orrery::step
