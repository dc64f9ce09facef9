#pragma once

// The worth of improvements: the run again with one thing changed and the same random draws.
//
//   finish_delta = wall' * tokens / tokens' - wall      (time for the same work)
//   cost_delta   = cost' * tokens / tokens' - cost      (dollars for the same work)
//
// symbol             | meaning                                          | unit | origin
// -------------------|--------------------------------------------------|------|---------
// wall, tokens, cost | means over the trials of the run as it is        | s, tokens, $ | run/
// ' (prime)          | the same with the change                         | s, tokens, $ | run/
//
// Both runs use the same trials and the same streams (common random numbers), so the difference is
// that of the change, not of the draw: on the main scenario it varies by about 1 % from seed to
// seed with 32 trials. Where a change moves the failures themselves (other rates, no spot nodes)
// the draws part after a while, and 100 trials are needed for 2 %. A run with a fixed window does
// more work in the same time; scaling by tokens makes both kinds of run comparable.

#include <optional>
#include <stop_token>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/base/units.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::evaluate {

struct LeverOptions {
  // At most; never more than the run's own.
  std::int64_t trials = run::kComparedTrials;  // of a change that moves the failures
  std::int64_t trials_alike = 32;              // of one that leaves them where they are
  int threads = 0;
  std::stop_token stop = {};
};

// The plan with a step `factor` times as long. Checkpoints keep their distance in time.
void scale_step_time(run::RunPlan& plan, double factor);

// All levers, the largest saving in dollars (or time, without a price) first. Needs
// evaluation.plan, evaluation.run and the metrics.
[[nodiscard]] std::vector<report::Lever> find_levers(const report::Evaluation& evaluation,
                                                     const LeverOptions& options);

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

// The plan with nodes that nobody can take away in place of those on spot.
void without_spot(run::RunPlan& plan);

// Nothing without spot nodes or a price of the others, or when trials give up.
[[nodiscard]] std::optional<DollarsPerSecond> spot_break_even(const run::RunPlan& plan,
                                                              const LeverOptions& options);

}  // namespace orrery::evaluate
