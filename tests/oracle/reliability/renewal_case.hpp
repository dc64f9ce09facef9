#pragma once

// Failure rate of a system whose parts age and are renewed one by one.
//
// symbol    | meaning                                                   | unit | origin
// ----------|-----------------------------------------------------------|------|-------
// parts     | components that fail independently                        | -    | case
// mean_life | of each of them, whatever the shape                       | s    | case
// shape     | of the Weibull law of their lives                         | 1    | case
//
// By the renewal theorem the answer is mean_life / parts for any shape.

#include <cstdint>

#include "sim/base/units.hpp"

namespace orrery::run::test {

struct RenewalCase {
  std::int64_t parts = 1;
  Seconds mean_life;
  double shape = 1.0;
};

// NaN when the run's rules refuse the case or nothing fails.
[[nodiscard]] Seconds simulate_renewal(const RenewalCase& asked);

}  // namespace orrery::run::test
