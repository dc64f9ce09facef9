#pragma once

// Timing protocol that turns replays of a kernel into its times. The replays come from a GPU or, in
// tests, from a formula.
//
//   sustained   replays without a pause until the GPU has settled (settling_rule.hpp); then replays
//               that count until the stopping rule ends them
//   burst       before each replay the GPU idles for `idle`, so that its clock is its highest
//   a replay during which the GPU was held back (throttle_rule.hpp) is discarded and repeated, in a
//   burst after a pause
//
// symbol      | meaning                                                      | unit | origin
// ------------|--------------------------------------------------------------|------|----------
// calls       | of the kernel in one replay                                  | 1    | source
// energy      | difference of the board's counter from the first to the last | J    | NVML
//             | of a row of replays / their calls; absent below 100 ms,      |      |
//             | because the counter moves in steps of some 20 ms             |      |
// power       | median of the readings between the samples; of a kernel that | W    | NVML
//             | moves memory, of three readings after `power_after`          |      |
// power_after | 0.35 s of replays: such a kernel draws less than the product | s    | protocol
//             | that kept the GPU busy before it, which the board's meter    |      |
//             | still shows until then                                       |      |

#include <functional>
#include <optional>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/settling_rule.hpp"
#include "calibrate/sweep/stopping_rule.hpp"
#include "calibrate/sweep/throttle_rule.hpp"
#include "kernels/nvml/nvml.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibrate {

struct TimingRules {
  StoppingRule stopping;
  SettlingRule settling;
  ThrottleRule throttle;
  Seconds replay = milliseconds(2.0);
  Seconds idle = milliseconds(200.0);  // before a burst
  int most_calls = 2000;               // in one graph
  Seconds power_after = {};            // 0: the power is that of the readings between the samples
};

// The rules for a case: those given, and power_after where it only moves memory.
[[nodiscard]] TimingRules rules_for(const kernels::KernelCase& kernel, TimingRules rules);

struct Timing {
  std::vector<double> times;  // us per call
  DeviceState state;
  Seconds settled_after;  // replays that were not counted
  bool settled = true;    // else the cap ended them
};

struct Replay {
  Seconds time;
  std::optional<double> sm_clock = {};              // MHz, mean over the replay
  std::optional<kernels::GpuReading> reading = {};  // taken while it ran, where it was asked for
  bool late = false;  // it was over before the host had enqueued the next: the GPU rested
};

class ReplaySource {
 public:
  ReplaySource() = default;
  ReplaySource(const ReplaySource&) = delete;
  ReplaySource& operator=(const ReplaySource&) = delete;
  virtual ~ReplaySource() = default;

  // The next replay; `read`: also ask NVML while it runs, which takes the host a while.
  [[nodiscard]] virtual Replay next(bool read) = 0;

  // The GPU rests.
  virtual void idle(Seconds duration) = 0;

  // The counter of the board, J.
  [[nodiscard]] virtual std::optional<double> energy() = 0;

  [[nodiscard]] virtual int calls() const = 0;
};

// `loaded`: how long the GPU had been busy without a rest. `most_clock`: MHz that the board offers.
[[nodiscard]] Timing time_sustained(ReplaySource& source,
                                    const TimingRules& rules,
                                    Seconds loaded,
                                    std::optional<double> most_clock);

[[nodiscard]] Timing time_burst(ReplaySource& source,
                                const TimingRules& rules,
                                std::optional<double> most_clock);

}  // namespace orrery::calibrate
