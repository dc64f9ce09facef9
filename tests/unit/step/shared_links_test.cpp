// Whole steps on shared links: what flows must have in common with collectives priced one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/cost/link_rates.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/simulate/shared_links/flow_replay.hpp"
#include "sim/step/simulate/shared_links/folded_fabric.hpp"
#include "sim/step/simulate/shared_links/share_links.hpp"
#include "sim/step/simulate/step_structure.hpp"
#include "tests/progressive_filling.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

Case on_nodes(const char* model, std::int64_t nodes) {
  Case what;
  what.model = model;
  what.nodes = nodes;
  return what;
}

Case pipelined() {
  Case what = on_nodes("llama3-70b", 8);
  what.layout.tensor = 4;
  what.layout.sequence_parallel = true;
  what.layout.pipeline = 4;
  what.layout.sharding = layout::Sharding::zero1;
  what.step.schedule = schedule::ScheduleKind::one_f_one_b;
  return what;
}

Case interleaved() {
  Case what = pipelined();
  what.layout.tensor = 8;
  what.layout.virtual_stages = 5;
  what.step.schedule = schedule::ScheduleKind::interleaved;
  return what;
}

Case sharded() {
  Case what = on_nodes("llama3-8b", 4);
  what.layout.sharding = layout::Sharding::zero3;
  what.batch = {.global = 128, .micro = 1};
  return what;
}

Case experts() {
  Case what = on_nodes("mixtral-8x7b", 4);
  what.layout.tensor = 4;
  what.layout.sequence_parallel = true;
  what.layout.expert = 8;
  what.layout.expert_tensor = 1;
  return what;
}

cost::CostModel on_flows(const cost::CostModel& costs,
                         const std::vector<hardware::NetworkTier>& tiers = {}) {
  hardware::ClusterSpec cluster = costs.cluster();
  cluster.network.detail = hardware::NetworkDetail::flows;
  cluster.network.tiers = tiers;
  return {costs.gpu(), costs.software(), cluster};
}

// A step with everything that its replays need.
struct Replayed {
  Prepared of;
  std::vector<std::vector<int>> buckets;
  schedule::StepGraph graph;
  StageCosts stages;
  std::optional<TaskTimes> times = {};
  NetworkWork work = {};
};

std::unique_ptr<Replayed> replayed(const Case& what) {
  Prepared prepared = prepare(what);
  auto alone = unshared_step(prepared.input, on_flows(prepared.costs));
  const StepInput& input = alone->input;
  const cost::CostModel& costs = alone->costs;
  auto buckets = buckets_per_chunk(input);
  const auto plan = schedule::generate(schedule_request(input));
  auto graph = std::get<schedule::StepGraph>(schedule::build_step_graph(
      std::get<schedule::Schedule>(plan), {.p2p = p2p_mode(input, costs),
                                           .buckets = buckets,
                                           .comm = data_parallel_comm(input, costs),
                                           .optimizer = true}));
  StageCosts stages = stage_costs(input, costs, buckets);
  auto made = std::make_unique<Replayed>(
      Replayed{{input, costs}, std::move(buckets), std::move(graph), std::move(stages)});
  made->times.emplace(made->graph, made->stages);
  made->work = find_network_work({.input = made->of.input,
                                  .costs = made->of.costs,
                                  .buckets = made->buckets,
                                  .graph = made->graph,
                                  .stages = made->stages,
                                  .times = *made->times});
  return made;
}

TEST(SharedLinks, TasksTakeWhatTheyCostWhenNothingIsShared) {
  for (const Case& what : {pipelined(), interleaved(), sharded(), experts()}) {
    const auto step = replayed(what);
    for (std::size_t c = 0; c < step->work.of_class.size(); ++c) {
      const TaskNetwork& network = step->work.of_class[c];
      SimTime sum = network.behind;
      for (const NetworkPiece& piece : network.pieces) {
        EXPECT_LE(piece.lead, piece.alone);
        EXPECT_LE(piece.lead, piece.before);
        sum += piece.before + piece.alone - piece.lead;
      }
      EXPECT_EQ(sum, step->times->parts()[c]->total) << "class " << c;
    }
  }
}

// Infinitely wide links: the replay with flows is that without, to the nanosecond.
TEST(SharedLinks, WideLinksChangeNothing) {
  for (const Case& what : {pipelined(), interleaved(), sharded(), experts()}) {
    const auto step = replayed(what);
    EXPECT_FALSE(step->work.paths.empty());
    FoldedFabric fabric;
    fabric.paths.resize(step->work.paths.size());
    for (const double slowdown : {0.0, 0.1}) {
      if (slowdown > 0.0 && what.model == "mixtral-8x7b") {
        continue;  // flows inside a pass are not slowed by a reduction beside it
      }
      const FlowJob job{step->graph, step->times->parts(), step->work, slowdown};
      const FlowRun run = FlowReplay(fabric, {&job, 1}).run();
      TaskTimes times(step->graph, step->stages);
      engine::Timing expected;
      PacedReplay(step->graph, slowdown).run(times, expected);
      EXPECT_EQ(run.jobs[0].timing.makespan, expected.makespan);
      EXPECT_EQ(run.jobs[0].timing.start, expected.start);
      EXPECT_EQ(run.jobs[0].timing.end, expected.end);
    }
  }
}

// Every byte of every flow crosses every link of its path, once for each unit of weight.
TEST(SharedLinks, BytesAreConserved) {
  const auto step = replayed(interleaved());
  const FabricJob placed{step->of.input.layout, step->of.input.cluster, step->work.paths};
  const FoldedFabric fabric = fold_fabric(step->of.costs.cluster(), {&placed, 1});
  const FlowJob job{step->graph, step->times->parts(), step->work};
  const FlowRun run = FlowReplay(fabric, {&job, 1}, fabric::compare_with_full_solve).run();
  std::vector<double> expected(fabric.capacities.size(), 0.0);
  const auto add = [&](const TaskNetwork& network) {
    for (const NetworkPiece& piece : network.pieces) {
      for (const fabric::Hop& hop : fabric.paths[piece.path]) {
        expected[hop.link.index()] += hop.weight * piece.bytes;
      }
    }
  };
  for (std::size_t task = 0; task < step->graph.tasks.size(); ++task) {
    add(step->work.of_class[step->graph.class_of[task]]);
    for (const auto& edge : step->graph.graph.predecessors({static_cast<std::int32_t>(task)})) {
      if (edge.delay != engine::kNoDelay) {
        add(step->work.of_message[static_cast<std::size_t>(edge.delay)]);
      }
    }
  }
  for (std::size_t link = 0; link < expected.size(); ++link) {
    EXPECT_NEAR(in_bytes(run.carried[link]), expected[link], expected[link] * 1e-12);
  }
}

TEST(SharedLinks, FlowsNeverShortenAStepAndTapersLengthenIt) {
  for (const Case& what : {pipelined(), interleaved(), sharded(), experts()}) {
    const Prepared prepared = prepare(what);
    const StepResult wide = simulate(prepared.input, on_flows(prepared.costs));
    const hardware::NetworkTier leaf{
        .name = "leaf", .nodes = 2, .oversubscription = 8.0, .latency = {}};
    const StepResult narrow = simulate(prepared.input, on_flows(prepared.costs, {leaf}));
    ASSERT_TRUE(wide.network && narrow.network);
    EXPECT_GE(wide.network->sharing, SimTime{});
    EXPECT_GT(narrow.step_time, wide.step_time);
    EXPECT_EQ(narrow.network->links.front().name.substr(0, 7), "uplinks");
  }
}

// Two nodes of eight under each leaf, whose uplinks hold a quarter of their NICs. Exchanges of 16
// ranks stay under a leaf, but through the spine 7 of 8 bytes change the rail. A reduction leaves a
// leaf once in either direction, by all rails alike.
TEST(SharedLinks, OnRailsAnExchangeClimbsWhereNoNvlinkCarriesIt) {
  Case what = on_nodes("qwen3-30b-a3b", 4);
  what.layout.expert = 16;
  const Prepared prepared = prepare(what);
  const auto fullest = [&](hardware::CrossRail cross_rail, const NetworkPath& path) {
    hardware::ClusterSpec cluster = prepared.costs.cluster();
    cluster.network.cross_rail = cross_rail;
    cluster.network.tiers = {{.name = "leaf", .nodes = 2, .oversubscription = 4.0, .latency = {}}};
    const FabricJob job{prepared.input.layout, prepared.input.cluster, {&path, 1}};
    const FoldedFabric folded = fold_fabric(cluster, {&job, 1});
    double time = 0.0;
    for (const fabric::Hop& hop : folded.paths[0]) {
      time = std::max(time, hop.weight / (folded.capacities[hop.link.index()] /
                                          (cluster.network.nic_rate * cost::kNicShare)));
    }
    return time;
  };
  const NetworkPath exchange{.pattern = cost::NetworkPattern::exchange,
                             .group = layout::GroupKind::expert};
  EXPECT_NEAR(fullest(hardware::CrossRail::leaf, exchange), 1.0, 1e-9);
  EXPECT_NEAR(fullest(hardware::CrossRail::pxn, exchange), 1.0, 1e-9);
  EXPECT_NEAR(fullest(hardware::CrossRail::spine, exchange), 4.0 * 7.0 / 8.0, 1e-9);
  for (const auto pattern : {cost::NetworkPattern::ring, cost::NetworkPattern::in_switches}) {
    const NetworkPath reduction{.pattern = pattern, .group = layout::GroupKind::data, .data = true};
    const double on_leaves = fullest(hardware::CrossRail::leaf, reduction);
    for (const auto rails : {hardware::CrossRail::pxn, hardware::CrossRail::spine}) {
      EXPECT_NEAR(fullest(rails, reduction), on_leaves, 1e-9);
    }
  }
}

TEST(SharedLinks, GroupsKnowNoNetwork) {
  const Prepared prepared = prepare(sharded());
  EXPECT_EQ(simulate(prepared.input, prepared.costs).network, nullptr);
}

}  // namespace
}  // namespace orrery::step::test
