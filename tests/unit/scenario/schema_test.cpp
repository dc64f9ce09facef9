// The generated documents: the schema accepts what the reader accepts, the reference names every
// key, and the committed files are what the table generates.

#include <fmt/core.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "tests/checkout.hpp"
#include "tests/unit/scenario/scenario_text.hpp"
#include "tests/unit/scenario/schema_check.hpp"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;
namespace kind = yaml::kind;

constexpr std::size_t kMaxBytes = std::size_t{1} << 22U;

const nlohmann::json& schema() {
  static const nlohmann::json parsed = nlohmann::json::parse(json_schema());
  return parsed;
}

std::string violations_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto root = yaml::parse(text, "test.yaml", yaml::Limits{}, diagnostics);
  EXPECT_TRUE(root.has_value()) << to_string(diagnostics);
  return root ? fmt::format("{}", fmt::join(violations(*root, schema()), "\n")) : "unreadable";
}

TEST(JsonSchema, AcceptsEveryShippedScenario) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    if (entry.path().extension() == ".yaml") {
      EXPECT_EQ(violations_of(read_file(entry.path(), kMaxBytes)), "") << entry.path();
      ++files;
    }
  }
  EXPECT_GE(files, 10U);
}

// Every example and every default of the table, where its form can stand alone.
TEST(JsonSchema, AcceptsEveryExampleOfTheTable) {
  for (const Key& key : key_table()) {
    if (key.path.find("[]") != std::string::npos || key.path == "format") {
      continue;
    }
    for (const std::string& value : {key.example, key.fallback}) {
      if (value.empty() || key.folded) {
        continue;
      }
      SCOPED_TRACE(key.path + ": " + value);
      ScenarioText text = base_text();
      if (key.path == "recompute.layers" || key.path == "evaluation.every" ||
          key.path == "evaluation.duration" || key.path.starts_with("failures.maintenance.") ||
          key.path.starts_with("failures.burn_in.") || key.path.starts_with("failures.lemons.") ||
          key.path.starts_with("failures.diurnal.") || key.path.starts_with("local_steps.") ||
          key.path.starts_with("rollout.") || key.path.starts_with("training.batch_ramp.") ||
          key.path.starts_with("recovery.slow_steps.") ||
          key.path.starts_with("failures.loss_spikes.rule.") ||
          (key.path.starts_with("prices.") && key.path.find('.') != key.path.rfind('.'))) {
        continue;  // their parents' examples hold them
      }
      text.set(key.path, value);
      if (key.mapping && value.starts_with("{")) {
        text.set(key.path, "").set(key.path, value);
      }
      EXPECT_EQ(violations_of(text.yaml()), "");
    }
  }
}

TEST(JsonSchema, RefusesWhatTheReaderRefuses) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"layout.tensors", "8"},
      {"layout.tensor", "0"},
      {"layout.tensor", "no"},
      {"layout.sharding", "zero4"},
      {"layout.stage_layers", "even"},
      {"layout.order", "[tp, xp]"},
      {"overlap.data", "yes"},
      {"overlap.bucket", "25"},
      {"training.duration", "5m"},
      {"training.phases", "[{until: 1000}]"},
      {"training.rework", "[{at: 1T}]"},
      {"prices.gpu_hour", "2.50/h"},
      {"precision", "fp6"},
      {"cluster.nodes", "1.5"},
      {"recovery.detect", "{avg: 5min}"},
      {"expect", "mfu >= 0.4"},
      {"step.time", "105"}};
  for (const auto& [key, value] : wrong) {
    ScenarioText text = base_text();
    text.set(key, value);
    Diagnostics diagnostics;
    EXPECT_FALSE(load_text(text.yaml(), "test.yaml", diagnostics).has_value()) << key;
    EXPECT_NE(violations_of(text.yaml()), "") << key << ": " << value;
  }
}

TEST(JsonSchema, MissesNoRequiredKey) {
  for (const std::string key : {"format", "model", "cluster", "batch.global"}) {
    ScenarioText text = base_text();
    text.set(key, "");
    EXPECT_NE(violations_of(text.yaml()), "") << key;
  }
}

// The pattern of a kind matches exactly the texts that its parser accepts.
template <typename K>
void expect_pattern_agrees(const std::vector<std::string>& texts) {
  const std::regex pattern(pattern_of<K>());
  int accepted = 0;
  for (const std::string& text : texts) {
    const bool parsed = K::parse(text).value.has_value();
    accepted += parsed ? 1 : 0;
    EXPECT_EQ(std::regex_search(text, pattern), parsed) << K::kWhat << " `" << text << "`";
  }
  EXPECT_GE(accepted, 3) << K::kWhat;
}

TEST(JsonSchema, PatternsAgreeWithTheParsers) {
  const std::vector<std::string> numbers = {"0",     "1",   "8",  "15.6", "0.5", "2e3",
                                            "1.5E2", "010", "-3", "+1",   ".5",  "1.",
                                            "1_000", "0x8", "",   "nan"};
  const std::vector<std::string> units = {
      "",     "k",   "M",    "B",     "T",      "K",    "m",     "kB",    "GB",      "PB",
      "GiB",  "Gib", "KB",   "ns",    "us",     "ms",   "s",     "min",   "h",       "d",
      "sec",  "bps", "kbps", "Gbps",  "Gbit/s", "GB/s", "kB/s",  "KiB/s", "GiB/s",   "PB/s",
      "Gb/s", "/s",  "/min", "/h",    "/d",     "/m",   "steps", "step",  "k steps", "W",
      "kW",   "MW",  "kw",   "g/kWh", "kg/kWh", "g"};
  std::vector<std::string> texts;
  std::vector<std::string> counts;
  std::vector<std::string> prices;
  for (const std::string& number : numbers) {
    for (const std::string& unit : units) {
      for (const std::string gap : {"", " "}) {
        texts.push_back(number + gap + unit);
        prices.push_back("$" + number + gap + unit);
      }
    }
  }
  expect_pattern_agrees<kind::Number>(numbers);
  expect_pattern_agrees<kind::Size>(texts);
  expect_pattern_agrees<kind::Time>(texts);
  expect_pattern_agrees<kind::Bandwidth>(texts);
  expect_pattern_agrees<kind::EventRate>(texts);
  expect_pattern_agrees<kind::Power>(texts);
  expect_pattern_agrees<kind::CarbonIntensity>(texts);
  prices.insert(prices.end(), texts.begin(), texts.end());
  expect_pattern_agrees<kind::PriceRate>(prices);
  expect_pattern_agrees<kind::Money>(prices);
  expect_pattern_agrees<kind::Date>(
      {"2024-04-01", "2024-04-01T00:00Z", "2024-04-01T00:00:30Z", "2024-4-1", "2024-04-01T00:00"});
}

// What a pattern cannot say (is the product whole, is the value above zero) is left to the reader.
TEST(JsonSchema, PatternsOfCountsAcceptWhateverTheParserAccepts) {
  for (const std::string text : {"8", "15.6T", "15e12", "2k", "-3", "1.5M", "10 B"}) {
    ASSERT_TRUE(kind::Count::parse(text).value.has_value()) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex(pattern_of<kind::Count>()))) << text;
  }
  for (const std::string text : {"1000 steps", "1 step", "30min", "0.5h", "2k steps"}) {
    ASSERT_TRUE(kind::StepsOrDuration::parse(text).value.has_value()) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex(pattern_of<kind::StepsOrDuration>()))) << text;
  }
}

TEST(Reference, NamesEveryKeyWithItsAliasesAndMeaning) {
  const std::string text = reference_markdown();
  for (const Key& key : key_table()) {
    if (key.folded) {
      EXPECT_NE(text.find(fmt::format("{}: ", key.name())), std::string::npos) << key.path;
      continue;
    }
    EXPECT_NE(text.find(fmt::format("| `{}` |", key.path)), std::string::npos) << key.path;
    for (const std::string& alias : key.aliases) {
      EXPECT_NE(text.find(fmt::format("`{}`", alias)), std::string::npos) << alias;
    }
  }
}

TEST(Reference, SaysWhatHoldsWithoutAKey) {
  for (const Key& key : key_table()) {
    if (!key.folded) {
      EXPECT_EQ(key.required + !key.fallback.empty() + !key.note.empty(), 1) << key.path;
    }
    EXPECT_FALSE(key.example.empty()) << key.path;
    EXPECT_TRUE(key.meaning.ends_with(".")) << key.path;
  }
}

// With ORRERY_UPDATE_DOCS=1 in the environment the test writes the files instead.
void expect_generated(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(kSourceDir) / "docs" / name;
  if (std::getenv("ORRERY_UPDATE_DOCS") != nullptr) {
    write_file_atomically(path, text);
  }
  ASSERT_TRUE(fs::exists(path)) << path;
  EXPECT_EQ(read_file(path, kMaxBytes), text) << "docs/" << name << " is not what the table says";
}

TEST(GeneratedFiles, AreCommittedAsGenerated) {
  expect_generated("scenario-reference.md", reference_markdown());
  expect_generated("scenario.schema.json", json_schema());
}

}  // namespace
}  // namespace orrery::scenario
