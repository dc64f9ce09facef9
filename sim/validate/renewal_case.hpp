#pragma once

// How often does a system fail whose parts age and are renewed one by one?
//
// symbol    | meaning                                                   | unit | origin
// ----------|-----------------------------------------------------------|------|-------
// parts     | components that fail independently                        | -    | case
// mean_life | of each of them, whatever the shape                       | s    | case
// shape     | of the Weibull law of their lives                         | 1    | case
//
// By the renewal theorem the answer is mean_life / parts for any shape.

#include <cstdint>
#include <string>

#include "sim/base/units.hpp"

namespace orrery::validate {

struct RenewalCase {
  std::int64_t parts = 1;
  Seconds mean_life;
  double shape = 1.0;
};

struct RenewalMtbf {
  Seconds mtbf;
  std::string note;
};

[[nodiscard]] RenewalMtbf simulate_renewal(const RenewalCase& asked);

}  // namespace orrery::validate
