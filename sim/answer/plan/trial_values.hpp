#pragma once

// The figures of every trial of a run, in the order of the trials, and paired differences of two.
//
//   d_r      = value of trial r of one candidate - value of trial r of another
//   mean, ci95 = of the d_r: mean -+ t(0.975, n - 1) s / sqrt(n)
//
// symbol | meaning                                                         | unit | origin
// -------|-----------------------------------------------------------------|------|---------------
// wall   | from the first step to the end of the run                       | s    | run/
// cost   | total of the bill                                               | $    | run/
// tokens | of the steps done and kept                                      | tok  | run/
// held   | GPU time of all nodes held                                      | s    | run/
// energy | of the site (prices.energy); 0 without                          | kWh  | run/
// d_r    | paired difference under common random numbers                   | as is | computed
//
// Trial r of every candidate draws from the same streams (seed, r, purpose), so failures that meet
// both cancel in d_r: the interval of the paired difference is far narrower than the two intervals.

#include <optional>
#include <stop_token>
#include <vector>

#include "sim/run/distribution.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::plan {

struct TrialValues {
  std::vector<double> wall;
  std::vector<double> cost;
  std::vector<double> tokens;
  std::vector<double> held;
  std::vector<double> energy;
};

// All trials of the plan again, which is what run::simulate reduces. Nothing after a stop request.
[[nodiscard]] std::optional<TrialValues> trial_values(const run::RunPlan& plan, int threads,
                                                      const std::stop_token& stop);

struct PairedDifference {
  double mean = 0.0;
  run::Interval ci95;

  // Whether the sign of the difference is open.
  [[nodiscard]] bool holds_zero() const { return ci95.low <= 0.0 && ci95.high >= 0.0; }
};

// second - first, trial by trial; both as long, at least one value.
[[nodiscard]] PairedDifference paired_difference(const std::vector<double>& first,
                                                 const std::vector<double>& second);

}  // namespace orrery::plan
