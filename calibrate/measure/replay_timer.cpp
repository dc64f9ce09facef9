#include "calibrate/measure/replay_timer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "calibrate/measure/device_readings.hpp"
#include "kernels/device/stream.hpp"
#include "sim/base/error.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Event;
using kernels::Graph;
using kernels::Stream;

constexpr int kUncounted = 3;
constexpr std::size_t kSamplesPerReading = 4;
constexpr std::size_t kBesideSamples = 15;
constexpr double kOutlasts = 3.0;
constexpr int kMostBeside = 1 << 14;

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
      : Replays(runnable,
                stream,
                std::max(launches_per_replay(
                             time_of_one(runnable, stream), rules.replay, rules.most_calls),
                         runnable.copies())) {}

  Replays(kernels::Runnable& runnable, Stream stream, int calls)
      : stream_(stream), calls_(calls), graph_(stream, [&runnable, this](Stream captured) {
          for (int call = 0; call < calls_; ++call) {
            runnable.launch(captured, call % runnable.copies());
          }
        }) {}

  // One replay that nobody times.
  void enqueue() const {
    graph_.launch(stream_);
  }

  // One replay between two events.
  void enqueue(const Event& from, const Event& to) const {
    from.record(stream_);
    graph_.launch(stream_);
    to.record(stream_);
  }

  // Seconds of one replay; `during` runs on the host meanwhile. Begun on an idle GPU it includes
  // what the launch of a graph takes.
  template <typename During>
  Seconds run(const During& during) const {
    enqueue(from_, to_);
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

// Replays without a pause: while one runs, the next is enqueued already. So no sample includes the
// launch of a graph, and the GPU does not rest between samples.
class Chain {
 public:
  explicit Chain(const Replays& replays) : replays_(replays) {
    enqueue();
  }

  // Seconds of the next replay; `during` runs on the host meanwhile.
  template <typename During>
  Seconds next(const During& during) {
    const Marks& now = marks();
    if (now.to.reached()) {
      replays_.enqueue();  // the host is late, the GPU rests: this one takes the launch
    }
    ++ahead_;
    enqueue();
    during();
    return seconds(kernels::seconds_between(now.from, now.to));
  }

  // Waits for the one that was enqueued and not asked for.
  void finish() const {
    marks().to.wait();
  }

 private:
  struct Marks {
    Event from;
    Event to;
  };

  [[nodiscard]] const Marks& marks() const {
    return marks_[ahead_ % marks_.size()];
  }

  void enqueue() const {
    replays_.enqueue(marks().from, marks().to);
  }

  const Replays& replays_;
  std::array<Marks, 2> marks_;
  std::size_t ahead_ = 0;  // index of the replay that next() asks for
};

void idle(Seconds duration) {
  std::this_thread::sleep_for(std::chrono::duration<double>(in_seconds(duration)));
}

// Clock and power are read during every fourth replay only: the driver takes a while to answer.
template <typename Replay>
Timing time_replays(const Replay& replay,
                    int calls,
                    const kernels::Nvml& nvml,
                    const StoppingRule& stopping) {
  DeviceReadings readings;
  Timing timing;
  Seconds spent;
  while (!enough(timing.times, spent, stopping)) {
    const bool read = timing.times.size() % kSamplesPerReading == 0;
    const Seconds time = replay([&] {
      if (read) {
        readings.take(nvml);
      }
    });
    spent += time;
    timing.times.push_back(in_microseconds(time) / calls);
  }
  timing.state = readings.state();
  return timing;
}

// Replays that are not counted: until the clock has settled, and three at least.
template <typename Replay>
void warm_up(const Replay& replay, Seconds duration) {
  Seconds warm;
  for (int i = 0; i < kUncounted || warm < duration; ++i) {
    warm += replay([] {});
  }
}

Timing time_sustained(const Replays& replays, const kernels::Nvml& nvml, const TimingRules& rules) {
  Chain chain(replays);
  const auto replay = [&chain](const auto& during) { return chain.next(during); };
  warm_up(replay, rules.warm_up);
  Timing timing = time_replays(replay, replays.calls(), nvml, rules.stopping);
  chain.finish();
  return timing;
}

// Each replay on a GPU that has rested.
Timing time_burst(const Replays& replays, const kernels::Nvml& nvml, const TimingRules& rules) {
  (void)replays.run([] {});  // the first launch of a graph takes it to the device
  const auto replay = [&](const auto& during) {
    idle(rules.idle);
    return replays.run(during);
  };
  return time_replays(replay, replays.calls(), nvml, rules.stopping);
}

// Calls of the other case that outlast a replay: three times its length, then more where that was
// too short.
class Background {
 public:
  Background(const Beside& beside, Seconds replay)
      : beside_(beside),
        calls_(static_cast<int>(largest(
                   std::ceil(kOutlasts * replay / time_of_one(beside.other, beside.stream)))) +
               1) {
    beside_.other.launch(beside_.stream, 0);  // the first launch loads the kernel
  }

  // The stream waits until the first call is over.
  void begin(Stream stream) {
    beside_.other.launch(beside_.stream, 0);
    first_.record(beside_.stream);
    kernels::wait_for(stream, first_);
    for (int call = 1; call < calls_; ++call) {
      beside_.other.launch(beside_.stream, call % beside_.other.copies());
    }
    last_.record(beside_.stream);
  }

  // Whether it ran to the end of what was timed, on all processes; waits for its last call.
  bool outlasted() {
    const bool mine = !last_.reached();
    last_.wait();
    return largest(mine ? 0.0 : 1.0) == 0.0;
  }

  void lengthen() {
    calls_ *= 2;
    if (calls_ > kMostBeside) {
      throw Error(ErrorKind::device,
                  "what should run beside a kernel ends before it, again and again");
    }
  }

  [[nodiscard]] double largest(double value) const {
    return beside_.largest ? beside_.largest(value) : value;
  }

 private:
  const Beside& beside_;
  int calls_;
  Event first_;
  Event last_;
};

}  // namespace

Timing time_calls(kernels::Runnable& runnable,
                  Stream stream,
                  const kernels::Nvml& nvml,
                  Regime regime,
                  const TimingRules& rules) {
  const Replays replays(runnable, stream, rules);
  return regime == Regime::burst ? time_burst(replays, nvml, rules)
                                 : time_sustained(replays, nvml, rules);
}

Timing time_enqueued(kernels::Runnable& runnable,
                     Stream stream,
                     const kernels::Nvml& nvml,
                     const TimingRules& rules) {
  DeviceReadings readings;
  Timing timing;
  Seconds spent;
  (void)time_of_one(runnable, stream);
  const Event from;
  const Event to;
  while (!enough(timing.times, spent, rules.stopping)) {
    from.record(stream);
    for (int call = 0; call < rules.most_calls; ++call) {
      runnable.launch(stream, call % runnable.copies());
    }
    to.record(stream);
    readings.take(nvml);
    const Seconds time = seconds(kernels::seconds_between(from, to));
    spent += time;
    timing.times.push_back(in_microseconds(time) / rules.most_calls);
  }
  timing.state = readings.state();
  return timing;
}

Timing time_graph(kernels::Runnable& runnable,
                  Stream stream,
                  const kernels::Nvml& nvml,
                  int calls,
                  const TimingRules& rules) {
  (void)time_of_one(runnable, stream);
  const Replays replays(runnable, stream, calls);
  const auto replay = [&replays](const auto& during) { return replays.run(during); };
  warm_up(replay, rules.warm_up);
  return time_replays(replay, calls, nvml, rules.stopping);
}

Timing time_beside(kernels::Runnable& runnable,
                   Stream stream,
                   const Beside& beside,
                   const kernels::Nvml& nvml,
                   const TimingRules& rules) {
  const Replays replays(runnable, stream, rules);
  Background background(beside, replays.run([] {}));
  DeviceReadings readings;
  Timing timing;
  while (timing.times.size() < kBesideSamples) {
    background.begin(stream);
    const Seconds time = replays.run([&] { readings.take(nvml); });
    if (!background.outlasted()) {
      background.lengthen();
      continue;
    }
    timing.times.push_back(background.largest(in_microseconds(time) / replays.calls()));
  }
  timing.state = readings.state();
  return timing;
}

void keep_busy(kernels::Runnable& runnable, Stream stream, Seconds duration) {
  TimingRules rules;
  rules.replay = milliseconds(50.0);
  const Replays replays(runnable, stream, rules);
  Chain chain(replays);
  Seconds spent;
  while (spent < duration) {
    spent += chain.next([] {});
  }
  chain.finish();
}

}  // namespace orrery::calibrate
