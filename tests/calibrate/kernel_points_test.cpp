// Figures of a machine that follow from samples under several conditions.

#include "calibrate/profile/kernel_points.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "sim/step/cost/measured_kernels.hpp"
#include "tests/calibrate/planted_machine.hpp"

namespace orrery::calibrate {

namespace {

const std::string kTiny = "residual_add bf16 rows=8 columns=1024";
const std::string kAnchor = "gemm fprop bf16 m=8192 n=8192 k=8192";

double figure(const std::vector<Sample>& samples, std::string_view name) {
  for (const auto& [key, value] : derived_figures(samples)) {
    if (key == name) {
      return value;
    }
  }
  return 0.0;
}

// A graph of n kernels takes 6 us + 1.5 us n; per call 1.5 + 6 / n.
TEST(DerivedFigures, LaunchesComeFromTheLineOverGraphs) {
  std::vector<Sample> samples;
  for (const double n : {1.0, 64.0, 1024.0}) {
    samples.push_back(
        under(kTiny, "graph calls=" + std::to_string(static_cast<int>(n)), 1.5 + 6.0 / n, 0.0));
  }
  samples.push_back(under(kTiny, "enqueued", 2.75, 0.0));
  EXPECT_NEAR(figure(samples, "graph_node_us"), 1.5, 1e-9);
  EXPECT_NEAR(figure(samples, "graph_launch_us"), 6.0, 1e-9);
  EXPECT_EQ(figure(samples, "stream_launch_us"), 2.75);
}

// 1 + 0.004 x for x = 8, 16, 32 multiprocessors that spin, 1 + 0.009 x where they copy memory; 1.03
// beside a copy to the host, 1.4 on the device; the worse of two groups.
TEST(DerivedFigures, SlowdownsAreRatiosToTheSameCallAlone) {
  std::vector<Sample> samples;
  for (const int removed : {8, 16, 32}) {
    samples.push_back(under(kAnchor, "multiprocessors removed=" + std::to_string(removed),
                            1000.0 * (1.0 + 0.004 * removed), 1000.0));
    samples.push_back(under(kAnchor, "multiprocessors streaming=" + std::to_string(removed),
                            1000.0 * (1.0 + 0.009 * removed), 1000.0));
  }
  samples.push_back(under(kAnchor, "beside copy bytes=268435456", 1400.0, 1000.0));
  const std::string all_reduce =
      "beside all_reduce bf16 ranks=8 nodes=1 bytes=268435456 in_place=0";
  const std::string pair = "beside all_reduce bf16 ranks=2 nodes=1 bytes=268435456 in_place=0";
  samples.push_back(under(kAnchor, "beside device_to_host bytes=268435456", 1030.0, 1000.0));
  samples.push_back(under(kAnchor, pair, 1060.0, 1000.0));
  samples.push_back(under(kAnchor, all_reduce, 1100.0, 1000.0));
  EXPECT_NEAR(figure(samples, "gemm_slowdown_per_sm_removed"), 0.004, 1e-12);
  EXPECT_NEAR(figure(samples, "gemm_slowdown_per_sm_streaming"), 0.009, 1e-12);
  EXPECT_NEAR(figure(samples, "copy_gemm_slowdown"), 1.4, 1e-12);
  EXPECT_NEAR(figure(samples, "d2h_gemm_slowdown"), 1.03, 1e-12);
  EXPECT_NEAR(figure(samples, "gemm_slowdown_under_collective"), 1.1, 1e-12);
  for (Sample& sample : samples) {
    sample.functional = true;
  }
  EXPECT_TRUE(derived_figures(samples).empty());
}

// Bursts are compared with the point itself, not with the last repeat of the anchor.
TEST(DerivedFigures, RepeatsOfTheAnchorAreNoBurstsEither) {
  PlantedJournal journal(1, 0.0);
  for (const double us : {1100.0, 1000.0, 1300.0}) {
    journal.add(kAnchor, us);
  }
  auto& samples = journal.measurements.samples;
  samples[1].regime = Regime::burst;
  samples[2].repeat = 1;
  EXPECT_NEAR(figure(samples, "burst_over_sustained"), 1.1, 1e-12);
}

}  // namespace

namespace {

constexpr double kLimit = 700.0;
constexpr double kHighest = 1980.0;

// Products at the limit and nothing else: the clock stays.
TEST(StepClock, ProductsAloneKeepTheirClock) {
  const std::array mix = {
      MixedKernel{.time = 1.0, .power = 700.0, .clock = 1400.0, .clocked = true}};
  EXPECT_NEAR(balanced_clock(mix, kLimit, kHighest).value(), 1400.0, 1e-6);
}

// With x = f / f_c, equal times and P_m = 400 W:  700 x^2 + 400 = 700 / x + 700, so that
// 7 x^3 - 3 x - 7 = 0 and x = 1.1420.
TEST(StepClock, MemoryBoundKernelsBetweenThemRaiseIt) {
  const std::array mix = {
      MixedKernel{.time = 1.0, .power = 700.0, .clock = 1400.0, .clocked = true},
      MixedKernel{.time = 1.0, .power = 400.0, .clock = 1980.0, .clocked = false}};
  const double x = balanced_clock(mix, kLimit, kHighest).value() / 1400.0;
  EXPECT_NEAR(7.0 * x * x * x - 3.0 * x - 7.0, 0.0, 1e-6);
  EXPECT_NEAR(x, 1.1420, 1e-3);
}

TEST(StepClock, IsAtMostTheHighestThatWasSustained) {
  const std::array mix = {
      MixedKernel{.time = 1.0, .power = 300.0, .clock = 1900.0, .clocked = true}};
  EXPECT_EQ(balanced_clock(mix, kLimit, kHighest), kHighest);
  const std::array moved = {MixedKernel{.time = 1.0, .power = 400.0, .clock = 1980.0}};
  EXPECT_FALSE(balanced_clock(moved, kLimit, kHighest));
}

struct Machine {
  Measurements measurements;
  std::vector<kernels::KernelCase> step;
};

// Products at 1,400 MHz and the limit, norms at 1,980 MHz and 400 W.
Machine throttled() {
  PlantedJournal journal(1, 0.0);
  const PlantedLine line;
  Machine machine;
  for (const auto& shape : planted_shapes()) {
    const std::string text = gemm_text("fprop", shape);
    journal.add(text, line(text));
    journal.measurements.samples.back().state = {.sm_clock = 1400.0, .power = 700.0};
  }
  for (const std::int64_t rows : {1024, 4096, 16384}) {
    journal.add("rms_norm forward bf16 rows=" + std::to_string(rows) + " columns=8192",
                static_cast<double>(rows) * 0.01, "own");
    journal.measurements.samples.back().state = {.sm_clock = 1980.0, .power = 400.0};
  }
  machine.measurements = journal.measurements;
  machine.step = {*kernels::parse_case("gemm fprop bf16 m=8192 n=8192 k=8192").kernel,
                  *kernels::parse_case("rms_norm forward bf16 rows=32768 columns=8192").kernel};
  return machine;
}

// t = median x 1,400 MHz / clock: products run faster in the step, norms as they did alone.
TEST(StepClock, TimesOfProductsStandAtTheClockOfAStep) {
  const Machine machine = throttled();
  ProfileRequest request;
  request.step = machine.step;
  Diagnostics diagnostics;
  const auto built = build_profile(machine.measurements, request, shipped_profiles(), diagnostics);
  ASSERT_TRUE(built) << to_string(diagnostics);
  EXPECT_TRUE(built->warnings.empty());
  const double clock = built->profile.find_derived("step_clock_mhz").value();
  EXPECT_GT(clock, 1420.0);
  EXPECT_LT(clock, 1980.0);
  const hardware::KernelTables tables = kernel_tables(built->profile);
  const auto* products =
      tables.find(kernels::Operation::gemm, kernels::Role::fprop, kernels::Precision::bf16);
  ASSERT_NE(products, nullptr);
  const Sample& first = machine.measurements.samples.front();
  EXPECT_EQ(products->points.front().call, first.kernel);
  EXPECT_NEAR(in_microseconds(products->points.front().time), first.times.front() * 1400.0 / clock,
              1e-9);
  EXPECT_NEAR(1.0 / products->line.b / kTera, 700.0 * clock / 1400.0, 1e-3);
  const auto* norms =
      tables.find(kernels::Operation::rms_norm, kernels::Role::forward, kernels::Precision::bf16);
  EXPECT_NEAR(in_microseconds(norms->points.front().time), 10.24, 1e-9);
}

TEST(StepClock, WithoutPowerTheTimesStandAsMeasuredAndTheProfileSaysSo) {
  Machine machine = throttled();
  for (Sample& sample : machine.measurements.samples) {
    sample.state.power = std::nullopt;
  }
  ProfileRequest request;
  request.step = machine.step;
  Diagnostics diagnostics;
  const auto built = build_profile(machine.measurements, request, shipped_profiles(), diagnostics);
  ASSERT_TRUE(built) << to_string(diagnostics);
  EXPECT_FALSE(built->profile.find_derived("step_clock_mhz"));
  ASSERT_EQ(built->warnings.size(), 1U);
  EXPECT_NE(
      built->warnings[0].find("times of products stand at the clock at which they were measured"),
      std::string::npos);
}

}  // namespace

}  // namespace orrery::calibrate
