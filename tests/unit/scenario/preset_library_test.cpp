// Presets as files: those that come with the program, those of a user, and files that are wrong.

#include "sim/scenario/presets/preset_library.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/variant.hpp"
#include "tests/support.hpp"
#include "tests/unit/scenario/scenario_text.hpp"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;
using enum PresetKind;

constexpr PresetKind kAllKinds[] = {models,   clusters,      networks, failures,
                                    recovery, communicators, storage,  prices};

// A directory of profiles of its own, before the standard ones.
class PresetFiles : public testing::Test {
 protected:
  // Below the directory; returns where the file lies.
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text).string();
  }

  [[nodiscard]] hardware::ProfileSearch search() const {
    hardware::ProfileSearch search = hardware::default_search({});
    search.directories.insert(search.directories.begin(), folder_);
    return search;
  }

  // What is wrong with a file of this kind and text, named `mine`.
  [[nodiscard]] std::string problem(const std::string& folder, PresetKind kind,
                                    const std::string& text) const {
    const std::string file = write(folder + "/mine.yaml", text);
    Diagnostics diagnostics;
    EXPECT_EQ(PresetLibrary(search()).find(kind, "mine", diagnostics), nullptr);
    std::string told = to_string(diagnostics);
    const std::size_t at = told.find(file);
    return at == 0 ? told.substr(file.size()) : told;
  }

 private:
  TempFolder folder_;
};

std::string head(const std::string& more) {
  return "format: orrery-preset/1\nname: mine\nsummary: of a test\nsource: made up\n" + more;
}

TEST_F(PresetFiles, EveryShippedPresetReadsAndNamesItsSource) {
  const PresetLibrary& library = PresetLibrary::standard();
  std::size_t count = 0;
  for (const PresetKind kind : kAllKinds) {
    Diagnostics diagnostics;
    std::set<std::int64_t> orders;
    for (const PresetPtr& preset : library.list(kind, diagnostics)) {
      EXPECT_FALSE(preset->summary.empty()) << preset->name;
      EXPECT_GE(preset->source.size(), 10U) << preset->name;
      EXPECT_TRUE(orders.insert(preset->order).second) << preset->name;
      EXPECT_EQ(library.find(kind, preset->name, diagnostics), preset) << "read once";
      ++count;
    }
    EXPECT_EQ(to_string(diagnostics), "");
  }
  EXPECT_EQ(count, 192U);
}

TEST_F(PresetFiles, AnUnknownNameIsNothingWithoutAWord) {
  Diagnostics diagnostics;
  EXPECT_EQ(PresetLibrary::standard().find(storage, "floppy", diagnostics), nullptr);
  EXPECT_EQ(PresetLibrary::standard().find(storage, "../prices/none", diagnostics), nullptr);
  EXPECT_EQ(to_string(diagnostics), "");
}

TEST_F(PresetFiles, AUsersPresetIsAsGoodAsAShippedOne) {
  write("failures/mine.yaml",
        head("failures:\n  node_rate: 0.5/d\n  causes: [{name: rats, category: host}]\n"
             "capacity:\n  repair_time: 2h\n  repair: {manual: {probability: 0.5, time: 1d}}\n"));
  write("recovery/mine.yaml",
        head("recovery: {detect: 9s}\nby_gpus: {load: [{gpus: 8, time: 1s}, {gpus: 16, time: "
             "3s}]}\n"));
  write("prices/mine.yaml", head("prices: {gpu_hour: $3/h, as_of: 2026-01-02}\n"));
  write("storage/mine.yaml", head("checkpoint: {storage: {write: 7GB/s, efficiency: 0.5}}\n"));
  write("networks/mine.yaml",
        head("cluster: {network: {nic_rate: 8Gbps, nics_per_node: 2, tiers: [{name: a, nodes: "
             "9}]}}\n"));
  ScenarioText text = base_text();
  text.set("failures", "{preset: mine}").set("recovery", "{preset: mine}");
  text.set("prices", "{preset: mine}").set("cluster.network", "{preset: mine, nics_per_node: 4}");
  text.set("checkpoint.storage", "{preset: mine}");
  Diagnostics diagnostics;
  const auto scenario = load_text(text.yaml(), "test.yaml", diagnostics, search());
  ASSERT_TRUE(scenario && scenario->run) << to_string(diagnostics);
  const run::FailureSpec& failures = scenario->run->failures.preset->spec;
  EXPECT_EQ(failures.causes.at(0).name, "rats");
  EXPECT_DOUBLE_EQ(failures.repair->by_hand, 0.5);
  const run::RecoveryPreset& recovery = *scenario->run->recovery.preset;
  EXPECT_EQ(recovery.curves[run::index_of(run::RecoveryStage::load)].size(), 2U);
  EXPECT_DOUBLE_EQ(in_dollars_per_hour(*scenario->run->prices.preset->spec.gpu_hour), 3.0);
  EXPECT_EQ(scenario->run->prices.preset->spec.as_of, "2026-01-02");
  EXPECT_DOUBLE_EQ(scenario->run->checkpoint.storage.efficiency, 0.5);
  EXPECT_EQ(scenario->cluster.network.preset, "mine");
  EXPECT_EQ(scenario->cluster.network.nics_per_node, 4);  // stated beside it
  EXPECT_EQ(scenario->cluster.network.tiers.size(), 1U);
  EXPECT_FALSE(scenario->locations.contains("failures.node_rate"));  // nobody has stated it
  EXPECT_EQ(value_of(*scenario, "failures.preset"), "mine");

  const PresetLibrary library(search());
  EXPECT_NE(json_schema(library).find("\"mine\""), std::string::npos);
  EXPECT_NE(reference_markdown(library).find("`titan-reworked`, `mine`"), std::string::npos);
}

// A machine is its GPU, node, network and price; what stands beside it goes before.
TEST_F(PresetFiles, AClusterIsTakenWithItsPrice) {
  const auto read = [](const std::string& cluster, const std::string& prices) {
    Diagnostics diagnostics;
    auto scenario = load_text(
        "format: orrery/1\nmodel: llama3-8b\nbatch: {global: 256}\ntraining: {steps: 100}\n"
        "cluster: " +
            cluster + "\n" + prices,
        "test.yaml", diagnostics);
    EXPECT_TRUE(scenario) << to_string(diagnostics);
    return scenario ? *std::move(scenario) : Scenario();
  };
  const Scenario rented = read("{preset: aws-p5en, nodes: 4}", "");
  EXPECT_EQ(rented.cluster.gpu, "h200-sxm");
  EXPECT_EQ(rented.cluster.network.nics_per_node, 16);
  EXPECT_DOUBLE_EQ(in_dollars_per_hour(*rented.run->prices.gpu_hour), 7.912);
  EXPECT_EQ(rented.run->prices.as_of, "2026-10-10");
  const Scenario stated =
      read("{preset: aws-p5en, nodes: 4, gpu: h100-sxm-80gb}", "prices: {gpu_hour: $2/h}\n");
  EXPECT_EQ(stated.cluster.gpu, "h100-sxm-80gb");
  EXPECT_DOUBLE_EQ(in_dollars_per_hour(*stated.run->prices.gpu_hour), 2.0);
  EXPECT_EQ(stated.run->prices.as_of, "");
  const Scenario rack = read("{preset: gb300-nvl72, gpus: 144}", "");
  EXPECT_EQ(rack.cluster.nodes, 36);
  EXPECT_EQ(rack.cluster.network.nvlink_domain, 72);
  EXPECT_FALSE(rack.run->prices.gpu_hour);
}

TEST_F(PresetFiles, AVariantOfAScenarioFindsTheSamePresets) {
  write("prices/mine.yaml", head("prices: {gpu_hour: $3/h}\n"));
  Diagnostics diagnostics;
  const auto base =
      ScenarioTemplate::from_text(base_text().yaml(), "test.yaml", diagnostics, search());
  ASSERT_TRUE(base.has_value());
  const std::vector<KeyValue> changes = {{"prices", "{preset: mine}", {}}};
  const auto scenario = base->with(changes, diagnostics);
  ASSERT_TRUE(scenario && scenario->run) << to_string(diagnostics);
  EXPECT_EQ(scenario->run->prices.preset->name, "mine");
}

TEST_F(PresetFiles, WrongFilesAreRefusedWithThePlaceInThem) {
  EXPECT_EQ(problem("prices", prices, head("prices: {gpu_hour: 3}\n")).substr(0, 33),
            ":5:20: error: prices.gpu_hour: `3");
  EXPECT_EQ(problem("prices", prices, head("prices: {pue: 3}\n")).substr(0, 38),
            ":5:10: error: prices.pue: unknown key ");
  EXPECT_EQ(problem("storage", storage, head("prices: {gpu_hour: $3/h}\n")).substr(0, 31),
            ":5:1: error: prices: unknown ke");
  EXPECT_EQ(problem("failures", failures, head("failures: {log: a.csv}\n")).substr(0, 43),
            ":5:12: error: failures.log: unknown key (al");
  EXPECT_EQ(problem("recovery", recovery, "format: orrery/1\nname: mine\n").substr(0, 20),
            ":1:9: error: format:");
  EXPECT_EQ(problem("recovery", recovery,
                    head("by_gpus: {load: [{gpus: 8, time: 1s}, {gpus: 8, time: 2s}]}\n")),
            ":5:17: error: by_gpus.load: 8 GPUs after 8 (points with rising GPUs)\n");
  EXPECT_EQ(problem("failures", failures,
                    "format: orrery-preset/1\nname: other\nsummary: a\n"
                    "source: b\n"),
            ":2:7: error: name: is `other` in the file of `mine` (name: mine)\n");
}

TEST_F(PresetFiles, AScenarioIsToldOfTheFileThatItsPresetHasWrong) {
  const std::string file = write("recovery/mine.yaml", head("recovery: {detect: soon}\n"));
  Diagnostics diagnostics;
  ScenarioText text = base_text();
  text.set("recovery", "{preset: mine}");
  EXPECT_FALSE(load_text(text.yaml(), "test.yaml", diagnostics, search()).has_value());
  EXPECT_TRUE(to_string(diagnostics).starts_with(file + ":5:20: error: recovery.detect: `soon`"))
      << to_string(diagnostics);
  const PresetLibrary library(search());
  Diagnostics listed;
  const auto all = library.list(recovery, listed);
  EXPECT_EQ(all.back()->name, "mine");
  EXPECT_EQ(all.back()->summary, "cannot be read");
  EXPECT_TRUE(listed.has_errors());
}

// `failures: llama3-2024` is `failures: {preset: llama3-2024}`.
TEST_F(PresetFiles, ASectionTakesTheNameOfAPreset) {
  const auto value = [](const std::string& section, const std::string& stated) {
    Diagnostics diagnostics;
    ScenarioText text = base_text();
    text.set("training", "{steps: 100}");
    text.set(section, stated);
    const auto scenario = load_text(text.yaml(), "test.yaml", diagnostics);
    EXPECT_TRUE(scenario) << to_string(diagnostics);
    return scenario ? value_of(*scenario, section + ".preset").value_or("none") : "no scenario";
  };
  for (const auto& [section, name] :
       {std::pair("failures", "llama3-2024"), std::pair("recovery", "megascale-2024"),
        std::pair("prices", "aws-p5-h100-2026")}) {
    EXPECT_EQ(value(section, name), name);
    EXPECT_EQ(value(section, std::string("{preset: ") + name + "}"), name);
  }
}

TEST_F(PresetFiles, KeysAreAddedToASectionThatNamesAPreset) {
  Diagnostics diagnostics;
  ScenarioText text = base_text();
  text.set("training", "{steps: 100}");
  text.set("failures", "llama3-2024");
  const auto base = ScenarioTemplate::from_text(text.yaml(), "test.yaml", diagnostics);
  ASSERT_TRUE(base) << to_string(diagnostics);
  const std::vector<KeyValue> changes = {{"failures.job_rate", "0.5/d", {"set", 0, 0}}};
  const auto changed = base->with(changes, diagnostics);
  ASSERT_TRUE(changed) << to_string(diagnostics);
  EXPECT_EQ(value_of(*changed, "failures.preset"), "llama3-2024");
  EXPECT_EQ(value_of(*changed, "failures.job_rate"), "0.5/d");
}

TEST_F(PresetFiles, AnUnknownNameOfASectionIsAnErrorOfItsPreset) {
  Diagnostics diagnostics;
  ScenarioText text = base_text();
  text.set("training", "{steps: 100}");
  text.set("failures", "lama3-2024");
  EXPECT_FALSE(load_text(text.yaml(), "test.yaml", diagnostics));
  EXPECT_NE(to_string(diagnostics).find("failures.preset"), std::string::npos)
      << to_string(diagnostics);
  EXPECT_NE(to_string(diagnostics).find("llama3-2024"), std::string::npos)
      << to_string(diagnostics);
}

}  // namespace
}  // namespace orrery::scenario
