#include "calibrate/sweep/timing_protocol.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

bool flat(std::span<const double> values, double tolerance) {
  const std::size_t half = values.size() / 2;
  const Summary earlier = summarise(values.first(half));
  const Summary later = summarise(values.last(half));
  const double noise = std::min(tolerance, 2.0 * std::hypot(earlier.error, later.error));
  return std::abs(later.median / earlier.median - 1.0) <= tolerance + noise;
}

}  // namespace

SettlingWatch::SettlingWatch(const SettlingRule& rule, Seconds loaded)
    : rule_(rule), loaded_(loaded) {}

void SettlingWatch::add(Seconds replay, std::optional<double> clock) {
  spent_ += replay;
  times_.push_back(in_seconds(replay));
  if (clock) {
    clocks_.push_back(*clock);
  }
  constexpr double kLooksPerWindow = 10.0;
  if (spent_ - looked_ >= rule_.window / kLooksPerWindow) {
    looked_ = spent_;
    settled_ = is_flat();
  }
}

bool SettlingWatch::is_flat() const {
  if (loaded_ + spent_ < rule_.least_load) {
    return false;
  }
  std::size_t count = 0;
  double covered = 0.0;
  while (count < times_.size() && (covered < in_seconds(rule_.window) || count < rule_.fewest)) {
    ++count;
    covered += times_[times_.size() - count];
  }
  if (covered < in_seconds(rule_.window) || count < rule_.fewest) {
    return false;
  }
  const bool clocks = clocks_.size() == times_.size();
  return flat(std::span(times_).last(count), rule_.tolerance) &&
         (!clocks || flat(std::span(clocks_).last(count), rule_.tolerance));
}

bool enough(std::span<const double> samples, Seconds spent, const StoppingRule& rule) {
  if (samples.size() >= rule.most) {
    return true;
  }
  if (samples.size() < rule.fewest) {
    return false;
  }
  if (spent >= rule.budget) {
    return true;
  }
  return samples.size() >= rule.least && summarise(samples).error < rule.target;
}

int launches_per_replay(Seconds single, Seconds replay, int most) {
  ORRERY_CHECK(most >= 1, "a replay holds at least one launch");
  if (single <= Seconds{}) {
    return most;
  }
  const double launches = std::ceil(replay / single);
  return static_cast<int>(std::clamp(launches, 1.0, static_cast<double>(most)));
}

std::vector<std::pair<std::string, std::string>> protocol_lines() {
  return {
      {"data", "normal values by a seed of the case"},
      {"caches", "operand sets in turn, more than 4 x L2 together"},
      {"timing", "replays of a graph between two events"},
      {"stop", "10 samples and a standard error of the median below 0.5 %, 150 ms or 40 samples"},
      {"regime",
       "sustained: a soak of 10 s, a product while the host prepares, then each case until time "
       "and "
       "clock are flat within 1 % for 40 ms after 160 ms of load, 1 s at most; bursts after 200 ms "
       "of idling"},
      {"held_back", "replays under a brake, or below 0.5 of the clock (bursts 0.75), are repeated"},
      {"power",
       "the board's at that moment; of a kernel that moves memory after 0.35 s of its replays"}};
}

bool is_held_back(std::optional<std::uint64_t> reasons, std::optional<double> clock,
                  std::optional<double> most_clock, Regime regime, const ThrottleRule& rule) {
  if (reasons && kernels::is_braked(*reasons)) {
    return true;
  }
  const double share = regime == Regime::burst ? rule.burst_share : rule.sustained_share;
  return clock && most_clock && *clock < share * *most_clock;
}

namespace {

void keep(const std::optional<double>& value, std::vector<double>& values) {
  if (value) {
    values.push_back(*value);
  }
}

std::optional<double> median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(summarise(values).median);
}

}  // namespace

void DeviceReadings::take(const kernels::GpuReading& reading) {
  keep(reading.sm_clock, clocks_);
  keep(reading.memory_clock, memory_clocks_);
  keep(reading.power, powers_);
  keep(reading.temperature, temperatures_);
  if (reading.reasons && kernels::is_throttled(*reading.reasons)) {
    for (const std::string& name : kernels::reason_names(*reading.reasons)) {
      throttled_.insert(name);
    }
  }
}

DeviceState DeviceReadings::state() const {
  return {.sm_clock = median(clocks_),
          .memory_clock = median(memory_clocks_),
          .power = median(powers_),
          .temperature = median(temperatures_),
          .throttled = {throttled_.begin(), throttled_.end()}};
}

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

  [[nodiscard]] Seconds spent() const { return spent_; }

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
void take_samples(const Next& next, const HeldBack& held_back, Regime regime, int calls,
                  const TimingRules& rules, std::optional<double> most_clock, Timing& timing) {
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

Timing time_sustained(ReplaySource& source, const TimingRules& rules, Seconds loaded,
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

Timing time_burst(ReplaySource& source, const TimingRules& rules,
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
