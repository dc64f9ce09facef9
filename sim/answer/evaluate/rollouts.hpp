#pragma once

// The step of a scenario with `rollout`: its trainer's times from the step model, put together with
// generation by run/rollout/rollout.hpp.
//
//   T_forward = max over devices of the forwards of a step x (1 + (p - 1) / (m v))
//
// symbol  | meaning                                   | unit | origin
// --------|-------------------------------------------|------|--------
// p, v, m | pipeline, chunks of a device, micro-batches | -  | layout
//
// Of schedules that run forwards inside backwards a third of the step is taken.

#include "sim/answer/evaluate/evaluate_options.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/run/rollout/rollout.hpp"

namespace orrery::evaluate {

[[nodiscard]] run::RolloutResult rollout_step(const scenario::Scenario& scenario,
                                              const Resolved& resolved,
                                              const step::StepResult& step);

}  // namespace orrery::evaluate
