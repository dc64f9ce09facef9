// Layers by type: their operations, bytes, parameters and shards.

#include "sim/step/model/recurrence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "sim/step/model/flops.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

double scan_flop(const Pass& pass) {
  double total = 0.0;
  for (const PassOp& op : pass) {
    if (const auto* scan = std::get_if<ScanOp>(&op.op)) {
      total += in_flop(flop_count(*scan));
    }
  }
  return total;
}

// Nemotron-H 8B, by hand: 4 H N P = 4,194,304, H C P = 1,048,576, 2 G C N = 262,144.
TEST(Scan, CountsTheProductsOfTheStateSpaceKernels) {
  ScanOp op{.sequences = 1,
            .length = 1,
            .heads = 128,
            .key_heads = 8,
            .key_dim = 128,
            .value_dim = 64,
            .chunk = 128};
  EXPECT_DOUBLE_EQ(in_flop(flop_count(op)), 4'194'304.0 + 1'048'576.0 + 262'144.0);
  op.backward = true;
  EXPECT_DOUBLE_EQ(in_flop(flop_count(op)), 10'485'760.0 + 3'145'728.0 + 786'432.0);
}

// d = 128, C = 64: 6 d^2 + 10 C d + C^2 = 184,320; 16 d^2 + 30 C d + 4 C^2 = 524,288.
TEST(Scan, CountsTheProductsAndBytesOfTheDeltaRule) {
  ScanOp op{.kind = ScanKind::delta,
            .sequences = 1,
            .length = 1,
            .heads = 1,
            .key_heads = 1,
            .key_dim = 128,
            .value_dim = 128,
            .chunk = 64};
  EXPECT_DOUBLE_EQ(in_flop(flop_count(op)), 184'320.0);
  EXPECT_DOUBLE_EQ(in_bytes(scan_bytes(op)), 12.0 * 256.0 + 128.0 + 1024.0);
  op.backward = true;
  EXPECT_DOUBLE_EQ(in_flop(flop_count(op)), 524'288.0);
  EXPECT_DOUBLE_EQ(in_bytes(scan_bytes(op)), 42.0 * 128.0 + 30.0 * 128.0 + 256.0 + 2048.0);
}

// Products of a layer are two per weight that is multiplied: all but taps, norms, steps and biases.
TEST(LayerTypes, ForwardProductsAreTwoPerWeight) {
  struct Case {
    std::string_view preset;
    std::int64_t layer;
    double others;
  };

  constexpr std::array kCases = {
      // norm h, taps 5 (I + 2 G K), 3 H, gate's norm I
      Case{"nemotron-h-8b", 0, 4096.0 + 5.0 * 10'240.0 + 3.0 * 128.0 + 8192.0},
      Case{"nemotron-h-8b", 1, 4096.0}, Case{"nemotron3-super-120b-a12b", 1, 4096.0},
      // two norms, taps 4 (I + 2 G K), 2 H, gate's norm V
      Case{"qwen3-next-80b-a3b", 0, 2.0 * 2048.0 + 4.0 * 8192.0 + 64.0 + 128.0},
      Case{"qwen3-next-80b-a3b", 3, 2.0 * 2048.0},
      Case{"kimi-linear-48b-a3b", 1, 2.0 * 2304.0 + 4.0 * 12'288.0 + 32.0 + 4096.0 + 128.0}};
  for (const Case& c : kCases) {
    const ModelSpec model = preset_spec(c.preset);
    const double tokens = static_cast<double>(model.sequence_length);
    const auto weights =
        static_cast<double>(count_layer_parameters(model, c.layer).active) - c.others;
    const LayerPasses passes = layer_passes(model, OpOptions{}, c.layer);
    EXPECT_DOUBLE_EQ(gemm_flop(passes.forward), 2.0 * tokens * weights) << c.preset << c.layer;
    EXPECT_DOUBLE_EQ(gemm_flop(passes.backward_weight), 2.0 * tokens * weights) << c.preset;
  }
}

TEST(LayerTypes, AreRepeatedAndHaveTheirMlp) {
  const ModelSpec next = preset_spec("qwen3-next-80b-a3b");
  EXPECT_EQ(next.kind_of(2).recurrence, LayerType::gated_delta);
  EXPECT_FALSE(next.kind_of(2).attention);
  EXPECT_TRUE(next.kind_of(47).attention);
  EXPECT_EQ(next.kind_of(47).mlp, Mlp::moe);
  EXPECT_TRUE(next.kind_of(48).attention) << "modules of prediction have attention";
  const ModelSpec nemotron = preset_spec("nemotron3-nano-30b-a3b");
  EXPECT_EQ(nemotron.kind_of(0).mlp, Mlp::none);
  EXPECT_EQ(nemotron.kind_of(1).mlp, Mlp::moe);
  EXPECT_FALSE(nemotron.kind_of(1).recurrence.has_value());
  const ModelSpec falcon = preset_spec("falcon-h1-7b");
  EXPECT_TRUE(falcon.kind_of(0).attention && falcon.kind_of(0).recurrence);
  const auto kinds = count_layers(nemotron, 0, nemotron.num_layers);
  EXPECT_EQ(kinds[1].count, 23);  // M, E, *: in the order of their first layers
  EXPECT_EQ(kinds[3].count, 23);
  EXPECT_EQ(kinds[5].count, 6);
}

// Mamba-2 of Nemotron-H 8B keeps 60.3 KiB per token, Qwen3-Next's delta rule 64.6 kB: what the
// autograd functions of mamba and fla save, beside the norm's input (and the output projection's).
TEST(LayerTypes, KeepWhatTheirKernelsSave) {
  ActivationOptions options;
  const ModelSpec nemotron = preset_spec("nemotron-h-8b");
  const double mamba = in_bytes(layer_activation_bytes(nemotron, options, 0)) / 8192.0;
  EXPECT_DOUBLE_EQ(mamba, 2.0 * 18'560.0 + 2.0 * 8192.0 + 2.0 * 4096.0 + 2.0 * 4096.0 + 16'384.0);
  const MixerDims mixer = mixer_dims(preset_spec("qwen3-next-80b-a3b"), LayerType::gated_delta, 1);
  EXPECT_NEAR(kept_per_token(mixer, 2.0, 2.0) + 2.0 * 2048.0, 64.6 * 1024.0, 100.0);
  options.recompute = Recompute::full;
  EXPECT_DOUBLE_EQ(in_bytes(layer_activation_bytes(nemotron, options, 0)), 8192.0 * 2.0 * 4096.0);
}

TEST(LayerTypes, ShardsAddUpToTheWholeLayer) {
  for (const std::string_view preset :
       {"nemotron-h-8b", "qwen3-next-80b-a3b", "minimax-m1", "kimi-linear-48b-a3b"}) {
    const ModelSpec model = preset_spec(preset);
    const bool copies = preset == "kimi-linear-48b-a3b";  // the low-rank maps of every tensor rank
    OpOptions alone;
    alone.shard.micro_batch = 8;
    OpOptions options = alone;
    options.shard.tensor = copies ? 1 : 4;
    options.shard.context = 2;
    options.shard.sequence_parallel = true;
    const double ranks = static_cast<double>(options.shard.tensor * 2);
    const LayerPasses whole = layer_passes(model, alone, 0);
    const LayerPasses part = layer_passes(model, options, 0);
    EXPECT_DOUBLE_EQ(ranks * all_flop(part.forward), all_flop(whole.forward)) << preset;
    EXPECT_DOUBLE_EQ(ranks * all_flop(part.backward_input), all_flop(whole.backward_input));
    EXPECT_DOUBLE_EQ(ranks * all_flop(part.backward_weight), all_flop(whole.backward_weight));
    EXPECT_GT(scan_flop(part.forward), 0.0) << preset;
    const ShardParameters held = layer_shard_parameters(model, ShardContext{}, 0);
    EXPECT_DOUBLE_EQ(held.dense + held.expert,
                     static_cast<double>(count_layer_parameters(model, 0).total));
  }
}

// Input projection forward and its gradient: as an attention block; nothing inside.
TEST(LayerTypes, MixersCommunicateAsAttentionDoes) {
  const ModelSpec model = preset_spec("nemotron-h-8b");
  OpOptions options;
  options.shard.tensor = 4;
  options.shard.sequence_parallel = true;
  EXPECT_EQ(collectives(layer_passes(model, options, 0).forward).size(), 2U);
  options.shard = {.context = 2};
  const auto exchanged = collectives(layer_passes(model, options, 0).forward);
  ASSERT_EQ(exchanged.size(), 2U);
  EXPECT_EQ(exchanged[0].kind, CollectiveKind::all_to_all);
  EXPECT_DOUBLE_EQ(in_bytes(exchanged[0].bytes_per_rank_in), 4096.0 * 18'560.0 * 2.0);
  EXPECT_DOUBLE_EQ(in_bytes(exchanged[1].bytes_per_rank_in), 4096.0 * 8192.0 * 2.0);
}

// Model FLOP: 6 N, the scores of four layers in 52, three forwards of the scans of 24.
TEST(LayerTypes, CountTheirScansInTheModelFlop) {
  const ModelSpec model = preset_spec("nemotron-h-8b");
  const double expected = 6.0 * multiplied_parameters(model) + 4.0 * 6.0 * 32.0 * 128.0 * 8192.0 +
                          24.0 * 3.0 * 5'505'024.0;
  const double counted = in_flop(model_flop_per_token(model, FlopConvention::palm_causal));
  EXPECT_NEAR(counted / expected, 1.0, 1e-12);
}

// Nemotron 3 Super: rows of 1,024 go to 22 experts: as 5.5 of the stream would.
TEST(LatentExperts, SendRowsOfTheirWidth) {
  ModelSpec model = preset_spec("nemotron3-super-120b-a12b");
  OpOptions options;
  options.shard.expert = 8;
  const auto sent = collectives(layer_passes(model, options, 1).forward);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_DOUBLE_EQ(in_bytes(sent[0].bytes_per_rank_in), 8192.0 * 22.0 * 1024.0 * 2.0);
  EXPECT_EQ(count_parameters(model).mtp, [&model] {
    model.mtp_layers = 1;
    return count_parameters(model).mtp;
  }()) << "two modules share their weights";
}

// DeepSeek-V3.2, MFLOP per token and layer: sparse core 428 at 4,096 tokens, 566 at 131,072; scores
// of the indexer 34 and 1,074.
TEST(SparseAttention, CountsAsItsReport) {
  ModelSpec model = preset_spec("deepseek-v3.2");
  const ModelSpec dense = preset_spec("deepseek-v3");
  for (const auto& [length, core, scores] :
       {std::array{4096.0, 428.0, 34.0}, std::array{131'072.0, 566.0, 1074.0}}) {
    model.sequence_length = static_cast<std::int64_t>(length);
    const LayerPasses passes = layer_passes(model, OpOptions{}, 0);
    EXPECT_NEAR(attention_flop(passes.forward) / length / kMega, core, 0.5);
    const auto scored = find_gemm(passes.forward, "index_scores");
    ASSERT_TRUE(scored.has_value());
    EXPECT_NEAR(in_flop(flop_count(*scored)) / length / kMega, scores, 0.5);
    EXPECT_DOUBLE_EQ(attention_flop(passes.backward_input), 2.5 * attention_flop(passes.forward));
  }
  EXPECT_EQ(count_layer_parameters(model, 0).total - count_layer_parameters(dense, 0).total,
            1536 * 64 * 128 + 7168 * (128 + 64) + 2 * 128);
}

// DeepSeek-V4 Flash, per token and layer, at 4,096 tokens: 64 heads of 512 on 128 keys, on 128 and
// 32 entries, on 128 and 512 of 1,024; products by the formulas of compressed_attention_ops.cpp.
TEST(CompressedAttention, CountsAsItsFormulas) {
  const ModelSpec model = preset_spec("deepseek-v4-flash");
  constexpr double kTokens = 4096.0;
  constexpr double kProjections = 2.0 * (4096.0 * 1024 + 1024.0 * 64 * 512 + 4096.0 * 512 +
                                         64.0 * 512 * 1024 + 8.0 * 1024 * 4096);
  constexpr double kIndexer =
      2.0 * (1024.0 * 64 * 128 + 4096.0 * 64) + 8.0 * 4096 * 128 + 64.0 * 128 * 1024;

  struct Case {
    std::int64_t layer;
    double keys;
    double beside;  // of compression and indexer
  };

  const std::vector<Case> cases = {
      {0, 128.0, 0.0}, {2, 640.0, 8.0 * 4096 * 512 + kIndexer}, {3, 160.0, 4.0 * 4096 * 512}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.layer);
    EXPECT_EQ(static_cast<double>(model.window_of(c.layer)), c.keys);
    const LayerPasses passes = layer_passes(model, OpOptions{}, c.layer);
    const double seen = c.keys - c.keys * c.keys / (2.0 * kTokens);
    EXPECT_DOUBLE_EQ(attention_flop(passes.forward), 4.0 * 64 * 512 * seen * kTokens);
    double products = 0.0;
    for (const PassOp& entry : passes.forward) {
      const auto* gemm = std::get_if<GemmOp>(&entry.op);
      const bool counted = gemm != nullptr && block_of(gemm->part) == Block::attention &&
                           gemm->part != Part::index_target;
      const bool latent =
          gemm != nullptr && (gemm->part == Part::query_down || gemm->part == Part::query_up ||
                              gemm->part == Part::key_value_down);
      products += counted || latent ? in_flop(flop_count(*gemm)) : 0.0;
    }
    EXPECT_DOUBLE_EQ(products / kTokens, kProjections + c.beside);
  }
  EXPECT_EQ(model.window_of(model.num_layers), 128);  // of the prediction module
}

// Four streams: kept four times where a layer keeps its input alone, and mixed at both blocks.
TEST(ResidualStreams, AreKeptAndMixed) {
  ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options;
  options.recompute = Recompute::full;
  const Bytes one = layer_activation_bytes(model, options, 0);
  const double parameters = static_cast<double>(count_layer_parameters(model, 0).total);
  model.residual_streams = 4;
  EXPECT_DOUBLE_EQ(layer_activation_bytes(model, options, 0) / one, 4.0);
  EXPECT_DOUBLE_EQ(static_cast<double>(count_layer_parameters(model, 0).total) - parameters,
                   2.0 * (24.0 * 4 * 4096 + 24 + 3));
  const LayerPasses passes = layer_passes(model, OpOptions{}, 0);
  const auto mix = find_memory(passes.forward, "stream_mix");
  ASSERT_TRUE(mix.has_value());
  EXPECT_DOUBLE_EQ(in_bytes(mix->read),
                   21.0 * 4096 * 2 * static_cast<double>(model.sequence_length));
  EXPECT_FALSE(find_memory(passes.forward, "residual_add").has_value());
}

// Gemma 4 31B: every sixth layer has 4 heads of 512 whose keys are its values, the others 16 of
// 256.
TEST(FullAttention, HasHeadsOfItsOwn) {
  const ModelSpec model = preset_spec("gemma4-31b");
  const auto columns = [&model](std::int64_t layer) {
    const LayerPasses passes = layer_passes(model, OpOptions{}, layer);
    const auto qkv = find_gemm(passes.forward, "qkv");
    return qkv ? qkv->n : 0;
  };
  EXPECT_EQ(columns(4), (32 + 2 * 16) * 256);
  EXPECT_EQ(columns(5), (32 + 4) * 512);
  EXPECT_NE(model.shape_index(4), model.shape_index(5));
  EXPECT_EQ(model.kind_index(4), model.kind_index(0));
  ModelSpec brief = model;
  brief.sequence_length = 1024;  // no longer than the window, which then limits nothing
  EXPECT_EQ(brief.window_of(0), 0);
  EXPECT_NE(brief.shape_index(4), brief.shape_index(5));
}

// Runs of layers that are counted at once hold layers of one kind, and cover all of them.
TEST(AlikeUntil, RunsHoldLayersOfOneKind) {
  for (const char* name : {"llama3-8b", "deepseek-v3", "gemma4-31b", "gpt-oss-20b",
                           "qwen3-next-80b-a3b", "mixtral-8x7b", "deepseek-v4-flash"}) {
    SCOPED_TRACE(name);
    const ModelSpec model = preset_spec(name);
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
      ASSERT_GT(model.alike_until(layer), layer);
      for (std::int64_t i = layer; i < std::min(model.num_layers, model.alike_until(layer)); ++i) {
        ASSERT_EQ(model.kind_index(i), model.kind_index(layer)) << i;
        ASSERT_EQ(model.shape_index(i), model.shape_index(layer)) << i;
      }
    }
  }
  EXPECT_EQ(preset_spec("deepseek-v3").alike_until(0), 3);
  EXPECT_GE(preset_spec("llama3-8b").alike_until(0), 32);
}

// The gate of Qwen3-Next doubles the columns of the queries.
TEST(OutputGate, IsProjectedBesideTheQueries) {
  const ModelSpec model = preset_spec("qwen3-next-80b-a3b");
  const LayerPasses passes = layer_passes(model, OpOptions{}, 3);
  const auto qkv = find_gemm(passes.forward, "qkv");
  ASSERT_TRUE(qkv.has_value());
  EXPECT_EQ(qkv->n, 256 * (16 + 16 + 2 + 2));
  EXPECT_TRUE(find_memory(passes.forward, "attention_gate").has_value());
}

}  // namespace
}  // namespace orrery::model
