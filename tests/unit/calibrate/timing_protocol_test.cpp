#include "calibrate/sweep/timing_protocol.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"

namespace orrery::calibrate {

namespace {

TEST(Summary, QuantilesAreLinearBetweenRanks) {
  const std::vector<double> samples = {40.0, 10.0, 30.0, 20.0, 50.0};
  const Summary summary = summarise(samples);
  EXPECT_EQ(summary.count, 5U);
  EXPECT_DOUBLE_EQ(summary.median, 30.0);
  EXPECT_DOUBLE_EQ(summary.p10, 14.0);  // rank 0.4
  EXPECT_DOUBLE_EQ(summary.p90, 46.0);  // rank 3.6
  EXPECT_DOUBLE_EQ(summary.least, 10.0);
  // Ranks 2 +- sqrt(5) / 2 are 0.882 and 3.118: 18.82 and 41.18 around 30.
  EXPECT_NEAR(summary.error, 0.5 * 10.0 * std::sqrt(5.0) / 30.0, 1e-12);
}

TEST(Summary, OneSampleIsItsOwnMedian) {
  const std::vector<double> samples = {7.0};
  const Summary summary = summarise(samples);
  EXPECT_DOUBLE_EQ(summary.median, 7.0);
  EXPECT_DOUBLE_EQ(summary.p90, 7.0);
  EXPECT_DOUBLE_EQ(summary.error, 0.0);
}

// The median of n uniform samples on [0, 1] has standard deviation 1 / (2 sqrt(n + 2)).
TEST(Summary, ErrorIsTheStandardErrorOfTheMedian) {
  constexpr std::uint64_t kSeed = 11;
  constexpr int kSamples = 41;
  constexpr int kRepeats = 2000;
  double sum = 0.0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    RandomStream stream(kSeed, static_cast<std::uint32_t>(repeat), Purpose::property_test);
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) {
      samples.push_back(stream.uniform01());
    }
    const Summary summary = summarise(samples);
    sum += summary.error * summary.median;
  }
  EXPECT_NEAR(sum / kRepeats, 0.5 / std::sqrt(kSamples + 2.0), 0.004);
}

TEST(StoppingRule, StopsAtTheTargetTheBudgetOrTheMost) {
  const StoppingRule rule;
  const std::vector<double> quiet(9, 1.0);
  EXPECT_FALSE(enough(quiet, milliseconds(10.0), rule));
  const std::vector<double> ten(10, 1.0);
  EXPECT_TRUE(enough(ten, milliseconds(10.0), rule));
  std::vector<double> noisy;
  for (int i = 0; i < 39; ++i) {
    noisy.push_back(i % 2 == 0 ? 1.0 : 2.0);
  }
  EXPECT_FALSE(enough(noisy, milliseconds(100.0), rule));
  EXPECT_TRUE(enough(noisy, milliseconds(150.0), rule));
  noisy.push_back(1.0);
  EXPECT_TRUE(enough(noisy, milliseconds(100.0), rule));
}

TEST(StoppingRule, SlowKernelsAreTimedFiveTimesWhateverTheBudget) {
  const StoppingRule rule;
  const std::vector<double> four(4, 1.0);
  EXPECT_FALSE(enough(four, seconds(4.0), rule));
  const std::vector<double> five(5, 1.0);
  EXPECT_TRUE(enough(five, seconds(5.0), rule));
}

TEST(Replay, LastsAtLeastAsLongAsAsked) {
  EXPECT_EQ(launches_per_replay(microseconds(3.0), milliseconds(2.0), 1000), 667);
  EXPECT_EQ(launches_per_replay(milliseconds(3.0), milliseconds(2.0), 1000), 1);
  EXPECT_EQ(launches_per_replay(microseconds(1.0), milliseconds(2.0), 1000), 1000);
  EXPECT_EQ(launches_per_replay(Seconds{}, milliseconds(2.0), 64), 64);
}

constexpr std::uint64_t kBrake = 0x40;  // hw_thermal_slowdown
constexpr std::uint64_t kPowerCap = 0x4;

// Time of a replay after so many seconds of load, relative to its settled time.
using Slowness = std::function<double(double since_load)>;

// B200 as published: fast for a while, then 15 % slower.
Slowness fast_until(double seconds) {
  return [seconds](double since_load) { return since_load < seconds ? 1.0 / 1.15 : 1.0; };
}

// A GPU whose replays take 2 ms when it has settled.
class FormulaSource : public ReplaySource {
 public:
  explicit FormulaSource(Slowness slowness, double noise = 0.0, double loaded = 0.0)
      : slowness_(std::move(slowness)), noise_(noise), since_load_(loaded) {}

  [[nodiscard]] Replay next(bool read) override {
    const double factor = slowness_(since_load_) * (1.0 + noise_ * (random_.uniform01() - 0.5));
    const Seconds time = milliseconds(2.0) * factor;
    since_load_ += in_seconds(time);
    own_ += in_seconds(time);
    joules_ += 700.0 * in_seconds(time);
    ++replays;
    Replay replay{.time = time, .sm_clock = clock, .late = late && late(replays)};
    if (read) {
      replay.reading = kernels::GpuReading{.sm_clock = 1455.0,
                                           .memory_clock = 3201.0,
                                           .power = power(own_),
                                           .temperature = 60.0,
                                           .reasons = reasons ? reasons(replays) : kPowerCap};
    }
    return replay;
  }

  void idle(Seconds duration) override {
    rested.push_back(in_seconds(duration));
    since_load_ = 0.0;
  }

  [[nodiscard]] std::optional<double> energy() override { return joules_; }

  [[nodiscard]] int calls() const override { return 4; }

  std::optional<double> clock = std::nullopt;
  std::function<std::uint64_t(int replay)> reasons;
  std::function<bool(int replay)> late;
  std::function<double(double own)> power = [](double) { return 700.0; };  // `own`: s of replays
  std::vector<double> rested;
  int replays = 0;

 private:
  Slowness slowness_;
  double noise_;
  double since_load_;
  double own_ = 0.0;
  double joules_ = 1e6;
  RandomStream random_{3, 0, Purpose::property_test};
};

double median_us(const Timing& timing) { return summarise(timing.times).median; }

TEST(Settling, NothingCountsWhileABoardIsStillFast) {
  for (const double fast : {0.05, 0.08, 0.11}) {
    for (const double noise : {0.0, 0.01, 0.03}) {
      FormulaSource source(fast_until(fast), noise);
      const Timing timing = time_sustained(source, {}, Seconds{}, std::nullopt);
      EXPECT_TRUE(timing.settled) << fast << " s fast, noise " << noise;
      EXPECT_GE(in_seconds(timing.settled_after), fast);
      EXPECT_LT(in_seconds(timing.settled_after), 0.4);
      EXPECT_NEAR(median_us(timing), 500.0, 500.0 * (0.3 * noise + 1e-9));
    }
  }
}

// What kept the GPU busy before counts: a case then costs 40 ms before its samples.
TEST(Settling, AGpuThatWasKeptBusySettlesInOneWindow) {
  FormulaSource source(fast_until(0.11), 0.01, 0.3);
  const Timing timing = time_sustained(source, {}, milliseconds(300.0), std::nullopt);
  EXPECT_TRUE(timing.settled);
  EXPECT_NEAR(in_seconds(timing.settled_after), 0.042, 0.005);
}

TEST(Settling, ATimeThatNeverStandsStillEndsAtTheCapAndSaysSo) {
  FormulaSource source([](double since_load) { return std::exp(1.5 * since_load); });
  const Timing timing = time_sustained(source, {}, seconds(1.0), std::nullopt);
  EXPECT_FALSE(timing.settled);
  EXPECT_GE(in_seconds(timing.settled_after), 1.0);
  EXPECT_LT(in_seconds(timing.settled_after), 1.02);
  EXPECT_GE(timing.times.size(), 10U);
}

// The clock may still move while a time that memory bounds does not.
TEST(Settling, AClockThatMovesIsNotSettled) {
  const SettlingRule rule;
  SettlingWatch moving(rule, seconds(1.0));
  SettlingWatch still(rule, seconds(1.0));
  for (int i = 0; i < 30; ++i) {
    moving.add(milliseconds(2.0), 1980.0 - 5.0 * i);
    still.add(milliseconds(2.0), 1455.0 + i % 2);
  }
  EXPECT_FALSE(moving.settled());
  EXPECT_TRUE(still.settled());
}

TEST(Settling, SlowReplaysAreSixAtLeast) {
  SettlingWatch watch({}, seconds(1.0));
  for (int i = 0; i < 5; ++i) {
    watch.add(milliseconds(100.0), std::nullopt);
    EXPECT_FALSE(watch.over()) << i;
  }
  watch.add(milliseconds(100.0), std::nullopt);
  EXPECT_TRUE(watch.settled());
}

TEST(Throttling, ABrakeOrALowClockHoldsBackAPowerLimitDoesNot) {
  const ThrottleRule rule;
  const auto held = [&](std::optional<std::uint64_t> reasons, std::optional<double> clock,
                        Regime regime) {
    return is_held_back(reasons, clock, 1980.0, regime, rule);
  };
  EXPECT_FALSE(held(kPowerCap, 1450.0, Regime::sustained));
  EXPECT_TRUE(held(kPowerCap, 1450.0, Regime::burst)) << "0.73 of its clock is no burst";
  EXPECT_TRUE(held(kPowerCap | kBrake, 1450.0, Regime::sustained));
  EXPECT_TRUE(held(0, 900.0, Regime::sustained));
  EXPECT_FALSE(held(std::nullopt, std::nullopt, Regime::burst)) << "what is not known";
  EXPECT_FALSE(is_held_back(std::nullopt, 900.0, std::nullopt, Regime::sustained, rule));
}

TEST(Throttling, WhatWasHeldBackIsTakenAgain) {
  FormulaSource source(fast_until(0.0));
  source.reasons = [](int replay) { return replay < 100 ? kBrake : kPowerCap; };
  const Timing timing = time_sustained(source, {}, Seconds{}, 1980.0);
  const auto uncounted = std::llround(in_milliseconds(timing.settled_after) / 2.0);
  EXPECT_EQ(timing.state.discarded, 99 - uncounted) << "then every one is read";
  EXPECT_GE(timing.times.size(), 10U);
  EXPECT_EQ(timing.state.throttled,
            (std::vector<std::string>{"hw_thermal_slowdown", "sw_power_cap"}));
}

TEST(Throttling, ABoardThatStaysHeldBackIsMeasuredInTheEndAndSaysWhy) {
  FormulaSource source(fast_until(0.0));
  source.reasons = [](int) { return kBrake; };
  const Timing timing = time_sustained(source, {}, Seconds{}, 1980.0);
  EXPECT_EQ(timing.state.discarded, 40);
  EXPECT_GE(timing.times.size(), 10U);
  EXPECT_EQ(timing.state.throttled, std::vector<std::string>{"hw_thermal_slowdown"});
}

// Each repeat of a burst rests for a quarter of a second: forty of them took ten seconds.
TEST(Throttling, ABurstOfABoardThatNeverReachesItsShareIsRepeatedAFewTimes) {
  FormulaSource source(fast_until(0.0));
  source.clock = 1400.0;
  const Timing timing = time_burst(source, {}, 1980.0);
  EXPECT_EQ(timing.state.discarded, 4);
  EXPECT_GE(timing.times.size(), 10U);
}

TEST(Timing, EachBurstFollowsARestAndOneThatWasHeldBackALongerOne) {
  FormulaSource source(fast_until(0.05));
  source.clock = 1900.0;
  source.reasons = [](int replay) { return replay == 1 ? kBrake : std::uint64_t{0}; };
  const Timing timing = time_burst(source, {}, 1980.0);
  EXPECT_NEAR(median_us(timing), 500.0 / 1.15, 1e-6);
  EXPECT_EQ(timing.state.discarded, 1);
  EXPECT_EQ(source.rested.size(), timing.times.size() + 2);
  EXPECT_EQ(source.rested[1], 0.05);
  EXPECT_EQ(timing.state.sm_clock, 1900.0);
}

// The board's meter shows the product that ran before for a third of a second.
TEST(Timing, ThePowerOfAMemoryKernelIsItsOwn) {
  const auto timed = [](const char* text) {
    FormulaSource source(fast_until(0.0), 0.0, 0.3);
    source.power = [](double own) { return own < 0.34 ? 660.0 : 450.0; };
    const kernels::KernelCase kernel = kernels::parse_case(text).kernel.value();
    const TimingRules rules = rules_for(kernel, {});
    const Timing timing = time_sustained(source, rules, milliseconds(300.0), std::nullopt);
    return std::pair(timing.state.power, source.replays);
  };
  const auto [power, replays] = timed("residual_add bf16 rows=4096 columns=8192");
  EXPECT_EQ(power, 450.0);
  EXPECT_NEAR(replays, 179, 2) << "0.35 s of 2 ms each, one before them and three that are read";
  EXPECT_LT(timed("gemm fprop bf16 m=8192 n=8192 k=8192").second, 60)
      << "a product draws what the product before it drew";
}

TEST(Timing, LateReplaysAreCounted) {
  FormulaSource source(fast_until(0.0));
  source.late = [](int replay) { return replay % 2 == 0; };
  const Timing timing = time_sustained(source, {}, seconds(1.0), std::nullopt);
  EXPECT_EQ(timing.state.late, static_cast<std::int64_t>(timing.times.size()) / 2);
}

TEST(Timing, ClockPowerAndEnergyStandBesideTheTimes) {
  FormulaSource source(fast_until(0.0));
  source.clock = 1410.0;
  const Timing timing = time_sustained(source, {}, Seconds{}, 1980.0);
  EXPECT_EQ(timing.state.sm_clock, 1410.0) << "measured over the replays, not what NVML reads";
  EXPECT_EQ(timing.state.memory_clock, 3201.0);
  EXPECT_EQ(timing.state.power, 700.0);
  ASSERT_TRUE(timing.state.energy);
  EXPECT_NEAR(*timing.state.energy, 700.0 * 0.5e-3, 1e-9);
  FormulaSource quick(fast_until(0.0));
  EXPECT_FALSE(time_sustained(quick, {}, seconds(1.0), 1980.0).state.energy)
      << "60 ms are too short for the counter";
}

}  // namespace

}  // namespace orrery::calibrate
