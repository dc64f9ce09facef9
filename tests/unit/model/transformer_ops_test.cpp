#include "sim/step/model/transformer_ops.hpp"

#include <string>
#include <utility>

#include "sim/step/model/parameters.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

constexpr std::uint64_t kShapesSeed = 20261121;
constexpr int kRandomModels = 40;

OpOptions tensor_options(std::int64_t tensor, bool sequence_parallel) {
  OpOptions options;
  options.shard.tensor = tensor;
  options.shard.sequence_parallel = sequence_parallel;
  return options;
}

// Weights that a dense layer multiplies with: h (a + 2 g) d + a d h + (2 or 3) h f.
double multiplied_weights(const ModelSpec& model) {
  const double h = static_cast<double>(model.hidden_size);
  const double d = static_cast<double>(model.head_dim);
  const double queries = static_cast<double>(model.num_attention_heads) * d;
  const double keys = static_cast<double>(model.num_query_groups) * d;
  const double mlp = (model.gated_mlp() ? 3.0 : 2.0) * static_cast<double>(model.ffn_hidden_size);
  return h * (2.0 * queries + 2.0 * keys + mlp);
}

// Forward: 2 per weight and token, and 2 s^2 a 2d per sequence for attention, halved when causal.
TEST(LayerPasses, ForwardFlopIsTwoPerWeightAndToken) {
  RandomStream random(kShapesSeed, 1, Purpose::property_test);
  for (int trial = 0; trial < kRandomModels; ++trial) {
    const ModelSpec model = random_dense_model(random);
    OpOptions options;
    options.shard.micro_batch = static_cast<std::int64_t>(1 + random.uniform_int(4));
    const double sequences = static_cast<double>(options.shard.micro_batch);
    const double s = static_cast<double>(model.sequence_length);
    const LayerPasses passes = layer_passes(model, options, 0);
    EXPECT_DOUBLE_EQ(gemm_flop(passes.forward), 2.0 * multiplied_weights(model) * sequences * s)
        << "seed " << kShapesSeed << " trial " << trial;
    EXPECT_DOUBLE_EQ(
        attention_flop(passes.forward),
        2.0 * sequences * s * s * static_cast<double>(model.num_attention_heads * model.head_dim))
        << "seed " << kShapesSeed << " trial " << trial;
  }
}

// Layers 0 to 2 see s / 4 keys, w - w^2 / 2s = 7/32 s of s / 2; layer 3 sees all. Only the core
// differs.
TEST(LayerPasses, AWindowLimitsTheCoreOfItsLayersAlone) {
  ModelSpec model = preset_spec("llama3-8b");
  const double whole = attention_flop(layer_passes(model, OpOptions{}, 0).forward);
  const double products = gemm_flop(layer_passes(model, OpOptions{}, 0).forward);
  model.attention_window = WindowSpec{.size = model.sequence_length / 4, .full_every = 4};
  for (std::int64_t layer = 0; layer < 8; ++layer) {
    const double share = layer % 4 == 3 ? 1.0 : 7.0 / 16.0;
    const LayerPasses passes = layer_passes(model, OpOptions{}, layer);
    EXPECT_DOUBLE_EQ(attention_flop(passes.forward), share * whole) << layer;
    EXPECT_DOUBLE_EQ(attention_flop(passes.backward_input), 2.5 * share * whole) << layer;
    EXPECT_DOUBLE_EQ(gemm_flop(passes.forward), products) << layer;
    const Pass again = recompute_pass(model, OpOptions{}, layer, Recompute::selective);
    EXPECT_DOUBLE_EQ(attention_flop(again), share * whole) << layer;
  }
}

TEST(LayerPasses, EachHalfOfTheBackwardCostsAForward) {
  RandomStream random(kShapesSeed, 2, Purpose::property_test);
  for (int trial = 0; trial < kRandomModels; ++trial) {
    const bool moe = random.uniform_int(2) == 0;
    const ModelSpec model = moe ? random_moe_model(random) : random_dense_model(random);
    const LayerPasses passes = layer_passes(model, OpOptions{}, 0);
    const double forward = gemm_flop(passes.forward);
    EXPECT_DOUBLE_EQ(gemm_flop(passes.backward_input), forward) << "trial " << trial;
    EXPECT_DOUBLE_EQ(gemm_flop(passes.backward_weight), forward) << "trial " << trial;
    EXPECT_DOUBLE_EQ(attention_flop(passes.backward_input), 2.5 * attention_flop(passes.forward))
        << "trial " << trial;
  }
}

// Every rank of a t x c group runs the same shapes: t c times a shard is the unsharded layer. With
// sequence parallelism the router is split too, so that this holds for mixtures of experts.
TEST(LayerPasses, ShardsAddUpToTheWholeLayer) {
  RandomStream random(kShapesSeed, 3, Purpose::property_test);
  for (int trial = 0; trial < kRandomModels; ++trial) {
    const bool moe = random.uniform_int(2) == 0;
    const ModelSpec model = moe ? random_moe_model(random) : random_dense_model(random);
    OpOptions options;
    options.shard.tensor = std::int64_t{1} << random.uniform_int(4);
    options.shard.context = std::int64_t{1} << random.uniform_int(3);
    options.shard.sequence_parallel = moe || random.uniform_int(2) == 0;
    options.shard.micro_batch = 8;
    OpOptions alone = options;
    alone.shard = ShardContext{.micro_batch = 8};
    if (moe) {
      options.shard.expert = std::int64_t{1} << random.uniform_int(4);
      options.shard.expert_tensor = options.shard.tensor > 1 ? 2 : 1;
    }
    const double ranks = static_cast<double>(options.shard.tensor * options.shard.context);
    const LayerPasses whole = layer_passes(model, alone, 0);
    const LayerPasses part = layer_passes(model, options, 0);
    const std::string where =
        "seed " + std::to_string(kShapesSeed) + " trial " + std::to_string(trial);
    EXPECT_DOUBLE_EQ(ranks * all_flop(part.forward), all_flop(whole.forward)) << where;
    EXPECT_DOUBLE_EQ(ranks * all_flop(part.backward_input), all_flop(whole.backward_input))
        << where;
    EXPECT_DOUBLE_EQ(ranks * all_flop(part.backward_weight), all_flop(whole.backward_weight))
        << where;
    const LayerPasses head = head_passes(model, options);
    const LayerPasses whole_head = head_passes(model, alone);
    EXPECT_DOUBLE_EQ(ranks * all_flop(head.forward), all_flop(whole_head.forward)) << where;
  }
}

TEST(LayerPasses, LatentAttentionShardsAddUpWithSequenceParallelism) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const double whole = all_flop(layer_passes(model, OpOptions{}, 0).forward);
  const double part = all_flop(layer_passes(model, tensor_options(8, true), 0).forward);
  EXPECT_DOUBLE_EQ(8.0 * part, whole);
}

// DeepSeek-V3: forward GEMM FLOP of a layer = 2 T * (its active parameters without norms).
TEST(LayerPasses, MixtureOfExpertsRunsItsActiveParameters) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const double norms = 2.0 * 7168.0 + 1536.0 + 512.0;
  for (const std::int64_t layer : {0, 3}) {
    const double active = static_cast<double>(count_layer_parameters(model, layer).active) - norms;
    EXPECT_DOUBLE_EQ(gemm_flop(layer_passes(model, OpOptions{}, layer).forward),
                     2.0 * 4096.0 * active)
        << "layer " << layer;
  }
}

// Llama 3 70B, TP 8: T = 8,192, QKV (64 + 16) * 128 / 8 = 1,280, MLP 2 * 28,672 / 8 = 7,168.
TEST(LayerPasses, GemmShapesOfATensorShard) {
  const LayerPasses passes = layer_passes(preset_spec("llama3-70b"), tensor_options(8, true), 0);
  const auto expect_shape = [](const std::optional<GemmOp>& gemm, std::int64_t m, std::int64_t n,
                               std::int64_t k) {
    ASSERT_TRUE(gemm.has_value());
    EXPECT_EQ(gemm->m, m);
    EXPECT_EQ(gemm->n, n);
    EXPECT_EQ(gemm->k, k);
  };
  expect_shape(find_gemm(passes.forward, "qkv"), 8192, 1280, 8192);
  expect_shape(find_gemm(passes.forward, "attention_output"), 8192, 8192, 1024);
  expect_shape(find_gemm(passes.forward, "mlp_up"), 8192, 7168, 8192);
  expect_shape(find_gemm(passes.forward, "mlp_down"), 8192, 8192, 3584);
  expect_shape(find_gemm(passes.backward_input, "mlp_up", Role::dgrad), 8192, 8192, 7168);
  expect_shape(find_gemm(passes.backward_weight, "mlp_up", Role::wgrad), 7168, 8192, 8192);
  EXPECT_TRUE(find_gemm(passes.backward_weight, "qkv", Role::wgrad)->accumulates);
}

// Without sequence parallelism: two all-reduces of T h per direction (Megatron's f and g).
TEST(Collectives, TensorParallelismReducesTwicePerDirection) {
  const LayerPasses passes = layer_passes(preset_spec("gpt3-175b"), tensor_options(8, false), 0);
  for (const Pass* pass : {&passes.forward, &passes.backward_input}) {
    const std::vector<CollectiveOp> found = collectives(*pass);
    ASSERT_EQ(found.size(), 2U);
    for (const CollectiveOp& collective : found) {
      EXPECT_EQ(collective.kind, CollectiveKind::all_reduce);
      EXPECT_EQ(in_bytes(collective.bytes_total), 2048.0 * 12288.0 * 2.0);
      EXPECT_EQ(collective.bytes_per_rank_in, collective.bytes_total);
    }
  }
  EXPECT_TRUE(collectives(passes.backward_weight).empty());
}

// With it: two gather + scatter pairs per direction, and two gathers of the inputs for the weight
// gradients. A gather contributes 1/t of the buffer, a scatter the whole of it.
TEST(Collectives, SequenceParallelismGathersAndScatters) {
  const LayerPasses passes = layer_passes(preset_spec("gpt3-175b"), tensor_options(8, true), 0);
  const auto count = [](const Pass& pass, CollectiveKind kind) {
    int found = 0;
    for (const CollectiveOp& collective : collectives(pass)) {
      const double share = collective.bytes_per_rank_in / collective.bytes_total;
      EXPECT_EQ(share, collective.kind == CollectiveKind::all_gather ? 0.125 : 1.0);
      EXPECT_EQ(in_bytes(collective.bytes_total), 2048.0 * 12288.0 * 2.0);
      found += collective.kind == kind ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(count(passes.forward, CollectiveKind::all_gather), 2);
  EXPECT_EQ(count(passes.forward, CollectiveKind::reduce_scatter), 2);
  EXPECT_EQ(count(passes.backward_input, CollectiveKind::all_gather), 4);
  EXPECT_EQ(count(passes.backward_input, CollectiveKind::reduce_scatter), 2);
}

TEST(Collectives, OneRankCommunicatesNothing) {
  for (const char* name : {"llama3-8b", "deepseek-v3", "bloom-176b"}) {
    const ModelSpec model = preset_spec(name);
    for (const LayerPasses& passes :
         {layer_passes(model, OpOptions{}, model.num_layers - 1),
          embedding_passes(model, OpOptions{}), head_passes(model, OpOptions{})}) {
      EXPECT_TRUE(collectives(passes.forward).empty()) << name;
      EXPECT_TRUE(collectives(passes.backward_input).empty()) << name;
      EXPECT_TRUE(collectives(passes.backward_weight).empty()) << name;
    }
  }
}

// Llama 3 8B, CP 4: K and V of 2,048 local tokens, 8 heads of 128 each, in 16 bits.
TEST(Collectives, ContextParallelismGathersKeysAndValues) {
  OpOptions options;
  options.shard.context = 4;
  const LayerPasses passes = layer_passes(preset_spec("llama3-8b"), options, 0);
  const std::vector<CollectiveOp> forward = collectives(passes.forward);
  ASSERT_EQ(forward.size(), 1U);
  EXPECT_EQ(forward[0].axis, CommAxis::context);
  EXPECT_EQ(in_bytes(forward[0].bytes_per_rank_in), 2048.0 * 2.0 * 1024.0 * 2.0);
  EXPECT_EQ(forward[0].bytes_total, 4.0 * forward[0].bytes_per_rank_in);
  const std::vector<CollectiveOp> backward = collectives(passes.backward_input);
  ASSERT_EQ(backward.size(), 2U);
  EXPECT_EQ(backward[0].kind, CollectiveKind::all_gather);
  EXPECT_EQ(backward[1].kind, CollectiveKind::reduce_scatter);
}

// DeepSeek-V3, EP 64, 4,096 tokens: 8 copies of 7,168 elements in 16 bits leave each rank, twice
// per direction.
TEST(Collectives, ExpertsExchangeTopKCopies) {
  OpOptions options;
  options.shard.expert = 64;
  const LayerPasses passes = layer_passes(preset_spec("deepseek-v3"), options, 3);
  for (const Pass* pass : {&passes.forward, &passes.backward_input}) {
    const std::vector<CollectiveOp> found = collectives(*pass);
    ASSERT_EQ(found.size(), 2U);
    for (const CollectiveOp& collective : found) {
      EXPECT_EQ(collective.kind, CollectiveKind::all_to_all);
      EXPECT_EQ(collective.axis, CommAxis::expert);
      EXPECT_EQ(in_bytes(collective.bytes_per_rank_in), 4096.0 * 8.0 * 7168.0 * 2.0);
      EXPECT_EQ(collective.bytes_total, 64.0 * collective.bytes_per_rank_in);
    }
  }
  EXPECT_TRUE(collectives(layer_passes(preset_spec("deepseek-v3"), options, 0).forward).empty())
      << "the first three layers are dense";
}

// TP 8 with SP, ETP 2, EP 4: a rank routes T / 8 tokens; the pair of ETP ranks gathers 2 T k / 8.
TEST(Collectives, ExpertTensorRanksGatherTheirRows) {
  OpOptions options = tensor_options(8, true);
  options.shard.expert = 4;
  options.shard.expert_tensor = 2;
  const ModelSpec model = preset_spec("mixtral-8x7b");
  const double rows = 2.0 * 32768.0 * 2.0 / 8.0;
  int gathers = 0;
  for (const CollectiveOp& collective : collectives(layer_passes(model, options, 0).forward)) {
    if (collective.axis == CommAxis::expert_tensor) {
      ++gathers;
      EXPECT_EQ(in_bytes(collective.bytes_total), rows * 4096.0 * 2.0);
    } else if (collective.axis == CommAxis::expert) {
      EXPECT_EQ(in_bytes(collective.bytes_per_rank_in), rows / 2.0 * 4096.0 * 2.0);
    }
  }
  EXPECT_EQ(gathers, 2);
}

// Full recompute runs the forward once more: (1 + 2 + 1) / 3 of the FLOP with two-product
// attention.
TEST(RecomputePass, FullIsOneMoreForward) {
  const ModelSpec model = preset_spec("gpt3-175b");
  OpOptions options = tensor_options(8, true);
  options.attention = AttentionKernel::unfused;
  const LayerPasses passes = layer_passes(model, options, 0);
  const Pass again = recompute_pass(model, options, 0, Recompute::full);
  ASSERT_EQ(again.size(), passes.forward.size());
  for (const PassOp& op : again) {
    EXPECT_TRUE(op.recomputed);
  }
  const double once =
      all_flop(passes.forward) + all_flop(passes.backward_input) + all_flop(passes.backward_weight);
  EXPECT_DOUBLE_EQ((once + all_flop(again)) / once, 4.0 / 3.0);
}

TEST(RecomputePass, SelectiveIsTheAttentionCore) {
  const ModelSpec model = preset_spec("gpt3-175b");
  OpOptions options;
  const Pass fused = recompute_pass(model, options, 0, Recompute::selective);
  ASSERT_EQ(fused.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<AttentionOp>(fused[0].op));
  EXPECT_TRUE(fused[0].recomputed);
  options.attention = AttentionKernel::unfused;
  const Pass unfused = recompute_pass(model, options, 0, Recompute::selective);
  ASSERT_EQ(unfused.size(), 3U);  // scores, softmax, context
  // 4 s^2 h: the whole square, no causal saving.
  EXPECT_DOUBLE_EQ(all_flop(unfused), 4.0 * 2048.0 * 2048.0 * 12288.0);
  EXPECT_TRUE(recompute_pass(model, options, 0, Recompute::none).empty());
}

// Of q 4096, k 1024, v 1024, output 4096, gate 14336, up 14336 columns (inputs 4096) every second
// one runs again: k, output and up; the down projection is the seventh and last.
TEST(RecomputePass, SelectiveOperationsRunEverySecondProductAgain) {
  const ModelSpec model = preset_spec("llama3-8b");
  const Pass again = recompute_pass(model, OpOptions{}, 0, Recompute::selective_operations);
  EXPECT_DOUBLE_EQ(gemm_flop(again), 2.0 * 8192.0 * 4096.0 * (1024.0 + 4096.0 + 14336.0));
  EXPECT_EQ(attention_flop(again), 0.0);
  for (const PassOp& op : again) {
    EXPECT_TRUE(op.recomputed);
  }
}

// The result of the down projection is an input of no backward.
TEST(RecomputePass, StoppingEarlyLeavesOutTheLastProduct) {
  const ModelSpec model = preset_spec("llama3-8b");
  OpOptions options;
  const double whole = gemm_flop(recompute_pass(model, options, 0, Recompute::full));
  options.recompute_stops_early = true;
  const Pass early = recompute_pass(model, options, 0, Recompute::full);
  EXPECT_DOUBLE_EQ(whole - gemm_flop(early), 2.0 * 8192.0 * 4096.0 * 14336.0);
  EXPECT_EQ(std::get<MemoryOp>(early.back().op).part, Part::activation);
}

// K and V: s c^-1 tokens of each of c ranks, g (d + d) elements of 2 bytes. All-to-all: q, k, v in,
// the output back, each rank's whole share of s / c tokens.
TEST(ContextExchange, MovesWhatItsMethodNeeds) {
  const ModelSpec model = preset_spec("llama3-8b");
  OpOptions options;
  options.shard.context = 4;
  const double key_values = 8192.0 * 8.0 * 256.0 * 2.0;
  const auto bytes_of = [&](ContextMethod method) {
    options.shard.context_method = method;
    const LayerPasses passes = layer_passes(model, options, 0);
    std::vector<double> sizes;
    for (const Pass* pass : {&passes.forward, &passes.backward_input}) {
      for (const CollectiveOp& op : collectives(*pass)) {
        sizes.push_back(in_bytes(op.bytes_total));
      }
    }
    return sizes;
  };
  const std::vector<double> gathered = {key_values, key_values, key_values};
  EXPECT_EQ(bytes_of(ContextMethod::all_gather), gathered);
  EXPECT_EQ(bytes_of(ContextMethod::ring), gathered);
  const double queries = 8192.0 * 32.0 * 128.0 * 2.0;
  const std::vector<double> exchanged = {queries + key_values, queries, queries,
                                         queries + key_values};
  EXPECT_EQ(bytes_of(ContextMethod::all_to_all), exchanged);
}

TEST(ContextExchange, FewerKeyHeadsThanRanksAreCopied) {
  const ModelSpec model = preset_spec("llama3-8b");
  OpOptions options;
  options.shard.context = 16;
  options.shard.context_method = ContextMethod::all_to_all;
  const LayerPasses passes = layer_passes(model, options, 0);
  const double columns = 32.0 * 128.0 + 16.0 * 256.0;  // 16 copies of 8 heads
  EXPECT_DOUBLE_EQ(in_bytes(collectives(passes.forward)[0].bytes_total), 8192.0 * columns * 2.0);
}

// The attention of all ranks together is that of one, whatever they exchange; without balance the
// last of c ranks has (2 c - 1) / c times the mean.
TEST(ContextExchange, SharesTheAttentionEvenlyOrNamesTheSlowest) {
  const ModelSpec model = preset_spec("llama3-8b");
  OpOptions options;
  const double alone = attention_flop(layer_passes(model, options, 0).forward);
  options.shard.context = 8;
  for (const ContextMethod method :
       {ContextMethod::all_gather, ContextMethod::ring, ContextMethod::all_to_all}) {
    options.shard.context_method = method;
    for (const bool balanced : {true, false}) {
      options.shard.context_balanced = balanced;
      const Pass forward = layer_passes(model, options, 0).forward;
      EXPECT_DOUBLE_EQ(8.0 * attention_flop(forward), alone);
      const bool late = !balanced && method != ContextMethod::all_to_all;
      for (const PassOp& entry : forward) {
        if (const auto* attention = std::get_if<AttentionOp>(&entry.op)) {
          EXPECT_DOUBLE_EQ(attention->imbalance, late ? 15.0 / 8.0 : 1.0);
        }
      }
    }
  }
}

// Two products forward, four backward; softmax and dropout pass over a s^2 scores.
TEST(UnfusedAttention, BackwardCostsTwiceTheForward) {
  const ModelSpec model = preset_spec("gpt3-175b");
  OpOptions options;
  options.attention = AttentionKernel::unfused;
  options.dropout = true;
  const LayerPasses passes = layer_passes(model, options, 0);
  EXPECT_EQ(attention_flop(passes.forward), 0.0);
  EXPECT_DOUBLE_EQ(gemm_flop(passes.backward_input) + gemm_flop(passes.backward_weight),
                   2.0 * gemm_flop(passes.forward));
  const double scores = 96.0 * 2048.0 * 2048.0;
  const std::optional<MemoryOp> softmax = find_memory(passes.forward, "softmax");
  ASSERT_TRUE(softmax.has_value());
  EXPECT_EQ(in_bytes(softmax->read), 2.0 * scores);
  const std::optional<MemoryOp> dropout = find_memory(passes.forward, "attention_dropout");
  ASSERT_TRUE(dropout.has_value());
  EXPECT_EQ(in_bytes(dropout->written), 3.0 * scores);
}

// 96 heads over 8 ranks are 12 per sequence: a multiple of 4. Over 32 ranks they are 3, and 4
// sequences make 12 again. The kernel ends at 2,048 keys.
TEST(UnfusedAttention, FusedSoftmaxTakesFourRowsOfSequencesTimesHeads) {
  EXPECT_TRUE(fused_softmax_fits(2048, 2048, 12));
  EXPECT_FALSE(fused_softmax_fits(2048, 2048, 3));
  EXPECT_FALSE(fused_softmax_fits(2048, 2048, 6));
  EXPECT_TRUE(fused_softmax_fits(2048, 2048, 4 * 3));
  EXPECT_FALSE(fused_softmax_fits(2048, 2049, 4));
  EXPECT_FALSE(fused_softmax_fits(2050, 2048, 4));
  EXPECT_FALSE(fused_softmax_fits(16, 16, 4));
}

// Where the kernel refuses, 16 passes of 2 bytes over the scores and four launches come on top.
TEST(UnfusedAttention, ARefusingSoftmaxKernelCostsPassesAndLaunches) {
  const ModelSpec model = preset_spec("gpt3-175b");
  OpOptions options = tensor_options(32, false);
  options.attention = AttentionKernel::unfused;
  options.score_passes = 5.0;
  options.backward_passes = 1.4;
  options.softmax_fallback_passes = 16.0;
  const double scores = 3.0 * 2048.0 * 2048.0 * 2.0;
  const auto softmax = [&] {
    return find_memory(layer_passes(model, options, 0).forward, "softmax").value();
  };
  options.shard.micro_batch = 1;
  EXPECT_DOUBLE_EQ(in_bytes(softmax().read + softmax().written), 21.0 * scores);
  EXPECT_EQ(softmax().kernels, 6);
  options.shard.micro_batch = 4;
  EXPECT_DOUBLE_EQ(in_bytes(softmax().read + softmax().written), 4.0 * 5.0 * scores);
  EXPECT_EQ(softmax().kernels, 2);
}

// Logits 2 T V h / t; loss 16 bytes per logit; three all-reduces of one fp32 number per token.
TEST(HeadPasses, LogitsAndLossOverASplitVocabulary) {
  const LayerPasses passes = head_passes(preset_spec("bloom-176b"), tensor_options(4, false));
  const double logits = 2048.0 * 250880.0 / 4.0;
  EXPECT_DOUBLE_EQ(all_flop(passes.forward), 2.0 * logits * 14336.0);
  const std::optional<MemoryOp> forward = find_memory(passes.forward, "cross_entropy");
  const std::optional<MemoryOp> backward =
      find_memory(passes.backward_input, "cross_entropy_backward");
  ASSERT_TRUE(forward.has_value() && backward.has_value());
  EXPECT_EQ(in_bytes(forward->read + forward->written + backward->read + backward->written),
            16.0 * logits);
  int small = 0;
  for (const CollectiveOp& collective : collectives(passes.forward)) {
    small += in_bytes(collective.bytes_total) == 4.0 * 2048.0 ? 1 : 0;
  }
  EXPECT_EQ(small, 3);
}

// DeepSeek-V3: one MTP module adds its projection (4 T h^2), one layer and the head once more.
TEST(HeadPasses, MultiTokenPredictionAddsALayerAndAHead) {
  ModelSpec model = preset_spec("deepseek-v3");
  const double with_module = all_flop(head_passes(model, OpOptions{}).forward);
  const double layer = all_flop(layer_passes(model, OpOptions{}, 60).forward);
  model.mtp_layers = 0;
  const double head = all_flop(head_passes(model, OpOptions{}).forward);
  EXPECT_DOUBLE_EQ(with_module, 2.0 * head + layer + 4.0 * 4096.0 * 7168.0 * 7168.0);
}

TEST(EmbeddingPasses, SumTheVocabularyShards) {
  const ModelSpec model = preset_spec("llama3-8b");
  const LayerPasses plain = embedding_passes(model, tensor_options(8, false));
  ASSERT_EQ(collectives(plain.forward).size(), 1U);
  EXPECT_EQ(collectives(plain.forward)[0].kind, CollectiveKind::all_reduce);
  EXPECT_TRUE(collectives(plain.backward_input).empty());
  const LayerPasses scattered = embedding_passes(model, tensor_options(8, true));
  EXPECT_EQ(collectives(scattered.forward)[0].kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(collectives(scattered.backward_input)[0].kind, CollectiveKind::all_gather);
}

TEST(EmbeddingPasses, NormAndPositionsWhereTheModelHasThem) {
  const LayerPasses bloom = embedding_passes(preset_spec("bloom-176b"), OpOptions{});
  EXPECT_TRUE(find_memory(bloom.forward, "embedding_norm").has_value());
  EXPECT_FALSE(find_memory(bloom.forward, "position_add").has_value());
  const LayerPasses gpt = embedding_passes(preset_spec("gpt3-175b"), OpOptions{});
  EXPECT_TRUE(find_memory(gpt.forward, "position_add").has_value());
}

// Norms and residuals work on T / t tokens with sequence parallelism, on all T without.
TEST(MemoryOps, SequenceParallelismSplitsNorms) {
  const ModelSpec model = preset_spec("gpt3-175b");
  const double whole = 2048.0 * 12288.0 * 2.0;
  const auto norm_read = [&](bool sequence_parallel) {
    const OpOptions options = tensor_options(8, sequence_parallel);
    return in_bytes(find_memory(layer_passes(model, options, 0).forward, "mlp_norm")->read);
  };
  EXPECT_EQ(norm_read(false), whole);
  EXPECT_EQ(norm_read(true), whole / 8.0);
}

TEST(MemoryOps, BiasGradientsWhereThereAreBiases) {
  const LayerPasses gpt = layer_passes(preset_spec("gpt3-175b"), OpOptions{}, 0);
  EXPECT_TRUE(find_memory(gpt.backward_weight, "bias_gradient").has_value());
  const LayerPasses llama = layer_passes(preset_spec("llama3-8b"), OpOptions{}, 0);
  EXPECT_FALSE(find_memory(llama.backward_weight, "bias_gradient").has_value());
}

}  // namespace
}  // namespace orrery::model
