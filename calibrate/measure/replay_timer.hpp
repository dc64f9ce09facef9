#pragma once

// How long does one call of a kernel take on this GPU? Replays of a graph between two events.
//
//   calls  = max(operand sets, replay / single), at most 2,000
//   sample = (time between the events around one replay) / calls
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|----------
// single | one call, timed after three that are not                       | s    | measured
// replay | 2 ms: long against the resolution of events (0.5 us)           | s    | protocol
// sets   | operand sets, used in turn, more than 4 x L2 together          | 1    | runnable
//
// Under a condition (calibrate/samples/condition.hpp)
//   enqueued       2,000 calls in a row on the stream, without a graph: what the host can launch
//   graph          a graph of exactly n calls; sample = time of one replay / n
//   beside         the other case is enqueued on a second stream so that its first call is over
//   when
//                  the replay begins and its last is not when the replay ends, which is checked;
//                  15 samples
//
// Sustained: replays for 60 ms, three at least, that are not counted, because the pause before a
// case lets the power limit give a higher clock for a while; then samples until the stopping rule
// ends them. While one replay runs the next is enqueued: the launch of a graph (some 10 us, half a
// per cent of a replay) is part of no sample, and the GPU rests between none. Burst: before each
// sample the GPU idles for 200 ms, so that its clock is the highest it takes; the launch is part of
// it, as it is under the condition `graph`, which measures it. Clock, power and temperature are
// read while replays run; the medians are kept. Inside a graph the gaps between calls are those of
// a captured training step.

#include <functional>

#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/stopping_rule.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/nvml/nvml.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibrate {

struct TimingRules {
  StoppingRule stopping;
  Seconds replay = milliseconds(2.0);
  Seconds idle = milliseconds(200.0);  // before a burst
  Seconds warm_up = milliseconds(60.0);
  int most_calls = 2000;  // in one graph
};

struct Timing {
  std::vector<double> times;  // us per call
  DeviceState state;
};

[[nodiscard]] Timing time_calls(kernels::Runnable& runnable,
                                kernels::Stream stream,
                                const kernels::Nvml& nvml,
                                Regime regime,
                                const TimingRules& rules);

// One call after the other, by the host.
[[nodiscard]] Timing time_enqueued(kernels::Runnable& runnable,
                                   kernels::Stream stream,
                                   const kernels::Nvml& nvml,
                                   const TimingRules& rules);

// Replays of a graph of `calls` calls.
[[nodiscard]] Timing time_graph(kernels::Runnable& runnable,
                                kernels::Stream stream,
                                const kernels::Nvml& nvml,
                                int calls,
                                const TimingRules& rules);

// What runs beside: `stream` is not that of the case. Where several processes must agree on counts
// and on the slowest time, `largest` gives the largest of their values.
struct Beside {
  kernels::Runnable& other;
  kernels::Stream stream;
  std::function<double(double)> largest;  // empty: this process alone
};

// Throws Error(device) when the other case cannot be made to last as long as a replay.
[[nodiscard]] Timing time_beside(kernels::Runnable& runnable,
                                 kernels::Stream stream,
                                 const Beside& beside,
                                 const kernels::Nvml& nvml,
                                 const TimingRules& rules);

// Calls without pause for `duration`.
void keep_busy(kernels::Runnable& runnable, kernels::Stream stream, Seconds duration);

}  // namespace orrery::calibrate
