// Closed forms from the literature that the operation and memory lists must reproduce.

#include <gtest/gtest.h>

#include <string>

#include "sim/base/random.hpp"
#include "sim/step/model/flops.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::model {
namespace {

constexpr std::uint64_t kSeed = 22051198;
constexpr int kTrials = 50;

struct Gpt {
  double s = 0.0;
  double b = 0.0;
  double h = 0.0;
  double a = 0.0;
  double t = 0.0;
  double vocab = 0.0;
  ModelSpec model;
  ActivationOptions options;
};

// A GPT of the kind the paper analyses: f = 4 h, 16-bit, dropout, unfused attention.
Gpt random_gpt(RandomStream& random) {
  Gpt gpt;
  const auto draw = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(1 + random.uniform_int(bound));
  };
  ModelSpec& model = gpt.model;
  const std::int64_t tensor = std::int64_t{1} << random.uniform_int(4);
  model.num_layers = draw(100);
  model.num_attention_heads = 8 * draw(16);
  model.hidden_size = model.num_attention_heads * 16 * draw(12);
  model.vocab_size = 64 * draw(1000);
  model.sequence_length = 64 * draw(64);
  model.activation = Activation::gelu;
  model.norm = Norm::layer_norm;
  model.position = PositionEmbedding::learned;
  model.linear_bias = true;
  model = resolve(model);
  gpt.options.dropout = true;
  gpt.options.ops.attention = AttentionKernel::unfused;
  gpt.options.ops.shard.micro_batch = draw(4);
  gpt.options.ops.shard.tensor = tensor;
  gpt.s = static_cast<double>(model.sequence_length);
  gpt.b = static_cast<double>(gpt.options.ops.shard.micro_batch);
  gpt.h = static_cast<double>(model.hidden_size);
  gpt.a = static_cast<double>(model.num_attention_heads);
  gpt.t = static_cast<double>(tensor);
  gpt.vocab = static_cast<double>(model.vocab_size);
  return gpt;
}

double layer_bytes(const Gpt& gpt) {
  return in_bytes(layer_activation_bytes(gpt.model, gpt.options, 0));
}

std::string where(int trial) {
  return "seed " + std::to_string(kSeed) + " trial " + std::to_string(trial);
}

// Korthikanti et al. 2022 (arXiv 2205.05198), section 4. Per layer and in units of s b h bytes:
//   attention: input of QKV 2, Q and K 4, V 2, softmax output 2 a s / h, its dropout mask a s / h,
//              the dropped scores 2 a s / h, input of the projection 2, dropout mask 1
//   MLP:       input 2, GELU input 8, input of the second projection 8, dropout mask 1
//   norms:     inputs 2 + 2
// sum: 34 + 5 a s / h.
// Tensor parallelism splits what lies inside the two regions (24 and the scores); norm inputs,
// region inputs and the two masks outside (4 + 4 + 2) stay whole. Sequence parallelism divides
// everything.
TEST(KorthikantiMemory, LayersKeepWhatTheFormulasSay) {
  RandomStream random(kSeed, 1, Purpose::property_test);
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(where(trial));
    const Gpt gpt = random_gpt(random);
    const double unit = gpt.s * gpt.b * gpt.h;
    const double scores = 5.0 * gpt.a * gpt.s / gpt.h;
    EXPECT_DOUBLE_EQ(layer_bytes(gpt), unit * (10.0 + 24.0 / gpt.t + scores / gpt.t));
    Gpt one = gpt;
    one.options.ops.shard.tensor = 1;
    EXPECT_DOUBLE_EQ(layer_bytes(one), unit * (34.0 + scores));
    Gpt full = gpt;
    full.options.recompute = Recompute::full;
    EXPECT_DOUBLE_EQ(layer_bytes(full), 2.0 * unit);
    Gpt sequence = gpt;
    sequence.options.ops.shard.sequence_parallel = true;
    EXPECT_DOUBLE_EQ(layer_bytes(sequence), unit / gpt.t * (34.0 + scores));
    // Section 4.3: the final norm's input 2 s b h, the output layer's input 2 s b h and the logits
    // in fp32 4 s b V, all divided by t: 4 s b h (1 + V / h) / t. The embedding keeps its mask,
    // s b h / t.
    EXPECT_DOUBLE_EQ(in_bytes(head_activation_bytes(sequence.model, sequence.options)),
                     4.0 * unit / gpt.t * (1.0 + gpt.vocab / gpt.h));
    EXPECT_DOUBLE_EQ(in_bytes(embedding_activation_bytes(sequence.model, sequence.options)),
                     unit / gpt.t);
    sequence.options.recompute = Recompute::selective;
    EXPECT_DOUBLE_EQ(layer_bytes(sequence), unit * 34.0 / gpt.t);
  }
}

double executed_flop(const Pass& pass) {
  double total = 0.0;
  for (const PassOp& op : pass) {
    total += in_flop(flop_count(op.op));
  }
  return total;
}

double executed_flop(const LayerPasses& passes) {
  return executed_flop(passes.forward) + executed_flop(passes.backward_input) +
         executed_flop(passes.backward_weight);
}

// The operations of one whole step, unfused, per token, are the formula of Narayanan et al. 2021
// (arXiv 2104.04473): 72 L h^2 (1 + s / (6 h) + V / (12 L h)), and 96 L h^2 (1 + s / (6 h) +
// V / (16 L h)) with full recomputation.
TEST(NarayananFlop, OperationsOfAStepAddUp) {
  RandomStream random(kSeed, 6, Purpose::property_test);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Gpt gpt = random_gpt(random);
    OpOptions options = gpt.options.ops;
    options.shard.tensor = 1;
    const double layers = static_cast<double>(gpt.model.num_layers);
    const double tokens = gpt.s * gpt.b;
    const double step = layers * executed_flop(layer_passes(gpt.model, options, 0)) +
                        executed_flop(head_passes(gpt.model, options));
    const double again =
        layers * executed_flop(recompute_pass(gpt.model, options, 0, Recompute::full));
    const double square = layers * gpt.h * gpt.h;
    EXPECT_DOUBLE_EQ(
        step / tokens,
        72.0 * square * (1.0 + gpt.s / (6.0 * gpt.h) + gpt.vocab / (12.0 * layers * gpt.h)))
        << where(trial);
    EXPECT_DOUBLE_EQ(
        (step + again) / tokens,
        96.0 * square * (1.0 + gpt.s / (6.0 * gpt.h) + gpt.vocab / (16.0 * layers * gpt.h)))
        << where(trial);
  }
}

// The convention and the executed operations agree for every preset when attention is counted as
// two products forward and four backward: norms and biases (in N, never multiplied) are below 0.1
// %. Unfused kernels do not skip what lies outside a window, so there is none here, and all experts
// have whole rows.
TEST(PalmConvention, AgreesWithTheExecutedOperations) {
  for (ModelSpec preset : shipped::models()) {
    preset.attention_window.reset();
    preset.sparse_attention.reset();  // the convention counts all keys
    if (preset.moe) {
      preset.sequence_length = 32 * preset.moe->num_experts;
    }
    OpOptions options;
    options.attention = AttentionKernel::unfused;
    double step = executed_flop(head_passes(preset, options));
    for (std::int64_t layer = 0; layer < preset.num_layers; ++layer) {
      step += executed_flop(layer_passes(preset, options, layer));
    }
    const double tokens = static_cast<double>(preset.sequence_length);
    const double convention = in_flop(model_flop_per_token(preset, FlopConvention::palm));
    // Taps, decays and gates of linear mixers are in N and no products.
    const double close = preset.layer_types.empty() ? 1e-3 : 1e-2;
    EXPECT_NEAR(convention * tokens / step, 1.0, close) << preset.name;
  }
}

}  // namespace
}  // namespace orrery::model
