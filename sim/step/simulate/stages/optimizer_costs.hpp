#pragma once

// Cost of the optimizer step of a pipeline device. Used inside step/ only.
//
//   on the GPU  = kernel over P parameters, traffic x (2 b_o + b_g + b_p) / (2 x 12 + b_g + b_p)
//   on the host = offload.hpp
//   beside it   = fixed_step_time, casts of the new weights, broadcasts of stacks that gather so
//
// symbol   | meaning                                                          | unit | origin
// ---------|------------------------------------------------------------------|------|----------
// P        | parameters that the rank updates                                 | -    | layout
// b_o      | state per parameter; stacks state their traffic for Adam's 12    | byte | precision
// b_g, b_p | gradient and parameter, which pass once                          | byte | precision

#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/stages/costing.hpp"

namespace orrery::step {

// What the optimizer step is made of, one after the other.
struct OptimizerParts {
  Parts casts;
  Parts update;  // or the wait for that of the host
  Parts fixed;
  Parts broadcasts;
  Bytes bytes;  // of the update on the GPU, through its memory interface
};

[[nodiscard]] OptimizerParts optimizer_parts(const Costing& costing,
                                             const model::ShardParameters& stage,
                                             std::int64_t device, Seconds backward);

// `backward`: of one micro-batch on the device, beside which offloaded gradients leave.
[[nodiscard]] Parts cost_optimizer(const Costing& costing, const model::ShardParameters& stage,
                                   std::int64_t device, Seconds backward);

}  // namespace orrery::step
