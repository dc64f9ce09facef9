// What recipes switch on, for anybody who adds a key to one: a plan searches it.

#include "sim/answer/plan/search/switches.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/answer/plan/space/candidate.hpp"
#include "sim/base/yaml/document.hpp"
#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

const yaml::Value* entry_of(const yaml::Value& mapping, std::string_view key) {
  const auto found = std::ranges::find(mapping.entries, key, &yaml::Entry::key);
  return found == mapping.entries.end() ? nullptr : &found->value;
}

// All keys that recipes of the stack set.
std::set<std::string> keys_of(const std::filesystem::path& profile) {
  Diagnostics diagnostics;
  const auto root = yaml::parse_file(profile, {}, diagnostics);
  EXPECT_TRUE(root) << to_string(diagnostics);
  std::set<std::string> keys;
  const yaml::Value* recipes = root ? entry_of(*root, "recipes") : nullptr;
  for (const yaml::Value& entry : recipes ? recipes->items : std::vector<yaml::Value>()) {
    for (const yaml::Entry& set : entry_of(entry, "sets")->entries) {
      keys.insert(set.key);
    }
  }
  return keys;
}

TEST(Switches, EveryKeyThatARecipeSetsIsSearched) {
  const std::filesystem::path folder =
      std::filesystem::path(kSourceDir) / "scenarios/profiles/software";
  std::size_t recipes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string stack = file.path().stem().string();
    for (const std::string& key : keys_of(file.path())) {
      ++recipes;
      const bool trained = key.starts_with("model.");  // the workload, not the stack's to choose
      const bool axis = is_planned(key) || key == "layout.sharding";
      EXPECT_TRUE(trained || axis || is_switch(key)) << stack << ": " << key;
    }
  }
  EXPECT_GT(recipes, 50U);
}

// `precision: mxfp8` says nothing about the type of gradients, and the file can say it.
TEST(Switches, KeysOfASectionThatIsOneWordAreTried) {
  const Bench bench =
      make_bench(replaced(dense_text(), "precision: bf16", "precision: fp8-delayed") +
                 "software: megatron-core\n");
  Estimator estimator(bench.bench);
  const Candidate own = candidate_of(bench.bench.base, bench.bench).value();
  Ranked best{own, estimator.estimate(own)};
  EXPECT_NE(text_of(better_switches(bench.bench, {best})).find("precision."), std::string::npos);
}

}  // namespace
}  // namespace orrery::plan::test
