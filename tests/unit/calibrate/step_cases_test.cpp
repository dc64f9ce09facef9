#include "calibrate/plan/step_cases.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibrate {
namespace {

std::vector<StepCase> cases_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(text, "test.yaml", diagnostics);
  EXPECT_TRUE(scenario) << to_string(diagnostics);
  const hardware::ProfileSearch search{
      {std::filesystem::path(kSourceDir) / "scenarios" / "profiles"}};
  const auto resolved = evaluate::resolve(*scenario, search, diagnostics);
  EXPECT_TRUE(resolved) << to_string(diagnostics);
  return step_cases(evaluate::step_input(*scenario, *resolved), resolved->costs);
}

std::map<std::string, double> calls(const std::vector<StepCase>& cases) {
  std::map<std::string, double> by_text;
  for (const StepCase& one : cases) {
    by_text[kernels::to_text(one.kernel)] = one.calls;
  }
  return by_text;
}

constexpr const char* kDense = R"(format: orrery/1
name: two layers
model: {hidden_size: 1024, num_layers: 2, num_attention_heads: 16, num_query_groups: 4,
        ffn_hidden_size: 2816, gated_mlp: true, vocab_size: 32000, sequence_length: 2048}
cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 8, network: {preset: clos-400g}}
layout: {tensor: 2, sequence_parallel: true, data: 4}
batch: {global: 8, micro: 1}
software: megatron-core
training: {steps: 10}
)";

// One device, two micro-batches (8 sequences over 4 ranks), two layers: four calls each. Columns of
// QKV: (16 + 2 x 4) x 64 / 2 = 768; of gate and up: 2 x 2,816 / 2 = 2,816.
TEST(StepCases, AreTheProductsOfTheShardsOfALayer) {
  const std::map<std::string, double> found = calls(cases_of(kDense));
  EXPECT_EQ(found.at("gemm fprop bf16 m=2048 n=768 k=1024"), 4.0);
  EXPECT_EQ(found.at("gemm dgrad bf16 m=2048 n=1024 k=768"), 4.0);
  EXPECT_EQ(found.at("gemm fprop bf16 m=2048 n=2816 k=1024"), 4.0);
  EXPECT_EQ(found.at("gemm fprop bf16 m=2048 n=16000 k=1024"), 2.0);  // logits
  EXPECT_EQ(found.at("attention forward bf16 sequences=1 heads=8 groups=2 queries=2048 keys=2048 "
                     "dim_qk=64 dim_v=64 causal=1"),
            4.0);
}

TEST(StepCases, SharesAddUpToOneAndFall) {
  const std::vector<StepCase> cases = cases_of(kDense);
  double sum = 0.0;
  double before = 1.0;
  for (const StepCase& one : cases) {
    EXPECT_LE(one.share, before);
    before = one.share;
    sum += one.share;
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(StepCases, ExpertsAreGroupedProducts) {
  std::string text = kDense;
  text.replace(text.find("gated_mlp: true"), 15,
               "gated_mlp: true, moe: {num_experts: 8, top_k: 2, ffn_hidden_size: 512}");
  bool grouped = false;
  for (const StepCase& one : cases_of(text)) {
    if (one.kernel.operation == kernels::Operation::grouped_gemm) {
      grouped = true;
      EXPECT_EQ(kernels::extent(one.kernel, "groups"), 8);
    }
  }
  EXPECT_TRUE(grouped);
}

}  // namespace
}  // namespace orrery::calibrate
