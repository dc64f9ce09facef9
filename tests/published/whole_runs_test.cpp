// The checks of whole published runs through `orrery validate`: arithmetic and theory within their
// tolerance, calendars as far as the published losses explain them, and hours that contain no
// losses refused as a source of goodput.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/run/published_hours.hpp"
#include "tests/published/case_file.hpp"

namespace orrery::validate::test {
namespace {

const ValidationRow* find(const Validation& validation, const std::string& id) {
  const auto found = std::find_if(validation.rows.begin(),
                                  validation.rows.end(),
                                  [&](const ValidationRow& row) { return row.id == id; });
  return found == validation.rows.end() ? nullptr : &*found;
}

class WholeRuns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    validation_ = new Validation(published("whole_runs.yaml"));
  }

  static void TearDownTestSuite() {
    delete validation_;
    validation_ = nullptr;
  }

  static const Validation& validation() {
    return *validation_;
  }

 private:
  static Validation* validation_;
};

Validation* WholeRuns::validation_ = nullptr;

TEST_F(WholeRuns, EveryCheckHasAnAnswer) {
  for (const ValidationRow& row : validation().rows) {
    EXPECT_EQ(row.skipped, "") << row.id;
  }
}

// What follows from stated numbers must be right to the printed digit. The calendars are
// predictions; those of OPT-175B lack the instabilities that its chronicles describe.
TEST_F(WholeRuns, ArithmeticAndTheoryAreWithinTolerance) {
  for (const ValidationRow& row : validation().rows) {
    if (row.group != "calendar" && !row.secondary && row.id.find("/days") == std::string::npos) {
      EXPECT_TRUE(row.within.value_or(false))
          << row.id << ": " << row.predicted << " for " << row.measured;
    }
  }
}

TEST_F(WholeRuns, BloomWithoutFailuresTakes108Days) {
  const ValidationRow* row = find(validation(), "wr-bloom-fault-free/days");
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->within.value_or(false)) << row->predicted;
  const ValidationRow* calendar = find(validation(), "wr-bloom-calendar/days");
  ASSERT_NE(calendar, nullptr);
  EXPECT_GT(calendar->predicted, row->predicted);
  EXPECT_TRUE(calendar->within.value_or(false)) << calendar->predicted;
}

TEST_F(WholeRuns, DerivedFiguresOfTheRunsAreReproduced) {
  std::size_t derived = 0;
  for (const ValidationRow& row : validation().rows) {
    if (row.quantity == "derived figure") {
      ++derived;
      EXPECT_TRUE(row.within.value_or(false))
          << row.id << ": " << row.predicted << " for " << row.measured;
    }
  }
  EXPECT_GE(derived, 80U);
}

TEST_F(WholeRuns, HoursWithoutLossesAreRefusedAsASourceOfGoodput) {
  std::size_t refused = 0;
  for (const ValidationRow& row : validation().rows) {
    if (row.group == "goodput from derived hours") {
      ++refused;
      EXPECT_TRUE(row.match.value_or(false)) << row.id;
    }
  }
  EXPECT_EQ(refused, 4U);
  using run::HoursKind;
  const auto goodput = run::goodput_from_hours(HoursKind::billed, hours(90.0), hours(100.0));
  ASSERT_TRUE(std::holds_alternative<double>(goodput));
  EXPECT_DOUBLE_EQ(std::get<double>(goodput), 0.9);
  for (const HoursKind kind :
       {HoursKind::productive, HoursKind::throughput_derived, HoursKind::unknown}) {
    EXPECT_TRUE(std::holds_alternative<std::string>(
        run::goodput_from_hours(kind, hours(90.0), hours(100.0))));
  }
}

// Other runs of the same kinds, by other names and numbers.
TEST(WholeRunChecks, OtherRunsAreUnderstood) {
  const Validation validation = validation_of_text(R"(format: whole-runs/1
meta: {conventions: {peaks_tflops_dense_16bit: {H100: 989.5}}}
runs:
- id: ours
  device_hours_kind: computed_from_throughput
  model: {params: {value: 1.0e10, source: x}, tokens: {value: 1.0e12, source: x}, steps: 1000}
  hardware: {device: H100-80GB, count: {value: 64, source: x}, per_node: 8}
  wall_s: {value: 36000, source: x}
  steady: {tokens_per_s_per_device: {value: 4000}}
  device_hours: {value: 69444.4, source: x}
  device_hours_by_phase: {pretraining: {value: 69444.4}}
  cost: {usd_per_node_hour: {value: 20}}
  derived: {flops_6ND: 6.0e+22, avg_tflops_per_device_6ND: 240.0}
simulator_checks:
- id: a
  run: ours
  expect: {usd: 1600, pretraining_days_on_64: 45.2, step_s: 36, mfu: 0.2425}
  tolerance: 0.1 %
- id: b
  inputs: {steps: 8640, step_s: 10, save_every: 864, save_s: 100}
  expect: {days: 1.0116}
  tolerance: 0.1 %
- id: c
  inputs: {active: 0.9, mean_recovery_min: 72, median_recovery_min: 72, days: 5}
  expect: {events: 10, lognormal_sigma: 0}
- id: d
  expect:
  - {nodes: 100, r: 10, w_s: 43.2, u0_s: 0, ettr: 0.9686}
  tolerance: 0.001 closed form
- id: e
  runs: [ours]
  expect: 'hours = tokens / steady rate within 0.5 %'
)");
  for (const ValidationRow& row : validation.rows) {
    EXPECT_EQ(row.skipped, "") << row.id;
    EXPECT_TRUE(row.within.value_or(false))
        << row.id << ": " << row.predicted << " for " << row.measured;
  }
  EXPECT_EQ(validation.rows.size(), 12U);
}

}  // namespace
}  // namespace orrery::validate::test
