#include "calibrate/measure/replay_timer.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "calibrate/samples/summary.hpp"
#include "kernels/device/stream.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Event;
using kernels::Graph;
using kernels::Stream;

constexpr int kUncounted = 3;
constexpr std::size_t kSamplesPerReading = 4;

// What NVML said while the replays ran.
class Readings {
 public:
  explicit Readings(const kernels::Nvml& nvml) : nvml_(nvml) {}

  void take() {
    const kernels::GpuReading reading = nvml_.read();
    keep(reading.sm_clock, clocks_);
    keep(reading.power, powers_);
    keep(reading.temperature, temperatures_);
    if (reading.reasons && kernels::is_throttled(*reading.reasons)) {
      for (const std::string& name : kernels::reason_names(*reading.reasons)) {
        throttled_.insert(name);
      }
    }
  }

  [[nodiscard]] DeviceState state() const {
    return {.sm_clock = median(clocks_),
            .power = median(powers_),
            .temperature = median(temperatures_),
            .throttled = {throttled_.begin(), throttled_.end()}};
  }

 private:
  static void keep(const std::optional<double>& value, std::vector<double>& values) {
    if (value) {
      values.push_back(*value);
    }
  }

  static std::optional<double> median(const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional(summarise(values).median);
  }

  const kernels::Nvml& nvml_;
  std::vector<double> clocks_;
  std::vector<double> powers_;
  std::vector<double> temperatures_;
  std::set<std::string> throttled_;
};

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
  Readings readings(nvml);
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
        readings.take();
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
