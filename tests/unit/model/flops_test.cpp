#include "sim/step/model/flops.hpp"

#include <array>
#include <string_view>

#include "sim/step/model/parameters.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

double gigaflop_per_token(std::string_view preset, FlopConvention convention) {
  return in_gigaflop(model_flop_per_token(preset_spec(preset), convention));
}

struct Known {
  std::string_view preset;
  double full;
  double causal;
  double tolerance;
};

// 6 N + 12 L H Q T at 8,192 tokens, N without the input table, in GFLOP per token:
//   8B:   6 * 7.50491 + 12.885 = 57.91;   half of the attention: 51.47
//   70B:  6 * 69.5031 + 64.424 = 481.44;  449.23
//   405B: 6 * 403.752 + 202.94 = 2,625.5; 2,524.0
TEST(ModelFlop, LlamaAt8192TokensFullAndCausal) {
  constexpr std::array kKnown = {Known{"llama3-8b", 57.9, 51.5, 0.05},
                                 Known{"llama3-70b", 481.0, 449.0, 0.5},
                                 Known{"llama3-405b", 2625.0, 2524.0, 0.5}};
  for (const Known& known : kKnown) {
    EXPECT_NEAR(gigaflop_per_token(known.preset, FlopConvention::palm), known.full, known.tolerance)
        << known.preset;
    EXPECT_NEAR(gigaflop_per_token(known.preset, FlopConvention::palm_causal), known.causal,
                known.tolerance)
        << known.preset;
  }
}

// nanochat d24: 24 layers of 1,536, 12 heads, 32,768 words, 2,048 tokens, three of four layers with
// a window of 1,024. Its leaderboard prints 4.330784131228946e19 FLOP for 16,704 steps of 524,288
// tokens, 6 N + 12 H Q times the keys of every layer (karpathy/nanochat, dev/LEADERBOARD.md, run
// 1). The gates of its value embeddings are in its N and not in this model, norms the other way
// round.
TEST(ModelFlop, ReproducesTheCountPrintedForNanochatWithItsWindows) {
  ModelSpec d24;
  d24.num_layers = 24;
  d24.hidden_size = 1536;
  d24.num_attention_heads = 12;
  d24.vocab_size = 32768;
  d24.sequence_length = 2048;
  d24.activation = Activation::squared_relu;
  d24.attention_window = WindowSpec{.size = 1024, .full_every = 4};
  d24 = resolve(d24);
  const double printed = 43.30784131228946 * kExa / (16704.0 * 524288.0);
  const double counted = in_flop(model_flop_per_token(d24, FlopConvention::palm));
  EXPECT_NEAR(counted / printed, 1.0, 2e-4);
}

// A causal query sees 1 ... s keys, (s + 1) / 2 on average, but at most w of them: over a sequence
// of s these are w - w^2 / 2s as s grows. At w = s the window is none.
TEST(ModelFlop, AWindowTakesItsShareOfTheCausalMask) {
  ModelSpec model = preset_spec("llama3-8b");
  const auto causal = [&model] {
    return in_gigaflop(model_flop_per_token(model, FlopConvention::palm_causal));
  };
  const double whole = causal();
  model.attention_window = WindowSpec{.size = model.sequence_length, .full_every = 0};
  EXPECT_DOUBLE_EQ(causal(), whole);
  const double without =
      in_gigaflop(flop(6.0 * multiplied_parameters(model)));  // the products alone
  model.attention_window->size = model.sequence_length / 2;
  EXPECT_NEAR((causal() - without) / (whole - without), 0.75, 1e-12);  // 1/2 - 1/8 of 1/2
  model.attention_window->full_every = 2;
  EXPECT_NEAR((causal() - without) / (whole - without), 0.875, 1e-12);
}

// PaLM 540B: 118 layers, h = 18,432, 48 heads of 256, one key/value head, SwiGLU of 4 h, 256,000
// tokens, tied tables, 2,048 tokens. 238.3k tokens/s on 6,144 TPU v4 of 275 TFLOP/s is printed as
// 46.2 % with attention and 45.7 % without (arXiv 2204.02311, section 4.1 and appendix B).
TEST(ModelFlop, ReproducesTheUtilisationPrintedForPalm) {
  ModelSpec palm;
  palm.num_layers = 118;
  palm.hidden_size = 18432;
  palm.num_attention_heads = 48;
  palm.num_query_groups = 1;
  palm.head_dim = 256;
  palm.ffn_hidden_size = 73728;
  palm.vocab_size = 256000;
  palm.sequence_length = 2048;
  palm.tie_embeddings = true;
  const double parameters = static_cast<double>(count_parameters(palm).total);
  EXPECT_NEAR(parameters / kGiga, 540.35, 0.05);
  const double peak = 6144.0 * 275.0;
  const double tokens_per_second = 238.3 * kKilo;
  const auto utilisation = [&](FlopConvention convention) {
    return in_teraflop(model_flop_per_token(palm, convention)) * tokens_per_second / peak;
  };
  EXPECT_NEAR(utilisation(FlopConvention::palm), 0.462, 0.0005);
  EXPECT_NEAR(utilisation(FlopConvention::six_nd), 0.457, 0.0005);
}

// 6 N of the published active count: 6 * 37.55B with both tables.
TEST(ModelFlop, SixNdCountsActiveParametersWithTables) {
  EXPECT_NEAR(gigaflop_per_token("deepseek-v3", FlopConvention::six_nd), 6.0 * 37.55, 0.3);
  EXPECT_NEAR(gigaflop_per_token("llama3-405b", FlopConvention::six_nd), 6.0 * 405.853, 0.01);
}

// GPT: with h = H Q and no biases or norms a layer has 12 h^2, so that per token
//   model    = 6 (12 L h^2 + V h) + 12 L h s             = 72 L h^2 (1 + s / (6 h) + V / (12 L h))
//   hardware = model + 24 L h^2 + 4 L h s (full recompute) = 96 L h^2 (1 + s / (6 h) + V / (16 L
//   h))
// (Narayanan et al. 2021, arXiv 2104.04473, section 5.1). Biases and norms add less than 0.1 %.
TEST(HardwareFlop, FullRecomputeIsTheFormulaOfNarayanan) {
  const ModelSpec model = preset_spec("gpt3-175b");
  const double layers = 96.0;
  const double h = 12288.0;
  const double s = 2048.0;
  const double vocab = 50257.0;
  const double expected =
      96.0 * layers * h * h * (1.0 + s / (6.0 * h) + vocab / (16.0 * layers * h));
  const double predicted =
      in_flop(hardware_flop_per_token(model, FlopConvention::palm, Recompute::full));
  EXPECT_NEAR(predicted / expected, 1.0, 1e-3);
  EXPECT_GE(predicted, expected);
}

// Without the head, one more forward pass is a third: 4/3 of the model's operations.
TEST(HardwareFlop, FullRecomputeIsFourThirdsOfTheLayers) {
  ModelSpec model = preset_spec("llama3-70b");
  for (const FlopConvention convention : {FlopConvention::palm, FlopConvention::palm_causal}) {
    const double head = 6.0 * (128256.0 * 8192.0 + 8192.0);
    const double none = in_flop(hardware_flop_per_token(model, convention, Recompute::none));
    const double full = in_flop(hardware_flop_per_token(model, convention, Recompute::full));
    EXPECT_EQ(none, in_flop(model_flop_per_token(model, convention)));
    EXPECT_DOUBLE_EQ((full - head) / (none - head), 4.0 / 3.0);
  }
}

// The core alone: 4 L H Q T more, a third of 12 L H Q T.
TEST(HardwareFlop, SelectiveRecomputeAddsAThirdOfTheAttention) {
  const ModelSpec model = preset_spec("llama3-8b");
  const double none = in_flop(model_flop_per_token(model, FlopConvention::palm));
  const double selective =
      in_flop(hardware_flop_per_token(model, FlopConvention::palm, Recompute::selective));
  EXPECT_DOUBLE_EQ(selective - none, 4.0 * 32.0 * 4096.0 * 8192.0);
}

TEST(HardwareFlop, RecomputedLayersScaleTheExtraWork) {
  const ModelSpec model = preset_spec("llama3-8b");
  const auto extra = [&](std::int64_t layers) {
    return in_flop(hardware_flop_per_token(model, FlopConvention::palm, Recompute::full, layers) -
                   model_flop_per_token(model, FlopConvention::palm));
  };
  EXPECT_EQ(extra(0), 0.0);
  EXPECT_NEAR(extra(8) / extra(32), 0.25, 1e-12);
  EXPECT_EQ(extra(1000), extra(32));
}

// 61 layers and the one of the prediction module; layers counted by chunk leave that one out.
TEST(HardwareFlop, PredictionModulesComeAfterTheLayers) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const auto extra = [&](std::int64_t layers) {
    return in_flop(hardware_flop_per_token(model, FlopConvention::palm, Recompute::full, layers) -
                   model_flop_per_token(model, FlopConvention::palm));
  };
  const double module = 2.0 * static_cast<double>(count_layer_parameters(model, 61).active) +
                        2.0 * 4096.0 * 128.0 * 320.0;
  EXPECT_NEAR((extra(62) - extra(61)) / module, 1.0, 1e-9);
  EXPECT_EQ(extra(1000), extra(62));
}

// Latent attention: 6 a (d_qk + d_v) T per layer; V3 adds its MTP module's layer, projection, head.
TEST(ModelFlop, LatentAttentionCountsKeyAndValueWidths) {
  ModelSpec model = preset_spec("deepseek-v3");
  const double with_module = in_flop(model_flop_per_token(model, FlopConvention::palm));
  const double layer = static_cast<double>(count_layer_parameters(model, 61).active);
  const double attention = 6.0 * 128.0 * 320.0 * 4096.0;
  model.mtp_layers = 0;
  const double without = in_flop(model_flop_per_token(model, FlopConvention::palm));
  EXPECT_DOUBLE_EQ(without, 6.0 * multiplied_parameters(model) + 61.0 * attention);
  const double h = 7168.0;
  EXPECT_DOUBLE_EQ(with_module - without, 6.0 * (layer + 2.0 * h * h + 129280.0 * h) + attention);
}

}  // namespace
}  // namespace orrery::model
