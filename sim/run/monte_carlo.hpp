#pragma once

// The Monte Carlo simulation of a run: end, cost and losses as distributions over many trials.
//
// Trial r draws from the streams (seed, r, purpose). Sums are joined in the order of the trials,
// and values kept as TrialSpread says. So the result is bit-identical for any number of
// threads, and trial r alone can be run again; ten million trials take less than 200 MB. Trials
// that gave up are in the distributions with what they reached: their wall time is a lower bound.
// Look at `finished` first.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "sim/run/distribution.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"

namespace orrery::run {

struct MonteCarloOptions {
  int threads = 0;  // 0: all cores
  bool event_by_event = false;
  std::stop_token stop = {};

  // Trials done so far, of all trials; called by one thread at a time, not in order of trials.
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

// What one trial came to, to be compared with that of another plan on the same draws.
struct TrialTotals {
  double wall = 0.0;    // s
  double tokens = 0.0;  // done and kept
  double cost = 0.0;    // $
  bool finished = false;

  friend bool operator==(const TrialTotals&, const TrialTotals&) = default;
};

inline constexpr std::int64_t kComparedTrials = 100;

struct MonteCarloResult {
  std::int64_t trials = 0;
  std::int64_t finished = 0;          // trials that reached their target or window
  std::optional<StopReason> gave_up;  // of the first trial that did not
  Distribution wall;                  // time from the first step to the end of the run
  Distribution steps;                 // steps done and kept
  Distribution tokens;                // tokens of these steps
  Distribution cost;                  // total of the bill (billing.hpp)
  Distribution cost_per_token;        // of the trials that trained something
  Distribution energy;                // of the site, kWh (prices.energy)
  Distribution carbon;                // kg
  Distribution goodput;               // see run_result.hpp
  Distribution ettr;
  Distribution failures;
  Distribution checkpoints;
  Distribution lost_work;  // GPU time of work that failures took
  Distribution waiting;    // GPU time that stood ready while nodes were missing
  Distribution nodes_in_repair;
  Distribution restarts;
  Distribution held;     // GPU time of all nodes held, spares and repair included
  RunLedger ledger_sum;  // ledgers of all trials added up, exact
  Bill bill_sum;
  RunCounts happened;                     // in all trials together
  std::vector<double> failures_by_cause;  // mean per trial, by index into RunPlan::causes
  std::vector<Int128> gpu_time_by_cause;  // GPU ns of all trials, by index into RunPlan::causes
  std::vector<TrialTotals> first;         // of the first kComparedTrials trials, in their order

  // Mean GPU time of one category per trial.
  [[nodiscard]] Seconds mean_gpu_time(RunCategory category) const {
    return ledger_sum.gpu_time(category) / static_cast<double>(trials);
  }

  friend bool operator==(const MonteCarloResult&, const MonteCarloResult&) = default;
};

// All trials of the plan's simulation spec, or nothing when a stop was requested before the end.
[[nodiscard]] std::optional<MonteCarloResult> simulate(const RunPlan& plan,
                                                       const MonteCarloOptions& options = {});

}  // namespace orrery::run
