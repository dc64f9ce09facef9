#include "calibrate/measure/replay_timer.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "calibrate/measure/device_readings.hpp"
#include "kernels/device/stream.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Event;
using kernels::Graph;
using kernels::Stream;

constexpr int kUncounted = 3;
constexpr std::size_t kSamplesPerReading = 4;

// One call after a few that are not counted: their first launch loads the kernel.
Seconds time_of_one(kernels::Runnable& runnable, Stream stream) {
  for (int i = 0; i < kUncounted; ++i) {
    runnable.launch(stream, i % runnable.copies());
  }
  const Event from;
  const Event to;
  from.record(stream);
  runnable.launch(stream, kUncounted % runnable.copies());
  to.record(stream);
  return seconds(kernels::seconds_between(from, to));
}

class Replays {
 public:
  Replays(kernels::Runnable& runnable, Stream stream, const TimingRules& rules)
      : stream_(stream),
        calls_(std::max(
            launches_per_replay(time_of_one(runnable, stream), rules.replay, rules.most_calls),
            runnable.copies())),
        graph_(stream, [&runnable, this](Stream captured) {
          for (int call = 0; call < calls_; ++call) {
            runnable.launch(captured, call % runnable.copies());
          }
        }) {}

  // Seconds of one replay; `during` runs on the host meanwhile.
  template <typename During>
  Seconds run(const During& during) const {
    from_.record(stream_);
    graph_.launch(stream_);
    to_.record(stream_);
    during();
    return seconds(kernels::seconds_between(from_, to_));
  }

  [[nodiscard]] int calls() const {
    return calls_;
  }

 private:
  Stream stream_;
  int calls_;
  Graph graph_;
  Event from_;
  Event to_;
};

void idle(Seconds duration) {
  std::this_thread::sleep_for(std::chrono::duration<double>(in_seconds(duration)));
}

}  // namespace

Timing time_calls(kernels::Runnable& runnable,
                  Stream stream,
                  const kernels::Nvml& nvml,
                  Regime regime,
                  const TimingRules& rules) {
  const Replays replays(runnable, stream, rules);
  DeviceReadings readings;
  if (regime == Regime::sustained) {
    for (int i = 0; i < kUncounted; ++i) {
      (void)replays.run([] {});
    }
  }
  Timing timing;
  Seconds spent;
  while (!enough(timing.times, spent, rules.stopping)) {
    if (regime == Regime::burst) {
      idle(rules.idle);
    }
    const bool read = timing.times.size() % kSamplesPerReading == 0;
    const Seconds time = replays.run([&] {
      if (read) {
        readings.take(nvml);
      }
    });
    spent += time;
    timing.times.push_back(in_microseconds(time) / replays.calls());
  }
  timing.state = readings.state();
  return timing;
}

void keep_busy(kernels::Runnable& runnable, Stream stream, Seconds duration) {
  TimingRules rules;
  rules.replay = milliseconds(50.0);
  const Replays replays(runnable, stream, rules);
  Seconds spent;
  while (spent < duration) {
    spent += replays.run([] {});
  }
}

}  // namespace orrery::calibrate
