// The seeds and finds of the scenario fuzzer, and what random damage makes of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/base/random.hpp"
#include "tests/checkout.hpp"
#include "tests/fuzz/exercise_scenario.hpp"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20U;

std::vector<std::string> texts() {
  std::vector<fs::path> files;
  for (const char* folder : {"scenarios", "tests/negative/scenario", "tests/fuzz/scenario_corpus",
                             "tests/fuzz/corpus"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(kSourceDir) / folder)) {
      if (entry.is_regular_file() && entry.path().extension() == ".yaml") {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> result;
  for (const fs::path& file : files) {
    result.push_back(read_file(file, kMaxFileBytes));
  }
  return result;
}

// exercise() aborts when a promise is broken, so reaching the end is the result.
TEST(FuzzScenario, EveryFileKeepsThePromisesOfTheReader) {
  const auto all = texts();
  ASSERT_GE(all.size(), 100U);
  for (const std::string& text : all) {
    exercise(text);
  }
}

TEST(FuzzScenario, EveryPrefixKeepsThePromisesOfTheReader) {
  for (const std::string& text : texts()) {
    for (std::size_t length = 0; length < text.size(); length += 1 + text.size() / 32) {
      exercise(text.substr(0, length));
    }
  }
}

// Lines dropped, doubled or joined to those of another file: mostly still YAML, rarely right.
TEST(FuzzScenario, MixedLinesKeepThePromisesOfTheReader) {
  constexpr std::uint64_t kSeed = 20'261'121;
  constexpr int kMixtures = 400;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::vector<std::string> lines;
  for (const std::string& text : texts()) {
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1);
      lines.push_back(text.substr(begin, end + 1 - begin));
      begin = end + 1;
    }
  }
  RandomStream stream(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < kMixtures; ++i) {
    std::string mixture = "format: orrery/1\n";
    const std::uint64_t count = 1 + stream.uniform_int(40);
    for (std::uint64_t line = 0; line < count; ++line) {
      mixture += lines[stream.uniform_int(lines.size())];
    }
    exercise(mixture);
  }
}

}  // namespace
}  // namespace orrery::scenario
