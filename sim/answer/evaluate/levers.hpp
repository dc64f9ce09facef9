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
// Both runs use the same number of trials and the same streams (common random numbers), so the
// difference is that of the change, not of the draw. A run with a fixed window does more work in
// the same time; scaling by tokens makes both kinds of run comparable.

#include <stop_token>
#include <vector>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::evaluate {

struct LeverOptions {
  std::int64_t trials = 100;  // at most; never more than the run's own
  int threads = 0;
  std::stop_token stop = {};
};

// The plan with a step `factor` times as long. Checkpoints keep their distance in time.
void scale_step_time(run::RunPlan& plan, double factor);

// All levers, the largest saving in dollars (or time, without a price) first. Needs
// evaluation.plan, evaluation.run and the metrics.
[[nodiscard]] std::vector<report::Lever> find_levers(const report::Evaluation& evaluation,
                                                     const LeverOptions& options);

}  // namespace orrery::evaluate
