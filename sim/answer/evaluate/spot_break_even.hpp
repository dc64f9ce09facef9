#pragma once

// The break-even price of spot nodes: the run with and without spot, on the same random draws.
//
//   cost(s) = A + B s:  A = cost(0),  B = cost($1/h) - cost(0)
//   break even: cost(s) / tokens on spot = cost without spot / tokens without spot
//           s = (cost' tokens / tokens' - A) / B
//
// symbol       | meaning                                                  | unit      | origin
// -------------|----------------------------------------------------------|-----------|--------
// s            | price of one GPU on spot                                 | $/h       | computed
// A, B         | mean cost that does not depend on s, GPU-hours on spot   | $, GPU h  | run/
// tokens       | mean tokens trained with spot nodes                      | tokens    | run/
// ' (prime)    | without: no node can be taken away, all cost gpu_hour    | $, tokens | run/
//
// It is the price per token that breaks even, not the date: a run on spot may take longer. Without
// failures, recoveries and waiting on either side s = gpu_hour. Prices in a trace are set aside.

#include <optional>

#include "sim/answer/evaluate/levers.hpp"
#include "sim/base/units.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::evaluate {

// The plan with nodes that nobody can take away in place of those on spot.
void without_spot(run::RunPlan& plan);

// Nothing without spot nodes or a price of the others, or when trials give up.
[[nodiscard]] std::optional<DollarsPerSecond> spot_break_even(const run::RunPlan& plan,
                                                              const LeverOptions& options);

}  // namespace orrery::evaluate
