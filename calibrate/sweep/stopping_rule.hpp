#pragma once

// Decides when to stop timing a kernel: its median is known well enough, or the time is up.
//
//   stop when n >= least and error < target, or the time is up and n >= fewest, or n = most
//
// symbol  | meaning                                                     | unit | origin
// --------|-------------------------------------------------------------|------|---------
// n       | samples so far, each the mean of one replay of a graph      | 1    | measured
// error   | relative standard error of their median (summary.hpp)        | 1    | computed
// target  | 0.005                                                       | 1    | protocol
// least   | 10; fewest: 5; most: 40                                     | 1    | protocol
//
// Assumption: samples are independent; the anchor detects slow drift (sweep_runner.hpp).
// Source: nvbench stops at a relative noise of 0.5 % after ten samples; order-statistic intervals
// of a median: B. Arnold, N. Balakrishnan, H. Nagaraja, A First Course in Order Statistics,
// section 7.

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/samples/summary.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibrate {

struct StoppingRule {
  double target = 0.005;
  std::size_t least = 10;
  std::size_t fewest = 5;
  std::size_t most = 40;
  Seconds budget = milliseconds(150.0);  // of device time at one point
};

// `spent`: device time of these samples.
[[nodiscard]] bool enough(std::span<const double> samples, Seconds spent, const StoppingRule& rule);

// Launches in one graph so that a replay lasts at least `replay`; one launch takes `single`.
[[nodiscard]] int launches_per_replay(Seconds single, Seconds replay, int most);

// The protocol as a profile states it: name and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> protocol_lines();

}  // namespace orrery::calibrate
