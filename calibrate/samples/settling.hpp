#pragma once

// Settling curve of a GPU under load, which shows when its clock and the time of a kernel are
// steady: one case, replayed without pause from idle.
//
// symbol     | meaning                                                     | unit | origin
// -----------|-------------------------------------------------------------|------|---------
// since_load | from the first replay to the middle of this one             | s    | measured
// time       | of one call: a replay / its calls                           | us   | measured
// sm_clock   | of the multiprocessors; absent where NVML does not say      | MHz  | measured
// power      | of the board; absent where NVML does not say                | W    | measured
//
// Boards run fast for the first tenths of a second and slower once the power limit acts; what is
// timed before the curve is flat is a burst.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

struct SettlingPoint {
  double since_load = 0.0;              // s
  double time = 0.0;                    // us
  std::optional<double> sm_clock = {};  // MHz
  std::optional<double> power = {};     // W

  friend bool operator==(const SettlingPoint& a, const SettlingPoint& b) = default;
};

struct SettlingCurve {
  kernels::KernelCase kernel;
  std::string taken_at;               // UTC, as Sample::taken_at
  std::vector<SettlingPoint> points;  // since_load rises
};

// One line of JSON without its newline, and back: nothing when it is no curve.
[[nodiscard]] std::string to_line(const SettlingCurve& curve);
[[nodiscard]] std::optional<SettlingCurve> read_settling(std::string_view line);

}  // namespace orrery::calibrate
