#include "sim/scenario/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "tests/checkout.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/support.hpp"
#include "tests/unit/scenario/scenario_text.hpp"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> shipped_scenarios() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    if (entry.is_regular_file() && entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The scenario and everything that was said about it.
struct Loaded {
  std::optional<Scenario> scenario;
  std::string messages;
};

Loaded load(const std::string& text) {
  Diagnostics diagnostics;
  Loaded loaded;
  loaded.scenario = load_text(text, "test.yaml", diagnostics);
  loaded.messages = to_string(diagnostics);
  EXPECT_EQ(loaded.scenario.has_value(), !diagnostics.has_errors()) << loaded.messages;
  return loaded;
}

TEST(LoadScenario, EveryShippedScenarioLoadsWithoutDiagnostics) {
  const auto files = shipped_scenarios();
  ASSERT_GE(files.size(), 10U);
  for (const fs::path& file : files) {
    Diagnostics diagnostics;
    const auto scenario = load_file(file, diagnostics);
    EXPECT_EQ(to_string(diagnostics), "") << file;
    ASSERT_TRUE(scenario.has_value()) << file;
    EXPECT_FALSE(scenario->expect.empty()) << file;
    EXPECT_EQ(scenario->sha256, sha256_hex(read_file(file, std::size_t{1} << 20U)));
  }
}

TEST(LoadScenario, ReadsTheMainScenario) {
  Diagnostics diagnostics;
  const auto scenario =
      load_file(std::string(kSourceDir) + "/scenarios/llama3-405b-16k.yaml", diagnostics);
  ASSERT_TRUE(scenario.has_value()) << to_string(diagnostics);
  EXPECT_EQ(scenario->model_preset, "llama3-405b");
  EXPECT_EQ(scenario->model.num_layers, 126);
  EXPECT_EQ(scenario->model.num_query_groups, 8);
  EXPECT_EQ(scenario->cluster.nodes * scenario->cluster.gpus_per_node, 16'384);
  EXPECT_EQ(scenario->cluster.network.tiers.size(), 3U);
  EXPECT_EQ(scenario->step.schedule, schedule::ScheduleKind::interleaved);
  EXPECT_EQ(scenario->software, "meta-llama3");
  ASSERT_TRUE(scenario->run.has_value());
  EXPECT_EQ(scenario->run->training.duration, days(54.0));
  EXPECT_EQ(scenario->run->checkpoint.mode, run::CheckpointMode::async);
  EXPECT_GT(scenario->run->capacity.spares, 0);
  EXPECT_EQ(scenario->expect.front().text, "fits_memory");
}

TEST(LoadScenario, WithoutTrainingThereIsNoRun) {
  const Loaded loaded = load(base_text().set("training", "").set("failures", "").yaml());
  ASSERT_TRUE(loaded.scenario.has_value()) << loaded.messages;
  EXPECT_FALSE(loaded.scenario->run.has_value());
  EXPECT_EQ(loaded.messages, "");
}

TEST(LoadScenario, ANamelessScenarioIsCalledAsItsFile) {
  Diagnostics diagnostics;
  const auto scenario =
      load_text(base_text().set("name", "").yaml(), "folder/my-run.yaml", diagnostics);
  ASSERT_TRUE(scenario.has_value());
  EXPECT_EQ(scenario->name, "my-run");
  EXPECT_EQ(scenario->file, "folder/my-run.yaml");
}

TEST(LoadScenario, EveryModelPresetLoadsResolved) {
  for (const model::ModelSpec& preset : shipped::models()) {
    const Loaded loaded = load(base_text().set("model", "{preset: " + preset.name + "}").yaml());
    ASSERT_TRUE(loaded.scenario.has_value()) << loaded.messages;
    EXPECT_EQ(loaded.messages, "") << preset.name;
    const model::ModelSpec& spec = loaded.scenario->model;
    const model::ModelSpec expected = model::resolve(preset);
    EXPECT_EQ(spec.name, preset.name);
    EXPECT_EQ(spec.num_query_groups, expected.num_query_groups);
    EXPECT_EQ(spec.head_dim, expected.head_dim);
    EXPECT_EQ(spec.ffn_hidden_size, expected.ffn_hidden_size);
    EXPECT_EQ(spec.max_positions, expected.max_positions);
    EXPECT_EQ(spec.moe.has_value(), expected.moe.has_value());
    EXPECT_EQ(spec.mla.has_value(), expected.mla.has_value());
  }
}

// The tables of other stages, offered as they are.
TEST(LoadScenario, OffersExactlyTheSchedulesThatCanBeGenerated) {
  for (const Key& key : key_table()) {
    if (key.path == "layout.schedule") {
      std::vector<std::string> families;
      for (const schedule::ScheduleFamily& family : schedule::schedule_families()) {
        families.emplace_back(to_string(family.kind));
      }
      EXPECT_EQ(key.forms.front().words, families);
    }
  }
}

// A preset keeps its own widths; what it had derived from a replaced one is derived again.
TEST(LoadScenario, OverridesOfAPresetCarryTheirConsequences) {
  const auto spec = [](const std::string& model) {
    const Loaded loaded = load(base_text().set("model", model).yaml());
    EXPECT_TRUE(loaded.scenario.has_value()) << loaded.messages;
    return loaded.scenario ? loaded.scenario->model : model::ModelSpec{};
  };
  const model::ModelSpec narrow = spec("{preset: llama3-8b, hidden_size: 2048}");
  EXPECT_EQ(narrow.head_dim, 64);  // 2048 / 32
  EXPECT_EQ(narrow.num_query_groups, 8);
  EXPECT_EQ(narrow.ffn_hidden_size, 14'336);
  const model::ModelSpec kept = spec("{preset: llama3-8b, hidden_size: 2048, head_dim: 128}");
  EXPECT_EQ(kept.head_dim, 128);
  const model::ModelSpec heads = spec("{preset: gpt3-175b, heads: 48}");
  EXPECT_EQ(heads.num_query_groups, 48);
  EXPECT_EQ(heads.head_dim, 256);  // 12288 / 48
  const model::ModelSpec longer = spec("{preset: gpt3-175b, seq_len: 4096}");
  EXPECT_EQ(longer.max_positions, 4096);  // the learned table grows with the sequence
  const model::ModelSpec upcycled =
      spec("{preset: llama3-8b, moe: {num_experts: 8, top_k: 2, ffn_hidden_size: 14336}}");
  ASSERT_TRUE(upcycled.moe.has_value());
  EXPECT_EQ(upcycled.moe->num_experts, 8);
}

TEST(LoadScenario, RemembersWhereEveryValueStood) {
  const Loaded loaded = load(
      "format: orrery/1\n"
      "model: {preset: llama3-8b}\n"
      "cluster:\n"
      "  gpu: h100-sxm-80gb\n"
      "  nodes: 1\n"
      "layout:\n"
      "  tp: 8\n"
      "batch: {gbs: 64}\n"
      "expect:\n"
      "  - fits_memory\n"
      "  - {text: mfu >= 0.3, decide: point}\n");
  ASSERT_TRUE(loaded.scenario.has_value()) << loaded.messages;
  const Scenario& scenario = *loaded.scenario;
  const auto at = [](int line, int column) { return SourceLocation{"test.yaml", line, column}; };
  EXPECT_EQ(scenario.where("cluster.nodes"), at(5, 10));
  EXPECT_EQ(scenario.where("layout.tensor"), at(7, 7));  // by its primary name
  EXPECT_EQ(scenario.where("batch.global"), at(8, 14));
  EXPECT_EQ(scenario.where("expect[1]"), at(11, 5));
  EXPECT_EQ(scenario.where("expect[1].decide"), at(11, 32));
  EXPECT_EQ(scenario.expect[0].where, at(10, 5));
  EXPECT_EQ(scenario.expect[1].where, at(11, 5));
  EXPECT_FALSE(scenario.expect[0].decide_point);
  EXPECT_TRUE(scenario.expect[1].decide_point);
}

TEST(LoadScenario, AnAbsentKeyIsPlacedAtTheNearestEnclosingMapping) {
  const Loaded loaded = load(base_text().set("layout", "{tensor: 2}").yaml());
  ASSERT_TRUE(loaded.scenario.has_value()) << loaded.messages;
  const Scenario& scenario = *loaded.scenario;
  EXPECT_EQ(scenario.where("layout.virtual_stages"), scenario.where("layout"));
  EXPECT_GT(scenario.where("layout").line, 0);
  EXPECT_EQ(scenario.where("failures.causes[3].recovery.load"), scenario.where("failures"));
  EXPECT_EQ(scenario.where("simulation.trials"), (SourceLocation{"test.yaml", 1, 1}));
}

TEST(LoadScenario, NodesThatFollowFromGpusArePlacedThere) {
  const Loaded loaded = load(base_text().set("cluster.nodes", "").set("cluster.gpus", "16").yaml());
  ASSERT_TRUE(loaded.scenario.has_value()) << loaded.messages;
  EXPECT_EQ(loaded.scenario->where("cluster.nodes"), loaded.scenario->where("cluster.gpus"));
}

TEST(LoadScenario, DiagnosticsFollowTheOrderOfTheFile) {
  const Loaded loaded = load(
      "format: orrery/1\n"
      "expect: 7\n"
      "batch: {}\n"
      "layout: {pp: 4, schedule: none}\n"
      "cluster: {gpu: x, nodes: 0}\n"
      "model: {preset: llama3-8}\n");
  EXPECT_NE(loaded.messages.find("test.yaml:2:9: error: expect: "), std::string::npos);
  const std::vector<std::string> order = {
      "error: expect:", "error: batch.global:", "error: layout.schedule:", "error: cluster.nodes:",
      "error: model.preset:"};
  std::size_t from = 0;
  for (const std::string& part : order) {
    const std::size_t found = loaded.messages.find(part, from);
    EXPECT_NE(found, std::string::npos) << part << " in\n" << loaded.messages;
    from = found == std::string::npos ? from : found;
  }
}

TEST(LoadScenario, ErrorsOfAllSectionsComeAtOnce) {
  const std::string messages =
      load(
          "format: orrery/1\n"
          "model: {preset: llama3-8b}\n"
          "cluster: {gpu: h100-sxmm, nodes: 4, network: {preset: infiniband-400g}}\n"
          "layout: {tensor: 3}\n"
          "batch: {global: 96}\n"
          "precision: fp9\n"
          "software: {name: torchtitan, release: bar, context: foo}\n"
          "failures: {preset: nope}\n")
          .messages;
  for (const std::string_view problem : {"3:16: error: cluster.gpu: `h100-sxmm` is not a known",
                                         "4:18: error: layout.tensor: 3 does not divide",
                                         "6:12: error: precision: `fp9` is not known",
                                         "7:39: error: software.release: `bar` is not known of",
                                         "7:53: error: software.context: `foo` is not known of",
                                         "8:20: error: failures.preset: `nope` is not known"}) {
    EXPECT_NE(messages.find(problem), std::string::npos) << problem << "\n" << messages;
  }
}

TEST(LoadScenario, APipelineRunsTheUsualSchedule) {
  const auto schedule = [](const std::string& layout) {
    Diagnostics diagnostics;
    const auto scenario = load_text(
        "format: orrery/1\nmodel: llama3-8b\ncluster: {gpu: h100-sxm-80gb, nodes: 1}\n"
        "batch: {global: 64}\nlayout: " +
            layout + "\n",
        "test.yaml", diagnostics);
    EXPECT_TRUE(scenario) << to_string(diagnostics);
    return scenario ? scenario->step.schedule : schedule::ScheduleKind::none;
  };
  EXPECT_EQ(schedule("{tensor: 4}"), schedule::ScheduleKind::none);
  EXPECT_EQ(schedule("{pipeline: 4}"), schedule::ScheduleKind::one_f_one_b);
  EXPECT_EQ(schedule("{pipeline: 4, virtual_stages: 2}"), schedule::ScheduleKind::interleaved);
  EXPECT_EQ(schedule("{pipeline: 4, schedule: gpipe}"), schedule::ScheduleKind::gpipe);
}

TEST(LoadScenario, AMissingFileIsAnError) {
  Diagnostics diagnostics;
  try {
    static_cast<void>(load_file("no/such/scenario.yaml", diagnostics));
    FAIL() << "a missing file was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no/such/scenario.yaml"), std::string::npos);
  }
}

TEST(LoadScenario, AFileAboveTheLimitIsADiagnostic) {
  const TempFolder folder;
  const fs::path path = folder.write(
      "large.yaml", "format: orrery/1 #" + std::string(std::size_t{5} << 20U, 'x') + "\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(load_file(path, diagnostics).has_value());
  EXPECT_TRUE(diagnostics.has_errors());
}

}  // namespace
}  // namespace orrery::scenario
