// What follows when one key is turned: it fits, it is small, and it leaves alone what was asked.

#include "sim/answer/plan/search/followers.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/checkout.hpp"

namespace orrery::plan {
namespace {

using scenario::KeyValue;

scenario::ScenarioTemplate base_of(const std::string& file) {
  Diagnostics diagnostics;
  auto base = scenario::ScenarioTemplate::from_file(std::string(kSourceDir) + "/scenarios/" + file,
                                                    diagnostics);
  EXPECT_TRUE(base) << to_string(diagnostics);
  return *std::move(base);
}

TEST(Followers, NothingFollowsWhereTheLayoutStands) {
  const auto base = base_of("llama3-405b-16k.yaml");
  StepEstimator estimator;
  const TurnedKey turn = turn_key(base, {"capacity.spares", "40", {}}, estimator, {});
  EXPECT_TRUE(turn.stands_alone);
  EXPECT_TRUE(turn.followers.empty());
}

TEST(Followers, TheFastestThatFitsComesFirst) {
  const auto base = base_of("llama3-405b-16k.yaml");
  const std::set<std::string> may = {"layout.context",        "layout.pipeline", "layout.expert",
                                     "layout.virtual_stages", "batch.micro",     "recompute"};
  for (const KeyValue& turned :
       {KeyValue{"layout.tensor", "4", {}}, KeyValue{"cluster.nodes", "512", {}}}) {
    StepEstimator estimator;
    const TurnedKey turn = turn_key(base, turned, estimator, {});
    if (turn.stands_alone) {
      continue;
    }
    ASSERT_FALSE(turn.followers.empty()) << turned.key;
    for (const Followers& one : turn.followers) {
      EXPECT_LE(one.changes.size(), 2U);
      std::vector<KeyValue> changes = {turned};
      for (const KeyValue& change : one.changes) {
        EXPECT_TRUE(may.contains(change.key)) << change.key;
        changes.push_back(change);
      }
      Diagnostics diagnostics;
      const auto scenario = base.with(changes, diagnostics);
      ASSERT_TRUE(scenario) << to_string(diagnostics);
      const auto estimate = estimator.estimate(*scenario, changes, {}, diagnostics);
      ASSERT_TRUE(estimate);
      EXPECT_EQ(estimate->verdict, Verdict::fits);
      EXPECT_EQ(estimate->step_time, one.step_time);
    }
    const auto time = [](const Followers& one) { return static_cast<double>(one.step_time.ns); };
    for (const Followers& one : turn.followers) {
      EXPECT_GE(time(one), (1.0 - kWorthTwo) * time(turn.followers.front()));
    }
  }
}

TEST(Followers, AStopGivesWhatIsThere) {
  const auto base = base_of("llama3-405b-16k.yaml");
  StepEstimator estimator;
  std::stop_source stop;
  stop.request_stop();
  const TurnedKey turn =
      turn_key(base, {"layout.tensor", "4", {}}, estimator, {}, stop.get_token());
  EXPECT_TRUE(turn.followers.empty());
}

}  // namespace
}  // namespace orrery::plan
