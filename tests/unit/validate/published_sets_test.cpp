// The data sets of this repository: every row is predicted or has its reason, exact cases are
// exact, and the errors stay within what the model reaches.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

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

const GroupStatistics* group_of(const Validation& validation,
                                const std::string& name,
                                const std::string& quantity) {
  const auto found = std::find_if(
      validation.groups.begin(), validation.groups.end(), [&](const GroupStatistics& group) {
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
