// A baseline is read back as it was written, bit for bit; what is wrong with one is said.

#include "sim/answer/evaluate/compare/baseline_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/base/random.hpp"
#include "tests/support.hpp"

namespace orrery::evaluate {
namespace {

using report::Baseline;
using report::BaselineMetric;
using report::BaselineScenario;

Baseline parsed(const std::string& text) {
  Diagnostics diagnostics;
  const auto baseline = parse_baseline(text, "base.yaml", diagnostics);
  EXPECT_TRUE(baseline.has_value()) << to_string(diagnostics);
  return baseline.value_or(Baseline{});
}

std::string problem(const std::string& text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_baseline(text, "base.yaml", diagnostics).has_value()) << text;
  return diagnostics.all().empty() ? "" : to_string(diagnostics.all().front());
}

TEST(BaselineFile, NumbersOfAnySizeComeBackBitForBit) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomStream random(kSeed, 0, Purpose::property_test);
  Baseline written;
  BaselineScenario scenario = {.file = "../odd \"name\": 1 #.yaml", .sha256 = "0123", .trials = 7};
  for (int i = 0; i < 500; ++i) {
    const double value =
        (random.uniform01() - 0.5) * std::pow(10.0, 600.0 * (random.uniform01() - 0.5));
    BaselineMetric metric = {.key = "metric_" + std::to_string(i), .value = value};
    if (i % 2 == 0) {
      metric.ci95 = run::Interval{value - 1.0, value + 1.0};
    }
    scenario.metrics.push_back(metric);
  }
  scenario.metrics.push_back({.key = "zero", .value = 0.0});
  scenario.metrics.push_back({.key = "max", .value = std::numeric_limits<double>::max()});
  written.scenarios.push_back(scenario);
  const Baseline read = parsed(to_yaml(written));
  ASSERT_EQ(read.scenarios.size(), 1U);
  EXPECT_EQ(read.scenarios[0].file, scenario.file);
  EXPECT_EQ(read.scenarios[0].sha256, "0123");
  EXPECT_EQ(read.scenarios[0].trials, 7);
  ASSERT_EQ(read.scenarios[0].metrics.size(), scenario.metrics.size());
  for (std::size_t i = 0; i < scenario.metrics.size(); ++i) {
    EXPECT_EQ(read.scenarios[0].metrics[i].key, scenario.metrics[i].key);
    EXPECT_EQ(read.scenarios[0].metrics[i].value, scenario.metrics[i].value);
    EXPECT_EQ(read.scenarios[0].metrics[i].ci95, scenario.metrics[i].ci95);
  }
}

TEST(BaselineFile, TolerancesComeBackAsTheyWere) {
  Baseline written = {.exact = 0.07, .statistical = 0.0033, .decide_point = true};
  written.tolerances["mfu"] = {.relative = 0.01, .absolute = 0.002};
  written.tolerances["cost_usd"] = {.any = true};
  BaselineScenario scenario = {.file = "a.yaml", .sha256 = "0123", .fits = false};
  scenario.tolerances["step_time_s"] = {.absolute = 0.25};
  written.scenarios.push_back(scenario);
  const Baseline read = parsed(to_yaml(written));
  EXPECT_DOUBLE_EQ(read.exact, 0.07);
  EXPECT_DOUBLE_EQ(read.statistical, 0.0033);
  EXPECT_TRUE(read.decide_point);
  EXPECT_EQ(read.tolerances, written.tolerances);
  EXPECT_EQ(read.scenarios[0].tolerances, scenario.tolerances);
  EXPECT_FALSE(read.scenarios[0].fits);
  EXPECT_EQ(to_yaml(read), to_yaml(written)) << "writing it again changes nothing";
}

TEST(BaselineFile, TheShortestBaselineHasTheUsualTolerances) {
  const Baseline read = parsed("format: orrery-baseline/1\n");
  EXPECT_EQ(read.exact, report::kExactTolerance);
  EXPECT_EQ(read.statistical, report::kStatisticalTolerance);
  EXPECT_FALSE(read.decide_point);
  EXPECT_TRUE(read.scenarios.empty());
}

TEST(BaselineFile, NamesOfExpectationsServeAsWell) {
  const Baseline read = parsed("format: orrery-baseline/1\ntolerances: {step_time: 2%}\n");
  EXPECT_EQ(read.tolerances.at("step_time_s").relative, 0.02);
}

TEST(BaselineFile, EveryMistakeIsNamedWithItsPlace) {
  const std::string head = "format: orrery-baseline/1\n";
  EXPECT_EQ(problem("{}"),
            "base.yaml:1:1: error: format: is required but missing: this is no baseline (`format: "
            "orrery-baseline/1`; `orrery check --write-baseline FILE` makes one)");
  EXPECT_EQ(problem(head + "decide: maybe\n"),
            "base.yaml:2:9: error: decide: `maybe` is not known (allowed: interval, point)");
  EXPECT_EQ(problem(head + "tolerances: {mfu: -1%}\n").find("base.yaml:2:19: error: "), 0U);
  EXPECT_EQ(problem(head + "tolerances: {mfu: {absolute: -1}}\n"),
            "base.yaml:2:30: error: tolerances.mfu.absolute: `-1` is too small (at least 0)");
  const std::string one = head + "scenarios:\n  - {file: a, metrics: {mfu: ";
  const std::pair<std::string, std::string> others[] = {
      {head + "tolerances: {mfu: {relativ: 1%}}\n", "did you mean `relative`"},
      {head + "tolerances: {mfuu: 1%}\n", ":2:14: error: tolerances.mfuu: unknown key"},
      {head + "tolerances: {mfu: 200%}\n", ":2:19: error: tolerances.mfu: `200%`"},
      {head + "scenarios: [{metrics: {}}]\n", "scenarios[0].file"},
      {one + "fast}}\n", "scenarios[0].metrics.mfu: `fast`"},
      {one + "{value: 1, ci95: [1]}}}\n", "ci95: is no interval ([low, high])"},
      {one + "{value: 1, ci95: [2, 1]}}}\n", "mfu.ci95: is no interval ([low, high])"},
      {one + "1}}\n  - {file: a, metrics: {}}\n",
       ":4:12: error: scenarios[1].file: `a` stands here a second time"}};
  for (const auto& [text, said] : others) {
    EXPECT_TRUE(has(problem(text), said)) << text << problem(text);
  }
}

}  // namespace
}  // namespace orrery::evaluate
