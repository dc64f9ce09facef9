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

std::vector<std::pair<std::string, std::string>> protocol_lines() {
  return {
      {"data", "normal values by a seed of the case"},
      {"caches", "operand sets in turn, more than 4 x L2 together"},
      {"timing", "replays of a graph between two events"},
      {"stop", "10 samples and a standard error of the median below 0.5 %, 150 ms or 40 samples"},
      {"regime",
       "sustained: a soak of 10 s, a product while the host prepares, then each case until time "
       "and "
       "clock are flat within 1 % for 40 ms after 160 ms of load, 1 s at most; bursts after 200 ms "
       "of idling"},
      {"held_back", "replays under a brake, or below 0.5 of the clock (bursts 0.75), are repeated"},
      {"power",
       "the board's at that moment; of a kernel that moves memory after 0.35 s of its replays"}};
}

}  // namespace orrery::calibrate
