// The checks of whole published runs through `orrery validate`: arithmetic and theory within their
// tolerance, calendars as far as the published losses explain them, and hours that contain no
// losses refused as a source of goodput.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/run/hours_spec.hpp"
#include "sim/validate/validate.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::validate::test {
namespace {

// Checks of whole-runs/2 as texts, and what `orrery validate` makes of them.

Validation validation_of_file(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  auto validation = validate_files({path}, {}, diagnostics);
  EXPECT_TRUE(validation.has_value()) << to_string(diagnostics);
  return validation.value_or(Validation{});
}

Validation published(std::string_view name) {
  return validation_of_file(std::filesystem::path(kSourceDir) / "scenarios" / "published" / name);
}

Validation validation_of_text(const std::string& text) {
  const TempFolder folder;
  return validation_of_file(folder.write("data.yaml", text));
}

const ValidationRow* find(const Validation& validation, const std::string& id) {
  const auto found = std::find_if(validation.rows.begin(), validation.rows.end(),
                                  [&](const ValidationRow& row) { return row.id == id; });
  return found == validation.rows.end() ? nullptr : &*found;
}

class WholeRuns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { validation_ = new Validation(published("whole_runs.yaml")); }

  static void TearDownTestSuite() {
    delete validation_;
    validation_ = nullptr;
  }

  static const Validation& validation() { return *validation_; }

 private:
  static Validation* validation_;
};

Validation* WholeRuns::validation_ = nullptr;

// What follows from stated numbers must be right to the printed digit. The calendars are
// predictions; those of OPT-175B lack the instabilities that its chronicles describe.
TEST_F(WholeRuns, EveryCheckHasAnAnswerAndArithmeticIsWithinTolerance) {
  for (const ValidationRow& row : validation().rows) {
    EXPECT_EQ(row.skipped, "") << row.id;
    const bool predicted = row.group == "calendar" || row.id.find("/days") != std::string::npos;
    if (row.quantity == kDerivedFigure || !(predicted || row.secondary)) {
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

// Names decide nothing: a check says which formula it is.
TEST(WholeRunChecks, NameTheirFormula) {
  const Validation validation = validation_of_text(R"(format: whole-runs/2
meta: {conventions: {peaks_tflops_dense_16bit: {H100-80GB: 989.5}}}
runs:
- id: ours
  model: {params: {value: 1.0e10, source: x}, tokens: {value: 1.0e12, source: x}}
  hardware: {device: {value: H100-80GB}}
  device_hours: {value: 69444.4, source: x}
  derived: {flops_6ND: 6.0e+22, avg_tflops_per_device_6ND: 240.0}
simulator_checks:
- id: a
  group: cost
  formula: cost
  inputs: {time: 36000s, count: 8, price: $20/h}
  expect: $1600
  tolerance: 0.1%
- id: days_of_usd
  group: run time
  formula: days_on
  inputs: {time: 69444.4h, count: 64}
  expect: 45.2d
  tolerance: 0.1%
- id: b
  group: step time
  formula: step_time
  inputs: {wall: 10h, steps: 1000}
  expect: 36s
  tolerance: 0%
- id: c
  group: run time
  formula: fault_free_days
  inputs: {steps: 8640, step_time: 10s, save_every: 864, save: 100s}
  expect: 1.0116d
  tolerance: 0.1%
- id: d
  group: recovery
  formula: recovery_events
  inputs: {active: 90%, window: 5d, mean_recovery: 72min}
  expect: 10
  tolerance: 0.1%
- id: e
  group: recovery
  formula: lognormal_sigma
  inputs: {mean: 72min, median: 72min}
  expect: 0
  tolerance: 0%
- id: f
  group: ETTR
  formula: ettr
  inputs: {nodes: 100, node_failures: 0.01/d, save: 43.2s, restart: 0s}
  expect: 0.9686
  tolerance: 0.1%
- id: g
  group: hours
  formula: gpu_hours
  inputs: {tokens: 1.0e12, rate: 4000}
  expect: 69444.4h
  tolerance: 0.5%
- id: h
  group: goodput
  formula: goodput_refused
  inputs: {hours: throughput_derived}
)");
  for (const ValidationRow& row : validation.rows) {
    EXPECT_EQ(row.skipped, "") << row.id;
    EXPECT_TRUE(row.within.value_or(false))
        << row.id << ": " << row.predicted << " for " << row.measured;
  }
  EXPECT_EQ(validation.rows.size(), 11U);
  const ToleranceCount count = tolerance_count(validation.rows);
  EXPECT_EQ(count.stated, 9U);
  EXPECT_EQ(count.derived, 2U);
}

TEST(WholeRunChecks, ReportTheirProblemsWithALine) {
  const TempFolder folder;
  const std::filesystem::path file =
      folder.write("checks.yaml",
                   "format: whole-runs/2\nsimulator_checks:\n"
                   "- id: a\n  group: x\n  formula: young\n  inputs: {}\n  expect: 1s\n"
                   "- id: b\n  group: x\n  formula: step_time\n  inputs: {wall: 10}\n"
                   "  expect: 1s\n  tolerance: 1%\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(validate_files({file}, {}, diagnostics).has_value());
  const std::string text = to_string(diagnostics);
  EXPECT_NE(text.find(":5:12: error: simulator_checks[0].formula: `young` is not known"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(":11:18: error: simulator_checks[1].inputs.wall: "), std::string::npos)
      << text;
  EXPECT_NE(text.find("simulator_checks[1].inputs.steps: is required but missing"),
            std::string::npos)
      << text;
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace orrery::validate::test
