#pragma once

// Detects that the GPU was throttled during a replay, whose time is then discarded and retaken.
//
//   held back when NVML names a brake (heat, hardware, power brake of the rack), or
//   clock < share x most_clock, share by regime
//
// symbol     | meaning                                                    | unit | origin
// -----------|------------------------------------------------------------|------|---------
// clock      | of the multiprocessors during the replay                   | MHz  | measured
// most_clock | the highest that the board offers                          | MHz  | NVML
// share      | burst 0.75; sustained 0.5: a power limit alone leaves 0.73 | 1    | protocol
// pause      | 50 ms before a burst is repeated                           | s    | protocol
// most       | 40 repeats of a case, 4 of a burst: a board that never     | 1    | protocol
//            | reaches its share would rest for 10 s. After that the      |      |
//            | times are kept, with the reasons beside them               |      |
//
// The power limit of the board is no brake: under it a training run runs all the time.
// Source: nvbench discards samples below 75 % of the clock and waits for 50 ms (its options
// --throttle-threshold and --throttle-recovery-delay); 0.73: 1,450 of 1,980 MHz sustained by an
// H200 (ml-engineering, stas00).

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calibrate/samples/sample.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibrate {

struct ThrottleRule {
  double burst_share = 0.75;
  double sustained_share = 0.5;
  Seconds pause = milliseconds(50.0);
  std::int64_t most = 40;
  std::int64_t most_bursts = 4;
};

// `reasons`: bits of NVML; what is not known is absent and holds nothing against the replay.
[[nodiscard]] bool is_held_back(std::optional<std::uint64_t> reasons,
                                std::optional<double> clock,
                                std::optional<double> most_clock,
                                Regime regime,
                                const ThrottleRule& rule);

}  // namespace orrery::calibrate
