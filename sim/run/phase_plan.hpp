#pragma once

// The phases of a run, with the time of their steps, and the work that is discarded on purpose.
//
//   steps(phase i)  = until_step[i] - until_step[i - 1]
//   tokens(n steps) = sum over phases of the steps in it * tokens_per_step
//   time(n steps)   = sum over phases of the steps in it * step_time
//
// symbol          | meaning                                                     | unit   | origin
// ----------------|-------------------------------------------------------------|--------|---------
// until_step      | first step (counted from 0) that is not in the phase        | steps  | computed
// step_time       | of one step in the phase, without any failure               | ns     | step/
// nodes           | that the job trains on in the phase                         | nodes  | scenario
// change          | planned restart before its first step                       | ns     | scenario
// at_step         | steps done and kept when a rework event strikes             | steps  | scenario
// discard_steps   | of them, those that are thrown away and trained again       | steps  | scenario
//
// Steps are steps of progress: work that a failure took is done again in the phase where it
// belongs, at that phase's pace. A rework event strikes once, when its step is reached for the
// first time; the state at at_step - discard_steps is still there and is durable.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"

namespace orrery::run {

inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;  // doubles hold these exactly

// Ends the last phase: more steps than any run can do.
inline constexpr std::int64_t kLastStep = std::int64_t{1} << 62;

struct PlannedPhase {
  std::int64_t until_step = kLastStep;  // ascending; kLastStep in the last phase
  SimTime step_time;
  Tokens tokens_per_step;
  std::int64_t nodes = 1;
  SimTime change;  // stands still before the first step, after a save of what was done
  std::string name;
};

struct PlannedRework {
  std::int64_t at_step = 0;        // ascending
  std::int64_t discard_steps = 0;  // 1 ... at_step
  std::string name;
  SimTime stall;  // until training goes on
};

// Tokens of the first `steps` steps, and the time they take without stops.
[[nodiscard]] Tokens tokens_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps);
[[nodiscard]] Seconds time_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps);

// Least number of steps that train at least so many tokens (or take at least so long), rounding
// errors of the quotient aside. More than kMostSteps when the last phase cannot.
[[nodiscard]] double steps_for_tokens(const std::vector<PlannedPhase>& phases, Tokens tokens);
[[nodiscard]] double steps_for_time(const std::vector<PlannedPhase>& phases, Seconds time);

// Index of the phase to which step number `step` (from 0) belongs.
[[nodiscard]] std::size_t phase_of_step(const std::vector<PlannedPhase>& phases, std::int64_t step);

}  // namespace orrery::run
