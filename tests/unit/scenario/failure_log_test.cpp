// Logs of failures: what is read, and what is said about lines that cannot be.

#include "sim/scenario/logs/failure_log.hpp"

#include <gtest/gtest.h>

#include <string>

namespace orrery::scenario {
namespace {

constexpr std::int64_t kStart = 1'711'929'600;  // 2024-04-01T00:00Z

std::optional<std::vector<run::LoggedFailure>> read(const std::string& text, std::string& problems,
                                                    std::optional<std::int64_t> start = kStart) {
  Diagnostics diagnostics;
  auto failures = read_failure_log(text, "f.csv", start, diagnostics);
  problems = to_string(diagnostics);
  return failures;
}

TEST(FailureLog, HoldsTimesCausesNodesAndOutages) {
  std::string problems;
  const auto failures = read(
      "# of our run\n"
      "time_h,cause,nodes,outage_min\n"
      "\n"
      "12.5, faulty GPU ,1,40\r\n"
      "3,\"switch, leaf 7\",,\n",
      problems);
  ASSERT_TRUE(failures) << problems;
  ASSERT_EQ(failures->size(), 2U);
  EXPECT_NEAR(in_hours((*failures)[0].at), 12.5, 1e-12);
  EXPECT_EQ((*failures)[0].cause, "faulty GPU");
  EXPECT_EQ((*failures)[0].nodes, 1);
  EXPECT_NEAR(in_minutes(*(*failures)[0].outage), 40.0, 1e-12);
  EXPECT_EQ((*failures)[1].cause, "switch, leaf 7");
  EXPECT_FALSE((*failures)[1].nodes);
  EXPECT_FALSE((*failures)[1].outage);
}

TEST(FailureLog, CountsTimestampsFromTheStart) {
  std::string problems;
  const auto failures = read("cause,timestamp\nGPU,2024-04-02T06:00Z\n", problems);
  ASSERT_TRUE(failures) << problems;
  EXPECT_NEAR(in_hours(failures->front().at), 30.0, 1e-12);
  EXPECT_FALSE(read("cause,timestamp\nGPU,2024-04-02T06:00Z\n", problems, std::nullopt));
  EXPECT_EQ(problems,
            "f.csv:2:5: error: failures.log: a timestamp needs training.start (time_h, or "
            "training.start)\n");
}

TEST(FailureLog, TimesMayStateTheirUnit) {
  std::string problems;
  const auto failures = read("time,cause,outage\n90min,GPU,2h\n", problems);
  ASSERT_TRUE(failures) << problems;
  EXPECT_NEAR(in_minutes(failures->front().at), 90.0, 1e-12);
  EXPECT_NEAR(in_hours(*failures->front().outage), 2.0, 1e-12);
}

TEST(FailureLog, EveryBadFieldIsNamedWithItsPlace) {
  std::string problems;
  EXPECT_FALSE(read("time_h,cause,nodes\n-1,GPU,1\n2,,1\n3,GPU,x\n4,GPU\n1e9,GPU,1\n", problems));
  EXPECT_EQ(problems,
            "f.csv:2:1: error: failures.log: `-1` is no time_h (a number of at least 0, below "
            "25,000 days)\n"
            "f.csv:3:3: error: failures.log: the cause has no name\n"
            "f.csv:4:7: error: failures.log: `x` is no number of nodes (a whole number of at "
            "least 0)\n"
            "f.csv:5:1: error: failures.log: has 2 fields where 3 are needed\n"
            "f.csv:6:1: error: failures.log: `1e9` is no time_h (a number of at least 0, below "
            "25,000 days)\n");
}

TEST(FailureLog, TheHeaderMustSayWhatTheColumnsAre) {
  const std::string columns =
      " (time, time_s, time_h, time_d or timestamp; cause; nodes; outage, outage_s, outage_min or "
      "outage_h)\n";
  std::string problems;
  EXPECT_FALSE(read("", problems));
  EXPECT_EQ(problems, "f.csv: error: failures.log: has no header line" + columns);
  EXPECT_FALSE(read("time_h,reason\n1,GPU\n", problems));
  EXPECT_EQ(problems, "f.csv:1:8: error: failures.log: `reason` is no column" + columns);
  EXPECT_FALSE(read("password=hunter2\nroot:x:0:0\n", problems));
  EXPECT_EQ(problems,
            "f.csv:1:1: error: failures.log: is no log of failures: its first line names none of "
            "the columns" +
                columns);
  EXPECT_FALSE(read("time_h,cause,time_d\n1,GPU,1\n", problems));
  EXPECT_EQ(problems, "f.csv:1:14: error: failures.log: `time_d` says it again" + columns);
  EXPECT_FALSE(read("cause,nodes\nGPU,1\n", problems));
  EXPECT_EQ(
      problems,
      "f.csv:1:1: error: failures.log: needs one column of time and the column cause" + columns);
}

}  // namespace
}  // namespace orrery::scenario
