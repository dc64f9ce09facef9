// Restarts in the logs of a run become its failures.

#include "sim/import_config/logs/log_outages.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/import_config/logs/log_scan.hpp"

namespace orrery::import_config::testing {
namespace {

std::string megatron_step(const char* time, int iteration) {
  return fmt::format(
      " [2025-10-06 {}] iteration {:8}/    1000 | elapsed time per iteration (ms): 1000.0 | global "
      "batch size:    64 |\n",
      time, iteration);
}

LoggedOutages outages_in(const std::vector<std::string>& texts) {
  std::vector<ConfigFile> files;
  for (const std::string& text : texts) {
    files.push_back({fmt::format("{}.log", files.size()), text, std::nullopt});
  }
  return outages_of_logs(files);
}

// More steps than are kept: a line each second, and a restart that does the last 100,001 again.
TEST(LogOutages, StayOfALogThatIsLongerThanWhatIsKept) {
  std::string text;
  const auto add = [&text](int clock, int iteration) {
    text += fmt::format(
        "[2025-10-{:02} {:02}:{:02}:{:02}] iteration {:8}/9999999 | elapsed time per iteration "
        "(ms): "
        "{}.0 | global batch size:    64 |\n",
        1 + clock / 86'400, clock / 3600 % 24, clock / 60 % 60, clock % 60, iteration,
        clock % 10 == 0 ? 1100 : 1000);
  };
  for (int i = 1; i <= 400'000; ++i) {
    add(i, i);
  }
  for (int i = 300'000; i <= 500'000; ++i) {
    add(i + 100'600, i);
  }
  const ConfigFile file{"long.log", text, std::nullopt};
  const auto log = log_of(file);
  EXPECT_LT(log->steps.size(), std::size_t{1} << 18U);
  const LoggedOutages found = outages_of_logs({&file, 1});
  ASSERT_EQ(found.outages.size(), 1U);
  EXPECT_DOUBLE_EQ(in_seconds(found.outages[0].after), 400'000.0);
  EXPECT_NEAR(in_seconds(found.outages[0].outage), 598.9, 1e-6);  // less a step of 1.1 s
  EXPECT_EQ(found.outages[0].lost_steps, 100'001);
  EXPECT_EQ(found.outages[0].where.line, 400'001);
}

TEST(LogOutages, AreRestartsLessTheStepsOfTheFirstLine) {
  const LoggedOutages found =
      outages_in({megatron_step("03:00:10", 10) + megatron_step("03:00:20", 20) +
                  megatron_step("03:00:30", 30) + megatron_step("03:10:40", 30) +
                  megatron_step("03:10:50", 40)});
  EXPECT_EQ(found.dated_steps, 5U);
  EXPECT_DOUBLE_EQ(in_seconds(found.length), 650.0);
  ASSERT_EQ(found.outages.size(), 1U);
  EXPECT_DOUBLE_EQ(in_seconds(found.outages[0].after), 30.0);
  EXPECT_DOUBLE_EQ(in_seconds(found.outages[0].outage), 600.0);  // 610 s less ten steps
  EXPECT_EQ(found.outages[0].lost_steps, 10);
  EXPECT_EQ(found.outages[0].where.line, 4);
  EXPECT_EQ(failure_log_text(found),
            "# Restarts of a run, from its logs; their causes are not in them.\n"
            "time_s,cause,outage_s\n30,restart,600\n");
}

// A checkpoint just before the failure: no step is done again, but the settings are printed anew.
TEST(LogOutages, AreSeenBySettingsThatAreReadAgain) {
  const std::string before = megatron_step("23:59:50", 10) + megatron_step("23:59:59", 20);
  const LoggedOutages found = outages_in(
      {before + "using world size: 8\n" +
       " [2025-10-07 00:10:09] iteration 30/ 1000 | elapsed time per iteration (ms): 1000.0 |\n"});
  ASSERT_EQ(found.outages.size(), 1U);
  EXPECT_DOUBLE_EQ(in_seconds(found.outages[0].outage), 600.0);
  EXPECT_EQ(found.outages[0].lost_steps, 0);
}

TEST(LogOutages, AreNoPausesBetweenSteps) {
  EXPECT_TRUE(
      outages_in({megatron_step("03:00:10", 10) + megatron_step("03:30:20", 20)}).outages.empty());
}

TEST(LogOutages, LieBetweenFilesInTheOrderOfTheirDates) {
  const LoggedOutages found =
      outages_in({megatron_step("05:00:10", 30), megatron_step("03:00:10", 20)});
  ASSERT_EQ(found.outages.size(), 1U);
  EXPECT_EQ(found.outages[0].where.file, "0.log");
}

TEST(LogOutages, OfOtherProgramsHaveTheirDates) {
  const auto nanotron = [](const char* time, int step) {
    return fmt::format(
        "08/31/2024 {} [INFO|DP=0|PP=0|TP=0]: iteration: {} / 15 | time_per_iteration_ms: 2.00K | "
        "global_batch_size: 256\n",
        time, step);
  };
  const LoggedOutages found =
      outages_in({nanotron("14:37:30", 4) + nanotron("14:37:32", 5) + nanotron("14:38:34", 5)});
  ASSERT_EQ(found.outages.size(), 1U);
  EXPECT_DOUBLE_EQ(in_seconds(found.outages[0].outage), 60.0);
  const LoggedOutages titan = outages_in(
      {"[titan] 2025-07-21 15:57:30,000 - root - INFO - Building 1-D device mesh with ['dp'], [8]\n"
       "[titan] 2025-07-21 15:57:30,000 - root - INFO - Trainer is initialized with local batch "
       "size 1, global batch size 8, gradient accumulation steps 1, sequence length 8192, total "
       "steps 10\n"
       "[titan] 2025-07-21 15:57:30,000 - root - INFO - step:  1  loss:  4.9 memory: 60.00GiB  "
       "tps: 8192  tflops: 390.15  mfu: 39.45%\n"});
  EXPECT_EQ(titan.dated_steps, 1U);
}

TEST(LogOutages, NeedDates) {
  EXPECT_EQ(
      outages_in({" iteration 10/ 100 | elapsed time per iteration (ms): 9.0 |\n"}).dated_steps,
      0U);
}

}  // namespace
}  // namespace orrery::import_config::testing
