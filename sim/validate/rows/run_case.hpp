#pragma once

// A whole run that a case states in a few numbers, through the real run simulator.
//
// symbol   | meaning                                         | unit | origin
// ---------|-------------------------------------------------|------|----------
// steps    | optimizer steps until the end                   | -    | case
// step     | time of one                                     | s    | case
// saves    | steps between checkpoints; 0: none              | -    | case
// stall    | training blocked by a save                      | s    | case
// durable  | from the begin of a save until it protects      | s    | case
// restart  | from a failure to the next step, in one stage   | s    | case

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::validate {

struct RunCase {
  std::int64_t steps = 1;
  Seconds step;
  std::int64_t save_every = 0;
  Seconds stall;
  Seconds restart;
  std::vector<Seconds> failures = {};
  std::int64_t evaluate_every = 0;  // 0: never
  Seconds evaluation = {};
  std::optional<Seconds> durable = {};  // absent: a save protects when its stall is over
};

struct RunCaseTimes {
  Seconds wall;
  Seconds lost;
  Seconds checkpoint;
  Seconds restart;
  Seconds evaluation;
};

// Nothing when the run's rules refuse the case.
[[nodiscard]] std::optional<RunCaseTimes> run_case(const RunCase& run);

}  // namespace orrery::validate
