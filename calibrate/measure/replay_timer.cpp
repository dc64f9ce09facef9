#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "calibrate/measure/device_bench.hpp"
#include "kernels/device/device_info.hpp"
#include "sim/base/error.hpp"

namespace orrery::calibrate {

namespace {

constexpr Seconds kReplay = milliseconds(4.0);

}  // namespace

Filler::Filler(int device, std::unique_ptr<kernels::Runnable> load)
    : device_(device), load_(std::move(load)) {
  const int calls = calls_for(*load_, stream_.get(), kReplay, 1000);
  graph_ = std::make_unique<kernels::Graph>(stream_.get(), [&](kernels::Stream captured) {
    for (int call = 0; call < calls; ++call) {
      load_->launch(captured, call % load_->copies());
    }
  });
}

Filler::~Filler() { finish(); }

void Filler::start() {
  if (thread_.joinable()) {
    return;
  }
  enqueued_ = 0;
  begun_ = std::chrono::steady_clock::now();
  thread_ = std::jthread([this](const std::stop_token& stopped) { run(stopped); });
}

void Filler::run(const std::stop_token& stopped) {
  try {
    kernels::use_device(device_);
    while (!stopped.stop_requested()) {
      const kernels::Event& end = ends_[enqueued_ % ends_.size()];
      if (enqueued_ >= ends_.size()) {
        end.wait();
      }
      graph_->launch(stream_.get());
      end.record(stream_.get());
      ++enqueued_;
    }
  } catch (...) {
    trouble_ = std::current_exception();
  }
}

void Filler::finish() {
  if (!thread_.joinable()) {
    return;
  }
  thread_.request_stop();
  thread_.join();
  const std::chrono::duration<double> ran = std::chrono::steady_clock::now() - begun_;
  loaded_ += seconds(ran.count());
}

void Filler::stop() {
  finish();
  if (trouble_) {
    std::rethrow_exception(std::exchange(trouble_, nullptr));
  }
  stream_.synchronize();
}

void Filler::hand_over(kernels::Stream stream) {
  finish();
  if (trouble_) {
    std::rethrow_exception(std::exchange(trouble_, nullptr));
  }
  if (enqueued_ > 0) {
    kernels::wait_for(stream, ends_[(enqueued_ - 1) % ends_.size()]);
  }
}

namespace {

using kernels::Event;
using kernels::Graph;
using kernels::Stream;

constexpr int kUncounted = 3;
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

// Around one replay: its events, and the clock over it.
struct Marks {
  Event from;
  Event to;
  Event after;  // the second stamp of the clock
  kernels::ClockProbe clock;
};

class Replays {
 public:
  Replays(kernels::Runnable& runnable, Stream stream, int calls)
      : stream_(stream), calls_(calls), graph_(stream, [&runnable, this](Stream captured) {
          for (int call = 0; call < calls_; ++call) {
            runnable.launch(captured, call % runnable.copies());
          }
        }) {}

  // One replay that nobody times.
  void enqueue() const { graph_.launch(stream_); }

  // Between its events; `clocked`: between two stamps of the clock too.
  void enqueue(const Marks& marks, bool clocked) const {
    if (clocked) {
      marks.clock.begin(stream_);
    }
    marks.from.record(stream_);
    graph_.launch(stream_);
    marks.to.record(stream_);
    if (clocked) {
      marks.clock.end(stream_);
    }
    marks.after.record(stream_);
  }

  [[nodiscard]] int calls() const { return calls_; }

 private:
  Stream stream_;
  int calls_;
  Graph graph_;
};

// What both ways of replaying share.
class GraphSource : public ReplaySource {
 public:
  GraphSource(const Replays& replays, const kernels::Nvml& nvml) : replays_(replays), nvml_(nvml) {}

  void idle(Seconds duration) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(in_seconds(duration)));
  }

  [[nodiscard]] std::optional<double> energy() override { return nvml_.energy(); }

  [[nodiscard]] int calls() const override { return replays_.calls(); }

 protected:
  // Of a replay that was enqueued; NVML is asked while it runs.
  [[nodiscard]] Replay finished(const Marks& marks, bool read) const {
    Replay replay;
    if (read) {
      replay.reading = nvml_.read();
    }
    replay.time = seconds(kernels::seconds_between(marks.from, marks.to));
    marks.after.wait();
    replay.sm_clock = marks.clock.megahertz();
    return replay;
  }

  const Replays& replays_;
  const kernels::Nvml& nvml_;
};

// Each replay is launched when it is asked for: on a GPU that has rested, its time includes what
// the launch of a graph takes. Without a clock where that launch is what is measured: the kernel
// that stamps the clock would hide part of it.
class Launched final : public GraphSource {
 public:
  Launched(const Replays& replays, const kernels::Nvml& nvml, bool clocked = true)
      : GraphSource(replays, nvml), clocked_(clocked) {}

  [[nodiscard]] Replay next(bool read) override {
    replays_.enqueue(marks_, clocked_);
    return finished(marks_, read);
  }

 private:
  bool clocked_;
  Marks marks_;
};

// Replays without a pause: while one runs, the next is enqueued already. So no sample includes the
// launch of a graph, and the GPU does not rest between samples.
class Chain final : public GraphSource {
 public:
  using GraphSource::GraphSource;

  // Enqueues the first one; nothing is allocated after the constructor.
  void begin() const { enqueue(); }

  [[nodiscard]] Replay next(bool read) override {
    const Marks& now = marks();
    const bool late = now.to.reached();
    if (late) {
      replays_.enqueue();  // the GPU rests: this one takes the launch
    }
    ++ahead_;
    enqueue();
    Replay replay = finished(now, read);
    replay.late = late;
    return replay;
  }

  // Waits for the one that was enqueued and not asked for.
  void finish() const { marks().after.wait(); }

 private:
  [[nodiscard]] const Marks& marks() const { return marks_[ahead_ % marks_.size()]; }

  void enqueue() const { replays_.enqueue(marks(), true); }

  std::array<Marks, 2> marks_;
  std::size_t ahead_ = 0;  // index of the replay that next() asks for
};

// The graph of a case, while the filler keeps the GPU busy again: capturing takes the host longer
// than the GPU may rest.
Replays captured(kernels::Runnable& runnable, const Timer& timer) {
  if (timer.filler != nullptr) {
    timer.filler->stop();  // one call is timed: nothing else may run
  }
  const int calls = calls_for(runnable, timer.stream, timer.rules.replay, timer.rules.most_calls);
  if (timer.filler != nullptr) {
    timer.filler->start();
  }
  return {runnable, timer.stream, calls};
}

Seconds loaded_before(const Timer& timer) {
  return timer.filler == nullptr ? Seconds{} : timer.filler->loaded();
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

int calls_for(kernels::Runnable& runnable, Stream stream, Seconds replay, int most) {
  return std::max(launches_per_replay(time_of_one(runnable, stream), replay, most),
                  runnable.copies());
}

Timing time_calls(kernels::Runnable& runnable, const Timer& timer, Regime regime) {
  const Replays replays = captured(runnable, timer);
  const std::optional<double> most_clock = timer.nvml.limits().sm_clock;
  if (regime == Regime::burst) {
    if (timer.filler != nullptr) {
      timer.filler->stop();
    }
    Launched source(replays, timer.nvml);
    (void)source.next(false);  // the first launch of a graph takes it to the device
    return time_burst(source, timer.rules, most_clock);
  }
  Chain chain(replays, timer.nvml);
  if (timer.filler != nullptr) {
    timer.filler->hand_over(timer.stream);
  }
  chain.begin();
  Timing timing = time_sustained(chain, timer.rules, loaded_before(timer), most_clock);
  chain.finish();
  return timing;
}

Timing time_occupied(kernels::Runnable& runnable, const Timer& timer, kernels::Occupier& occupier,
                     Stream other) {
  const Replays replays = captured(runnable, timer);
  if (timer.filler != nullptr) {
    timer.filler->stop();
  }
  // What a first launch loads or allocates would wait for the kernel that only end() ends.
  (void)Launched(replays, timer.nvml).next(false);
  Chain chain(replays, timer.nvml);
  occupier.begin(other);
  chain.begin();
  Timing timing =
      time_sustained(chain, timer.rules, loaded_before(timer), timer.nvml.limits().sm_clock);
  chain.finish();
  occupier.end(other);
  return timing;
}

Timing time_enqueued(kernels::Runnable& runnable, const Timer& timer) {
  DeviceReadings readings;
  Timing timing;
  Seconds spent;
  (void)time_of_one(runnable, timer.stream);
  const Event from;
  const Event to;
  while (!enough(timing.times, spent, timer.rules.stopping)) {
    from.record(timer.stream);
    for (int call = 0; call < timer.rules.most_calls; ++call) {
      runnable.launch(timer.stream, call % runnable.copies());
    }
    to.record(timer.stream);
    readings.take(timer.nvml.read());
    const Seconds time = seconds(kernels::seconds_between(from, to));
    spent += time;
    timing.times.push_back(in_microseconds(time) / timer.rules.most_calls);
  }
  timing.state = readings.state();
  return timing;
}

Timing time_graph(kernels::Runnable& runnable, const Timer& timer, int calls) {
  (void)time_of_one(runnable, timer.stream);
  const Replays replays(runnable, timer.stream, calls);
  Launched source(replays, timer.nvml, false);
  TimingRules rules = timer.rules;  // launches are timed, for which the clock means little
  rules.settling.least_load = Seconds{};
  return time_sustained(source, rules, Seconds{}, timer.nvml.limits().sm_clock);
}

Timing time_beside(kernels::Runnable& runnable, const Timer& timer, const Beside& beside) {
  const Replays replays(
      runnable, timer.stream,
      calls_for(runnable, timer.stream, timer.rules.replay, timer.rules.most_calls));
  Launched source(replays, timer.nvml);
  Background background(beside, source.next(false).time);
  DeviceReadings readings;
  Timing timing;
  while (timing.times.size() < kBesideSamples) {
    background.begin(timer.stream);
    const Replay replay = source.next(true);
    readings.take(replay.reading.value());
    if (!background.outlasted()) {
      background.lengthen();
      continue;
    }
    timing.times.push_back(background.largest(in_microseconds(replay.time) / replays.calls()));
  }
  timing.state = readings.state();
  return timing;
}

std::vector<SettlingPoint> settle(kernels::Runnable& runnable, const Timer& timer,
                                  Seconds duration) {
  constexpr Seconds kDense = milliseconds(500.0);  // until then every replay, then one in 100 ms
  constexpr Seconds kStep = milliseconds(100.0);
  constexpr Seconds kReplay = milliseconds(5.0);
  const Replays replays(runnable, timer.stream,
                        calls_for(runnable, timer.stream, kReplay, timer.rules.most_calls));
  Launched(replays, timer.nvml).idle(timer.rules.idle);
  Chain chain(replays, timer.nvml);
  chain.begin();
  std::vector<SettlingPoint> points;
  Seconds spent;
  Seconds wanted;
  while (spent < duration) {
    const bool read = spent >= wanted;
    const Replay replay = chain.next(read);
    if (read) {
      const auto& clock = replay.sm_clock ? replay.sm_clock : replay.reading.value().sm_clock;
      points.push_back({.since_load = in_seconds(spent + replay.time / 2.0),
                        .time = in_microseconds(replay.time) / replays.calls(),
                        .sm_clock = clock,
                        .power = replay.reading.value().power});
      wanted = spent + (spent < kDense ? Seconds{} : kStep);
    }
    spent += replay.time;
  }
  chain.finish();
  return points;
}

}  // namespace orrery::calibrate
