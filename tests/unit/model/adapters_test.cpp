// Frozen weights with low-rank adapters against the closed forms of LoRA.

#include <array>
#include <tuple>
#include <utility>

#include "sim/step/model/flops.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

constexpr double kTokens = 8192.0;

ModelSpec adapted(std::string_view preset, AdapterTargets targets, std::int64_t rank = 16) {
  ModelSpec model = preset_spec(std::string(preset));
  model.sequence_length = static_cast<std::int64_t>(kTokens);
  model.lora = AdapterSpec{.rank = rank, .targets = targets};
  return model;
}

double products(const Pass& pass) {
  double sum = 0.0;
  for (const PassOp& entry : pass) {
    sum += std::holds_alternative<GemmOp>(entry.op) ? in_flop(flop_count(entry.op)) : 0.0;
  }
  return sum;
}

double bytes_of(const Pass& pass, Part part) {
  double sum = 0.0;
  for (const PassOp& entry : pass) {
    const auto* memory = std::get_if<MemoryOp>(&entry.op);
    sum +=
        memory != nullptr && memory->part == part ? in_bytes(memory->read + memory->written) : 0.0;
  }
  return sum;
}

constexpr AdapterTargets kAttention = {.qkv = true, .proj = true};
constexpr AdapterTargets kAll = {.qkv = true, .proj = true, .fc1 = true, .fc2 = true};

// Llama 3 70B: sum of k + n over the linear layers of a target.
constexpr double kQkvWidths = 8192.0 + 10240.0;
constexpr double kProjWidths = 8192.0 + 8192.0;
constexpr double kFc1Widths = 8192.0 + 2.0 * 28672.0;
constexpr double kFc2Widths = 28672.0 + 8192.0;

// NVIDIA's LoRA of Llama 2 70B trains 44.6 million parameters, 0.065 % of the model.
TEST(Adapters, AreCountedByRankAndWidths) {
  const ParameterCounts counts = count_parameters(adapted("llama3-70b", kAttention));
  EXPECT_EQ(counts.adapters, 44'564'480);
  EXPECT_EQ(counts.trained(), counts.adapters);
  EXPECT_EQ(counts.total, count_parameters(preset_spec("llama3-70b")).total);
  EXPECT_EQ(count_parameters(preset_spec("llama3-70b")).adapters, 0);
}

// Forward and input gradient gain 2 T r (k + n) each; the weight gradient is the adapters' alone.
TEST(Adapters, TakeTheWeightGradientOfFrozenLayers) {
  const ModelSpec full = adapted("llama3-70b", {}, 1);
  for (const auto& [targets, widths] :
       {std::pair(kAttention, kQkvWidths + kProjWidths),
        std::pair(kAll, kQkvWidths + kProjWidths + kFc1Widths + kFc2Widths)}) {
    const LayerPasses frozen = layer_passes(full, {}, 0);
    const LayerPasses passes = layer_passes(adapted("llama3-70b", targets), {}, 0);
    const double own = 2.0 * kTokens * 16.0 * widths;
    EXPECT_DOUBLE_EQ(products(passes.forward), products(frozen.forward) + own);
    EXPECT_DOUBLE_EQ(products(passes.backward_input), products(frozen.backward_input) + own);
    EXPECT_DOUBLE_EQ(products(passes.backward_weight), own);
    EXPECT_EQ(products(frozen.backward_weight), 0.0);
  }
}

// Tensor ranks share the adapters' products, but for A of row-parallel and B of its columns.
TEST(Adapters, AreSplitOverTensorRanks) {
  const ModelSpec model = adapted("llama3-70b", kAll, 64);
  OpOptions options;
  options.shard.tensor = 8;
  options.shard.sequence_parallel = true;
  const double one = products(layer_passes(model, {}, 0).backward_weight);
  const double split = products(layer_passes(model, options, 0).backward_weight);
  EXPECT_DOUBLE_EQ(split * 8.0, one);
  const ShardParameters whole = layer_shard_parameters(model, {}, 0);
  const ShardParameters shard = layer_shard_parameters(model, options.shard, 0);
  EXPECT_DOUBLE_EQ(shard.trained().all() * 8.0, whole.trained().all());
}

// Second gathers of the input serve weight gradients only.
TEST(Adapters, GatherNoInputAgain) {
  OpOptions options;
  options.shard.tensor = 8;
  options.shard.sequence_parallel = true;
  for (const PassOp& entry : layer_passes(adapted("llama3-70b", kAll), options, 0).backward_input) {
    const auto* collective = std::get_if<CollectiveOp>(&entry.op);
    EXPECT_TRUE(collective == nullptr || collective->part != Part::tensor_all_gather_again);
  }
}

TEST(Adapters, LeaveTheEmbeddingWithoutBackward) {
  const LayerPasses passes = embedding_passes(adapted("llama3-70b", kAll), {});
  EXPECT_FALSE(passes.forward.empty());
  EXPECT_TRUE(passes.backward_input.empty());
  EXPECT_TRUE(passes.backward_weight.empty());
}

// 4 N + 6 N_adapters in place of 6 N; attention is not touched.
TEST(Adapters, CountFourFlopPerFrozenParameter) {
  const ModelSpec model = adapted("llama3-70b", kAttention);
  ModelSpec full = model;
  full.lora.reset();
  const double saved = in_flop(model_flop_per_token(full, FlopConvention::palm)) -
                       in_flop(model_flop_per_token(model, FlopConvention::palm));
  EXPECT_DOUBLE_EQ(saved, 2.0 * multiplied_parameters(model) - 6.0 * 44'564'480.0);
}

// States exist for the adapters alone; everything is held.
TEST(Adapters, FreezeEverythingElse) {
  const ModelSpec model = adapted("llama3-70b", kAttention);
  const ShardParameters layer = layer_shard_parameters(model, {}, 0);
  EXPECT_DOUBLE_EQ(layer.trained().all(), 16.0 * (kQkvWidths + kProjWidths));
  EXPECT_DOUBLE_EQ(embedding_shard_parameters(model, {}).trained().all(), 0.0);
  EXPECT_DOUBLE_EQ(head_shard_parameters(model, {}).trained().all(), 0.0);
  EXPECT_EQ(layer.stored(bytes(2.0)), (ShardShare{layer.dense, layer.expert}));
}

ModelSpec with_modules(ModelSpec model, const TrainedModules& modules) {
  model.trainable = modules;
  return model;
}

// modules_to_save: both tables are trained beside the adapters, V h each and 2 V h FLOP for the
// gradient of the head.
TEST(TrainedModules, KeepTheTablesBesideAdapters) {
  const ModelSpec alone = adapted("llama3-70b", kAttention);
  const ModelSpec model = with_modules(alone, {.embedding = true, .head = true});
  const double table = 128256.0 * 8192.0;
  EXPECT_DOUBLE_EQ(embedding_shard_parameters(model, {}).trained().all(), table);
  EXPECT_DOUBLE_EQ(head_shard_parameters(model, {}).trained().all(), table);
  EXPECT_DOUBLE_EQ(layer_shard_parameters(model, {}, 0).trained().all(),
                   layer_shard_parameters(alone, {}, 0).trained().all());
  EXPECT_EQ(count_parameters(model).trained(),
            count_parameters(alone).adapters + static_cast<std::int64_t>(2.0 * table));
  EXPECT_DOUBLE_EQ(in_flop(model_flop_per_token(model, FlopConvention::palm)) -
                       in_flop(model_flop_per_token(alone, FlopConvention::palm)),
                   2.0 * table);
  EXPECT_DOUBLE_EQ(products(head_passes(model, {}).backward_weight), 2.0 * kTokens * table);
  EXPECT_EQ(products(head_passes(alone, {}).backward_weight), 0.0);
  EXPECT_FALSE(embedding_passes(model, {}).backward_weight.empty());
}

// A module that is trained whole has the passes, the states and the kept inputs that it has where
// everything is trained, and the rest none.
TEST(TrainedModules, AttentionAndMlpAreTrainedAsEverIsAndTheRestNot) {
  ModelSpec full = preset_spec("llama3-8b");
  const LayerPasses all = layer_passes(full, {}, 0);
  const double inputs = 2.0 * 4096.0;  // bytes a token of what a linear layer of width h keeps
  for (const auto& [modules, parameters, kept] :
       {std::tuple(TrainedModules{.attention = true},
                   4096.0 * (2.0 * 4096.0 + 2.0 * 1024.0) + 4096.0, inputs),
        std::tuple(TrainedModules{.mlp = true}, 3.0 * 4096.0 * 14336.0 + 4096.0,
                   inputs + 2.0 * 14336.0)}) {
    const ModelSpec model = with_modules(full, modules);
    const LayerPasses passes = layer_passes(model, {}, 0);
    EXPECT_DOUBLE_EQ(products(passes.forward), products(all.forward));
    EXPECT_DOUBLE_EQ(products(passes.backward_input), products(all.backward_input));
    const double norm = 4096.0;
    EXPECT_DOUBLE_EQ(products(passes.backward_weight), 2.0 * kTokens * (parameters - norm));
    EXPECT_DOUBLE_EQ(layer_shard_parameters(model, {}, 0).trained().all(), parameters);
    const double none = in_bytes(
        layer_activation_bytes(with_modules(full, {.embedding = true}), ActivationOptions{}, 0));
    EXPECT_DOUBLE_EQ(in_bytes(layer_activation_bytes(model, ActivationOptions{}, 0)) - none,
                     kTokens * kept);
  }
}

// Of a head alone nothing goes back into the layers, and they keep nothing.
TEST(TrainedModules, NothingGoesBackBelowAHeadThatIsTrainedAlone) {
  const ModelSpec model = with_modules(preset_spec("llama3-8b"), {.head = true});
  const LayerPasses passes = layer_passes(model, {}, 0);
  EXPECT_FALSE(passes.forward.empty());
  EXPECT_TRUE(passes.backward_input.empty());
  EXPECT_TRUE(passes.backward_weight.empty());
  EXPECT_EQ(layer_activation_bytes(model, {}, 0), Bytes{});
  EXPECT_FALSE(head_passes(model, {}).backward_weight.empty());
}

// QLoRA: 4.127 bits a weight, unpacked before each product; adapters stay in 16 bits.
TEST(Adapters, PackTheBaseIntoFourBits) {
  ModelSpec model = adapted("llama3-70b", kAttention);
  model.lora->base = FrozenBase::nf4;
  const ShardParameters layer = layer_shard_parameters(model, {}, 0);
  const double frozen = layer.frozen.all();
  const double own = layer.trained().all();
  EXPECT_NEAR(layer.stored(bytes(2.0)).all() * 2.0, frozen * 4.127 / 8.0 + own * 2.0,
              frozen * 1e-4);
  const LayerPasses passes = layer_passes(model, {}, 0);
  const double weights = 8192.0 * (10240.0 + 8192.0 + 3.0 * 28672.0);
  EXPECT_NEAR(bytes_of(passes.forward, Part::nf4_unpack), weights * (4.127 / 8.0 + 2.0),
              weights * 1e-4);
  EXPECT_DOUBLE_EQ(bytes_of(passes.backward_input, Part::nf4_unpack),
                   bytes_of(passes.forward, Part::nf4_unpack));
}

// DoRA: one magnitude an output more, and in every forward the product of A and B (of a unit matrix
// of k rows) for the norms of the weights.
TEST(Adapters, OfDoraHaveMagnitudesOfTheOutputs) {
  const ModelSpec lora = adapted("llama3-70b", kAttention);
  ModelSpec dora = lora;
  dora.lora->kind = AdapterKind::dora;
  constexpr double kOutputs = 10240.0 + 8192.0;
  EXPECT_EQ(count_parameters(dora).adapters,
            count_parameters(lora).adapters + 80 * static_cast<std::int64_t>(kOutputs));
  const double norms = 2.0 * 16.0 * 8192.0 * (kQkvWidths + kProjWidths);
  const LayerPasses with = layer_passes(dora, {}, 0);
  const LayerPasses without = layer_passes(lora, {}, 0);
  EXPECT_DOUBLE_EQ(products(with.forward), products(without.forward) + norms);
  EXPECT_DOUBLE_EQ(products(with.backward_input), products(without.backward_input));
  EXPECT_DOUBLE_EQ(products(with.backward_weight), products(without.backward_weight));
  EXPECT_DOUBLE_EQ(bytes_of(with.forward, Part::adapter_norm), 6.0 * 2.0 * 8192.0 * kOutputs);
  const double kept =
      in_bytes(layer_activation_bytes(dora, {}, 0)) - in_bytes(layer_activation_bytes(lora, {}, 0));
  EXPECT_DOUBLE_EQ(kept, 2.0 * 2.0 * kTokens * kOutputs);
}

// Without dropout the base's result serves twice; with it the base is multiplied again.
TEST(Adapters, OfDoraMultiplyTheBaseAgainWhereTheirInputDrops) {
  ModelSpec dora = adapted("llama3-70b", kAttention);
  dora.lora->kind = AdapterKind::dora;
  const double once = products(layer_passes(dora, {}, 0).forward);
  dora.lora->dropout = 0.05;
  EXPECT_DOUBLE_EQ(products(layer_passes(dora, {}, 0).forward),
                   once + 2.0 * kTokens * 8192.0 * (10240.0 + 8192.0));
}

// Houlsby et al.: two modules a layer of 2 h m + h + m parameters each.
TEST(Adapters, AsBottlenecksStandBehindBothBlocks) {
  ModelSpec model = adapted("llama3-70b", kAll, 64);
  model.lora->kind = AdapterKind::bottleneck;
  EXPECT_EQ(count_parameters(model).adapters, 80 * 2 * (2 * 8192 * 64 + 8192 + 64));
  const LayerPasses passes = layer_passes(model, {}, 0);
  const LayerPasses frozen = layer_passes(adapted("llama3-70b", {}, 1), {}, 0);
  const double own = 2.0 * 2.0 * kTokens * 64.0 * 2.0 * 8192.0;
  EXPECT_DOUBLE_EQ(products(passes.forward), products(frozen.forward) + own);
  EXPECT_DOUBLE_EQ(products(passes.backward_input), products(frozen.backward_input) + own);
  EXPECT_DOUBLE_EQ(products(passes.backward_weight), own);
  const double kept = in_bytes(layer_activation_bytes(model, {}, 0)) -
                      in_bytes(layer_activation_bytes(adapted("llama3-70b", {}, 1), {}, 0));
  EXPECT_DOUBLE_EQ(kept, 2.0 * 2.0 * kTokens * (8192.0 + 2.0 * 64.0));
}

// MLPerf v5.0, Llama 2 70B LoRA (rank 16, qkv and proj, dropout 0.1) without recomputation: 226 kB
// a token and layer, 27.6 bytes for each of the h elements, from runs at 1,024 to 4,096 tokens.
TEST(Adapters, KeepWhatMlperfRunsKeep) {
  ModelSpec model = adapted("llama3-70b", kAttention);
  model.lora->dropout = 0.1;
  ActivationOptions options;
  options.ops.precision.compute = Dtype::fp8;
  const double per_element = in_bytes(layer_activation_bytes(model, options, 0)) / kTokens / 8192.0;
  EXPECT_NEAR(per_element, 27.6, 0.05 * 27.6);
}

}  // namespace
}  // namespace orrery::model
