#pragma once

// Which figures do publications print about failures that no simulation is needed for? Closed forms
// under the names that the papers give them, so that theirs and ours can stand side by side.
//
//   ByteCheckpoint's ETTR    (t/2) / (save + load + t)         one failure in every interval t
//   effective time           (M - stall - degraded * lost) / M one failure in every time M
//   fresh minimum            mean * n^(-1/k)                   n new Weibull lives, the first to
//   end superposition            mean / n                          n renewed parts, in the long run
//   lognormal sigma          sqrt(2 ln(mean / median))
//   6ND                      6 * parameters * tokens
//
// symbol | meaning                                                        | unit  | origin
// -------|----------------------------------------------------------------|-------|---------------
// M      | mean time between failures of the job                          | s     | publication
// lost   | share of the replicas that are missing while degraded          | 1     | publication
// n, k   | parts; shape of their Weibull law                              | 1     | publication
//
// ByteCheckpoint's metric (NSDI 2025, appendix C) is below 1/2 by construction and no ETTR of a
// cluster. The fresh minimum is what a simulator finds that redraws all ages at every restart; the
// superposition is right for any shape (renewal theorem).

#include <cstdint>

#include "sim/base/units.hpp"

namespace orrery::run {

[[nodiscard]] double one_failure_per_interval_ettr(Seconds interval, Seconds save, Seconds load);

// Below 0 when a failure costs more than the time between two.
[[nodiscard]] double effective_time(Seconds mtbf, Seconds stall, Seconds degraded, double lost);

// n >= 1, k > 0.
[[nodiscard]] Seconds fresh_minimum_mean(double n, Seconds mean, double shape);
[[nodiscard]] Seconds superposition_mtbf(double n, Seconds mean);

// 0 where the mean is not above the median.
[[nodiscard]] double lognormal_sigma(Seconds mean, Seconds median);

[[nodiscard]] Flop six_nd(double parameters, Tokens tokens);

}  // namespace orrery::run
