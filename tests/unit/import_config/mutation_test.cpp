// Whatever happens to a file, the import ends with a text that scenarios read, holes apart, or with
// errors that name a file.

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "sim/scenario/load.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

constexpr std::array<std::string_view, 24> kPieces = {
    "\"",   "{",    "}",     "[",  "]",  "\n",   ":",     "=",
    "$",    "${",   "$((",   "`",  "'",  "\\",   "-1",    "99999999999999999999",
    "null", "auto", "1e308", "--", "\t", "\xC3", "${.x}", "0"};

std::string mutate(std::string text, std::mt19937_64& random) {
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : random() % n; };
  const std::size_t times = 1 + below(4);
  for (std::size_t i = 0; i < times && !text.empty(); ++i) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(20));
        break;
      case 2:
        text.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(60)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(MutatedFiles, EndInATextOrInErrors) {
  constexpr int kRounds = 60;
  constexpr std::uint64_t kSeed = 20261122;
  std::mt19937_64 random(kSeed);
  int accepted = 0;
  for (const std::string& name : config_names()) {
    const std::string text = config_text(name);
    const auto format = recognise(text);
    ASSERT_TRUE(format.has_value()) << name;
    for (int round = 0; round < kRounds; ++round) {
      const std::string broken = mutate(text, random);
      Diagnostics diagnostics;
      const std::vector<ConfigFile> files = {{name, broken, format}};
      const ImportResult result = import_configs(files, {}, diagnostics);
      const std::string where =
          "seed " + std::to_string(kSeed) + ", " + name + ", round " + std::to_string(round);
      EXPECT_EQ(result.scenario.empty(), diagnostics.has_errors()) << where;
      for (const Diagnostic& problem : diagnostics.all()) {
        EXPECT_FALSE(problem.where.file.empty()) << where << ": " << problem.message;
      }
      if (result.scenario.empty()) {
        continue;
      }
      ++accepted;
      // Nothing but the keys that are asked for keeps the text from being a scenario.
      Diagnostics read;
      const auto scenario = scenario::load_text(result.scenario, "scenario", read);
      EXPECT_EQ(scenario.has_value(), result.complete()) << where << "\n"
                                                         << to_string(read) << result.scenario;
      EXPECT_NE(report_json(result, diagnostics), "") << where;
    }
  }
  EXPECT_GT(accepted, 100);  // the mutations leave many files readable
}

}  // namespace
}  // namespace orrery::import_config::testing
