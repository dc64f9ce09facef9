#pragma once

// Duration of a job on a fleet with lemons, standbys and two stages
// of repair. The process is that of AIReSim (arXiv 2603.07041):
// work until a failure is kept, nothing fails during a recovery.
//
// symbol     | meaning                                                    | unit  | origin
// -----------|------------------------------------------------------------|-------|-------
// job        | servers that train                                         | nodes | case
// standbys   | swapped in at once; the rest of the pool after `selection` | nodes | case
// rate       | failures of a good server                                  | 1/s   | case
// bad, times | share of bad servers, and their hazard in terms of `rate`  | 1     | case
// first      | automatic repair, which fails with `first_fails`           | s, 1  | case
// manual     | follows with `escalates`, fails with `manual_fails`        | s, 1  | case
//
// Through the run simulator, with a save without stall after every second of training. A repair
// that works makes a bad server good.

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace orrery::run::test {

struct FleetCase {
  std::int64_t job = 1;
  std::int64_t standbys = 0;
  std::int64_t selected = 0;  // beside job and standbys, after a selection
  Seconds length;             // of the training
  PerSecond rate;
  double bad_share = 0.0;
  double bad_times = 1.0;
  Seconds recovery;
  Seconds selection;
  Seconds first_repair;
  double first_fails = 0.0;
  double escalates = 0.0;
  Seconds manual_repair;
  double manual_fails = 0.0;
};

struct FleetTimes {
  Seconds total;         // mean of the trials
  double trained = 0.0;  // share of it
};

// Nothing when the run's rules refuse the case.
[[nodiscard]] std::optional<FleetTimes> simulate_fleet(const FleetCase& asked);

}  // namespace orrery::run::test
