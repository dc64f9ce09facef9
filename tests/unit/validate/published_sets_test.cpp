// The data sets of this repository: every row is predicted or has its reason, exact cases are
// exact, and the errors stay within what the model reaches.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/validate/output/write_validation.hpp"
#include "sim/validate/validate.hpp"
#include "tests/checkout.hpp"

namespace orrery::validate {
namespace {

Validation validation_of(const std::string& file) {
  Diagnostics diagnostics;
  auto validation =
      validate_files({std::string(kSourceDir) + "/scenarios/published/" + file}, {}, diagnostics);
  EXPECT_TRUE(validation.has_value()) << to_string(diagnostics);
  EXPECT_TRUE(diagnostics.all().empty()) << to_string(diagnostics);
  return validation.value_or(Validation{});
}

const GroupStatistics* group_of(const Validation& validation, const std::string& name,
                                const std::string& quantity) {
  const auto found = std::find_if(validation.groups.begin(), validation.groups.end(),
                                  [&](const GroupStatistics& group) {
                                    return group.name == name && group.quantity == quantity;
                                  });
  return found == validation.groups.end() ? nullptr : &*found;
}

TEST(PublishedSets, ScheduleCasesAreExact) {
  const Validation validation = validation_of("schedule_cases.yaml");
  EXPECT_EQ(validation.rows.size(), 206U);
  for (const ValidationRow& row : validation.rows) {
    EXPECT_TRUE(row.match.value_or(false))
        << row.id << ": " << (row.mismatches.empty() ? "" : row.mismatches.front());
  }
}

// Balls in bins are known exactly, periods in closed form: (c + k m) / (c + m) together, and over
// max(c + m, k m) apart. Half of the measurements are within 5 %; why others are not stands beside
// them.
TEST(PublishedSets, FabricCasesAreThoseOfMaxMinSharing) {
  const Validation validation = validation_of("fabric_cases.yaml");
  EXPECT_EQ(validation.overall.all.n, 30U);
  EXPECT_EQ(validation.overall.all.skipped, 0U);
  EXPECT_LE(validation.overall.all.median, 0.05);
  const auto predicted = [&](std::string_view id) {
    const auto found = std::find_if(validation.rows.begin(), validation.rows.end(),
                                    [&](const auto& row) { return row.id == id; });
    return found == validation.rows.end() ? 0.0 : found->predicted;
  };
  EXPECT_NEAR(predicted("crux-two-jobs-on-one-link"), 1.5, 1e-6);
  EXPECT_NEAR(predicted("cassini-three-jobs-apart"), 5.0 / 3.0, 1e-6);
  EXPECT_NEAR(predicted("mltcp-jobs-apart"), 15.0 / 8.0, 1e-6);
  EXPECT_NEAR(predicted("hpn-all-reduce-448-gpus"), 2.597, 0.08);
  EXPECT_NEAR(predicted("meta-1000-flows-on-16-links"), 1.228, 0.02);
  EXPECT_NEAR(predicted("gb10-two-flows-on-the-cable"), 100.0, 1e-9);
  EXPECT_NEAR(predicted("hpn-port-loads-three-to-one"), 1.5, 1e-9);
  for (const ValidationRow& row : validation.rows) {
    EXPECT_TRUE(std::abs(row.relative_error()) < 0.05 || !row.notes.empty())
        << row.id << " is off without a reason";
  }
}

TEST(PublishedSets, MeasuredRunsAreAllPredicted) {
  const Validation validation = validation_of("measured_runs.yaml");
  EXPECT_EQ(validation.overall.all.n, 542U);
  EXPECT_LE(validation.overall.all.skipped, 1U);
  for (const ValidationRow& row : validation.rows) {
    if (row.skipped.empty()) {
      EXPECT_GT(row.predicted, 0.0) << row.id;
      ASSERT_TRUE(row.trust.has_value() || row.secondary) << row.id;
    }
  }
  EXPECT_LE(validation.overall.mape_groups, 0.15);
}

TEST(PublishedSets, SuspiciousRowsExist) {
  const Validation validation = validation_of("measured_runs.yaml");
  EXPECT_LT(validation.overall.without_suspicious.n, validation.overall.all.n);
  EXPECT_EQ(validation.overall.all.n - validation.overall.without_suspicious.n, 22U);
}

TEST(PublishedSets, AllocatorPeaksOfOneNodeAreClose) {
  const Validation validation = validation_of("measured_runs.yaml");
  const GroupStatistics* group = group_of(validation, "megatron-core-no-overlap", "peak_memory");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->all.n, 36U);
  EXPECT_LE(group->all.mape, 0.05);
  EXPECT_LE(group->all.median, 0.02);
}

TEST(PublishedSets, KernelsAndCollectivesHaveAPredictionOrAReason) {
  for (const std::string file : {"kernel_measurements.yaml", "collective_measurements.yaml"}) {
    const Validation validation = validation_of(file);
    EXPECT_GE(validation.rows.size(), 312U) << file;
    for (const ValidationRow& row : validation.rows) {
      EXPECT_TRUE(!row.skipped.empty() || (row.predicted > 0.0 && row.measured > 0.0)) << row.id;
    }
  }
}

TEST(PublishedSets, WholeRunsAreReproduced) {
  const Validation validation = validation_of("whole_runs.yaml");
  const GroupStatistics* runs = group_of(validation, "cost", "value");
  ASSERT_NE(runs, nullptr);
  EXPECT_EQ(runs->all.n, 3U);
  EXPECT_LE(std::abs(runs->all.worst), 0.001);
  const ToleranceCount count = tolerance_count(validation.rows);
  EXPECT_EQ(count.stated, 30U);
  EXPECT_EQ(count.within, count.stated);
  EXPECT_EQ(count.derived, 149U);  // arithmetic alone
  EXPECT_EQ(count.derived_within, count.derived);
}

// The page in docs/ is made by the command, from the coefficients as they are.
TEST(PublishedSets, AreWrittenTheSameEveryTime) {
  const Validation validation = validation_of("measured_runs.yaml");
  const std::string page = to_markdown(validation);
  EXPECT_EQ(page, to_markdown(validation_of("measured_runs.yaml")));
  EXPECT_NE(page.find("| megatron-lm | 18 |"), std::string::npos);
}

}  // namespace
}  // namespace orrery::validate
