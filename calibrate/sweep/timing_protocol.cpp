#include "calibrate/sweep/timing_protocol.hpp"

#include "calibrate/sweep/device_readings.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::size_t kSamplesPerReading = 4;
constexpr Seconds kLeastForEnergy = milliseconds(100.0);

// Energy per call over a row of replays.
class EnergyMeter {
 public:
  explicit EnergyMeter(ReplaySource& source) : source_(source), begin_(source.energy()) {}

  void add(const Replay& replay) {
    spent_ += replay.time;
    ++replays_;
  }

  [[nodiscard]] Seconds spent() const {
    return spent_;
  }

  [[nodiscard]] std::optional<double> per_call() {
    const std::optional<double> end = source_.energy();
    if (!begin_ || !end || spent_ < kLeastForEnergy || *end <= *begin_) {
      return std::nullopt;
    }
    return (*end - *begin_) / (static_cast<double>(replays_) * source_.calls());
  }

 private:
  ReplaySource& source_;
  std::optional<double> begin_;
  Seconds spent_;
  std::int64_t replays_ = 0;
};

std::optional<std::uint64_t> reasons_of(const Replay& replay) {
  return replay.reading ? replay.reading->reasons : std::nullopt;
}

// Replays that count; `next` gives one, `held_back` is called after one that was discarded.
template <typename Next, typename HeldBack>
void take_samples(const Next& next,
                  const HeldBack& held_back,
                  Regime regime,
                  int calls,
                  const TimingRules& rules,
                  std::optional<double> most_clock,
                  Timing& timing) {
  DeviceReadings readings;
  std::vector<double> clocks;
  Seconds spent;
  std::int64_t discarded = 0;
  std::int64_t late = 0;
  const std::int64_t most_discarded =
      regime == Regime::burst ? rules.throttle.most_bursts : rules.throttle.most;
  bool read = true;  // also the first after one that was held back
  while (!enough(timing.times, spent, rules.stopping)) {
    const Replay replay = next(read || timing.times.size() % kSamplesPerReading == 0);
    if (replay.reading) {
      readings.take(*replay.reading);
    }
    read = is_held_back(reasons_of(replay), replay.sm_clock, most_clock, regime, rules.throttle);
    if (read && discarded < most_discarded) {
      ++discarded;
      held_back();
      continue;
    }
    spent += replay.time;
    late += replay.late ? 1 : 0;
    timing.times.push_back(in_microseconds(replay.time) / calls);
    if (replay.sm_clock) {
      clocks.push_back(*replay.sm_clock);
    }
  }
  timing.state = readings.state();
  timing.state.discarded = discarded;
  timing.state.late = late;
  if (!clocks.empty()) {
    timing.state.sm_clock = summarise(clocks).median;
  }
}

// What the board draws now: the median of a few readings.
template <typename Next>
std::optional<double> power_of(const Next& next) {
  constexpr int kReadings = 3;
  DeviceReadings readings;
  for (int i = 0; i < kReadings; ++i) {
    if (const Replay replay = next(true); replay.reading) {
      readings.take(*replay.reading);
    }
  }
  return readings.state().power;
}

}  // namespace

TimingRules rules_for(const kernels::KernelCase& kernel, TimingRules rules) {
  constexpr Seconds kPowerAfter = milliseconds(350.0);
  if (kernels::work_of(kernel).flop <= Flop{}) {
    rules.power_after = kPowerAfter;
  }
  return rules;
}

Timing time_sustained(ReplaySource& source,
                      const TimingRules& rules,
                      Seconds loaded,
                      std::optional<double> most_clock) {
  Timing timing;
  SettlingWatch watch(rules.settling, loaded);
  const Replay first = source.next(false);  // what ran before it may still be on the board's meter
  watch.add(first.time, first.sm_clock);
  EnergyMeter meter(source);
  const auto next = [&](bool read) {
    Replay replay = source.next(read);
    meter.add(replay);
    return replay;
  };
  while (!watch.over()) {
    const Replay replay = next(false);
    watch.add(replay.time, replay.sm_clock);
  }
  timing.settled_after = watch.spent();
  timing.settled = watch.settled();
  take_samples(
      next, [] {}, Regime::sustained, source.calls(), rules, most_clock, timing);
  if (rules.power_after > Seconds{}) {
    while (meter.spent() < rules.power_after) {
      (void)next(false);
    }
    if (const auto power = power_of(next)) {
      timing.state.power = power;
    }
  }
  timing.state.energy = meter.per_call();
  return timing;
}

Timing time_burst(ReplaySource& source,
                  const TimingRules& rules,
                  std::optional<double> most_clock) {
  Timing timing;
  const auto next = [&](bool read) {
    source.idle(rules.idle);
    return source.next(read);
  };
  const auto held_back = [&] { source.idle(rules.throttle.pause); };
  take_samples(next, held_back, Regime::burst, source.calls(), rules, most_clock, timing);
  return timing;
}

}  // namespace orrery::calibrate
