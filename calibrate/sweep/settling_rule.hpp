#pragma once

// Decides whether the GPU has settled under load, since only then do replays count: a board runs
// fast until its power limit acts, and slower afterwards.
//
//   settled when the load has lasted `least_load`, and within the last `window` of replays
//     |median of the later half / median of the earlier half - 1| <= tolerance + noise
//   for the times and, where it is known, for the clock
//   noise = 2 sqrt(e1^2 + e2^2), at most `tolerance`
//
// symbol     | meaning                                                     | unit | origin
// -----------|-------------------------------------------------------------|------|---------
// least_load | 160 ms: 1.5 times the longest fast phase that is published; | s    | protocol
//            | what kept the GPU busy before the case counts too           |      |
// window     | 40 ms, and at least 6 replays                               | s    | protocol
// tolerance  | 0.01                                                        | 1    | protocol
// e1, e2     | relative standard errors of the two medians (summary.hpp)   | 1    | computed
// cap        | 1 s: what has not settled by then is measured, and says so  | s    | protocol
//
// Assumption: what keeps the GPU busy before a case draws at least the power that the case draws
// (a large product does), so that no case starts with power left over from the one before.
// Source: fast phases of 50 to 110 ms, 15 % slower after that, were published for B200
// (docs/calibration.md).

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::calibrate {

struct SettlingRule {
  Seconds least_load = milliseconds(160.0);
  Seconds window = milliseconds(40.0);
  std::size_t fewest = 6;
  double tolerance = 0.01;
  Seconds cap = seconds(1.0);
};

class SettlingWatch {
 public:
  // `loaded`: how long the GPU had been busy without a rest when the first replay began.
  SettlingWatch(const SettlingRule& rule, Seconds loaded);

  void add(Seconds replay, std::optional<double> clock);

  [[nodiscard]] bool settled() const {
    return settled_;
  }

  // Settled, or over the cap.
  [[nodiscard]] bool over() const {
    return settled_ || spent_ >= rule_.cap;
  }

  // Of the replays that were added.
  [[nodiscard]] Seconds spent() const {
    return spent_;
  }

 private:
  SettlingRule rule_;
  Seconds loaded_;
  Seconds spent_;
  [[nodiscard]] bool is_flat() const;

  bool settled_ = false;
  Seconds looked_;  // spent() at the last look: short replays are not looked at one by one
  std::vector<double> times_;
  std::vector<double> clocks_;  // as many as times, or those of the replays that have one
};

}  // namespace orrery::calibrate
