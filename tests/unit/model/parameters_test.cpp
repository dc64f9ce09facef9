#include "sim/step/model/parameters.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "tests/shipped_presets.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

struct Published {
  std::string_view preset;
  std::int64_t total;  // exact number of the released weights
};

// Tensor totals of the released checkpoints (without the rotary tables some of them store).
//   Llama 2 7B, as algebra: V h = 131,072,000; layer = 4 h^2 + 3 h f + 2 h = 202,383,360;
//   2 V h + 32 layers + h = 262,144,000 + 6,476,267,520 + 4,096 = 6,738,415,616.
//   BLOOM: V h = 3,596,615,680; layer = 12 h^2 + 13 h = 2,466,437,120; two norms of 2 h = 28,672:
//   3,596,615,680 + 172,650,598,400 + 57,344 = 176,247,271,424.
constexpr std::array kExact = {
    Published{"llama2-7b", 6'738'415'616},       Published{"llama2-13b", 13'015'864'320},
    Published{"llama2-70b", 68'976'648'192},     Published{"llama3-8b", 8'030'261'248},
    Published{"llama3-70b", 70'553'706'496},     Published{"llama3-405b", 405'853'388'800},
    Published{"bloom-176b", 176'247'271'424},    Published{"qwen2.5-1.5b", 1'543'714'304},
    Published{"qwen2.5-72b", 72'706'203'648},    Published{"mixtral-8x7b", 46'702'792'704},
    Published{"mixtral-8x22b", 140'620'634'112},
};

TEST(CountParameters, ReproducesReleasedCheckpointsExactly) {
  for (const Published& published : kExact) {
    EXPECT_EQ(count_parameters(preset_spec(published.preset)).total, published.total)
        << published.preset;
  }
}

struct Rounded {
  std::string_view preset;
  double total_billions;
  double active_billions;
  double tolerance_billions;  // half of the last printed digit
};

// Printed, rounded figures: model cards and papers named in the presets' sources.
//   DeepSeek-V3's 37B active; its weight file counts 36.6B with the output head only, below.
constexpr std::array kRounded = {
    Rounded{"gpt3-175b", 174.6, 174.6, 0.05},   // arXiv 2005.14165, table D.1
    Rounded{"mt-nlg-530b", 530.0, 530.0, 0.6},  // 529.6
    Rounded{"opt-175b", 175.0, 175.0, 0.5},
    Rounded{"nemotron4-15b", 15.6, 15.6, 0.05},     // arXiv 2407.14679 prints 15.6B
    Rounded{"nemotron4-340b", 341.0, 341.0, 0.05},  // 331.6B + 9.4B, arXiv 2406.11704
    Rounded{"mixtral-8x7b", 46.7, 12.9, 0.05},
    Rounded{"mixtral-8x22b", 141.0, 39.0, 0.5},
    Rounded{"deepseek-v2", 236.0, 21.0, 0.5},
    Rounded{"deepseek-v3", 671.0, 37.0, 0.6},
    Rounded{"qwen2.5-1.5b", 1.54, 1.54, 0.005},
    Rounded{"qwen2.5-72b", 72.7, 72.7, 0.05},
};

TEST(CountParameters, MatchesPublishedTotalsAndActiveCounts) {
  for (const Rounded& published : kRounded) {
    const ParameterCounts counts = count_parameters(preset_spec(published.preset));
    EXPECT_NEAR(static_cast<double>(counts.total) / kGiga, published.total_billions,
                published.tolerance_billions)
        << published.preset;
    EXPECT_NEAR(static_cast<double>(counts.active) / kGiga, published.active_billions,
                published.tolerance_billions)
        << published.preset;
  }
}

// The weight README of DeepSeek-V3: 671B in all, 36.6B active with the 0.9B output head but without
// the embedding, 11.5B unique parameters of the MTP module: its layer has 11.507B, its projection
// 2 h^2 = 0.103B more. The model README counts 685B on disk: 671.03 + 11.61 + two shared tables of
// 0.93 = 684.49 (scales of the FP8 weights make the rest).
TEST(CountParameters, SplitsDeepSeekV3AsItsReadmes) {
  const ParameterCounts counts = count_parameters(preset_spec("deepseek-v3"));
  const auto billions = [](std::int64_t parameters) {
    return static_cast<double>(parameters) / kGiga;
  };
  EXPECT_NEAR(billions(counts.total), 671.0, 0.5);
  EXPECT_NEAR(billions(counts.active - counts.embedding), 36.6, 0.05);
  EXPECT_NEAR(billions(counts.head), 0.9, 0.05);
  const std::int64_t projection = 2 * 7168 * 7168;
  EXPECT_NEAR(billions(counts.mtp - projection), 11.5, 0.05);
  EXPECT_NEAR(billions(counts.total + counts.mtp + counts.embedding + counts.head), 685.0, 0.6);
}

// Nemotron-4 15B: 3.2B embedding (printed; 2 V h = 3.146B) and 12.5B other parameters.
TEST(CountParameters, SplitsNemotronAsPrinted) {
  const ParameterCounts small = count_parameters(preset_spec("nemotron4-15b"));
  EXPECT_NEAR(static_cast<double>(small.layers) / kGiga, 12.5, 0.05);
  EXPECT_NEAR(static_cast<double>(small.embedding + small.head) / kGiga, 3.2, 0.06);
  const ParameterCounts large = count_parameters(preset_spec("nemotron4-340b"));
  EXPECT_NEAR(static_cast<double>(large.layers) / kGiga, 331.6, 0.05);
  EXPECT_NEAR(static_cast<double>(large.embedding + large.head) / kGiga, 9.4, 0.05);
}

// The 16 bytes per parameter that everyone multiplies by hand: 2 (weights) + 2 (gradients) + 12
// (fp32 master copy and two fp32 moments). Fp32 gradients make it 18.
TEST(Precision, MixedPrecisionAdamTakesSixteenBytesPerParameter) {
  PrecisionSpec precision;
  precision.gradient = Dtype::bf16;
  const auto per_parameter = [](const PrecisionSpec& spec) {
    return in_bytes(bytes_per_element(spec.parameter) + bytes_per_element(spec.gradient) +
                    spec.optimizer_bytes);
  };
  EXPECT_EQ(per_parameter(precision), 16.0);
  EXPECT_EQ(per_parameter(PrecisionSpec{}), 18.0);
}

TEST(ShardParameters, OneRankHoldsTheWholeModel) {
  for (const ModelSpec& preset : shipped::models()) {
    const ModelSpec& model = preset;
    const ShardContext alone;
    double total = embedding_shard_parameters(model, alone).dense;
    const ShardParameters head = head_shard_parameters(model, alone);
    total += head.dense + head.expert;
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
      const ShardParameters part = layer_shard_parameters(model, alone, layer);
      total += part.dense + part.expert;
    }
    const ParameterCounts counts = count_parameters(model);
    EXPECT_EQ(total, static_cast<double>(counts.total + counts.mtp)) << preset.name;
  }
}

// GPT layer on t ranks: (12 h^2 + 3 h + 4 h) / t split (weights, QKV and up biases), and 6 h copied
// (two norms of 2 h, biases of both second projections).
TEST(ShardParameters, TensorRanksSplitWeightsAndCopyNorms) {
  const ModelSpec model = preset_spec("gpt3-175b");
  ShardContext shard;
  shard.tensor = 8;
  const double h = 12288.0;
  const ShardParameters part = layer_shard_parameters(model, shard, 0);
  EXPECT_DOUBLE_EQ(part.dense, (12.0 * h * h + 7.0 * h) / 8.0 + 6.0 * h);
  EXPECT_EQ(part.expert, 0.0);
}

// Llama 3 8B has 8 key/value heads: 16 ranks hold each of them twice.
TEST(ShardParameters, KeyValueHeadsAreCopiedBeyondTheirNumber) {
  const ModelSpec model = preset_spec("llama3-8b");
  ShardContext eight;
  eight.tensor = 8;
  ShardContext sixteen;
  sixteen.tensor = 16;
  const double h = 4096.0;
  const double split = 2.0 * h * h + 3.0 * h * 14336.0;
  const double key_value = 2.0 * h * 8.0 * 128.0;
  EXPECT_DOUBLE_EQ(layer_shard_parameters(model, eight, 0).dense,
                   split / 8.0 + key_value / 8.0 + 2.0 * h);
  EXPECT_DOUBLE_EQ(layer_shard_parameters(model, sixteen, 0).dense,
                   split / 16.0 + key_value / 8.0 + 2.0 * h);
}

// Mixtral layer, e = 8: one expert of 3 h f per rank; router, attention and norms are dense.
TEST(ShardParameters, ExpertRanksSplitTheExpertsOnly) {
  const ModelSpec model = preset_spec("mixtral-8x7b");
  ShardContext shard;
  shard.expert = 8;
  const double h = 4096.0;
  const ShardParameters part = layer_shard_parameters(model, shard, 0);
  EXPECT_DOUBLE_EQ(part.expert, 3.0 * h * 14336.0);
  EXPECT_DOUBLE_EQ(part.dense, 2.0 * h * h + 2.0 * h * 1024.0 + 8.0 * h + 2.0 * h);
  shard.expert_tensor = 2;
  EXPECT_DOUBLE_EQ(layer_shard_parameters(model, shard, 0).expert, 1.5 * h * 14336.0);
}

TEST(ShardParameters, LastStageCopiesTheTableOnlyWhenItIsShared) {
  ShardContext shard;
  shard.tensor = 8;
  EXPECT_EQ(shared_table_shard_parameters(preset_spec("llama3-8b"), shard), 0.0);
  EXPECT_EQ(shared_table_shard_parameters(preset_spec("bloom-176b"), shard),
            250880.0 / 8.0 * 14336.0);
  EXPECT_EQ(shared_table_shard_parameters(preset_spec("deepseek-v3"), shard),
            129280.0 / 8.0 * 7168.0);
}

}  // namespace
}  // namespace orrery::model
