// Files of the format orrery-sweep/1.

#include <gtest/gtest.h>

#include "sim/answer/sweep/sweep.hpp"

namespace orrery::sweep {
namespace {

std::string file_refusal(const std::string& text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(read_sweep_file(text, "s.yaml", diagnostics));
  return to_string(diagnostics);
}

TEST(SweepFile, ReadsEveryKey) {
  const std::string text = R"(format: orrery-sweep/1
scenario: small.yaml
vary:
  capacity.spares: 0:8:3
  layout.order: [[tp, dp], "auto"]
  recovery.load: [{median: 1min, mean: 2min}, 5min]
combine: random
points: 20
metrics: [goodput, p99(finish_time)]
trials: 5
seed: 9
)";
  EXPECT_TRUE(is_sweep_file(text));
  Diagnostics diagnostics;
  const auto file = read_sweep_file(text, "folder/s.yaml", diagnostics);
  ASSERT_TRUE(file) << to_string(diagnostics);
  EXPECT_EQ(file->scenario, "folder/small.yaml");
  ASSERT_EQ(file->axes.size(), 3U);
  EXPECT_EQ(file->axes[0].values, (std::vector<std::string>{"0", "4", "8"}));
  EXPECT_EQ(file->axes[1].values, (std::vector<std::string>{"[tp, dp]", "\"auto\""}));
  EXPECT_EQ(file->axes[2].values, (std::vector<std::string>{"{median: 1min, mean: 2min}", "5min"}));
  EXPECT_EQ(file->combination.mode, Mode::random);
  EXPECT_EQ(file->combination.random_points, 20);
  ASSERT_EQ(file->columns.size(), 5U);
  EXPECT_EQ(file->columns[0].name, "goodput");
  EXPECT_EQ(file->columns[3].name, "goodput_p90");
  EXPECT_EQ(file->columns[4].name, "finish_time_s_p99");
  EXPECT_EQ(file->trials, 5);
  EXPECT_EQ(file->seed, 9U);
}

TEST(SweepFile, IsToldFromAScenario) {
  EXPECT_FALSE(is_sweep_file("format: orrery/1\nname: orrery-sweep/1\n"));
  EXPECT_FALSE(is_sweep_file("orrery-sweep/1"));
}

TEST(SweepFile, ReportsAllProblemsAtTheirPlace) {
  EXPECT_EQ(file_refusal(R"(format: orrery-sweep/1
vary:
  capacity.spare: [1]
  capacity.spares: {a: 1}
points: 4
metrics: [godput]
treads: 1
)"),
            "s.yaml:1:1: error: scenario: is required but missing (a text such as "
            "`llama3-405b-16k.yaml`)\n"
            "s.yaml:3:19: error: capacity.spare: unknown key (did you mean `capacity.spares`?)\n"
            "s.yaml:4:20: error: capacity.spares: has no list of values ([V1, V2], or "
            "from:to:steps)\n"
            "s.yaml:5:9: error: points: is for `combine: random` only\n"
            "s.yaml:6:10: error: metrics: unknown metric `godput` in `godput` (did you mean "
            "`goodput`?)\n"
            "s.yaml:7:1: error: treads: unknown key (did you mean `trials`?)\n");
}

}  // namespace
}  // namespace orrery::sweep
