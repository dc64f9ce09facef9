// Recipes of a stack: what they set where a scenario is silent, and files that are wrong.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "sim/scenario/load.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/support.hpp"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;

std::string scenario_text(const std::string& model, const std::string& more) {
  return "format: orrery/1\nmodel: {preset: " + model +
         "}\ncluster: {gpu: gb200, nodes: 16, gpus_per_node: 4, network: {preset: nvl72}}\n"
         "batch: {global: 512}\n" +
         more;
}

constexpr const char* kMoe = "qwen3-30b-a3b";

// A directory of profiles of its own, before the standard ones.
class Recipes : public testing::Test {
 protected:
  Scenario read(const std::string& text) {
    diagnostics_ = {};
    hardware::ProfileSearch search = hardware::default_search({});
    search.directories.insert(search.directories.begin(), folder_);
    auto scenario = load_text(text, "test.yaml", diagnostics_, search);
    EXPECT_TRUE(scenario) << to_string(diagnostics_);
    return scenario ? *std::move(scenario) : Scenario();
  }

  std::string problem(const std::string& text) {
    diagnostics_ = {};
    hardware::ProfileSearch search = hardware::default_search({});
    search.directories.insert(search.directories.begin(), folder_);
    EXPECT_FALSE(load_text(text, "test.yaml", diagnostics_, search));
    return to_string(diagnostics_);
  }

  // The stack `mine`: generic with these recipes.
  void write_stack(const std::string& recipes) {
    const auto path =
        hardware::file_named(hardware::default_search({}), "software", "generic").value();
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::string mine = text.str();
    mine.replace(mine.find("name: generic"), 13, "name: mine");
    folder_.write("software/mine.yaml", mine + "newest: \"2\"\n" + recipes);
  }

  static std::string entry(const std::string& when, const std::string& sets) {
    return "  - {when: {" + when + "}, sets: {" + sets +
           "}, certainty: certain, source: \"a file\"}\n";
  }

  Diagnostics diagnostics_;

 private:
  TempFolder folder_;
};

TEST_F(Recipes, EveryShippedRecipeReads) {
  const hardware::ProfileSearch search = hardware::default_search({});
  std::size_t count = 0;
  for (const std::string& name : hardware::list_software_profiles(search)) {
    Diagnostics diagnostics;
    const auto recipes = PresetLibrary::standard().recipes(name, {}, diagnostics);
    ASSERT_NE(recipes, nullptr) << to_string(diagnostics);
    for (const RecipeEntry& entry : recipes->entries) {
      EXPECT_GE(entry.source.size(), 20U) << name;
      EXPECT_FALSE(entry.sets.empty()) << name << ": " << entry.source;
    }
    EXPECT_EQ(recipes->newest.empty(), recipes->entries.empty()) << name;
    count += recipes->entries.size();
  }
  EXPECT_GT(count, 200U);
}

// Each value of each entry is one that its key takes, for a mixture and for a dense model.
TEST_F(Recipes, EveryShippedValueIsTakenByItsKey) {
  Scenario dense = read(scenario_text("llama3-8b", "software: generic\n"));
  Scenario mixture = read(scenario_text(kMoe, "software: generic\n"));
  const hardware::ProfileSearch search = hardware::default_search({});
  for (const std::string& name : hardware::list_software_profiles(search)) {
    Diagnostics diagnostics;
    const auto recipes = PresetLibrary::standard().recipes(name, {}, diagnostics);
    for (const RecipeEntry& entry : recipes->entries) {
      for (const RecipeValue& set : entry.sets) {
        const Scenario& base = set.key.starts_with("model.moe") ? mixture : dense;
        const auto changed = with_value(base, {set.key, set.text, {}}, diagnostics);
        ASSERT_TRUE(changed) << name << ": " << to_string(diagnostics);
        EXPECT_TRUE(value_of(*changed, set.key)) << name << ": " << set.key;
      }
    }
  }
}

TEST_F(Recipes, SilentKeysHoldWhatTheReleasedConfigurationsSet) {
  const Scenario scenario = read(scenario_text(
      kMoe, "precision: mxfp8\nsoftware: {name: megatron-bridge, release: \"26.04\"}\n"));
  EXPECT_EQ(value_of(scenario, "software_options.expert_dispatcher"), "hybridep");
  EXPECT_EQ(value_of(scenario, "precision.parameters"), "fp8");
  EXPECT_EQ(scenario.recipe.followed, "26.04");
  EXPECT_FALSE(scenario.locations.contains("software_options.expert_dispatcher"));
  for (const RecipeSetting& setting : scenario.recipe.settings) {
    EXPECT_FALSE(setting.source.empty()) << setting.key;
  }
}

// Megatron-FSDP reduces after every micro-batch; the benchmark of 70B keeps 40 of 80 layers'
// activations on the host of a GB200.
TEST_F(Recipes, ShardedParametersOfBridgeReduceAndOffloadAsItsBenchmarksDo) {
  const auto text = [](const std::string& sharding) {
    return scenario_text("llama3-70b",
                         "precision: fp8-tensorwise\nsoftware: megatron-bridge\n"
                         "layout: {sharding: " +
                             sharding + "}\n");
  };
  const Scenario sharded = read(text("zero3"));
  EXPECT_EQ(value_of(sharded, "overlap.reduction"), "per_micro_batch");
  EXPECT_EQ(value_of(sharded, "offload.activations"), "0.5");
  const Scenario kept = read(text("zero1"));
  EXPECT_EQ(value_of(kept, "overlap.reduction"), "per_step");
  EXPECT_EQ(value_of(kept, "offload.activations"), "0");
}

TEST_F(Recipes, WhatTheScenarioStatesHoldsOverAll) {
  const Scenario scenario = read(
      scenario_text(kMoe,
                    "software: megatron-bridge\nsoftware_options: {expert_dispatcher: deepep}\n"
                    "overlap: {bucket: 25MB}\n"));
  EXPECT_EQ(value_of(scenario, "software_options.expert_dispatcher"), "deepep");
  EXPECT_EQ(value_of(scenario, "overlap.bucket"), "25 MB");
  EXPECT_EQ(value_of(scenario, "precision.gradient_dtype"), "bf16");  // not stated
}

TEST_F(Recipes, PlainFollowsNone) {
  const Scenario scenario =
      read(scenario_text(kMoe, "software: {name: megatron-bridge, recipe: plain}\n"));
  EXPECT_TRUE(scenario.recipe.settings.empty());
  EXPECT_EQ(value_of(scenario, "software_options.expert_dispatcher"), std::nullopt);
  EXPECT_EQ(value_of(scenario, "overlap.bucket"), std::nullopt);
}

TEST_F(Recipes, WhoRunsTheStackDecides) {
  const std::string stack = "software: {name: megatron-core, context: ";
  const Scenario silent = read(scenario_text(kMoe, "software: megatron-core\n"));
  const Scenario scripts = read(scenario_text(kMoe, stack + "scripts}\n"));
  EXPECT_EQ(value_of(silent, "software_options.expert_dispatcher"), "hybridep");
  EXPECT_EQ(value_of(scripts, "software_options.expert_dispatcher"), "alltoall");
  EXPECT_EQ(with_context(silent, "scripts")->recipe.settings, scripts.recipe.settings);
}

TEST_F(Recipes, AStackThatNobodyNamesHasItsRecipesToo) {
  const Scenario scenario = read(scenario_text(kMoe, "software: {context: benchmark}\n"));
  EXPECT_EQ(scenario.software, "megatron-core");
  EXPECT_EQ(value_of(scenario, "software_options.expert_dispatcher"), "hybridep");
}

TEST_F(Recipes, AKeyThatARecipeSetsDoesNotWarnThatItHasNoEffect) {
  read(scenario_text("llama3-8b", "software: megatron-bridge\n"));  // overlap.tensor, tensor is 1
  EXPECT_EQ(to_string(diagnostics_), "");
}

// Megatron Core hides the exchange of experts beside the other direction of another micro-batch.
TEST_F(Recipes, AnExchangeThatARecipeHidesCombinesInterleavedChunks) {
  write_stack("combines_expert_overlap: true\nrecipes:\n" + entry("", "overlap.expert: true"));
  const auto schedule = [this](const std::string& layout, const std::string& more) {
    const Scenario scenario = read(
        scenario_text(kMoe, "layout: {expert: 4, " + layout + "}\n" + more + "software: mine\n"));
    return value_of(scenario, "layout.schedule").value_or("");
  };
  const std::string chunks = "pipeline: 2, virtual_stages: 2, schedule: ";
  EXPECT_EQ(schedule(chunks + "interleaved", ""), "interleaved_combined");
  EXPECT_EQ(schedule("pipeline: 1", ""), "interleaved_combined");
  EXPECT_EQ(schedule("pipeline: 2, schedule: 1f1b", ""), "1f1b");
  EXPECT_EQ(schedule(chunks + "interleaved", "overlap: {expert: true}\n"), "interleaved");
  EXPECT_EQ(schedule("pipeline: 1", "overlap: {expert: false}\n"), "none");
}

TEST_F(Recipes, NoRecipeTakesTheOverlapFromAScheduleThatIsMadeForIt) {
  write_stack("recipes:\n" + entry("", "overlap.expert: false"));
  const Scenario scenario = read(
      scenario_text(kMoe,
                    "layout: {expert: 4, pipeline: 2, virtual_stages: 2, schedule: dualpipev}\n"
                    "software: mine\n"));
  EXPECT_EQ(value_of(scenario, "overlap.expert"), std::nullopt);
}

// Of a layout a recipe sets what programs switch on by themselves, never a degree.
TEST_F(Recipes, ARecipeShardsAndSplitsSequencesButSetsNoDegree) {
  write_stack("recipes:\n" + entry("", "layout.sharding: zero1") +
              entry("layout.tensor: \">=2\"", "layout.sequence_parallel: true"));
  const Scenario two = read(scenario_text(kMoe, "software: mine\nlayout: {tensor: 2}\n"));
  EXPECT_EQ(two.layout.sharding, layout::Sharding::zero1);
  EXPECT_TRUE(two.layout.sequence_parallel);
  const auto without = without_setting(two, "layout.sharding");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->layout.sharding, layout::Sharding::none);
  EXPECT_TRUE(without->layout.sequence_parallel);
  const Scenario stated = read(scenario_text(
      kMoe, "software: mine\nlayout: {tensor: 2, sharding: none, sequence_parallel: false}\n"));
  EXPECT_EQ(stated.layout.sharding, layout::Sharding::none);
  EXPECT_FALSE(stated.layout.sequence_parallel);
}

TEST_F(Recipes, AReleaseWithoutRecipesFollowsTheNearestOne) {
  write_stack("recipes:\n" + entry("release: [\"1.2\"]", "overlap.bucket: 1MB") +
              entry("release: [\"1.10\"]", "overlap.bucket: 10MB"));
  const auto bucket = [this](const std::string& release) {
    return value_of(
        read(scenario_text(kMoe, "software: {name: mine, release: \"" + release + "\"}\n")),
        "overlap.bucket");
  };
  EXPECT_EQ(bucket("1.10"), "10 MB");
  EXPECT_EQ(to_string(diagnostics_), "");
  EXPECT_EQ(bucket("1.9"), "1 MB");
  EXPECT_EQ(to_string(diagnostics_),
            "test.yaml:5:33: warning: software.release: mine has no recipes for 1.9: those of 1.2 "
            "are followed (1.2, 1.10, 2)\n");
  EXPECT_EQ(bucket("0.1"), "1 MB");
  EXPECT_EQ(bucket("v1.11.3"), "10 MB");
  EXPECT_EQ(bucket("3"), std::nullopt);  // the newest, 2, sets none
}

TEST_F(Recipes, UnknownReleasesAndContextsAreErrorsThatNameTheKnownOnes) {
  EXPECT_EQ(problem(scenario_text(kMoe, "software: {name: megatron-core, release: \"9\"}\n")),
            "test.yaml:5:42: error: software.release: `9` is not known of megatron-core (main)\n");
  EXPECT_EQ(problem(scenario_text(kMoe, "software: {name: generic, context: benchmark}\n")),
            "test.yaml:5:36: error: software.context: `benchmark` is not known of generic "
            "(nothing: its profile tells none apart)\n");
}

TEST_F(Recipes, LaterEntriesHoldOverEarlierOnesWhereTheirConditionsDo) {
  write_stack("recipes:\n" + entry("", "overlap.bucket: 1MB, recompute: {modules: [mlp]}") +
              entry("gpu: blackwell, release: [\"1\", \"2\"]", "overlap.bucket: 2MB") +
              entry("gpu: [hopper, amd]", "overlap.bucket: 3MB") +
              entry("layout.tensor: \">=2\"", "overlap.bucket: 4MB, recompute: none") +
              entry("model: qwen3, cluster.gpus: \"<=64\"", "compile: true") +
              entry("model: dense", "compile: false"));
  const Scenario one = read(scenario_text(kMoe, "software: mine\n"));
  EXPECT_EQ(value_of(one, "overlap.bucket"), "2 MB");
  EXPECT_EQ(value_of(one, "recompute"), "{modules: [mlp]}");
  EXPECT_TRUE(one.step.compile);
  EXPECT_EQ(one.recipe.settings.size(), 3U);
  const Scenario two = read(scenario_text(kMoe, "software: mine\nlayout: {tensor: 2}\n"));
  EXPECT_EQ(value_of(two, "overlap.bucket"), "4 MB");
  EXPECT_EQ(value_of(two, "recompute"), "none");
}

TEST_F(Recipes, AdaptersFollowNoRecipeOfPretrainingTheirModel) {
  write_stack("recipes:\n" + entry("", "overlap.bucket: 1MB") +
              entry("model: qwen3", "recompute: full") + entry("model: moe", "compile: true") +
              entry("model: [dense, lora]", "overlap.tensor: true"));
  const std::string more = "software: mine\nlayout: {tensor: 2}\n";
  const Scenario whole = read(scenario_text(kMoe, more));
  EXPECT_EQ(value_of(whole, "recompute"), "full");
  EXPECT_FALSE(whole.step.overlap.tensor);
  const Scenario adapters = read(scenario_text(std::string(kMoe) + ", lora: {rank: 8}", more));
  EXPECT_EQ(value_of(adapters, "overlap.bucket"), "1 MB");
  EXPECT_EQ(value_of(adapters, "recompute"), "none");
  EXPECT_FALSE(adapters.step.compile);
  EXPECT_TRUE(adapters.step.overlap.tensor);
}

TEST_F(Recipes, OneKeyOrTheWholeStackCanBeTakenBack) {
  write_stack("recipes:\n" + entry("", "overlap.bucket: 1MB, compile: true"));
  const Scenario scenario = read(scenario_text(kMoe, "software: mine\n"));
  const auto without = without_setting(scenario, "compile");
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->step.compile);
  EXPECT_EQ(value_of(*without, "overlap.bucket"), "1 MB");
  const auto other = with_stack(scenario, "generic");
  ASSERT_TRUE(other);
  EXPECT_EQ(value_of(*other, "overlap.bucket"), std::nullopt);
  EXPECT_TRUE(other->recipe.settings.empty());
}

// A schedule that a recipe combines stays combined when another of its keys is taken back.
TEST(ShippedRecipes, LeaveTheScheduleWhenAnotherKeyIsTakenBack) {
  Diagnostics diagnostics;
  const auto scenario = load_text(
      "format: orrery/1\nmodel: qwen3-235b-a22b\ncluster: {preset: gb300-nvl72, gpus: 64}\n"
      "layout: {expert: 64, sharding: zero1}\nbatch: {global: 8192}\nprecision: mxfp8\n"
      "software: megatron-bridge\n",
      "test.yaml", diagnostics);
  ASSERT_TRUE(scenario) << to_string(diagnostics);
  EXPECT_EQ(scenario->step.schedule, schedule::ScheduleKind::interleaved_combined);
  const auto bucket = without_setting(*scenario, "overlap.bucket");
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->step.schedule, schedule::ScheduleKind::interleaved_combined);
  const auto exchange = without_setting(*scenario, "overlap.expert");
  ASSERT_TRUE(exchange);
  EXPECT_NE(exchange->step.schedule, schedule::ScheduleKind::interleaved_combined);
}

TEST_F(Recipes, WrongEntriesAreErrorsOfTheProfile) {
  write_stack("recipes:\n" + entry("tensr: 2", "overlap.bukket: 1MiB, layout.tensor: 2"));
  const std::string told = problem(scenario_text(kMoe, "software: mine\n"));
  EXPECT_NE(told.find("tensr: unknown key"), std::string::npos) << told;
  EXPECT_NE(told.find("did you mean `overlap.bucket`?"), std::string::npos) << told;
  EXPECT_NE(told.find("layout.tensor: the layout is the scenario's own"), std::string::npos)
      << told;
}

bool offers(const Scenario& scenario, const std::string& key, const std::string& value) {
  const auto values = offered_values(scenario);
  return std::any_of(values.begin(), values.end(),
                     [&](const OfferedValue& one) { return one.key == key && one.value == value; });
}

// What Blackwell's recipes switch on in MXFP8 is nothing to propose to Hopper, nor to bf16.
TEST_F(Recipes, OffersWhatHoldsForSuchModelsOnThisMachine) {
  const std::string stack = "software: {name: megatron-bridge, recipe: plain}\n";
  const Scenario blackwell = read(scenario_text(kMoe, stack + "precision: mxfp8\n"));
  EXPECT_TRUE(offers(blackwell, "software_options.grouped_gemm", "fused"));
  EXPECT_TRUE(offers(blackwell, "overlap.expert", "true"));
  const Scenario bf16 = read(scenario_text(kMoe, stack));
  EXPECT_FALSE(offers(bf16, "software_options.grouped_gemm", "fused"));
  for (const OfferedValue& value : offered_values(blackwell)) {
    EXPECT_FALSE(value.key.starts_with("model.")) << value.key;
  }
}

}  // namespace
}  // namespace orrery::scenario
