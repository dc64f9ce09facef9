// CSV: rectangular tables with a header, quoted where needed, all digits kept.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sim/answer/report/files/flat_report.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

std::vector<std::string> lines_of(const std::string& table) {
  std::vector<std::string> lines;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Commas outside quotes; the sample has none inside.
void expect_rectangular(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','),
              std::count(lines[0].begin(), lines[0].end(), ','))
        << line;
  }
}

TEST(CsvReport, MetricsHaveTheirQuantilesOrEmptyCells) {
  const auto lines = lines_of(metrics_csv(testing::sample_evaluation()));
  expect_rectangular(lines);
  EXPECT_EQ(lines[0], "metric,value,p10,p50,p90,ci95_low,ci95_high,band_low,band_high");
  EXPECT_TRUE(lines[1].starts_with("step_time_s,10,,,,,,9.259259")) << lines[1];
  EXPECT_NE(lines[1].find(",10.8"), std::string::npos) << lines[1];
  const auto failures = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("failures,");
  });
  ASSERT_NE(failures, lines.end());
  // 1, 2, 3, 4: mean and median 2.5, P10 1.3, P90 3.7; the interval of so few is all of them.
  EXPECT_TRUE(failures->starts_with("failures,2.5,1.3,2.5,3.7,1,4,1.2")) << *failures;
}

TEST(CsvReport, LedgerHoldsStepAndRun) {
  const auto lines = lines_of(ledger_csv(testing::sample_evaluation()));
  expect_rectangular(lines);
  EXPECT_EQ(lines[0], "ledger,category,gpu_s,share,usd");
  EXPECT_EQ(lines.size(), 1 + step::kStepCategories + run::kRunCategoryNames.size());
  EXPECT_TRUE(lines[1].starts_with("step,compute,60,")) << lines[1];
}

TEST(CsvReport, LedgerWithoutPriceHasEmptyDollars) {
  const auto lines = lines_of(ledger_csv(testing::sample_step_evaluation()));
  EXPECT_TRUE(lines[1].ends_with(",0.75,")) << lines[1];
  EXPECT_EQ(lines.size(), 1 + step::kStepCategories);
}

TEST(CsvReport, MemoryHasOneLinePerStage) {
  const auto lines = lines_of(memory_csv(testing::sample_evaluation()));
  expect_rectangular(lines);
  EXPECT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("stage,peak_bytes,limit_bytes,parameters_bytes,"));
  EXPECT_TRUE(lines[1].starts_with("0,42949672960,"));
}

}  // namespace
}  // namespace orrery::report
