// Every tests/negative/<stage>/**/*.yaml must give exactly the diagnostics of the .expected file
// beside it, one per line, with the path relative to tests/negative. A stage is a folder with a
// function that reads one file and returns its diagnostics; add a row to kStages for a new one.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = std::string(kSourceDir) + "/tests/negative";

struct Stage {
  std::string_view folder;
  // Reads `path`, shown as `name`, and returns everything that is wrong with it.
  Diagnostics (*read)(const fs::path& path, const std::string& name);
};

Diagnostics read_as_yaml(const fs::path& path, const std::string& name) {
  Diagnostics diagnostics;
  const auto value = yaml::parse_file(path, yaml::Limits{}, diagnostics, name);
  EXPECT_FALSE(value.has_value()) << name << " is accepted";
  return diagnostics;
}

// Files with warnings only are accepted.
Diagnostics read_as_scenario(const fs::path& path, const std::string& name) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(read_file(path, kMaxBytes), name, diagnostics);
  EXPECT_NE(scenario.has_value(), diagnostics.has_errors()) << name;
  EXPECT_FALSE(diagnostics.all().empty()) << name << " has nothing to say";
  return diagnostics;
}

constexpr std::array kStages = {Stage{"yaml", read_as_yaml}, Stage{"scenario", read_as_scenario}};

std::vector<fs::path> files_with_extension(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Negative, EveryFileGivesItsExactDiagnostics) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
  for (const Stage& stage : kStages) {
    const auto files = files_with_extension(fs::path(kRoot) / stage.folder, ".yaml");
    EXPECT_FALSE(files.empty()) << "no files for stage " << stage.folder;
    for (const fs::path& file : files) {
      const std::string name = fs::relative(file, kRoot).generic_string();
      SCOPED_TRACE(name);
      const Diagnostics diagnostics = stage.read(file, name);
      fs::path expected = file;
      expected.replace_extension(".expected");
      ASSERT_TRUE(fs::exists(expected)) << "no .expected; it printed:\n" << to_string(diagnostics);
      EXPECT_EQ(to_string(diagnostics), read_file(expected, kMaxBytes));
    }
  }
}

// A file that no stage reads would test nothing.
TEST(Negative, EveryFileBelongsToAStageAndEveryExpectationToAFile) {
  for (const fs::path& file : files_with_extension(kRoot, ".yaml")) {
    const std::string folder = fs::relative(file, kRoot).begin()->string();
    const bool known = std::any_of(kStages.begin(), kStages.end(),
                                   [&](const Stage& stage) { return stage.folder == folder; });
    EXPECT_TRUE(known) << file << " lies in no stage's folder";
  }
  for (fs::path file : files_with_extension(kRoot, ".expected")) {
    file.replace_extension(".yaml");
    EXPECT_TRUE(fs::exists(file)) << file << " is missing";
  }
}

}  // namespace
}  // namespace orrery
