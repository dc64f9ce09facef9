// The published layout of a model: found by dimensions and GPU, fitted to other batches, left out
// where it does not divide.

#include "sim/answer/plan/space/published_layouts.hpp"

#include <set>

#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

std::string qwen(int nodes, int global, const std::string& gpu = "h100-sxm-80gb") {
  return "format: orrery/1\nname: Qwen\nmodel: {preset: qwen3-30b-a3b, sequence_length: 4096}\n"
         "cluster: {gpu: " +
         gpu + ", nodes: " + std::to_string(nodes) +
         ", gpus_per_node: 8, network: {preset: infiniband-400g}}\nbatch: {global: " +
         std::to_string(global) + ", micro: 1}\nprecision: bf16\nlayout: {sharding: zero1}\n";
}

scenario::Scenario read(const std::string& text) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(text, "a.yaml", diagnostics);
  EXPECT_TRUE(scenario.has_value()) << to_string(diagnostics);
  return scenario.value_or(scenario::Scenario{});
}

std::optional<PublishedLayout> published_of(const scenario::Scenario& scenario) {
  Diagnostics diagnostics;
  const auto found = published_layout(scenario, shipped_profiles(), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
  return found;
}

TEST(PublishedLayout, IsThatOfTheModelTheGpuAndTheWidthOfNumbers) {
  scenario::Scenario scenario = read(qwen(2, 1024));
  const auto wide = published_of(scenario);
  ASSERT_TRUE(wide.has_value());
  EXPECT_EQ(wide->stack, "megatron-bridge");
  EXPECT_EQ(wide->precision, "bf16");
  EXPECT_EQ(wide->gpus, 16);
  std::string narrow = qwen(2, 1024);
  narrow.replace(narrow.find("bf16"), 4, "fp8-tensorwise");
  EXPECT_EQ(published_of(read(narrow))->precision, "fp8-tensorwise");
  scenario.model.num_layers = 47;
  EXPECT_FALSE(published_of(scenario).has_value());
  EXPECT_FALSE(published_of(read(qwen(2, 1024, "a100-sxm-80gb"))).has_value());
}

// 16 replicas of one GPU: 64 of 1,024 sequences each, and 1,000 do not divide.
TEST(PublishedLayout, IsFittedToTheBatchOrLeftOut) {
  const scenario::Scenario scenario = read(qwen(2, 1024));
  const auto published = published_of(scenario);
  ASSERT_TRUE(published.has_value());
  const auto changed = with_published(scenario, *published);
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->layout.expert, 16);
  EXPECT_EQ(changed->batch.micro, 1);
  std::set<std::string> keys;
  for (const scenario::KeyValue& one : published_changes(scenario, *changed, *published)) {
    keys.insert(one.key + "=" + one.value);
  }
  EXPECT_TRUE(keys.contains("layout.expert=16"));
  EXPECT_TRUE(keys.contains("software_options.expert_dispatcher=hybridep"));
  EXPECT_FALSE(keys.contains("layout.sharding=zero1")) << "the scenario says so";
  PublishedLayout larger = *published;
  larger.sets.push_back({"batch.micro", "48", {}});
  EXPECT_EQ(with_published(scenario, larger)->batch.micro, 32) << "64 sequences a rank";
  scenario::Scenario odd = scenario;
  odd.batch.global = 1000;
  EXPECT_FALSE(with_published(odd, *published).has_value());
}

}  // namespace
}  // namespace orrery::plan::test
