#pragma once

// What came out of one simulated run?
//
//   goodput = productive GPU time / (GPUs of the job * wall)
//   ettr    = productive GPU time / (GPUs of the job * wall - evaluation - planned maintenance)
//   cost    = price * billed GPUs * wall
//
// symbol  | meaning                                                        | unit | origin
// --------|----------------------------------------------------------------|------|---------
// wall    | from the first step to the end of the run                      | ns   | simulated
// goodput | share of the job's GPU time that trained and was kept          | 1    | computed
// ettr    | effective training time ratio: what failures, recovery and     | 1    | computed
//         | checkpoints leave of the time that was meant for training      |      |
//
// Spares are in neither ratio; they are in the ledger and, if billed, in the cost. Work after the
// last checkpoint counts as productive when the run ends: no failure took it. A run that stops at
// the horizon is not finished, and its wall time is a lower bound.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/run/run_category.hpp"

namespace orrery::run {

enum class StopReason {
  target_reached,  // all steps done (and saved)
  window_over,     // the stated duration has passed
  horizon,         // gave up: the target is too far away at this rate of progress
  no_progress,     // gave up: no checkpoint became durable during very many failures in a row
};

[[nodiscard]] constexpr std::string_view to_string(StopReason reason) {
  constexpr std::array<std::string_view, 4> kNames = {
      "target reached", "window over", "horizon reached before the target", "no progress"};
  return kNames[static_cast<std::size_t>(reason)];
}

struct RunResult {
  SimTime wall;
  std::int64_t steps_done = 0;       // completed and kept
  std::int64_t failures = 0;         // that struck the job or took a node
  std::int64_t checkpoints = 0;      // that became durable
  std::int64_t nodes_in_repair = 0;  // when the run ended
  RunLedger ledger;
  Dollars cost;  // 0 without a price
  double goodput = 0.0;
  double ettr = 0.0;
  StopReason stop = StopReason::target_reached;
  std::vector<std::int64_t> failures_by_cause;  // by index into RunPlan::causes

  [[nodiscard]] bool finished() const {
    return stop == StopReason::target_reached || stop == StopReason::window_over;
  }

  friend bool operator==(const RunResult&, const RunResult&) = default;
};

}  // namespace orrery::run
