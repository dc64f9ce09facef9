#include "sim/scenario/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/file.hpp"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> shipped_scenarios() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(ORRERY_SOURCE_DIR "/scenarios")) {
    if (entry.is_regular_file() && entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(LoadScenario, EveryShippedScenarioLoadsWithoutDiagnostics) {
  const auto files = shipped_scenarios();
  ASSERT_GE(files.size(), 10U);
  for (const fs::path& file : files) {
    Diagnostics diagnostics;
    const auto scenario = load_file(file, diagnostics);
    EXPECT_TRUE(scenario.has_value()) << file;
    EXPECT_EQ(to_string(diagnostics), "") << file;
    ASSERT_TRUE(scenario.has_value());
    EXPECT_FALSE(scenario->expect.empty()) << file;
    EXPECT_EQ(scenario->sha256, sha256_hex(read_file(file, 1U << 20U)));
  }
}

}  // namespace
}  // namespace orrery::scenario
