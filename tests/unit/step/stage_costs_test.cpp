#include "sim/step/simulate/stages/stage_costs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/step/model/parameters.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

constexpr double kEndsShare = 1e-4;  // embedding and loss of the ideal model, over its layers

Case ideal_case(std::int64_t layers, std::int64_t micro_batches) {
  Case what;
  what.model_spec = ideal_model(layers);
  what.batch = {.global = micro_batches, .micro = 1};
  return what;
}

Ideal one_gpu() {
  Ideal ideal;
  ideal.gpus_per_node = 1;
  return ideal;
}

double flop_of_layers(const StepResult& result) {
  double sum = 0.0;
  for (const OperationShare& line : result.operations) {
    sum += line.name.find("logits") == std::string::npos ? line.flop : 0.0;
  }
  return sum;
}

// Forward F, backward 2 F; full recomputation runs the forward again: 4 F in place of 3 F.
TEST(StageCosts, FullRecomputationTakesFourThirdsOfTheLayerFlop) {
  const cost::CostModel costs = ideal_costs(one_gpu());
  Case what = ideal_case(4, 2);
  const StepResult none = simulate(input_of(what, costs), costs);
  what.step.recompute.policy = model::Recompute::full;
  const StepResult full = simulate(input_of(what, costs), costs);
  EXPECT_DOUBLE_EQ(flop_of_layers(full) / flop_of_layers(none), 4.0 / 3.0);
  EXPECT_NEAR(step_seconds(full) / step_seconds(none), 4.0 / 3.0, kEndsShare);
  EXPECT_NEAR(full.ledger.share(StepCategory::recompute), 1.0 / 4.0, kEndsShare);
  EXPECT_EQ(none.ledger.gpu_nanoseconds(StepCategory::recompute), 0);
}

// Three layers with a window of half the sequence, 3/4 of the causal work, and one without: 13/16.
TEST(StageCosts, LayersWithAWindowAreCostedApart) {
  Ideal ideal = one_gpu();
  ideal.attention = hardware::AttentionImplementation::fused;
  const cost::CostModel costs = ideal_costs(ideal);
  Case what = ideal_case(4, 1);
  const auto attention = [&] {
    double sum = 0.0;
    for (const OperationShare& line : simulate(input_of(what, costs), costs).operations) {
      sum += line.name.find("attention ") == 0 ? line.flop : 0.0;
    }
    return sum;
  };
  const double whole = attention();
  ASSERT_GT(whole, 0.0);
  what.model_spec->attention_window =
      model::WindowSpec{.size = what.model_spec->sequence_length / 2, .full_every = 4};
  EXPECT_NEAR(attention() / whole, 13.0 / 16.0, 1e-12);
}

// A fused attention kernel counts 2.5 x its forward for the backward (it multiplies the scores
// again): with A of the forward in attention, (4 F + A / 2) / (3 F + A / 2).
TEST(StageCosts, FullRecomputationWithFusedAttentionTakesALittleLessThanFourThirds) {
  Ideal ideal = one_gpu();
  ideal.attention = hardware::AttentionImplementation::fused;
  const cost::CostModel costs = ideal_costs(ideal);
  Case what = ideal_case(4, 1);
  const StepResult none = simulate(input_of(what, costs), costs);
  what.step.recompute.policy = model::Recompute::full;
  const StepResult full = simulate(input_of(what, costs), costs);
  double attention = 0.0;
  for (const OperationShare& line : none.operations) {
    attention += line.name == "attention forward" ? line.flop : 0.0;
  }
  ASSERT_GT(attention, 0.0);
  const double forward = (flop_of_layers(none) - attention / 2.0) / 3.0;
  EXPECT_NEAR(flop_of_layers(full) / flop_of_layers(none),
              (4.0 * forward + attention / 2.0) / (3.0 * forward + attention / 2.0), 1e-12);
}

// Only the attention core runs again: its two products, 4 s^2 h of the layer's forward
// 24 s h^2 + 4 s^2 h.
TEST(StageCosts, SelectiveRecomputationRunsTheAttentionCoreAgain) {
  const cost::CostModel costs = ideal_costs(one_gpu());
  Case what = ideal_case(4, 1);
  what.step.recompute.policy = model::Recompute::selective;
  const StepResult result = simulate(input_of(what, costs), costs);
  const double s = 2048.0;
  const double h = 16384.0;
  const double core = 4.0 * s * s * h;
  const double forward = 24.0 * s * h * h + core;
  EXPECT_NEAR(result.ledger.share(StepCategory::recompute), core / (3.0 * forward + core),
              kEndsShare);
}

TEST(StageCosts, RecomputationOfSomeLayersCountsPerChunk) {
  const cost::CostModel costs = ideal_costs(one_gpu());
  Case what = ideal_case(8, 1);
  what.step.recompute.policy = model::Recompute::full;
  const double full =
      in_seconds(simulate(input_of(what, costs), costs).ledger.gpu_time(StepCategory::recompute));
  for (const std::int64_t layers : {0, 1, 3, 8}) {
    what.step.recompute.layers = layers;
    const StepResult some = simulate(input_of(what, costs), costs);
    EXPECT_NEAR(in_seconds(some.ledger.gpu_time(StepCategory::recompute)),
                full * static_cast<double>(layers) / 8.0, full * 1e-9);
  }
}

// Bytes that data-parallel communication moves, (n-1)/n of each buffer: 2 Psi with ZeRO-1 (reduce
// the gradients, gather the parameters), 3 Psi with ZeRO-3 (gather for the backward once more).
TEST(StageCosts, ZeroThreeMovesThreeHalvesOfZeroOne) {
  Ideal ideal;
  ideal.nodes = 8;
  ideal.gpus_per_node = 1;
  ideal.nvlink = false;
  ideal.wire_rate = gigabytes_per_second(1.0);
  const cost::CostModel costs = ideal_costs(ideal);
  Case what = ideal_case(4, 8);
  what.step.precision.gradient = model::Dtype::bf16;

  struct Traffic {
    double bytes = 0.0;
    double seconds = 0.0;
  };

  const auto traffic = [&](layout::Sharding sharding) {
    what.layout.sharding = sharding;
    const StepInput input = input_of(what, costs);
    const StageCosts stages = stage_costs(input, costs, buckets_per_chunk(input));
    Traffic sum;
    for (const Slice& slice : simulate(input, costs).slices) {
      if (slice.task.stream == schedule::Stream::data_parallel_comm) {
        const auto bucket = static_cast<std::size_t>(slice.task.bucket);
        sum.bytes += stages.bucket(stages.devices[0].chunks[0], bucket).parameters * 2.0;
        sum.seconds += in_seconds(to_seconds(slice.end - slice.start));
      }
    }
    return sum;
  };
  const Traffic one = traffic(layout::Sharding::zero1);
  const Traffic three = traffic(layout::Sharding::zero3);
  const auto parameters = static_cast<double>(model::count_parameters(model_of(what)).total);
  EXPECT_NEAR(one.bytes, 4.0 * parameters, 1.0);
  EXPECT_NEAR(three.bytes, 6.0 * parameters, 1.0);
  EXPECT_NEAR(three.seconds / one.seconds, 1.5, 0.01);  // latencies, and reductions' own rate
}

// ZeRO-1 and ZeRO-2 move the same bytes as an all-reduce of the gradients: gather + scatter.
TEST(StageCosts, ShardedStatesMoveAsMuchAsAnAllReduce) {
  Ideal ideal;
  ideal.nodes = 8;
  ideal.gpus_per_node = 1;
  ideal.nvlink = false;
  ideal.wire_rate = gigabytes_per_second(1.0);
  const cost::CostModel costs = ideal_costs(ideal);
  Case what = ideal_case(4, 8);
  what.step.precision.gradient = model::Dtype::bf16;
  const auto seconds_of = [&](layout::Sharding sharding) {
    what.layout.sharding = sharding;
    const StepInput input = input_of(what, costs);
    const StageCosts stages = stage_costs(input, costs, buckets_per_chunk(input));
    Seconds sum;
    for (const std::uint32_t index : stages.devices[0].chunks[0].buckets) {
      const BucketCosts& bucket = stages.buckets[index];
      sum += bucket.gradient_reduce.total() + bucket.parameter_gather.total();
    }
    return in_seconds(sum);
  };
  const double all_reduce = seconds_of(layout::Sharding::none);
  EXPECT_NEAR(seconds_of(layout::Sharding::zero1) / all_reduce, 1.0, 0.02);
  EXPECT_DOUBLE_EQ(seconds_of(layout::Sharding::zero1), seconds_of(layout::Sharding::zero2));
}

// A pass takes at least the host's time to launch it; what is missing is launch gap.
TEST(StageCosts, HostTimeIsAFloorOfEveryLayerPass) {
  Ideal ideal = one_gpu();
  ideal.rate = flop_per_second(kExa * kExa);  // compute takes no time
  const cost::CostModel costs = with_software(ideal_costs(ideal), [](auto& software) {
    software.host_layer_time = exactly(milliseconds(1.0));
  });
  Case what = ideal_case(4, 3);
  what.step.recompute.policy = model::Recompute::full;
  const StepResult result = simulate(input_of(what, costs), costs);
  // Four layers, three micro-batches: forward 1, recomputation 1, backward 1.4 ms.
  EXPECT_NEAR(step_seconds(result), 4.0 * 3.0 * 3.4e-3, 1e-6);
  EXPECT_NEAR(result.ledger.share(StepCategory::launch_gap), 1.0, 1e-4);
}

// The ideal layer of a fused stack on one GPU launches a fixed list; the host pays for each launch.
TEST(StageCosts, EveryLaunchCostsHostTime) {
  Ideal ideal = one_gpu();
  ideal.rate = flop_per_second(kExa * kExa);
  const cost::CostModel costs = with_software(ideal_costs(ideal), [](auto& software) {
    software.host_launch_time = exactly(microseconds(10.0));
  });
  const Case what = ideal_case(4, 3);
  const StepInput input = input_of(what, costs);
  double launches = 0.0;
  const model::LayerPasses passes = model::layer_passes(input.model, op_options(input, costs), 0);
  for (const model::Pass* pass :
       {&passes.forward, &passes.backward_input, &passes.backward_weight}) {
    for (const model::PassOp& entry : *pass) {
      const auto* memory = std::get_if<model::MemoryOp>(&entry.op);
      const auto* attention = std::get_if<model::AttentionOp>(&entry.op);
      launches += memory != nullptr                             ? memory->kernels
                  : attention != nullptr && attention->backward ? 3.0
                                                                : 1.0;
    }
  }
  EXPECT_GT(launches, 20.0);
  EXPECT_NEAR(step_seconds(simulate(input, costs)), 4.0 * 3.0 * launches * 10e-6, 1e-6);
}

// Forward and backward each take (GPU^6 + host^6)^(1/6): with equal times 2^(1/6) of either. The
// bucket also holds the embedding and the head of one token type.
TEST(StageCosts, HostAndGpuTogetherTakeLongerThanTheLongerOne) {
  const Case what = ideal_case(1, 1);
  const cost::CostModel bare = ideal_costs(one_gpu());
  const StageCosts alone = stage_costs(input_of(what, bare), bare, {{1}});
  const Seconds busy = alone.buckets.at(0).forward.total();
  const cost::CostModel costs =
      with_software(bare, [&](auto& software) { software.host_layer_time = exactly(busy); });
  const StageCosts floored = stage_costs(input_of(what, costs), costs, {{1}});
  EXPECT_NEAR(floored.buckets.at(0).forward.total() / busy, std::pow(2.0, 1.0 / 6.0), 1e-4);
}

TEST(StageCosts, JitterGrowsWithEveryDoublingAndIsIdle) {
  for (const std::int64_t nodes : {1, 2, 8, 128}) {
    Ideal ideal;
    ideal.nodes = nodes;
    const cost::CostModel costs = with_software(
        ideal_costs(ideal), [](auto& software) { software.jitter_per_doubling = exactly(0.01); });
    Case what = ideal_case(4, nodes * 8);
    const StepResult result = simulate(input_of(what, costs), costs);
    const double idle = 0.01 * std::log2(static_cast<double>(nodes));
    EXPECT_NEAR(result.ledger.share(StepCategory::idle), idle / (1.0 + idle), 1e-5);
  }
}

// Eight equal layers, buckets of 2.5 layers: ceil(8 / 2.5) = 4; never more than one per layer.
TEST(Buckets, AreAsManyAsTheirSizeDemands) {
  const cost::CostModel costs = ideal_costs(one_gpu());
  Case what = ideal_case(8, 1);
  const StepInput input = input_of(what, costs);
  EXPECT_EQ(buckets_per_chunk(input), (std::vector<std::vector<int>>{{8}}));
  const model::ShardParameters layer =
      model::layer_shard_parameters(input.model, op_options(input, costs).shard, 0);
  for (const auto& [layers, expected] : std::vector<std::pair<double, int>>{
           {0.1, 8}, {1.0, 8}, {2.5, 4}, {7.9, 2}, {8.01, 1}, {100.0, 1}}) {
    what.step.bucket = bytes(4.0 * layer.dense * layers);  // fp32 gradients
    EXPECT_EQ(buckets_per_chunk(input_of(what, costs)), (std::vector<std::vector<int>>{{expected}}))
        << layers << " layers a bucket";
  }
}

TEST(Buckets, HoldAllParametersOfTheStage) {
  for (const auto& bucket : {std::optional<Bytes>{}, std::optional<Bytes>{gigabytes(1.0)}}) {
    Case what;
    what.step.bucket = bucket;
    const Prepared prepared = prepare(what);
    const auto buckets = buckets_per_chunk(prepared.input);
    const StageCosts costs = stage_costs(prepared.input, prepared.costs, buckets);
    double sum = 0.0;
    for (const std::uint32_t index : costs.devices[0].chunks[0].buckets) {
      sum += costs.buckets[index].parameters;
    }
    EXPECT_DOUBLE_EQ(sum, static_cast<double>(model::count_parameters(model_of(what)).total));
  }
}

}  // namespace
}  // namespace orrery::step::test
