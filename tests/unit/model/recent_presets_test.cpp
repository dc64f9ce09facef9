// Models of 2025 have the parameters that their papers and released weights state.

#include <array>
#include <string_view>

#include "sim/step/model/parameters.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

struct Released {
  std::string_view preset;
  std::int64_t total;
};

// Parameters of the released weights, text part, without modules of multi-token prediction. From
// the dimensions, where no count of the weights is published (Nemotron-H 47B and 56B, Nano 2 12B
// and 3 Ultra, Falcon-H1 34B, Ling-lite, Ring-mini-linear, ERNIE 4.5), the last digit printed being
// met; GLM-4.5 and 5: their weights less the module and its tables.
constexpr std::array kReleased = {
    Released{"qwen3-0.6b", 596'049'920},
    Released{"qwen3-1.7b", 1'720'574'976},
    Released{"qwen3-4b", 4'022'468'096},
    Released{"qwen3-8b", 8'190'735'360},
    Released{"qwen3-14b", 14'768'307'200},
    Released{"qwen3-32b", 32'762'123'264},
    Released{"qwen3-30b-a3b", 30'532'122'624},
    Released{"qwen3-235b-a22b", 235'093'634'560},
    Released{"qwen3-coder-480b-a35b", 480'154'875'392},
    Released{"qwen3-next-80b-a3b", 79'674'391'296},
    Released{"qwen3.5-27b", 26'895'998'464},
    Released{"qwen3.5-35b-a3b", 34'660'610'688},
    Released{"qwen3.5-122b-a10b", 122'111'526'912},
    Released{"qwen3.5-397b-a17b", 396'346'350'336},
    Released{"nemotron-h-8b", 8'100'852'736},
    Released{"nemotron-h-47b", 46'791'554'816},
    Released{"nemotron-h-56b", 56'324'350'464},
    Released{"nemotron-nano2-9b", 8'888'227'328},
    Released{"nemotron-nano2-12b", 12'310'001'152},
    Released{"nemotron3-nano-30b-a3b", 31'577'940'288},
    Released{"nemotron3-super-120b-a12b", 120'668'707'840},
    Released{"nemotron3-ultra-550b-a55b", 549'308'993'536},
    Released{"deepseek-v3", 671'026'419'200},
    Released{"deepseek-v3.2", 671'877'944'064},
    Released{"deepseek-v4-flash", 284'332'240'471},
    Released{"deepseek-v4-pro", 1'572'997'201'763},
    Released{"kimi-k2", 1'026'408'235'864},
    Released{"kimi-linear-48b-a3b", 49'122'681'728},
    Released{"gpt-oss-20b", 20'914'757'184},
    Released{"gpt-oss-120b", 116'829'156'672},
    Released{"glm4.5-355b", 352'797'829'024},
    Released{"glm4.6-355b", 352'797'829'024},
    Released{"snowflake-arctic", 478'584'608'768},
    Released{"glm4.5-air", 106'852'251'264},
    Released{"glm5-744b", 743'911'218'432},
    Released{"llama4-scout", 107'769'861'120},
    Released{"llama4-maverick", 400'711'848'960},
    Released{"gemma3-1b", 999'885'952},
    Released{"gemma3-4b", 3'880'263'168},
    Released{"gemma3-12b", 11'766'034'176},
    Released{"gemma3-27b", 27'009'346'304},
    Released{"gemma4-26b-a4b", 25'233'141'790},
    Released{"gemma4-31b", 30'697'345'340},
    Released{"olmo3-7b", 7'298'011'136},
    Released{"olmo3-32b", 32'233'522'176},
    Released{"apertus-8b", 8'053'338'176},
    Released{"apertus-70b", 70'599'864'384},
    Released{"smollm3-3b", 3'075'098'624},
    Released{"minimax-m1", 456'089'655'296},
    Released{"minimax-m2", 228'689'764'864},
    Released{"falcon-h1-1.5b", 1'554'863'488},
    Released{"falcon-h1-7b", 7'585'648'736},
    Released{"falcon-h1-34b", 33'642'516'224},
    Released{"ling-lite", 16'801'974'272},
    Released{"ling2-mini", 16'255'643'392},
    Released{"ling2-flash", 102'889'705'216},
    Released{"ling-1t", 999'705'328'640},
    Released{"ring2-mini-linear", 16'423'448'320},
    Released{"hunyuan-a13b", 80'393'183'232},
    Released{"ernie4.5-21b-a3b", 21'825'437'888},
    Released{"ernie4.5-300b-a47b", 298'636'913'856},
    Released{"granite4-h-micro", 3'191'396'096},
    Released{"granite4-h-tiny", 6'939'037'248},
    Released{"granite4-h-small", 32'207'337'984},
};

struct Stated {
  std::string_view preset;
  double total;             // billions
  double total_tolerance;   // half of the last printed digit, or what is not counted
  double active;            // billions
  double active_tolerance;  // the same
};

// Active parameters as printed, with both tables.
constexpr std::array kStated = {
    Stated{"qwen3-30b-a3b", 30.53, 0.005, 3.3, 0.06},
    Stated{"qwen3-235b-a22b", 235.09, 0.01, 22.0, 0.5},
    Stated{"qwen3.5-397b-a17b", 396.3, 0.1, 17.0, 0.5},
    Stated{"nemotron3-nano-30b-a3b", 31.6, 0.05, 3.6, 0.05},
    Stated{"nemotron3-super-120b-a12b", 120.6, 0.1, 12.7, 0.1},
    Stated{"kimi-k2", 1026.4, 0.5, 32.6, 0.5},
    Stated{"llama4-scout", 109.0, 1.3, 17.0, 0.5},
    Stated{"llama4-maverick", 400.0, 1.0, 17.0, 0.5},
};

double billions(std::int64_t parameters) { return static_cast<double>(parameters) / kGiga; }

// What presets leave out (norms of queries and keys, gates of one number) is less than 0.1 %.
TEST(RecentPresets, HaveTheParametersOfTheReleasedWeights) {
  for (const Released& released : kReleased) {
    const auto total = static_cast<double>(count_parameters(preset_spec(released.preset)).total);
    EXPECT_NEAR(total / static_cast<double>(released.total), 1.0, 1e-3) << released.preset;
  }
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
