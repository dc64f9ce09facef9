// Steps that combine a forward with a backward, and all-to-all beside other work of its direction.

#include "sim/step/simulate/replay/combined_step.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "sim/step/simulate/stages/layer_costs.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using schedule::LayerNode;
using schedule::ScheduleKind;

constexpr double kCloseMicroseconds = 0.01;

double in_us(const Parts& parts, StepCategory category) {
  return in_microseconds(parts.by_category[static_cast<std::size_t>(category)]);
}

// One chunk of one layer; times in microseconds.
StageCosts one_layer(double dispatch_forward) {
  LayerNodeParts nodes;
  const auto set = [&nodes](LayerNode node, StepCategory category, double us) {
    nodes[static_cast<std::size_t>(node)].by_category[static_cast<std::size_t>(category)] =
        microseconds(us);
  };
  set(LayerNode::attention_forward, StepCategory::compute, 10.0);
  set(LayerNode::dispatch_forward, StepCategory::exposed_expert, dispatch_forward);
  set(LayerNode::mlp_forward, StepCategory::compute, 6.0);
  set(LayerNode::combine_forward, StepCategory::exposed_expert, 4.0);
  set(LayerNode::combine_backward, StepCategory::exposed_expert, 4.0);
  set(LayerNode::mlp_backward, StepCategory::compute, 6.0);
  set(LayerNode::mlp_weight, StepCategory::compute, 3.0);
  set(LayerNode::dispatch_backward, StepCategory::exposed_expert, 4.0);
  set(LayerNode::attention_backward, StepCategory::compute, 10.0);
  set(LayerNode::attention_weight, StepCategory::compute, 5.0);
  StageCosts costs;
  costs.combined.active = true;
  costs.combined.nodes[0] = std::make_shared<const LayerNodeParts>(nodes);
  costs.devices = {{.chunks = {{.buckets = {}, .layers = {0}}}, .optimizer = {}}};
  return costs;
}

// Compute attn_f 0-10, mlp_b 10-16, mlp_w 16-19, mlp_f 19-25, attn_b 25-35, attn_w 35-40; every
// all-to-all fits beside it: dispatch_f 10-14, dispatch_b 16-20, combine_f 25-29.
TEST(CombinedStep, ShortExchangesCostNothing) {
  const StageCosts costs = one_layer(4.0);
  const Parts parts = combined_step(costs, costs.devices[0], 0, 0, true);
  EXPECT_NEAR(in_us(parts, StepCategory::compute), 40.0, kCloseMicroseconds);
  EXPECT_NEAR(in_us(parts, StepCategory::exposed_expert), 0.0, kCloseMicroseconds);
}

// A dispatch of 20 ends at 30, so mlp_f waits from 19 to 30: 11 exposed.
TEST(CombinedStep, ALongExchangeIsExposedWhereComputeWaitsForIt) {
  const StageCosts costs = one_layer(20.0);
  const Parts parts = combined_step(costs, costs.devices[0], 0, 0, true);
  EXPECT_NEAR(in_us(parts, StepCategory::compute), 40.0, kCloseMicroseconds);
  EXPECT_NEAR(in_us(parts, StepCategory::exposed_expert), 11.0, kCloseMicroseconds);
}

// Without the weight gradients compute is 32 and mlp_f waits from 16 to 30.
TEST(CombinedStep, WeightGradientsThatRunLaterHideNothing) {
  const StageCosts costs = one_layer(20.0);
  const Parts parts = combined_step(costs, costs.devices[0], 0, 0, false);
  EXPECT_NEAR(in_us(parts, StepCategory::compute), 32.0, kCloseMicroseconds);
  EXPECT_NEAR(in_us(parts, StepCategory::exposed_expert), 14.0, kCloseMicroseconds);
}

// Hidden: 40 + 32 - 51 = 21. A slow-down of 0.25 stretches compute by 1 + 0.25 * 21 / 40 = 1.13125:
// attn_f ends at 11.3125, dispatch_f at 31.3125, then mlp_f 6.7875, attn_b 11.3125, attn_w 5.65625.
TEST(CombinedStep, ComputeBesideAnExchangeIsSlower) {
  StageCosts costs = one_layer(20.0);
  costs.combined.slowdown = 0.25;
  const Parts parts = combined_step(costs, costs.devices[0], 0, 0, true);
  const double end = 31.3125 + 6.7875 + 11.3125 + 5.65625;
  EXPECT_NEAR(in_us(parts, StepCategory::compute), 40.0, kCloseMicroseconds);
  EXPECT_NEAR(in_us(parts, StepCategory::exposed_expert), end - 40.0, kCloseMicroseconds);
}

// Out 20 and then 35, in 30: they pass each other on the link, so 55 beside 40 of compute. Without
// the weight gradients' 35 all of it hides.
TEST(CombinedStep, CopiesOfBothDirectionsHideBehindTheWholeStep) {
  StageCosts costs = one_layer(4.0);
  BucketCosts bucket;
  bucket.copies.forward.out = microseconds(20.0);
  bucket.copies.backward_input.in = microseconds(30.0);
  bucket.copies.backward_weight.out = microseconds(35.0);
  costs.buckets = {bucket};
  costs.devices[0].chunks[0].buckets = {0};
  const auto offload = [&costs](bool with_weights) {
    return in_us(combined_step(costs, costs.devices[0], 0, 0, with_weights), StepCategory::offload);
  };
  EXPECT_NEAR(offload(true), 15.0, kCloseMicroseconds);
  EXPECT_NEAR(offload(false), 0.0, kCloseMicroseconds);
  costs.combined.copies_overlap = false;
  EXPECT_NEAR(offload(true), 55.0, kCloseMicroseconds);
}

std::vector<CombinedNode> nodes_of_one_layer(const StageCosts& costs) {
  const ChunkCosts& chunk = costs.devices[0].chunks[0];
  return combined_nodes(costs, chunk, chunk, true);
}

const CombinedNode& find(const std::vector<CombinedNode>& nodes, LayerNode which) {
  for (const CombinedNode& node : nodes) {
    if (node.node == which) {
      return node;
    }
  }
  ADD_FAILURE() << "no such node";
  return nodes.front();
}

// As in ALongExchangeIsExposed...: mlp_w ends at 19, mlp_f begins at 30 when the dispatch ends.
TEST(CombinedStep, NodesStandWhereTheTwoStreamsRunThem) {
  const auto nodes = nodes_of_one_layer(one_layer(20.0));
  ASSERT_EQ(nodes.size(), 10U);
  const CombinedNode& dispatch = find(nodes, LayerNode::dispatch_forward);
  EXPECT_EQ(dispatch.start.ns, 10'000);
  EXPECT_EQ(dispatch.end.ns, 30'000);
  EXPECT_EQ(dispatch.exposed.ns, 11'000);
  EXPECT_EQ(find(nodes, LayerNode::mlp_forward).start.ns, 30'000);
  EXPECT_EQ(find(nodes, LayerNode::dispatch_backward).exposed.ns, 0);
  SimTime exposed;
  for (const CombinedNode& node : nodes) {
    EXPECT_EQ(node.slowed.ns, 0);
    exposed += node.exposed;
  }
  EXPECT_EQ(exposed.ns, 11'000);
}

// As in ComputeBesideAnExchangeIsSlower: every node takes 1.13125 times as long.
TEST(CombinedStep, NodesBesideAnExchangeTakeLonger) {
  StageCosts costs = one_layer(20.0);
  costs.combined.slowdown = 0.25;
  const auto nodes = nodes_of_one_layer(costs);
  const auto slowed_us = [&nodes](LayerNode node) {
    return in_microseconds(to_seconds(find(nodes, node).slowed));
  };
  EXPECT_NEAR(slowed_us(LayerNode::attention_forward), 1.3125, kCloseMicroseconds / 10.0);
  EXPECT_NEAR(slowed_us(LayerNode::attention_weight), 0.65625, kCloseMicroseconds / 10.0);
  SimTime sum;
  for (const CombinedNode& node : nodes) {
    sum += node.exposed + node.slowed;
  }
  const Parts parts = combined_step(costs, costs.devices[0], 0, 0, true);
  EXPECT_NEAR(in_us(parts, StepCategory::exposed_expert), in_microseconds(to_seconds(sum)),
              kCloseMicroseconds / 10.0);
}

// Slowed by 2: 2.05 times 40, and mlp_f waits until 40.5: 83.55 > 40 + 32. So one after the other,
// all of it waited for and nothing slowed.
TEST(CombinedStep, NeverTakesLongerThanOneAfterTheOther) {
  StageCosts costs = one_layer(20.0);
  costs.combined.slowdown = 2.0;
  const Parts parts = combined_step(costs, costs.devices[0], 0, 0, true);
  EXPECT_NEAR(in_us(parts, StepCategory::exposed_expert), 32.0, kCloseMicroseconds);
  SimTime clock;
  for (const CombinedNode& node : nodes_of_one_layer(costs)) {
    EXPECT_EQ(node.start, clock);
    EXPECT_EQ(node.slowed.ns, 0);
    EXPECT_EQ(node.exposed, schedule::is_all_to_all(node.node) ? node.end - node.start : SimTime{});
    clock = node.end;
  }
  EXPECT_EQ(clock.ns, 72'000);
}

Case mixture(ScheduleKind schedule) {
  Case what;
  what.model = "deepseek-v2";
  what.gpu = "h800-sxm";
  what.nodes = 16;
  what.layout.pipeline = 4;
  what.layout.virtual_stages = schedule == ScheduleKind::one_f_one_b ? 1 : 2;
  what.layout.expert = 16;
  what.layout.sharding = layout::Sharding::zero1;
  what.batch = {.global = 32 * 16, .micro = 1};
  what.step.schedule = schedule;
  return what;
}

double share(const StepResult& result, StepCategory category) {
  return static_cast<double>(result.ledger.gpu_nanoseconds(category)) * kNano /
         static_cast<double>(result.gpus);
}

TEST(CombinedStep, ScheduleHidesExchangesThatOtherwiseStandInTheWay) {
  for (const ScheduleKind kind :
       {ScheduleKind::dualpipe, ScheduleKind::dualpipev, ScheduleKind::interleaved_combined}) {
    SCOPED_TRACE(schedule::to_string(kind));
    Case what = mixture(kind);
    const StepResult hidden = simulate(what);
    what.step.overlap.expert = false;
    const StepResult exposed = simulate(what);
    EXPECT_LT(hidden.step_time, exposed.step_time);
    // Of two micro-batches together, the stack hides 0.4 of an exchange.
    EXPECT_NEAR(
        share(hidden, StepCategory::exposed_expert) / share(exposed, StepCategory::exposed_expert),
        0.7, 0.1);
    EXPECT_NEAR(share(hidden, StepCategory::compute) / share(exposed, StepCategory::compute), 1.0,
                1e-4);
  }
}

// With a link that no pass can hide, a step that combines passes pays for its copies as others do.
TEST(CombinedStep, ActivationsOnTheHostTakeTheirTime) {
  Case what = mixture(ScheduleKind::dualpipe);
  what.step.offload.activations = 0.5;
  what.step.offload.link = gigabytes_per_second(1.0);
  const StepResult combined = simulate(what);
  what = mixture(ScheduleKind::one_f_one_b);
  what.step.offload.activations = 0.5;
  what.step.offload.link = gigabytes_per_second(1.0);
  const StepResult plain = simulate(what);
  const double ratio = share(combined, StepCategory::offload) / share(plain, StepCategory::offload);
  // Out and in share a step: at best half of the time that one after the other takes.
  EXPECT_GT(ratio, 0.45);
  EXPECT_LT(ratio, 1.0);
}

// Plain 1F1B has nothing of the other direction, only the shared experts and weight gradients.
TEST(CombinedStep, PlainSchedulesHideBehindSharedExpertsAndWeightGradients) {
  Case what = mixture(ScheduleKind::one_f_one_b);
  const StepResult exposed = simulate(what);
  what.step.overlap.expert = true;
  const StepResult hidden = simulate(what);
  EXPECT_LT(hidden.step_time, exposed.step_time);
  EXPECT_LT(share(hidden, StepCategory::exposed_expert),
            share(exposed, StepCategory::exposed_expert));
  EXPECT_EQ(hidden.ledger.gpu_nanoseconds(StepCategory::compute),
            exposed.ledger.gpu_nanoseconds(StepCategory::compute));
}

TEST(CombinedStep, SlowDownIsTheShareOfTheSmsThatTheStackStates) {
  const Prepared prepared = prepare(mixture(ScheduleKind::dualpipe));
  EXPECT_DOUBLE_EQ(expert_slowdown(prepared.costs),
                   prepared.costs.software().communication_slowdown.value());
  const cost::CostModel with_sms =
      with_software(prepared.costs, [](hardware::SoftwareProfile& software) {
        software.expert_all_to_all_sms = Coefficient<double>(20.0, {SourceKind::given, "a test"});
      });
  EXPECT_DOUBLE_EQ(expert_slowdown(with_sms), 20.0 / 132.0);
}

}  // namespace
}  // namespace orrery::step::test
