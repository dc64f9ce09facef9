#include "sim/run/published_metrics.hpp"

#include <cmath>

namespace orrery::run {

double one_failure_per_interval_ettr(Seconds interval, Seconds save, Seconds load) {
  return 0.5 * interval / (save + load + interval);
}

double effective_time(Seconds mtbf, Seconds stall, Seconds degraded, double lost) {
  return (mtbf - stall - degraded * lost) / mtbf;
}

Seconds fresh_minimum_mean(double n, Seconds mean, double shape) {
  return mean * std::pow(n, -1.0 / shape);
}

Seconds superposition_mtbf(double n, Seconds mean) {
  return mean / n;
}

double lognormal_sigma(Seconds mean, Seconds median) {
  return mean > median ? std::sqrt(2.0 * std::log(mean / median)) : 0.0;
}

Flop six_nd(double parameters, Tokens tokens) {
  constexpr double kFlopPerParameterAndToken = 6.0;
  return flop(kFlopPerParameterAndToken * parameters * in_tokens(tokens));
}

}  // namespace orrery::run
