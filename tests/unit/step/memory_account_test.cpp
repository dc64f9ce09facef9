#include "sim/step/simulate/memory/memory_account.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using layout::Sharding;
using schedule::ScheduleKind;

Case pipeline_case(std::int64_t layers, std::int64_t devices, std::int64_t micro_batches) {
  Case what;
  what.model_spec = ideal_model(layers);
  what.layout.pipeline = devices;
  what.batch = {.global = micro_batches, .micro = 1};
  what.step.schedule = ScheduleKind::one_f_one_b;
  return what;
}

cost::CostModel costs_for(std::int64_t gpus) {
  Ideal ideal;
  ideal.gpus_per_node = gpus;
  return ideal_costs(ideal);
}

Bytes one_layer(const StepInput& input, const cost::CostModel& costs) {
  return model::layer_activation_bytes(input.model, {.ops = op_options(input, costs)}, 0);
}

// Mixed-precision Adam: 2 bytes of parameter, 12 of master copy and moments, and the gradient: 2 in
// 16 bits, 4 in fp32.
TEST(MemoryAccount, StatesOfPlainDataParallelismTake16Or18BytesPerParameter) {
  Case what;
  const auto parameters = static_cast<double>(model::count_parameters(model_of(what)).total);
  for (const auto& [dtype, expected] :
       {std::pair{model::Dtype::bf16, 16.0}, std::pair{model::Dtype::fp32, 18.0}}) {
    what.step.precision.gradient = dtype;
    const StageMemory memory = simulate(what).memory.at(0);
    EXPECT_DOUBLE_EQ(in_bytes(memory.parameters + memory.gradients + memory.optimizer),
                     expected * parameters);
  }
}

// In fp32 the parameters are the master copy: 4 bytes of each, 4 of the gradient, 8 of moments. The
// same where FSDP shards it, and with the two moments of 1 byte of adam-8bit 10.
TEST(MemoryAccount, StatesInFp32Take16BytesPerParameter) {
  Case what;
  auto& precision = what.step.precision;
  precision.compute = precision.activation = precision.parameter = model::Dtype::fp32;
  const auto parameters = static_cast<double>(model::count_parameters(model_of(what)).total);
  for (const Sharding sharding : {Sharding::none, Sharding::zero3}) {
    for (const auto& [optimizer, expected] : {std::pair{12.0, 16.0}, std::pair{6.0, 10.0}}) {
      what.layout.sharding = sharding;
      precision.optimizer_bytes = bytes(optimizer);
      const StageMemory memory = simulate(what).memory.at(0);
      const double ranks = sharding == Sharding::none ? 1.0 : 8.0;
      EXPECT_NEAR(in_bytes(memory.parameters + memory.gradients + memory.optimizer),
                  expected * parameters / ranks, 1e-6 * parameters);
    }
  }
}

// One per shape, however many layers: with every weight of a layer of another shape, 2 bytes for
// each of the layer's matrix elements.
TEST(MemoryAccount, EmptyGradientsTakeOneCopyOfTheLinearLayersOfOneLayer) {
  for (const std::int64_t layers : {1, 4}) {
    Case what;
    what.model_spec = ideal_model(layers);
    const Prepared base = prepare(what);
    const cost::CostModel keeps =
        with_software(base.costs, [](auto& software) { software.keeps_empty_gradients = true; });
    const Bytes more = simulate(base.input, keeps).memory.at(0).gradients -
                       simulate(base.input, base.costs).memory.at(0).gradients;
    const model::ModelSpec& model = base.input.model;
    // QKV h x 3h, output h x h, up h x f, down f x h
    const auto h = static_cast<double>(model.hidden_size);
    const auto f = static_cast<double>(model.ffn_hidden_size);
    ASSERT_FALSE(model.gated_mlp());
    ASSERT_NE(f, h);
    EXPECT_DOUBLE_EQ(in_bytes(more), 2.0 * (4.0 * h * h + 2.0 * h * f));
  }
}

TEST(MemoryAccount, EachStageOfShardingNeedsNoMoreThanTheOneBefore) {
  for (const auto reduction :
       {hardware::GradientReduction::per_step, hardware::GradientReduction::per_micro_batch}) {
    Case what;
    what.step.reduction = reduction;
    Bytes before = gigabytes(kGiga);
    for (const Sharding sharding :
         {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
      what.layout.sharding = sharding;
      const Bytes states = [&] {
        const StageMemory memory = simulate(what).memory.at(0);
        return memory.parameters + memory.gradients + memory.optimizer;
      }();
      // Gradients reduced once a step are whole while they add up, sharded copy beside them.
      const bool transient =
          sharding == Sharding::zero2 && reduction == hardware::GradientReduction::per_step;
      EXPECT_LE(states, before * (transient ? 1.1 : 1.0)) << static_cast<int>(sharding);
      before = states;
    }
  }
}

// While the gradients of a chunk add up they are whole on every rank: 4 N beside the shard's 4 N/8.
// Reduced after every micro-batch, only the shard stays.
TEST(MemoryAccount, ShardedGradientsReducedOnceAStepAreWholeWhileTheyAddUp) {
  Case what;
  what.layout.sharding = Sharding::zero2;
  const double whole = 4.0 * static_cast<double>(model::count_parameters(model_of(what)).total);
  what.step.reduction = hardware::GradientReduction::per_step;
  EXPECT_NEAR(in_bytes(simulate(what).memory.at(0).gradients), whole * (1.0 + 1.0 / 8.0), 1.0);
  what.step.reduction = hardware::GradientReduction::per_micro_batch;
  EXPECT_NEAR(in_bytes(simulate(what).memory.at(0).gradients), whole / 8.0, 1.0);
  what.layout.sharding = Sharding::zero1;  // shards the optimizer alone
  what.step.reduction = hardware::GradientReduction::per_step;
  EXPECT_NEAR(in_bytes(simulate(what).memory.at(0).gradients), whole, 1.0);
}

TEST(MemoryAccount, RecomputationNeverNeedsMore) {
  for (const std::int64_t layers : {1, 4, 16}) {
    const cost::CostModel costs = costs_for(1);
    Case what = pipeline_case(layers, 1, 2);
    what.step.schedule = ScheduleKind::none;
    const auto peak = [&](model::Recompute policy) {
      what.step.recompute.policy = policy;
      return simulate(input_of(what, costs), costs).memory.at(0).peak();
    };
    const Bytes none = peak(model::Recompute::none);
    const Bytes selective = peak(model::Recompute::selective);
    const Bytes full = peak(model::Recompute::full);
    EXPECT_LE(full, selective);
    EXPECT_LE(selective, none);
    if (layers > 1) {
      EXPECT_LT(full, selective);
      EXPECT_LT(selective, none);
    }
  }
}

// Device r of 1F1B runs p - r forwards before its first backward, m if that is less.
TEST(MemoryAccount, OneFOneBHoldsAsManyActivationsAsStagesBehindIt) {
  for (const std::int64_t micro_batches : {1, 2, 3, 8}) {
    const cost::CostModel costs = costs_for(4);
    const StepInput input = input_of(pipeline_case(8, 4, micro_batches), costs);
    const StepResult result = simulate(input, costs);
    const Bytes chunk = one_layer(input, costs) * 2.0;
    for (std::int64_t device = 0; device < 4; ++device) {
      const auto held = static_cast<double>(std::min(micro_batches, 4 - device));
      const Bytes head =
          device == 3 ? model::head_activation_bytes(input.model, {.ops = op_options(input, costs)})
                      : Bytes{};
      EXPECT_DOUBLE_EQ(in_bytes(result.memory.at(static_cast<std::size_t>(device)).activations),
                       in_bytes((chunk + head) * held))
          << "device " << device << ", " << micro_batches << " micro-batches";
    }
  }
}

TEST(MemoryAccount, GPipeHoldsEveryMicroBatch) {
  const cost::CostModel costs = costs_for(4);
  Case what = pipeline_case(8, 4, 9);
  what.step.schedule = ScheduleKind::gpipe;
  const StepInput input = input_of(what, costs);
  const StepResult result = simulate(input, costs);
  EXPECT_DOUBLE_EQ(in_bytes(result.memory.at(1).activations),
                   in_bytes(one_layer(input, costs) * (2.0 * 9.0)));
}

// Interleaved, equal chunks: what the list holds at once, (2 (p - r - 1) + (v - 1) p + 1) chunks.
TEST(MemoryAccount, InterleavedHoldsItsWarmUp) {
  const cost::CostModel costs = costs_for(4);
  Case what = pipeline_case(16, 4, 16);
  what.layout.virtual_stages = 2;
  what.step.schedule = ScheduleKind::interleaved;
  const StepInput input = input_of(what, costs);
  const StepResult result = simulate(input, costs);
  for (std::size_t device = 0; device < 3; ++device) {
    const double chunks = 2.0 * (4.0 - static_cast<double>(device) - 1.0) + 4.0 + 1.0;
    EXPECT_DOUBLE_EQ(in_bytes(result.memory.at(device).activations),
                     in_bytes(one_layer(input, costs) * (2.0 * chunks)))
        << "device " << device;
  }
}

// Full recomputation keeps the input of every layer, 2 s b h, and brings one layer back.
TEST(MemoryAccount, FullRecomputationKeepsLayerInputsAndOneLayer) {
  const cost::CostModel costs = costs_for(1);
  Case what = pipeline_case(6, 1, 1);
  what.step.schedule = ScheduleKind::none;
  what.step.recompute.policy = model::Recompute::full;
  const StepInput input = input_of(what, costs);
  const StageMemory memory = simulate(input, costs).memory.at(0);
  const model::ActivationOptions options = {.ops = op_options(input, costs)};
  const Bytes inputs = bytes(6.0 * 2.0 * 2048.0 * 16384.0);
  EXPECT_DOUBLE_EQ(in_bytes(memory.activations),
                   in_bytes(inputs + model::head_activation_bytes(input.model, options)));
  EXPECT_GE(memory.working, one_layer(input, costs) - bytes(2.0 * 2048.0 * 16384.0));
}

TEST(Judge, NamesTheStageThatIsShortOfMost) {
  std::vector<StageMemory> stages(3);
  const std::vector<double> used = {79.0, 85.0, 82.0};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i].parameters = gigabytes(used[i]);
    stages[i].limit = gigabytes(80.0);
  }
  const Feasibility short_of_memory = judge(stages, {});
  EXPECT_FALSE(short_of_memory.fits);
  EXPECT_EQ(short_of_memory.worst_stage, 1);
  EXPECT_DOUBLE_EQ(in_gigabytes(short_of_memory.headroom), -5.0);

  stages[1].parameters = gigabytes(80.0);
  stages[2].parameters = gigabytes(80.0);
  const Feasibility exact = judge(stages, {});
  EXPECT_TRUE(exact.fits);  // to the last byte
  EXPECT_EQ(exact.worst_stage, 1);
}

// 70.6 B parameters at 18 bytes over 8 GPUs: 159 GB of states alone on GPUs of 80 GB.
TEST(MemoryAccount, AModelThatDoesNotFitSaysBySoMuch) {
  Case what;
  what.model = "llama3-70b";
  what.layout.tensor = 8;
  what.layout.sequence_parallel = true;
  const StepResult result = simulate(what);
  EXPECT_FALSE(result.feasibility.fits);
  EXPECT_EQ(result.feasibility.worst_stage, 0);
  EXPECT_EQ(result.feasibility.headroom, result.memory[0].limit - result.memory[0].peak());
  EXPECT_LT(in_gigabytes(result.feasibility.headroom), 80.0 - 158.0);
}

// Layers by stage 2, 6, 4: states follow the layers, so the second stage is the worst.
TEST(MemoryAccount, UnevenStagesDifferInMemory) {
  const cost::CostModel costs = costs_for(3);
  Case what = pipeline_case(12, 3, 1);
  what.layout.stage_layers = std::vector<std::int64_t>{2, 6, 4};
  const StepResult result = simulate(input_of(what, costs), costs);
  EXPECT_EQ(result.feasibility.worst_stage, 1);
  EXPECT_NEAR(result.memory[1].optimizer / result.memory[0].optimizer, 3.0, 1e-3);
  EXPECT_NEAR(result.memory[1].activations / result.memory[0].activations, 3.0, 1e-9);
}

}  // namespace
}  // namespace orrery::step::test
