#include "calibrate/sweep/stopping_rule.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::calibrate {

bool enough(std::span<const double> samples, Seconds spent, const StoppingRule& rule) {
  if (samples.size() >= rule.most) {
    return true;
  }
  if (samples.size() < rule.fewest) {
    return false;
  }
  if (spent >= rule.budget) {
    return true;
  }
  return samples.size() >= rule.least && summarise(samples).error < rule.target;
}

int launches_per_replay(Seconds single, Seconds replay, int most) {
  ORRERY_CHECK(most >= 1, "a replay holds at least one launch");
  if (single <= Seconds{}) {
    return most;
  }
  const double launches = std::ceil(replay / single);
  return static_cast<int>(std::clamp(launches, 1.0, static_cast<double>(most)));
}

}  // namespace orrery::calibrate
