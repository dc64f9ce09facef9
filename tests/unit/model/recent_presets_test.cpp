// Models of 2025 have the parameters that their papers and released weights state.

#include <array>
#include <string_view>

#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

struct Stated {
  std::string_view preset;
  double total;             // billions
  double total_tolerance;   // half of the last printed digit, or what is not counted
  double active;            // billions
  double active_tolerance;  // the same
};

// Qwen3, OLMo 3, Apertus, Kimi K2: numbers of the released weights. Gemma 3: the two columns of its
// table 1. Llama 4: its card counts the image encoder of 0.9B, too.
constexpr std::array kStated = {
    Stated{"qwen3-8b", 8.19, 0.005, 8.19, 0.005},
    Stated{"qwen3-14b", 14.77, 0.005, 14.77, 0.005},
    Stated{"qwen3-32b", 32.76, 0.005, 32.76, 0.005},
    Stated{"gemma3-12b", 11.77, 0.01, 11.77, 0.01},    // 1,012M + 10,759M
    Stated{"gemma3-27b", 27.016, 0.01, 27.016, 0.01},  // 1,416M + 25,600M
    Stated{"olmo3-7b", 7.30, 0.005, 7.30, 0.005},
    Stated{"olmo3-32b", 32.23, 0.005, 32.23, 0.005},
    Stated{"apertus-8b", 8.05, 0.005, 8.05, 0.005},
    Stated{"apertus-70b", 70.6, 0.05, 70.6, 0.05},
    Stated{"qwen3-30b-a3b", 30.53, 0.005, 3.3, 0.06},
    Stated{"qwen3-235b-a22b", 235.09, 0.01, 22.0, 0.5},
    Stated{"kimi-k2", 1026.4, 0.5, 32.6, 0.5},
    Stated{"llama4-scout", 109.0, 1.3, 17.0, 0.5},
    Stated{"llama4-maverick", 400.0, 1.0, 17.0, 0.5},
};

double billions(std::int64_t parameters) {
  return static_cast<double>(parameters) / kGiga;
}

TEST(RecentPresets, HaveTheirStatedParameters) {
  for (const Stated& stated : kStated) {
    const ParameterCounts counts = count_parameters(preset_spec(stated.preset));
    EXPECT_NEAR(billions(counts.total), stated.total, stated.total_tolerance) << stated.preset;
    EXPECT_NEAR(billions(counts.active), stated.active, stated.active_tolerance) << stated.preset;
  }
}

// gpt-oss and MiniMax count the output table as active, the embedding not.
TEST(RecentPresets, CountActiveParametersWithoutTheEmbedding) {
  constexpr std::array kCounted = {
      Stated{"gpt-oss-20b", 20.91, 0.005, 3.61, 0.005},
      Stated{"gpt-oss-120b", 116.83, 0.005, 5.13, 0.005},
      Stated{"minimax-m2", 228.7, 0.05, 10.0, 0.5},
  };
  for (const Stated& stated : kCounted) {
    const ParameterCounts counts = count_parameters(preset_spec(stated.preset));
    EXPECT_NEAR(billions(counts.total), stated.total, stated.total_tolerance) << stated.preset;
    EXPECT_NEAR(billions(counts.active - counts.embedding), stated.active, stated.active_tolerance)
        << stated.preset;
  }
}

// The weights of GLM-4.5 hold the layer that predicts a second token, with tables of its own: 358B
// and 110B. Active are 32B and 12B without any table.
TEST(RecentPresets, CountGlmAsItsWeights) {
  constexpr std::array kCounted = {Stated{"glm4.5-355b", 358.3, 0.1, 32.0, 0.5},
                                   Stated{"glm4.5-air", 110.47, 0.05, 12.0, 0.5}};
  for (const Stated& stated : kCounted) {
    const ParameterCounts counts = count_parameters(preset_spec(stated.preset));
    const std::int64_t tables = counts.embedding + counts.head;
    EXPECT_NEAR(billions(counts.total + counts.mtp + tables), stated.total, stated.total_tolerance)
        << stated.preset;
    EXPECT_NEAR(billions(counts.active - tables), stated.active, stated.active_tolerance)
        << stated.preset;
  }
}

}  // namespace
}  // namespace orrery::model
