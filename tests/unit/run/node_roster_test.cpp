// Which nodes fail in a recorded trial: any with the same probability, neighbours where a whole
// unit is struck, nobody who is away; and the result of the trial is the same as without a record.

#include "sim/run/capacity/node_roster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::plan_of;
using testing::restart_after;
using testing::saving_spec;
using testing::steps_of;

constexpr std::int64_t kRosterNodes = 64;

// About 10,000 failures of 64 nodes, each over after 1 s.
RunSpec failing_spec(bool takes_node) {
  RunSpec spec = saving_spec(200'000, 1, seconds(0.0));
  restart_after(spec, seconds(1.0));
  FailureCause cause = failure_cause("GPU", FailureCategory::gpu);
  cause.takes_node = takes_node;
  spec.failures.causes = {cause};
  spec.failures.node_rate = 1.0 / seconds(200.0 * kRosterNodes);
  spec.capacity.spares = 4;
  spec.capacity.repair_time = fixed(seconds(5.0));
  return spec;
}

struct Recorded {
  RunPlan plan;
  RunResult result;
  RunTimeline timeline;
};

Recorded record(const RunSpec& spec, std::uint32_t trial = 0) {
  Recorded recorded{
      .plan = plan_of(spec, steps_of(seconds(10.0), kRosterNodes)), .result = {}, .timeline = {}};
  RunSimulator simulator(recorded.plan);
  recorded.result = simulator.run({.trial = trial, .timeline = &recorded.timeline});
  EXPECT_EQ(recorded.result, simulator.run({.trial = trial})) << "a record changes nothing";
  return recorded;
}

std::vector<double> counts_by_node(const RunTimeline& timeline) {
  std::vector<double> counts(static_cast<std::size_t>(timeline.nodes()), 0.0);
  for (const NodeHit& hit : timeline.hits()) {
    counts[static_cast<std::size_t>(hit.node)] += 1.0;
  }
  return counts;
}

// Sum of (count - mean)^2 / mean: about the number of nodes less one when all are alike.
double chi_square(std::span<const double> counts) {
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  return std::accumulate(counts.begin(), counts.end(), 0.0, [mean](double sum, double count) {
    return sum + (count - mean) * (count - mean) / mean;
  });
}

// Five standard deviations above the mean of the distribution.
double bound(double nodes) { return nodes - 1.0 + 5.0 * std::sqrt(2.0 * (nodes - 1.0)); }

TEST(NodeRoster, HitsAllNodesOfTheJobAlike) {
  const Recorded stays = record(failing_spec(false));
  EXPECT_EQ(stays.timeline.nodes(), kRosterNodes + 4);
  EXPECT_EQ(static_cast<std::int64_t>(stays.timeline.hits().size()), stays.result.failures);
  EXPECT_GT(stays.result.failures, 8000);
  const std::vector<double> counts = counts_by_node(stays.timeline);
  EXPECT_LT(chi_square(std::span(counts).first(kRosterNodes)), bound(kRosterNodes));
  EXPECT_EQ(std::accumulate(counts.begin() + kRosterNodes, counts.end(), 0.0), 0.0)
      << "spares wait";

  // Where nodes leave, repaired ones are spares again, and each number has its turn.
  const Recorded leaves = record(failing_spec(true));
  EXPECT_LT(chi_square(counts_by_node(leaves.timeline)), bound(kRosterNodes + 4));
}

TEST(NodeRoster, NobodyIsHitWhileAwayAndASpareTakesThePlace) {
  RunSpec spec = failing_spec(true);
  spec.capacity.repair_time = fixed(hours(2.0));  // often nobody is left to take the place at once
  const Recorded recorded = record(spec);
  std::map<std::int64_t, SimTime> away;  // until when
  std::int64_t replaced = 0;
  for (const NodeHit& hit : recorded.timeline.hits()) {
    ASSERT_TRUE(hit.leaves);
    ASSERT_GE(hit.at, away[hit.node]);
    if (hit.back < kForever) {
      EXPECT_GE(hit.back - hit.at, to_sim_time(hours(2.0)));
    }
    away[hit.node] = hit.back;
    replaced += hit.successor >= 0 ? 1 : 0;
  }
  EXPECT_GE(replaced, static_cast<std::int64_t>(recorded.timeline.hits().size()) - 1);
}

TEST(NodeRoster, ASwitchTakesTheNodesBehindIt) {
  RunSpec spec = failing_spec(false);
  FailureCause cause = failure_cause("switch", FailureCategory::network);
  cause.scope = FailureScope::network_switch;
  cause.takes_node = false;
  spec.failures.domains.network_switch = 16;
  spec.failures.causes = {cause};
  for (const bool leaves : {false, true}) {
    spec.failures.causes[0].takes_node = leaves;
    spec.capacity.spares = leaves ? 16 : 0;
    const Recorded recorded = record(spec);
    const std::vector<NodeHit>& hits = recorded.timeline.hits();
    ASSERT_GE(hits.size(), 160U);
    std::map<std::int64_t, int> units;
    for (std::size_t i = 0; i < hits.size(); i += 16) {
      for (std::size_t k = 0; k < 16; ++k) {
        EXPECT_EQ(hits[i + k].at, hits[i].at);
        EXPECT_EQ(hits[i + k].node, hits[i].node + static_cast<std::int64_t>(k));
      }
      EXPECT_EQ(hits[i].node % 16, 0);
      ++units[hits[i].node / 16];
    }
    EXPECT_EQ(units.size(), leaves ? 5U : 4U);
  }
}

TEST(NodeRoster, LemonsAreHitMoreOften) {
  RunSpec spec = failing_spec(false);
  spec.failures.lemons = {.fraction = 0.1, .factor = 50.0, .remove_after = {}};
  spec.capacity.repair.fails = 1.0;  // no repair mends them
  spec.simulation.seed = 3;
  for (const bool leaves : {false, true}) {
    spec.failures.causes[0].takes_node = leaves;
    const Recorded recorded = record(spec);
    std::vector<double> counts = counts_by_node(recorded.timeline);
    std::ranges::sort(counts, std::greater{});
    const double mean = static_cast<double>(recorded.timeline.hits().size()) / kRosterNodes;
    EXPECT_GT(counts[1], 3.0 * mean) << leaves;
    EXPECT_LT(counts[kRosterNodes / 2], mean) << leaves;
  }
}

TEST(NodeRoster, ARetiredLemonIsNotHitAgain) {
  RunSpec spec = failing_spec(true);
  spec.failures.lemons = {.fraction = 0.2, .factor = 1000.0, .remove_after = 1};
  spec.capacity.spares = 60;
  const Recorded recorded = record(spec);
  std::map<std::int64_t, int> gone;
  for (const NodeHit& hit : recorded.timeline.hits()) {
    EXPECT_EQ(gone[hit.node], 0) << hit.node;
    gone[hit.node] +=
        hit.back == kForever && hit.at < recorded.result.wall - to_sim_time(hours(1.0));
  }
  EXPECT_GT(std::ranges::count_if(gone, [](const auto& one) { return one.second > 0; }), 5);
}

TEST(NodeRoster, AComponentWhoseLifeRemembersFailsWhereItFailedBefore) {
  RunSpec spec = failing_spec(false);
  spec.failures.node_rate.reset();
  FailureCause& cause = spec.failures.causes[0];
  cause.life = WeibullLaw{0.4, seconds(5000.0)};  // who has just failed fails again soon
  cause.age = {.kind = AgeKind::fresh, .age = {}};
  const std::vector<double> counts = counts_by_node(record(spec).timeline);
  EXPECT_GT(chi_square(std::span(counts).first(kRosterNodes)), 2.0 * kRosterNodes);
}

TEST(NodeRoster, PreemptedNodesAreThoseOnSpot) {
  RunSpec spec = saving_spec(2000, 1, seconds(0.0));
  restart_after(spec, seconds(1.0));
  SpotSpec& spot = spec.capacity.spot.emplace();
  spot.rate = 1.0 / seconds(20'000.0);
  spot.returns = fixed(seconds(100.0));
  const Recorded recorded = record(spec);
  ASSERT_GT(recorded.timeline.hits().size(), 20U);
  for (const NodeHit& hit : recorded.timeline.hits()) {
    EXPECT_EQ(hit.cause, recorded.plan.capacity.spot->cause);
    EXPECT_TRUE(hit.leaves);
  }
}

}  // namespace
}  // namespace orrery::run
