#pragma once

// Timing protocol that turns replays of a kernel into its times. The replays come from a GPU or, in
// tests, from a formula.
//
//   sustained   replays without a pause until the GPU has settled (above); then replays
//               that count until the stopping rule ends them
//   burst       before each replay the GPU idles for `idle`, so that its clock is its highest
//   a replay during which the GPU was held back (above) is discarded and repeated, in a
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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "kernels/nvml/nvml.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibrate {

// Decides whether the GPU has settled under load, since only then do replays count: a board runs
// fast until its power limit acts, and slower afterwards.
//
//   settled when the load has lasted `least_load`, and within the last `window` of replays
//     |median of the later half / median of the earlier half - 1| <= tolerance + noise
//   for the times and, where it is known, for the clock
//   noise = 2 sqrt(e1^2 + e2^2), at most `tolerance`; e: relative standard errors of the medians
//
// Assumption: what keeps the GPU busy before a case draws at least the power that the case draws
// (a large product does), so that no case starts with power left over from the one before.
// Source: fast phases of 50 to 110 ms, 15 % slower after that, were published for B200
// (docs/calibration.md).

struct SettlingRule {
  Seconds least_load = milliseconds(160.0);  // 1.5 times the longest published fast phase
  Seconds window = milliseconds(40.0);
  std::size_t fewest = 6;  // replays of the window
  double tolerance = 0.01;
  Seconds cap = seconds(1.0);  // what has not settled by then is measured, and says so
};

class SettlingWatch {
 public:
  // `loaded`: how long the GPU had been busy without a rest when the first replay began.
  SettlingWatch(const SettlingRule& rule, Seconds loaded);

  void add(Seconds replay, std::optional<double> clock);

  [[nodiscard]] bool settled() const { return settled_; }

  // Settled, or over the cap.
  [[nodiscard]] bool over() const { return settled_ || spent_ >= rule_.cap; }

  // Of the replays that were added.
  [[nodiscard]] Seconds spent() const { return spent_; }

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

// Decides when to stop timing a kernel: its median is known well enough, or the time is up.
//
//   stop when n >= least and error < target, or the time is up and n >= fewest, or n = most
//
// Assumption: samples are independent; the anchor detects slow drift (sweep_runner.hpp).
// Source: nvbench stops at a relative noise of 0.5 % after ten samples; order-statistic intervals
// of a median: B. Arnold, N. Balakrishnan, H. Nagaraja, A First Course in Order Statistics,
// section 7.

struct StoppingRule {
  double target = 0.005;
  std::size_t least = 10;
  std::size_t fewest = 5;
  std::size_t most = 40;
  Seconds budget = milliseconds(150.0);  // of device time at one point
};

// `spent`: device time of these samples.
[[nodiscard]] bool enough(std::span<const double> samples, Seconds spent, const StoppingRule& rule);

// Launches in one graph so that a replay lasts at least `replay`; one launch takes `single`.
[[nodiscard]] int launches_per_replay(Seconds single, Seconds replay, int most);

// The protocol as a profile states it: name and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> protocol_lines();

// Detects that the GPU was throttled during a replay, whose time is then discarded and retaken.
//
//   held back when NVML names a brake (heat, hardware, power brake of the rack), or
//   clock < share x most_clock, share by regime
//
// The power limit of the board is no brake: under it a training run runs all the time.
// Source: nvbench discards samples below 75 % of the clock and waits for 50 ms (its options
// --throttle-threshold and --throttle-recovery-delay); 0.73: 1,450 of 1,980 MHz sustained by an
// H200 (ml-engineering, stas00).

struct ThrottleRule {
  double burst_share = 0.75;
  double sustained_share = 0.5;        // a power limit alone leaves 0.73
  Seconds pause = milliseconds(50.0);  // before a burst is repeated
  std::int64_t most = 40;              // repeats of a case, after which its times are kept
  std::int64_t most_bursts = 4;        // a board that never reaches its share would rest for 10 s
};

// `reasons`: bits of NVML; what is not known is absent and holds nothing against the replay.
[[nodiscard]] bool is_held_back(std::optional<std::uint64_t> reasons, std::optional<double> clock,
                                std::optional<double> most_clock, Regime regime,
                                const ThrottleRule& rule);

// State of the GPU while work runs on it: NVML readings, summarised by their medians.

class DeviceReadings {
 public:
  void take(const kernels::GpuReading& reading);

  // What NVML never answered is absent; reasons are those seen in any reading. Energy and what was
  // discarded are not known here.
  [[nodiscard]] DeviceState state() const;

 private:
  std::vector<double> clocks_;
  std::vector<double> memory_clocks_;
  std::vector<double> powers_;
  std::vector<double> temperatures_;
  std::set<std::string> throttled_;
};

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
[[nodiscard]] Timing time_sustained(ReplaySource& source, const TimingRules& rules, Seconds loaded,
                                    std::optional<double> most_clock);

[[nodiscard]] Timing time_burst(ReplaySource& source, const TimingRules& rules,
                                std::optional<double> most_clock);

}  // namespace orrery::calibrate
