// Recomputation by module: what it gives up, what it runs again, and the identities between
// policies.

#include <functional>
#include <utility>
#include <vector>

#include "sim/step/model/flops.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

constexpr std::uint64_t kSeed = 20261122;

ActivationOptions with_modules(const RecomputeModules& modules) {
  ActivationOptions options;
  options.ops.recompute_modules = modules;
  options.recompute = Recompute::modules;
  return options;
}

double given_up(const ModelSpec& model, ActivationOptions options, std::int64_t layer) {
  const double kept = in_bytes(layer_activation_bytes(model, options, layer));
  options.recompute = Recompute::none;
  return in_bytes(layer_activation_bytes(model, options, layer)) - kept;
}

Pass again(const ModelSpec& model, const ActivationOptions& options, std::int64_t layer) {
  return recompute_pass(model, options.ops, layer, Recompute::modules);
}

// Llama 3 8B, 8,192 tokens: h = 4096, f = 14336; 16 bits.
TEST(ModuleRecompute, NormsOfADenseLayer) {
  const ModelSpec model = preset_spec("llama3-8b");
  const ActivationOptions options = with_modules({.layernorm = true});
  EXPECT_DOUBLE_EQ(given_up(model, options, 0), 8192.0 * 2.0 * 2.0 * 4096.0);
  const Pass pass = again(model, options, 0);
  ASSERT_EQ(pass.size(), 2U);
  EXPECT_EQ(std::get<MemoryOp>(pass[0].op).part, Part::attention_norm);
  EXPECT_EQ(std::get<MemoryOp>(pass[1].op).part, Part::mlp_norm);
  EXPECT_TRUE(pass[0].recomputed);
}

// In FP8 the products keep one byte of the norms' results and cast them again.
TEST(ModuleRecompute, NormsInFp8AreCastAgain) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options = with_modules({.layernorm = true});
  options.ops.precision.compute = Dtype::fp8;
  EXPECT_DOUBLE_EQ(given_up(model, options, 0), 8192.0 * 2.0 * 4096.0);
  const Pass pass = again(model, options, 0);
  ASSERT_EQ(pass.size(), 4U);
  const auto& cast = std::get<MemoryOp>(pass[1].op);
  EXPECT_TRUE(is_cast(cast.part));
  EXPECT_DOUBLE_EQ(in_bytes(cast.written), 2.0 * 8192.0 * 4096.0);
}

// A stack that keeps the gathered input gives up t times as much and gathers once more per norm.
TEST(ModuleRecompute, AKeptGatheredInputIsGatheredAgain) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options = with_modules({.layernorm = true});
  options.ops.shard.tensor = 4;
  options.ops.shard.sequence_parallel = true;
  const double local = given_up(model, options, 0);
  EXPECT_TRUE(collectives(again(model, options, 0)).empty());
  options.ops.keeps_gathered_input = true;
  EXPECT_DOUBLE_EQ(given_up(model, options, 0), 4.0 * local);
  EXPECT_EQ(collectives(again(model, options, 0)).size(), 2U);
}

TEST(ModuleRecompute, ActivationOfADenseLayer) {
  const ModelSpec model = preset_spec("llama3-8b");
  const ActivationOptions options = with_modules({.mlp_activation = true});
  EXPECT_DOUBLE_EQ(given_up(model, options, 0), 8192.0 * 2.0 * 14336.0);
  const Pass pass = again(model, options, 0);
  ASSERT_EQ(pass.size(), 1U);
  const auto& activation = std::get<MemoryOp>(pass[0].op);
  EXPECT_DOUBLE_EQ(in_bytes(activation.read), 2.0 * in_bytes(activation.written));
  EXPECT_EQ(gemm_flop(pass), 0.0);
}

// Gate, up and down input, 3 f; both products again, or all but the last.
TEST(ModuleRecompute, DenseMlp) {
  const ModelSpec model = preset_spec("llama3-8b");
  ActivationOptions options = with_modules({.mlp = true});
  EXPECT_DOUBLE_EQ(given_up(model, options, 0), 8192.0 * 2.0 * 3.0 * 14336.0);
  const double product_flop = 2.0 * 8192.0 * 4096.0 * 14336.0;
  EXPECT_DOUBLE_EQ(gemm_flop(again(model, options, 0)), 3.0 * product_flop);
  options.ops.recompute_stops_early = true;
  EXPECT_DOUBLE_EQ(gemm_flop(again(model, options, 0)), 2.0 * product_flop);
}

// V3, 4,096 tokens, 128 heads: the latents behind their norms (1,536 + 512), Q and K of 192 and V
// of 128 columns; products 1,536 x 24,576 and 512 x 32,768.
TEST(ModuleRecompute, LatentUpProjections) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const ActivationOptions options = with_modules({.mla_up_projection = true});
  EXPECT_DOUBLE_EQ(given_up(model, options, 5),
                   4096.0 * 2.0 * (2048.0 + 128.0 * (2.0 * 192.0 + 128.0)));
  const Pass pass = again(model, options, 5);
  EXPECT_DOUBLE_EQ(gemm_flop(pass), 2.0 * 4096.0 * (1536.0 * 24576.0 + 512.0 * 32768.0));
  EXPECT_TRUE(find_memory(pass, "query_norm").has_value());
  EXPECT_TRUE(find_memory(pass, "rotary").has_value());
  EXPECT_EQ(attention_flop(pass), 0.0);
}

// Eight routed experts of width 2,048 per token, and one shared one.
TEST(ModuleRecompute, ActivationOfExperts) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const double width = 4096.0 * 2.0 * 2048.0;
  EXPECT_DOUBLE_EQ(given_up(model, with_modules({.moe_activation = true}), 5), 8.0 * width);
  EXPECT_DOUBLE_EQ(given_up(model, with_modules({.mlp_activation = true}), 5), width);
  EXPECT_DOUBLE_EQ(given_up(model, with_modules({.moe_activation = true}), 0), 0.0)
      << "the first three layers are dense";
}

// Probabilities 4 x 256, eight rows of h, and 3 x 2,048 for each of eight experts and the shared
// one; the router's input stays. Router, eight experts and the shared one run again.
TEST(ModuleRecompute, WholeMixture) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const ActivationOptions options = with_modules({.moe = true});
  EXPECT_DOUBLE_EQ(given_up(model, options, 5),
                   4096.0 * (1024.0 + 16.0 * 7168.0 + 9.0 * 6.0 * 2048.0));
  EXPECT_DOUBLE_EQ(gemm_flop(again(model, options, 5)),
                   2.0 * 4096.0 * 7168.0 * (256.0 + 9.0 * 3.0 * 2048.0));
  ActivationOptions apart = options;
  apart.ops.shard.expert = 64;
  EXPECT_EQ(collectives(again(model, apart, 5)).size(), 2U) << "dispatch and combine";
}

TEST(ModuleRecompute, SharedExpertsAlone) {
  const ModelSpec model = preset_spec("deepseek-v3");
  const ActivationOptions options = with_modules({.shared_experts = true});
  EXPECT_DOUBLE_EQ(given_up(model, options, 5), 4096.0 * 6.0 * 2048.0);
  EXPECT_DOUBLE_EQ(gemm_flop(again(model, options, 5)), 2.0 * 4096.0 * 7168.0 * 3.0 * 2048.0);
}

// No module: nothing given up, nothing again. The core alone: `selective`.
TEST(ModuleRecompute, ItsEndsAreTheOtherPolicies) {
  for (const ModelSpec& preset : shipped::models()) {
    for (const AttentionKernel kernel : {AttentionKernel::fused, AttentionKernel::unfused}) {
      const std::int64_t layer = preset.num_layers - 1;
      ActivationOptions options = with_modules({});
      options.ops.attention = kernel;
      EXPECT_EQ(given_up(preset, options, layer), 0.0) << preset.name;
      EXPECT_TRUE(again(preset, options, layer).empty()) << preset.name;
      options.ops.recompute_modules.core_attention = true;
      ActivationOptions selective = options;
      selective.recompute = Recompute::selective;
      EXPECT_EQ(given_up(preset, options, layer), given_up(preset, selective, layer));
      EXPECT_EQ(all_flop(again(preset, options, layer)),
                all_flop(recompute_pass(preset, options.ops, layer, Recompute::selective)));
    }
  }
}

// One more layer for every prediction module, none without.
TEST(ModuleRecompute, PredictionModulesRunTheirLayerAgain) {
  ModelSpec model = preset_spec("deepseek-v3");
  const ActivationOptions options = with_modules({.mla_up_projection = true});
  const double layer = all_flop(again(model, options, 60));
  model.mtp_layers = 2;
  EXPECT_DOUBLE_EQ(all_flop(head_recompute_pass(model, options.ops, Recompute::modules)),
                   2.0 * layer);
  model.mtp_layers = 0;
  EXPECT_TRUE(head_recompute_pass(model, options.ops, Recompute::full).empty());
}

using Switch = void (*)(RecomputeModules&);

const std::vector<Switch>& outer_modules() {
  static const std::vector<Switch> switches = {
      [](RecomputeModules& m) { m.core_attention = true; },
      [](RecomputeModules& m) { m.layernorm = true; },
      [](RecomputeModules& m) { m.mla_up_projection = true; },
      [](RecomputeModules& m) { m.mlp = true; }, [](RecomputeModules& m) { m.moe = true; }};
  return switches;
}

// Modules that do not overlap add up; all of them give up less than `full` and run less again.
// Norms are the exception in 8 bits: what an outer module casts again is not cast twice.
TEST(ModuleRecompute, ModulesAddUpAndStayBelowFull) {
  RandomStream random(kSeed, 1, Purpose::property_test);
  for (int trial = 0; trial < 40; ++trial) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " trial " << trial);
    const std::uint64_t kind = random.uniform_int(3);
    const ModelSpec model = kind == 0   ? preset_spec("deepseek-v3")
                            : kind == 1 ? random_moe_model(random)
                                        : random_dense_model(random);
    ActivationOptions options = with_modules({});
    options.ops.shard.tensor = std::int64_t{1} << random.uniform_int(3);
    options.ops.shard.sequence_parallel = random.uniform_int(2) == 0;
    const std::int64_t layer = model.num_layers - 1;
    double bytes = 0.0;
    double work = 0.0;
    ActivationOptions all = options;
    for (const Switch& turn_on : outer_modules()) {
      ActivationOptions alone = options;
      turn_on(alone.ops.recompute_modules);
      turn_on(all.ops.recompute_modules);
      bytes += given_up(model, alone, layer);
      work += all_flop(again(model, alone, layer));
    }
    const double whole = given_up(model, all, layer);
    EXPECT_NEAR(whole, bytes, 1e-9 * whole);
    EXPECT_DOUBLE_EQ(all_flop(again(model, all, layer)), work);
    ActivationOptions full = options;
    full.recompute = Recompute::full;
    EXPECT_LT(whole, given_up(model, full, layer));
    EXPECT_LT(work, all_flop(recompute_pass(model, full.ops, layer, Recompute::full)));
  }
}

// A part inside a module that is recomputed as a whole adds nothing.
TEST(ModuleRecompute, InnerModulesAddNothingToTheirOuterOne) {
  for (const Dtype compute : {Dtype::bf16, Dtype::fp8}) {
    ActivationOptions outer = with_modules({.layernorm = true, .mlp = true, .moe = true});
    outer.ops.precision.compute = compute;
    ActivationOptions both = outer;
    RecomputeModules& modules = both.ops.recompute_modules;
    modules.mlp_activation = modules.moe_activation = modules.shared_experts = true;
    const ModelSpec model = preset_spec("deepseek-v3");
    for (const std::int64_t layer : {0, 60}) {
      EXPECT_EQ(given_up(model, both, layer), given_up(model, outer, layer));
      EXPECT_EQ(again(model, both, layer).size(), again(model, outer, layer).size());
    }
  }
}

// V3 as published (arXiv 2412.19437, sections 3.2.3 and 3.3.3), block scales of 4 bytes per 128:
// per token both norms' inputs 4 h, the latents 2 x 2,112 (rotary key included), the attention's
// output 128 x 128 in 12 bits, statistics 4 x 128, probabilities 4 x 256, eight rows of h in FP8
// and what the activation of nine experts starts from, 2 x 2,048, in FP8.
TEST(ModuleRecompute, AsDeepSeekV3) {
  const ModelSpec model = preset_spec("deepseek-v3");
  ActivationOptions options = with_modules({.layernorm = true,
                                            .mla_up_projection = true,
                                            .mlp_activation = true,
                                            .moe_activation = true});
  options.ops.precision.compute = Dtype::fp8;
  options.ops.precision.fp8_scaling = Fp8Scaling::block;
  const double scale = 4.0 / 128.0;
  options.ops.precision.kept_attention_output = bytes(1.5 + scale);
  options.ops.precision.kept_expert_inner = bytes(1.0 + scale);
  const double per_token = 4.0 * 7168.0 + 2.0 * 2112.0 + 16384.0 * (1.5 + scale) + 512.0 + 1024.0 +
                           8.0 * 7168.0 * (1.0 + scale) + 9.0 * 2.0 * 2048.0 * (1.0 + scale);
  EXPECT_DOUBLE_EQ(in_bytes(layer_activation_bytes(model, options, 30)), 4096.0 * per_token);
}

// A narrow copy is written beside the output and read back; the experts' activation writes one of
// its inputs, and its backward reads that.
TEST(KeptTypes, MoveTheirBytes) {
  const ModelSpec model = preset_spec("deepseek-v3");
  OpOptions options;
  const LayerPasses wide = layer_passes(model, options, 30);
  options.precision.kept_attention_output = bytes(1.5);
  options.precision.kept_expert_inner = bytes(1.0);
  const LayerPasses narrow = layer_passes(model, options, 30);
  EXPECT_FALSE(find_memory(wide.forward, "attention_output_keep").has_value());
  const auto keep = find_memory(narrow.forward, "attention_output_keep");
  const auto restore = find_memory(narrow.backward_input, "attention_output_restore");
  ASSERT_TRUE(keep && restore);
  EXPECT_DOUBLE_EQ(in_bytes(keep->written), 1.5 * 4096.0 * 16384.0);
  EXPECT_EQ(restore->read, keep->written);
  const double inputs = 2.0 * 8.0 * 4096.0 * 2048.0;
  EXPECT_DOUBLE_EQ(in_bytes(find_memory(narrow.forward, "activation")->written -
                            find_memory(wide.forward, "activation")->written),
                   inputs);
  // The backward runs the shared expert's first: two of 18 inner widths.
  EXPECT_DOUBLE_EQ(in_bytes(find_memory(wide.backward_input, "activation_backward")->read -
                            find_memory(narrow.backward_input, "activation_backward")->read),
                   inputs / 8.0);
}

// Full hardware FLOP by module: the products of the chosen modules in the recomputed layers, and
// the core's forward by convention.
TEST(HardwareFlop, CountsTheProductsOfModules) {
  const ModelSpec model = preset_spec("llama3-8b");
  const auto extra = [&](const RecomputeModules& modules, std::int64_t layers) {
    return in_flop(
        hardware_flop_per_token(model, FlopConvention::palm, Recompute::modules, layers, modules) -
        model_flop_per_token(model, FlopConvention::palm));
  };
  EXPECT_EQ(extra({}, 32), 0.0);
  EXPECT_EQ(extra({.layernorm = true, .mlp_activation = true}, 32), 0.0);
  EXPECT_NEAR(extra({.mlp = true}, 32) / (32.0 * 6.0 * 4096.0 * 14336.0), 1.0, 1e-9);
  EXPECT_NEAR(extra({.mlp = true}, 8) / extra({.mlp = true}, 32), 0.25, 1e-9);
  EXPECT_NEAR(extra({.core_attention = true}, 32) / (4.0 * 32.0 * 4096.0 * 8192.0), 1.0, 1e-9);
}

}  // namespace
}  // namespace orrery::model
