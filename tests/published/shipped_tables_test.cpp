// Checks that the tables in the profiles are what the commands make of the published data today.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/validate/measured/layout_groups.hpp"
#include "sim/validate/validate.hpp"
#include "tests/checkout.hpp"

namespace orrery::validate::test {
namespace {

namespace fs = std::filesystem;

const fs::path kScenarios = fs::path(kSourceDir) / "scenarios";

std::string shipped(const char* name) {
  constexpr std::size_t kMost = std::size_t{1} << 20U;
  return read_file(kScenarios / "profiles" / name, kMost);
}

// The lines that hold figures: comments name the files as they were typed.
std::string figures(const std::string& text, const char* from) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.substr(at);
}

TEST(ShippedTables, StepsOfTheBandsAreThoseOfTheCommand) {
  Diagnostics diagnostics;
  const auto validation = validate_files({kScenarios / "published/measured_runs.yaml",
                                          kScenarios / "published/fresh/measured_runs.yaml",
                                          kScenarios / "published/third/measured_runs.yaml",
                                          kScenarios / "published/hybrid/measured_runs.yaml"},
                                         {}, diagnostics);
  ASSERT_TRUE(validation) << to_string(diagnostics);
  EXPECT_EQ(evaluate::to_csv(evidence_of(*validation)), shipped("evidence/steps.csv"))
      << "orrery validate --evidence makes it anew";
  const BandCount count = band_count(validation->rows);
  const double inside = static_cast<double>(count.within) / static_cast<double>(count.steps);
  EXPECT_GT(inside, 0.75);
  EXPECT_LT(inside, 0.90);
  EXPECT_LT(count.width, 0.35);
}

TEST(ShippedTables, ErrorsOfLayoutsAreThoseOfTheCommand) {
  Diagnostics diagnostics;
  const std::vector<fs::path> files = {kScenarios / "published/measured_runs.yaml"};
  const auto groups = layout_groups(files, {}, diagnostics);
  ASSERT_TRUE(groups) << to_string(diagnostics);
  EXPECT_EQ(figures(plan::to_yaml(layout_errors(*groups, files)), "\ngroups:"),
            figures(shipped("plan/layout_errors.yaml"), "\ngroups:"))
      << "orrery validate --layouts --yaml makes it anew";
}

}  // namespace
}  // namespace orrery::validate::test
