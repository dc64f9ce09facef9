// Replicas in classes: what falls apart and what does not, and that a step of the classes is the
// step of all replicas one by one.

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "sim/step/schedule/schedule.hpp"
#include "sim/step/simulate/shared_links/flow_replay.hpp"
#include "sim/step/simulate/shared_links/job_places.hpp"
#include "sim/step/simulate/shared_links/share_links.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"
#include "sim/step/simulate/step_structure.hpp"
#include "tests/progressive_filling.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using Classes = std::vector<std::uint32_t>;
using Loads = std::vector<std::vector<ReplicaLoad>>;

// Replicas side by side on links, each on its own and on the next one's.
Loads circle(std::uint32_t replicas) {
  Loads loads(replicas);
  for (std::uint32_t i = 0; i < replicas; ++i) {
    loads[i].push_back({0, i, 1.0});
    loads[(i + 1) % replicas].push_back({0, i, 0.5});
  }
  return loads;
}

TEST(ReplicaClasses, NothingFallsApartWithoutACause) {
  const std::vector<std::uint64_t> alike(8, 0);
  EXPECT_EQ(replica_classes(alike, circle(8), alike), Classes(8, 0));
}

TEST(ReplicaClasses, TheDistanceToACauseCounts) {
  std::vector<std::uint64_t> links(6, 0);
  const std::vector<std::uint64_t> alike(6, 0);
  links[0] = 1;  // of replica 0, and half of 5
  EXPECT_EQ(replica_classes(alike, circle(6), links), (Classes{0, 1, 2, 3, 4, 5}));
  Loads apart(4);  // links of their own: only who is on the odd one differs
  for (std::uint32_t i = 0; i < 4; ++i) {
    apart[i].push_back({0, i, 1.0});
  }
  EXPECT_EQ(
      replica_classes(std::vector<std::uint64_t>(4, 0), apart, std::vector{0UL, 0UL, 1UL, 0UL}),
      (Classes{0, 0, 1, 0}));
  EXPECT_EQ(
      replica_classes(std::vector{0UL, 7UL, 7UL, 0UL}, apart, std::vector<std::uint64_t>(4, 0)),
      (Classes{0, 1, 1, 0}));
}

TEST(ReplicaClasses, WhatAllMeetInTellsLinksApart) {
  Loads loads(2);
  loads[0] = {{0, 0, 1.0}, {1, kAllReplicas, 2.0}};
  loads[1] = {{0, 1, 1.0}, {1, kAllReplicas, 3.0}};
  const std::vector<std::uint64_t> alike(2, 0);
  EXPECT_EQ(replica_classes(alike, loads, alike), (Classes{0, 1}));
}

struct Machine {
  const char* name;
  std::vector<hardware::NetworkTier> tiers;
  std::vector<hardware::NetworkFault> faults;
  hardware::Routing routing = hardware::Routing::adaptive;
  double slow = 1.0;  // the second replica
};

std::vector<Machine> machines() {
  const hardware::NetworkTier leaf{
      .name = "leaf", .nodes = 3, .oversubscription = 4.0, .latency = {}};
  return {{"even", {}, {}},
          {"leaves that cut replicas", {leaf}, {}},
          {"a slow NIC", {}, {{.node = 3, .nic = 0, .share = 0.3}}},
          {"a slow uplink for a while",
           {leaf},
           {{.tier = "leaf", .block = 1, .share = 0.2, .from = milliseconds(50.0)}}},
          {"hashed routes", {leaf}, {}, hardware::Routing::static_ecmp},
          {"a slow GPU", {}, {}, hardware::Routing::adaptive, 1.2},
          {"a slow GPU below leaves", {leaf}, {}, hardware::Routing::adaptive, 1.2}};
}

Case pipeline() {
  Case what;
  what.model = "llama3-70b";
  what.nodes = 12;
  what.layout.tensor = 4;
  what.layout.sequence_parallel = true;
  what.layout.pipeline = 4;
  what.layout.sharding = layout::Sharding::zero1;
  what.step.schedule = schedule::ScheduleKind::one_f_one_b;
  what.batch = {.global = 48, .micro = 1};
  return what;
}

Case experts() {
  Case what;
  what.model = "mixtral-8x7b";
  what.nodes = 8;
  what.layout.tensor = 2;
  what.layout.sequence_parallel = true;
  what.layout.expert = 8;
  what.layout.expert_tensor = 1;
  what.batch = {.global = 256, .micro = 1};
  return what;
}

struct Ran {
  SimTime makespan;
  std::size_t classes = 0;
};

// A step with its replicas in as few classes as there can be, or each in its own.
class Step {
 public:
  Step(const Case& what, const Machine& machine) : prepared_(prepare(what)) {
    hardware::ClusterSpec cluster = prepared_.costs.cluster();
    cluster.network.detail = hardware::NetworkDetail::ranks;
    cluster.network.tiers = machine.tiers;
    cluster.network.faults = machine.faults;
    cluster.network.routing = machine.routing;
    cluster_ = cluster;
    alone_.emplace(*unshared_step(
        prepared_.input,
        cost::CostModel(prepared_.costs.gpu(), prepared_.costs.software(), cluster)));
    buckets_ = buckets_per_chunk(alone_->input);
    structure_.emplace(std::get<StepStructure>(build_structure(
        schedule_request(alone_->input), graph_options(alone_->input, alone_->costs, buckets_))));
    stages_.emplace(stage_costs(alone_->input, alone_->costs, buckets_));
    const std::size_t replicas =
        static_cast<std::size_t>(alone_->input.layout.data / lockstep_replicas(alone_->input));
    speeds_.assign(replicas, std::vector<DeviceSpeed>(stages_->devices.size()));
    speeds_[1].front().slowest = machine.slow;
    for (const auto& speeds : speeds_) {
      times_.emplace_back(structure_->graph, *stages_, speeds);
      works_.push_back(find_network_work({.input = alone_->input,
                                          .costs = alone_->costs,
                                          .buckets = buckets_,
                                          .graph = structure_->graph,
                                          .stages = *stages_,
                                          .times = times_.back()}));
    }
  }

  [[nodiscard]] Ran run(bool one_by_one) const {
    std::vector<std::uint32_t> sorts(speeds_.size(), 0);
    sorts[1] = speeds_[1] == speeds_[0] ? 0 : 1;
    if (one_by_one) {
      std::iota(sorts.begin(), sorts.end(), 0U);
    }
    const FabricJob placed{alone_->input.layout,
                           alone_->input.cluster,
                           works_.front().paths,
                           {},
                           lockstep_replicas(alone_->input),
                           sorts};
    const FoldedFabric fabric = fold_fabric(cluster_, {&placed, 1});
    std::vector<FlowJob> jobs;
    for (const ReplicaClass& alike : fabric.classes.front()) {
      jobs.push_back({.graph = structure_->graph,
                      .parts = times_[alike.replica].parts(),
                      .work = works_[alike.replica],
                      .slowdown = 0.1,
                      .joins = !jobs.empty(),
                      .share = alike.share});
    }
    const FlowRun ran = FlowReplay(fabric, jobs, fabric::compare_with_full_solve).run();
    return {ran.jobs.front().timing.makespan, jobs.size()};
  }

  [[nodiscard]] std::size_t replicas() const { return speeds_.size(); }

 private:
  Prepared prepared_;
  hardware::ClusterSpec cluster_;
  std::optional<UnsharedStep> alone_;
  std::vector<std::vector<int>> buckets_;
  std::optional<StepStructure> structure_;
  std::optional<StageCosts> stages_;
  std::vector<std::vector<DeviceSpeed>> speeds_;
  std::vector<TaskTimes> times_;
  std::vector<NetworkWork> works_;
};

// Every solve of both is within 1e-12 of the full one; ends are rounded to nanoseconds.
TEST(ReplicaClasses, FoldedIsUnfolded) {
  for (const Case& what : {pipeline(), experts()}) {
    for (const Machine& machine : machines()) {
      SCOPED_TRACE(what.model + ", " + machine.name);
      const Step step(what, machine);
      const Ran folded = step.run(false);
      const Ran unfolded = step.run(true);
      EXPECT_EQ(unfolded.classes, step.replicas());
      EXPECT_LE(folded.classes, step.replicas());
      EXPECT_NEAR(static_cast<double>(folded.makespan.ns),
                  static_cast<double>(unfolded.makespan.ns), 2.0);
    }
  }
}

TEST(ReplicaClasses, OnlyWhatIsTouchedFallsApart) {
  const auto classes = [](std::size_t machine) {
    return Step(pipeline(), machines()[machine]).run(false).classes;
  };
  EXPECT_EQ(classes(0), 1U);
  EXPECT_EQ(classes(2), 2U);  // the replica on that NIC
  EXPECT_EQ(classes(5), 2U);  // the slow one: the other nodes are whole replicas
}

// Without anything that tells replicas apart the step is that of one of them, to the last bit.
TEST(ReplicaClasses, NothingUnfoldsForNothing) {
  const auto step_of = [](hardware::NetworkDetail detail, VariationSpec variation) {
    Case what = pipeline();
    what.step.variation = std::move(variation);
    Prepared of = prepare(what);
    hardware::ClusterSpec cluster = of.costs.cluster();
    cluster.network.detail = detail;
    return simulate(of.input, {of.costs.gpu(), of.costs.software(), cluster});
  };
  const VariationSpec slow{.slow_gpus = {{.node = 2, .gpu = 1, .factor = 1.5}}};
  const StepResult flows = step_of(hardware::NetworkDetail::flows, {});
  const StepResult ranks = step_of(hardware::NetworkDetail::ranks, {});
  EXPECT_EQ(flows.step_time, ranks.step_time);
  EXPECT_EQ(flows.network->flows, ranks.network->flows);
  const StepResult with_slow = step_of(hardware::NetworkDetail::ranks, slow);
  EXPECT_GT(with_slow.step_time, ranks.step_time);
  EXPECT_LE(with_slow.step_time, step_of(hardware::NetworkDetail::flows, slow).step_time);
  EXPECT_EQ(with_slow.network->flows > ranks.network->flows, true);
}

}  // namespace
}  // namespace orrery::step::test
