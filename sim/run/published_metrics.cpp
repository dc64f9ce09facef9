#include "sim/run/published_metrics.hpp"

#include <cmath>

namespace orrery::run {

double lognormal_sigma(Seconds mean, Seconds median) {
  return mean > median ? std::sqrt(2.0 * std::log(mean / median)) : 0.0;
}

Flop six_nd(double parameters, Tokens tokens) {
  constexpr double kFlopPerParameterAndToken = 6.0;
  return flop(kFlopPerParameterAndToken * parameters * in_tokens(tokens));
}

}  // namespace orrery::run
