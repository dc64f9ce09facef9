#include "sim/step/model/memory.hpp"

#include "tests/shipped_presets.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

double layer_bytes(const ModelSpec& model, const ActivationOptions& options) {
  return in_bytes(layer_activation_bytes(model, options, 0));
}

// Llama layer, fused attention, per token in 16 bits: norm inputs 2 x 2h, projection inputs 2 x 2h,
// Q and output 2 x 2h, K and V 2 x 2 g d, gate and up 2 x 2f, down input 2f, statistics 4 a.
TEST(LayerActivations, GroupedQueriesAndGatedMlp) {
  const ModelSpec model = preset_spec("llama3-8b");
  const double per_token = 12.0 * 4096.0 + 4.0 * 1024.0 + 6.0 * 14336.0 + 4.0 * 32.0;
  EXPECT_DOUBLE_EQ(layer_bytes(model, ActivationOptions{}), 8192.0 * per_token);
}

// FP8: projection inputs take 1 byte; the attention output is kept in 16 bits for the fused
// backward and once more in FP8 for its projection.
TEST(LayerActivations, Fp8KeepsOneByteInputs) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options;
  options.ops.precision.compute = Dtype::fp8;
  const double per_token =
      (4.0 + 2.0 + 2.0 + 3.0) * 4096.0 + 4.0 * 1024.0 + 5.0 * 14336.0 + 4.0 * 32.0;
  EXPECT_DOUBLE_EQ(layer_bytes(model, options), 8192.0 * per_token);
}

// In fp32 the same, 4 bytes for every 2; the statistics of the attention are in fp32 anyway.
TEST(LayerActivations, InFp32TakeTwiceTheBytes) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options;
  for (const Dtype dtype : {Dtype::fp32, Dtype::tf32}) {
    options.ops.precision.compute = options.ops.precision.activation = dtype;
    const double per_token = 2.0 * (12.0 * 4096.0 + 4.0 * 1024.0 + 6.0 * 14336.0) + 4.0 * 32.0;
    EXPECT_DOUBLE_EQ(layer_bytes(model, options), 8192.0 * per_token);
  }
}

// Arctic, per token: of the dense branch its norm's result, gate, up and the down input.
TEST(LayerActivations, ADenseBranchKeepsItsInputAndInnerResults) {
  ModelSpec model = preset_spec("snowflake-arctic");
  const double with = layer_bytes(model, ActivationOptions{});
  model.moe->dense_branch = 0;
  EXPECT_DOUBLE_EQ(with - layer_bytes(model, ActivationOptions{}),
                   4096.0 * (2.0 * 7168.0 + 6.0 * 7168.0));
}

// Latent attention (V3, dense layer), per token: norm inputs and projection inputs 8 h, latents of
// q (1,536) and kv (512) before and behind their norms 2 + 2, shared rotary key 2 x 64, Q and K
// 2 x 192 each and V and output 2 x 128 each for 128 heads, MLP 6 f, statistics 4 x 128.
TEST(LayerActivations, LatentAttention) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const double per_token = 8.0 * 7168.0 + 4.0 * (1536.0 + 512.0) + 2.0 * 64.0 +
                           128.0 * (4.0 * 192.0 + 4.0 * 128.0) + 6.0 * 18432.0 + 4.0 * 128.0;
  EXPECT_DOUBLE_EQ(layer_bytes(model, ActivationOptions{}), 4096.0 * per_token);
}

// Mixtral: the MLP keeps the router's input and probabilities (4 bytes x 8), and for each of the
// two copies of a token the expert's input, gate, up and down input.
TEST(LayerActivations, ExpertsKeepTheirRows) {
  const ModelSpec model = preset_spec("mixtral-8x7b");
  const double attention = 6.0 * 4096.0 + 4.0 * 1024.0 + 4.0 * 32.0 + 2.0 * 4096.0;
  const double experts = 2.0 * (2.0 * 4096.0 + 6.0 * 14336.0);
  const double mlp = 2.0 * 4096.0 + 2.0 * 4096.0 + 4.0 * 8.0 + experts;
  EXPECT_DOUBLE_EQ(layer_bytes(model, ActivationOptions{}), 32768.0 * (attention + mlp));
}

// One of 8 expert ranks keeps the same number of rows; an imbalance of 1.5 half as many more.
TEST(LayerActivations, ImbalanceGrowsTheExpertRows) {
  ModelSpec model = preset_spec("mixtral-8x7b");
  ActivationOptions options;
  options.ops.shard.expert = 8;
  const double even = layer_bytes(model, options);
  EXPECT_DOUBLE_EQ(even, layer_bytes(model, ActivationOptions{}));
  model.moe->imbalance = 1.5;
  EXPECT_DOUBLE_EQ(layer_bytes(model, options) - even, 32768.0 * (2.0 * 4096.0 + 6.0 * 14336.0));
}

TEST(LayerActivations, ContextParallelismDividesFusedLayers) {
  const ModelSpec model = preset_spec("llama3-405b");
  ActivationOptions options;
  const double whole = layer_bytes(model, options);
  options.ops.shard.context = 4;
  EXPECT_DOUBLE_EQ(4.0 * layer_bytes(model, options), whole);
}

TEST(LayerActivations, RecomputePoliciesAreOrdered) {
  for (const ModelSpec& preset : shipped::models()) {
    ActivationOptions options;
    options.ops.attention = AttentionKernel::unfused;
    std::int64_t attends = 0;  // the first layer that has scores to give up
    while (!preset.kind_of(attends).attention) {
      ++attends;
    }
    const auto kept = [&](Recompute policy) {
      options.recompute = policy;
      return in_bytes(layer_activation_bytes(preset, options, attends));
    };
    const double none = kept(Recompute::none);
    const double selective = kept(Recompute::selective);
    const double full = kept(Recompute::full);
    EXPECT_GT(none, selective) << preset.name;
    EXPECT_GT(selective, full) << preset.name;
  }
}

// Per token of 8,192 and in 2 bytes: the layer's input, q and the core's output 4096 each, v 1024,
// gate 14336 and, where nothing drops it, down 4096; the statistics are 4 bytes for 32 heads.
TEST(LayerActivations, SelectiveOperationsKeepEverySecondProduct) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options;
  options.recompute = Recompute::selective_operations;
  const double compiled = 2.0 * (3.0 * 4096.0 + 1024.0 + 14336.0) + 4.0 * 32.0;
  EXPECT_DOUBLE_EQ(layer_bytes(model, options), 8192.0 * (compiled + 2.0 * 4096.0));
  options.ops.keeps_unused_results = false;
  EXPECT_DOUBLE_EQ(layer_bytes(model, options), 8192.0 * compiled);
}

// A stated number of bytes per logit stands for the logits that are kept and their gradient.
TEST(HeadActivations, StatedBytesPerLogitReplaceTheCount) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options;
  const double counted = in_bytes(head_activation_bytes(model, options));
  options.logits_bytes = bytes(14.0);
  EXPECT_DOUBLE_EQ(counted - in_bytes(head_activation_bytes(model, options)),
                   8192.0 * 128256.0 * 4.0);
  EXPECT_DOUBLE_EQ(in_bytes(head_working_bytes(model, options)), 8192.0 * 128256.0 * 14.0);
}

// K, V and their gradients: of the whole sequence, or of two slices on their way round.
TEST(WorkingBytes, ContextParallelismHoldsKeysOfOtherRanks) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options;
  options.ops.shard.context = 8;
  const double gathered = in_bytes(layer_working_bytes(model, options, 0));
  options.ops.shard.context_method = ContextMethod::ring;
  const double ring = in_bytes(layer_working_bytes(model, options, 0));
  const double slice = 1024.0 * 8.0 * 256.0 * 2.0;
  EXPECT_DOUBLE_EQ(gathered - ring, (2.0 * 8.0 - 4.0) * slice);
}

// What recomputation saves comes back while one layer's backward runs.
TEST(WorkingBytes, RecomputedActivationsComeBack) {
  const ModelSpec model = preset_spec("llama3-70b");
  ActivationOptions options;
  const Bytes kept = layer_activation_bytes(model, options, 0);
  const Bytes working = layer_working_bytes(model, options, 0);
  options.recompute = Recompute::full;
  EXPECT_EQ(layer_activation_bytes(model, options, 0) + layer_working_bytes(model, options, 0),
            kept + working);
}

// Gradients of gate, up and down input, 6 f, and of the residual stream before and after, 4 h.
TEST(WorkingBytes, WidestGradientsOfADenseLayer) {
  const ModelSpec model = preset_spec("llama3-70b");
  EXPECT_DOUBLE_EQ(in_bytes(layer_working_bytes(model, ActivationOptions{}, 0)),
                   8192.0 * (6.0 * 28672.0 + 4.0 * 8192.0));
  EXPECT_DOUBLE_EQ(in_bytes(head_working_bytes(model, ActivationOptions{})),
                   8192.0 * 128256.0 * 2.0);
}

TEST(EmbeddingActivations, NormInputAndDropoutMask) {
  ActivationOptions options;
  options.dropout = true;
  EXPECT_EQ(in_bytes(embedding_activation_bytes(preset_spec("bloom-176b"), options)),
            2048.0 * 14336.0 * 3.0);
  EXPECT_EQ(in_bytes(embedding_activation_bytes(preset_spec("llama3-8b"), ActivationOptions{})),
            0.0);
}

// The MTP module of V3 keeps, beside its layer and head, both norms' inputs and the projection's.
TEST(HeadActivations, MultiTokenPredictionAddsAModule) {
  ModelSpec model = preset_spec("deepseek-v3");
  const ActivationOptions options;
  const double with_module = in_bytes(head_activation_bytes(model, options));
  const double layer = in_bytes(layer_activation_bytes(model, options, 60));
  model.mtp_layers = 0;
  const double head = in_bytes(head_activation_bytes(model, options));
  EXPECT_DOUBLE_EQ(with_module, 2.0 * head + layer + 4096.0 * 8.0 * 7168.0);
}

// Recomputed in full the module's layer keeps its input, 2 h, and brings the rest back later.
TEST(HeadActivations, LayersOfPredictionModulesAreRecomputedToo) {
  const ModelSpec model = preset_spec("deepseek-v3");
  ActivationOptions options;
  const Bytes kept = head_activation_bytes(model, options);
  const Bytes layer = layer_activation_bytes(model, options, 61);
  options.recompute = Recompute::full;
  EXPECT_DOUBLE_EQ(in_bytes(kept - head_activation_bytes(model, options)),
                   in_bytes(layer) - 4096.0 * 2.0 * 7168.0);
  EXPECT_GE(head_working_bytes(model, options), layer_working_bytes(model, options, 61));
}

}  // namespace
}  // namespace orrery::model
