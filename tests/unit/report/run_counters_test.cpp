#include <gtest/gtest.h>

#include "sim/answer/report/export/run_trace.hpp"

namespace orrery::report {
namespace {

using run::RunActivity;

// 60 h of training, 20 h that a failure takes, 20 h of recovery: 60 %, 60 / 80 before.
TEST(RunCounters, CountOnlyTrainingThatStays) {
  Evaluation evaluation;
  const auto add = [&evaluation](double begin, double end, RunActivity kind) {
    evaluation.timeline.add({to_sim_time(hours(begin)), to_sim_time(hours(end)), kind, -1});
  };
  add(0.0, 60.0, RunActivity::training);
  add(60.0, 80.0, RunActivity::lost_training);
  add(80.0, 80.0, RunActivity::failure);
  add(80.0, 100.0, RunActivity::load);
  const std::vector<ShareSample> samples = productive_over_time(evaluation);
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_DOUBLE_EQ(samples[0].share, 1.0);
  EXPECT_DOUBLE_EQ(samples[1].share, 0.75);
  EXPECT_DOUBLE_EQ(samples[2].share, 0.6);
  EXPECT_EQ(samples[2].from, to_sim_time(hours(100.0)));
}

TEST(RunCounters, AreEmptyWithoutARun) { EXPECT_TRUE(productive_over_time({}).empty()); }

}  // namespace
}  // namespace orrery::report
