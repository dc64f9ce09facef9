// A scenario with single keys replaced says what a file with these values says.

#include "sim/scenario/variant.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/checkout.hpp"
#include "tests/unit/scenario/scenario_dump.hpp"

namespace orrery::scenario {
namespace {

const std::string kText = R"(format: orrery/1
model: {preset: llama2-7b}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tp: 2}
batch: {global: 64, micro: 1}
recompute: none
training: {steps: 1000}
failures:
  node_rate: 0.05/d
  causes:
    - {name: gpu, weight: 75}
    - {name: network, weight: 25}
)";

const SourceLocation kHere{"--vary", 0, 0};

ScenarioTemplate base() {
  Diagnostics diagnostics;
  auto result = ScenarioTemplate::from_text(kText, "base.yaml", diagnostics);
  EXPECT_TRUE(result) << to_string(diagnostics);
  return result.value();
}

Scenario with(const std::vector<KeyValue>& changes) {
  Diagnostics diagnostics;
  auto scenario = base().with(changes, diagnostics);
  EXPECT_TRUE(scenario) << to_string(diagnostics);
  return scenario.value_or(Scenario());
}

std::string refusal_of(const std::string& key, const std::string& value) {
  Diagnostics diagnostics;
  EXPECT_FALSE(base().with(std::vector<KeyValue>{{key, value, kHere}}, diagnostics));
  return to_string(diagnostics);
}

TEST(ScenarioTemplate, ReplacesAKeyUnderAnyOfItsNames) {
  EXPECT_EQ(with({}).layout.tensor, 2);
  EXPECT_EQ(with({{"layout.tensor", "4", kHere}}).layout.tensor, 4);
  EXPECT_EQ(with({{"layout.tp", "8", kHere}}).layout.tensor, 8);
}

TEST(ScenarioTemplate, AddsSectionsOnTheWay) {
  EXPECT_EQ(with({{"capacity.spares", "3", kHere}}).run->capacity.spares, 3);
}

TEST(ScenarioTemplate, TakesMappingsAndListsInFlowStyle) {
  const Scenario scenario = with({{"batch", "{global: 128, micro: 2}", kHere}});
  EXPECT_EQ(scenario.batch.global, 128);
  EXPECT_EQ(scenario.batch.micro, 2);
}

TEST(ScenarioTemplate, ReachesIntoLists) {
  Diagnostics diagnostics;
  const auto facts = find_key("failures.causes[1].weight", kHere, diagnostics);
  ASSERT_TRUE(facts) << to_string(diagnostics);
  EXPECT_EQ(facts->path, "failures.causes[1].weight");
  const Scenario scenario = with({{"failures.causes[1].name", "wires", kHere}});
  ASSERT_EQ(scenario.run->failures.causes.size(), 2U);
  EXPECT_EQ(scenario.run->failures.causes[1].name, "wires");
  EXPECT_EQ(refusal_of("failures.causes[2].name", "x"),
            "--vary: error: failures.causes[2].name: the scenario has 2 items in "
            "`failures.causes` (the first is [0])\n");
}

TEST(ScenarioTemplate, LastChangeOfAKeyCounts) {
  EXPECT_EQ(with({{"layout.tp", "4", kHere}, {"layout.tensor", "1", kHere}}).layout.tensor, 1);
}

TEST(ScenarioTemplate, SaysWhatCannotBeChanged) {
  EXPECT_EQ(refusal_of("recompute.layers", "2"),
            "--vary: error: recompute.layers: cannot be changed: the scenario states `none` for "
            "`recompute` (a value for the whole key)\n");
  EXPECT_EQ(refusal_of("layout.tensr", "2"),
            "--vary: error: layout.tensr: unknown key (did you mean `layout.tensor`?)\n");
  EXPECT_TRUE(refusal_of("layout.tensor", "[2").starts_with("--vary: error: layout.tensor: "));
}

TEST(ScenarioTemplate, AddsKeysToATextInPlaceOfASection) {
  const auto changed = [](const std::string& key, const std::string& value) {
    Diagnostics diagnostics;
    const auto text = ScenarioTemplate::from_text(
        kText + "software: megatron-core\nprecision: fp8-delayed\n", "base.yaml", diagnostics);
    const auto scenario =
        text.value().with(std::vector<KeyValue>{{key, value, kHere}}, diagnostics);
    EXPECT_EQ(scenario.has_value(), !diagnostics.has_errors());
    return std::pair(scenario.value_or(Scenario()), to_string(diagnostics));
  };
  const Scenario in_context = changed("software.context", "benchmark").first;
  EXPECT_EQ(in_context.software, "megatron-core");
  EXPECT_EQ(in_context.recipe.context, "benchmark");
  EXPECT_EQ(changed("software.context", "nobody").second,
            "--vary: error: software.context: `nobody` is not known of megatron-core "
            "(benchmark, scripts, defaults)\n");
  const Scenario gathered = changed("precision.parameters", "fp8").first;
  EXPECT_EQ(gathered.step.precision.compute, model::Dtype::fp8);
}

TEST(ScenarioTemplate, ChecksAValueAloneWhateverTheOtherKeysSay) {
  Diagnostics diagnostics;
  base().check({"training.duration", "10d", kHere}, diagnostics);  // beside training.steps
  EXPECT_TRUE(diagnostics.all().empty()) << to_string(diagnostics);
  base().check({"training.duration", "10x", kHere}, diagnostics);
  EXPECT_TRUE(diagnostics.has_errors());
}

// Every key that a shipped scenario states can be stated anew as the specs print it.
TEST(Variant, OfAShippedScenarioWithItsOwnValuesIsTheSameScenario) {
  std::size_t printed = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    if (file.path().extension() != ".yaml") {
      continue;
    }
    Diagnostics diagnostics;
    const auto text = ScenarioTemplate::from_file(file.path(), diagnostics);
    const auto scenario = text->with({}, diagnostics);
    ASSERT_TRUE(scenario) << to_string(diagnostics);
    std::vector<KeyValue> changes;
    for (const auto& [key, where] : scenario->locations) {
      const bool preset = key.ends_with("preset") || key == "precision";
      if (const auto value = preset || key.empty() ? std::nullopt : value_of(*scenario, key)) {
        changes.push_back({key, *value, where});
      }
    }
    const auto again = text->with(changes, diagnostics);
    ASSERT_TRUE(again) << file.path() << to_string(diagnostics);
    EXPECT_EQ(difference(*scenario, *again), "") << file.path();
    printed += changes.size();
  }
  EXPECT_GT(printed, 1000U);
}

// The data-parallel degree follows from the others: a stated one gives way where they change.
TEST(Variant, AChangedDegreeLeavesNoWrongDataBehind) {
  Diagnostics diagnostics;
  const auto base = ScenarioTemplate::from_text(
      "format: orrery/1\nmodel: llama3-70b\nbatch: {global: 256}\n"
      "cluster: {preset: dgx-h100, nodes: 8}\nlayout: {tensor: 8, pipeline: 4, data: 2}\n",
      "test.yaml", diagnostics);
  ASSERT_TRUE(base) << to_string(diagnostics);
  const auto data = [&](const std::vector<KeyValue>& changes) {
    diagnostics = {};
    const auto scenario = base->with(changes, diagnostics);
    EXPECT_TRUE(scenario) << to_string(diagnostics);
    return scenario ? scenario->layout.data : std::nullopt;
  };
  EXPECT_EQ(data({{"batch.micro", "2", {}}}), 2);
  EXPECT_EQ(to_string(diagnostics), "");
  EXPECT_EQ(data({{"layout.tensor", "4", {}}}), std::nullopt);
  EXPECT_EQ(to_string(diagnostics),
            "test.yaml:5:40: warning: layout.data: is taken as 4: 2, as stated, does not go with "
            "the changed keys (changed as well, it is held)\n");
  EXPECT_EQ(data({{"cluster.nodes", "16", {}}}), std::nullopt);
  EXPECT_EQ(data({{"layout.tensor", "4", {}}, {"layout.data", "2", {}}}), 2);
  EXPECT_EQ(data({{"layout.tensor", "16", {}}, {"layout.pipeline", "2", {}}}), 2);
}

}  // namespace
}  // namespace orrery::scenario
