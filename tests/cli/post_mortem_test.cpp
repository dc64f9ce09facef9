// `orrery report --post-mortem`: where the time of a logged run went, beside its plan.

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/run/theory/theory.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using Json = nlohmann::json;
using PostMortemTest = CliTest;

std::string line(int clock, int step, int seconds) {
  return fmt::format(
      " [2026-11-01 {:02}:{:02}:{:02}] iteration {:8}/     200 | elapsed time per iteration (ms): "
      "{}000.0 | global batch size:    64 |\n",
      clock / 3600, clock / 60 % 60, clock % 60, step, seconds);
}

// 200 steps of 2 s, of 3 s from step 101 on. After step 60 the job is out for 600 s and goes on at
// step 51, `anew` says how.
std::string log(const std::string& anew) {
  std::string text;
  for (int step = 1; step <= 60; ++step) {
    text += line(2 * step, step, 2);
  }
  text += anew;
  for (int step = 51; step <= 100; ++step) {
    text += line(720 + 2 * (step - 50), step, 2);
  }
  for (int step = 101; step <= 200; ++step) {
    text += line(820 + 3 * (step - 100), step, 3);
  }
  return text;
}

constexpr const char* kPlan =
    " --set step.time=1900ms --set checkpoint.interval=1h --set checkpoint.stall=10s plan.yaml";

TEST_F(PostMortemTest, BooksEverySecondOfTheLogOnce) {
  write("plan.yaml", small_scenario());
  write("train.log", log("using world size: 8\n"));
  const Finished done = run(std::string("report --json --post-mortem train.log") + kPlan);
  ASSERT_EQ(done.code, 0) << done.err;
  const Json found = Json::parse(done.out);
  EXPECT_EQ(found["schema"], "orrery-post-mortem/1");
  EXPECT_EQ(found["slower_from_step"], 101);
  EXPECT_EQ(found["restarts"], 1);
  // planned 200 x 1.9, pace 200 x 0.1, limping 100 x 1, slow, restart, 10 steps again, -, between
  const std::vector<double> wanted = {380, 20, 100, 0, 600, 20, 0, 0, 1120};
  double share = 0.0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found["causes"][i]["logged_s"].get<double>(), wanted[i], 1e-9) << i;
    share += i + 1 < wanted.size() ? found["causes"][i]["share"].get<double>() : 0.0;
  }
  EXPECT_NEAR(share, 1.0, 1e-12);
  EXPECT_NEAR(found["causes"][0]["planned_s"].get<double>(), 380.0, 1e-9);
  // 16 GPUs at $2.50 an hour
  EXPECT_NEAR(found["causes"][8]["dollars"].get<double>(), 1120.0 / 3600.0 * 40.0, 1e-9);
}

TEST_F(PostMortemTest, AdvisesByTheTheoryWithWhatTheLogShows) {
  write("plan.yaml", small_scenario());
  write("train.log", log("using world size: 8\n"));
  const Finished done = run(std::string("report --json --post-mortem train.log") + kPlan);
  const Json found = Json::parse(done.out);
  Json interval;
  Json limping;
  for (const Json& advice : found["advice"]) {
    interval = advice["key"] == "checkpoint.interval" ? advice : interval;
    limping = advice["key"] == "limping" ? advice : limping;
  }
  const run::CheckpointCost cost{seconds(10.0), seconds(1120.0 - 600.0)};
  const Seconds planned = seconds(1.9) * std::round(3600.0 / 1.9);
  const double gain = run::first_order_waste(cost, planned) -
                      run::first_order_waste(cost, run::optimal_interval(cost));
  ASSERT_FALSE(interval.is_null()) << done.out;
  EXPECT_NEAR(interval["saved_s"].get<double>(), 380.0 * gain, 1.0);
  ASSERT_FALSE(limping.is_null()) << done.out;
  EXPECT_NEAR(limping["saved_s"].get<double>(), 100.0, 1e-9);
  EXPECT_EQ(limping["text"],
            "From step 101 on a step takes 50.0% more to the end: watch the median of the last "
            "steps, and take the slow node out");
}

TEST_F(PostMortemTest, TellsARewindFromARestart) {
  write("plan.yaml", small_scenario());
  write("train.log", log(""));
  const Finished done = run(std::string("report --json --post-mortem train.log") + kPlan);
  const Json found = Json::parse(done.out);
  EXPECT_EQ(found["restarts"], 0);
  EXPECT_NEAR(found["causes"][6]["logged_s"].get<double>(), 620.0, 1e-9);
}

TEST_F(PostMortemTest, WritesTheFormOfTheNameAndRefusesALogWithoutDates) {
  write("plan.yaml", small_scenario());
  write("train.log", log("using world size: 8\n"));
  EXPECT_EQ(run(std::string("report --post-mortem train.log -o p.html") + kPlan).code, 0);
  EXPECT_TRUE(read("p.html").starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(has(read("p.html"), "<td>limping, from step 101 on</td>"));
  EXPECT_EQ(run(std::string("report --post-mortem train.log -o p.csv") + kPlan).code, 0);
  EXPECT_TRUE(
      read("p.csv").starts_with("cause,count,logged_s,share,planned_s,over_plan_s,dollars\n"));
  const Finished text = run(std::string("report --post-mortem train.log") + kPlan);
  EXPECT_TRUE(has(text.out, "next run")) << text.out;
  EXPECT_EQ(run(std::string("report --post-mortem train.log -o train.log") + kPlan).code, 2);
  write("bare.log", " iteration 1/ 10 | elapsed time per iteration (ms): 1000.0 |\n");
  const Finished bare = run(std::string("report --post-mortem bare.log") + kPlan);
  EXPECT_EQ(bare.code, 3);
  EXPECT_EQ(bare.err,
            "bare.log: error: holds no two steps with dates: where the time went cannot be told (a "
            "log whose lines of steps begin with a date)\n");
}

}  // namespace
}  // namespace orrery::cli::testing
