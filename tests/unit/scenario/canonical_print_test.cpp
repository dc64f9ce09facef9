// A scenario is what its file says, not how: printed on one line, with its keys in another order,
// it is the same scenario.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/base/random.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/flow_text.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"
#include "tests/unit/scenario/scenario_dump.hpp"

namespace orrery::scenario {
namespace {

using yaml::Entry;
using yaml::Value;

constexpr std::uint64_t kSeed = 20261123;
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

struct Document {
  std::string file;
  Value root;
};

Value parsed(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  auto root = yaml::parse(text, file, {}, diagnostics);
  EXPECT_TRUE(root) << to_string(diagnostics) << text;
  return root.value_or(Value{});
}

std::vector<Document> shipped_documents() {
  std::vector<Document> all;
  const std::filesystem::path folder = std::string(kSourceDir) + "/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().string();
    if (entry.path().extension() == ".yaml") {
      all.push_back({file, parsed(read_file(file, kMostBytes), file)});
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
  EXPECT_GT(all.size(), 50U);
  return all;
}

void shuffle(Value& value, RandomStream& random) {
  for (std::size_t i = value.entries.size(); i > 1; --i) {
    std::swap(value.entries[i - 1], value.entries[random.uniform_int(i)]);
  }
  for (Entry& entry : value.entries) {
    shuffle(entry.value, random);
  }
  for (Value& item : value.items) {
    shuffle(item, random);
  }
}

std::vector<std::string> messages_of(const Diagnostics& diagnostics) {
  std::vector<std::string> messages;
  for (const Diagnostic& one : diagnostics.all()) {
    messages.push_back(one.key + ": " + one.message);
  }
  return messages;
}

// Every field of the scenario, or what is wrong with it. Sorted: what was measured is reported in
// the order of the file, which is no part of what it says.
std::vector<std::string> meaning_of(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  const auto scenario = load_text(text, file, diagnostics);
  std::vector<std::string> lines = scenario ? dump(*scenario) : messages_of(diagnostics);
  std::sort(lines.begin(), lines.end());
  return lines;
}

void expect_same(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  const auto differs = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  EXPECT_TRUE(one == other) << (differs.first == one.end() ? "(end)" : *differs.first) << " | "
                            << (differs.second == other.end() ? "(end)" : *differs.second);
}

TEST(CanonicalPrint, AShippedScenarioEqualsItsPrintInAnyOrder) {
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (const Document& document : shipped_documents()) {
    SCOPED_TRACE(document.file);
    const auto expected = meaning_of(read_file(document.file, kMostBytes), document.file);
    const std::string print = yaml::flow_text(document.root);
    expect_same(meaning_of(print, document.file), expected);
    EXPECT_EQ(yaml::flow_text(parsed(print, document.file)), print);
    Value shuffled = document.root;
    for (int round = 0; round < 3; ++round) {
      shuffle(shuffled, random);
      expect_same(meaning_of(yaml::flow_text(shuffled), document.file), expected);
    }
  }
}

// Sections of other scenarios in place of its own: some of them fit, and those that do not are
// refused with the same words.
TEST(CanonicalPrint, ARandomScenarioEqualsItsPrintInAnyOrder) {
  constexpr int kRounds = 400;
  RandomStream random(kSeed, 1, Purpose::property_test);
  const std::vector<Document> all = shipped_documents();
  int valid = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const Document& base = all[random.uniform_int(all.size())];
    Value mixed = base.root;
    for (std::uint64_t i = 0; i <= random.uniform_int(3); ++i) {
      const Value& other = all[random.uniform_int(all.size())].root;
      const Entry& taken = other.entries[random.uniform_int(other.entries.size())];
      std::erase_if(mixed.entries, [&taken](const Entry& own) { return own.key == taken.key; });
      mixed.entries.push_back(taken);
    }
    const std::string print = yaml::flow_text(mixed);
    const auto expected = meaning_of(print, base.file);
    Diagnostics diagnostics;
    valid += load_text(print, base.file, diagnostics) ? 1 : 0;
    shuffle(mixed, random);
    expect_same(meaning_of(yaml::flow_text(mixed), base.file), expected);
  }
  EXPECT_GT(valid, kRounds / 10);
}

TEST(CanonicalPrint, WordsThatWouldEndEarlyGetQuotes) {
  const std::string text =
      "name: a, b\nquoted: \"say \\\"x\\\" \\\\ y\"\nlist:\n  - {k: \"[1]\"}\n  - p90(a, b) < 3\n";
  const std::string print = yaml::flow_text(parsed(text, "t.yaml"));
  EXPECT_EQ(print,
            R"({name: "a, b", quoted: "say \"x\" \\ y", list: [{k: "[1]"}, "p90(a, b) < 3"]})");
  EXPECT_EQ(yaml::flow_text(parsed(print, "t.yaml")), print);
}

}  // namespace
}  // namespace orrery::scenario
