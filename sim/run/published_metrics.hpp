#pragma once

// Figures that publications print about failures and that need no simulation. Closed forms under
// the names that the papers give them, so that theirs and ours can be compared.
//
//   lognormal sigma          sqrt(2 ln(mean / median))
//   6ND                      6 * parameters * tokens

#include "sim/base/units.hpp"

namespace orrery::run {

// 0 where the mean is not above the median.
[[nodiscard]] double lognormal_sigma(Seconds mean, Seconds median);

[[nodiscard]] Flop six_nd(double parameters, Tokens tokens);

}  // namespace orrery::run
