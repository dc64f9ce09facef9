#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/checkout.hpp"
#include "tests/unit/hardware/profile_files.hpp"

namespace orrery::hardware {
namespace {

namespace fs = std::filesystem;

std::string load_error(std::string_view name, const ProfileSearch& search) {
  Diagnostics diagnostics;
  EXPECT_FALSE(load_gpu_profile(name, search, kWhere, "cluster.gpu", diagnostics).has_value());
  return to_string(diagnostics);
}

TEST(ProfileSearch, FindsProfilesBesideAndAboveTheScenario) {
  const ProfileFolder folder;
  fs::create_directories(folder.root() / "deep" / "down");
  const ProfileSearch search = default_search(folder.root() / "deep" / "down" / "run.yaml");
  ASSERT_FALSE(search.directories.empty());
  EXPECT_EQ(search.directories.front(), folder.path());
}

TEST(ProfileSearch, TheProgramsOwnProfilesAreFoundFromAnywhere) {
  const ProfileFolder folder;
  const std::vector<std::string> names =
      list_gpu_profiles(default_search(folder.root() / "run.yaml"));
  EXPECT_NE(std::find(names.begin(), names.end(), "h100-sxm-80gb"), names.end());
}

TEST(ProfileSearch, TheEnvironmentComesFirst) {
  const ProfileFolder folder;
  ASSERT_EQ(setenv("ORRERY_PROFILES", ("/nowhere:" + folder.path().string()).c_str(), 1), 0);
  const ProfileSearch search = default_search({});
  ASSERT_EQ(unsetenv("ORRERY_PROFILES"), 0);
  ASSERT_FALSE(search.directories.empty());
  EXPECT_EQ(search.directories.front(), folder.path());
}

TEST(ProfileSearch, TheFirstDirectoryWins) {
  const ProfileFolder folder;
  folder.write("gpu/h100-sxm-80gb.yaml", replaced(kTinyGpu, "name: tiny", "name: h100-sxm-80gb"));
  ProfileSearch search = folder.search();
  search.directories.push_back(fs::path(kSourceDir) / "scenarios" / "profiles");
  Diagnostics diagnostics;
  const auto profile =
      load_gpu_profile("h100-sxm-80gb", search, kWhere, "cluster.gpu", diagnostics);
  ASSERT_TRUE(profile.has_value()) << to_string(diagnostics);
  EXPECT_EQ(profile->full_name, "Tiny GPU");
  EXPECT_EQ(list_gpu_profiles(search).size(), 32U);
}

TEST(ProfileSearch, TakesAPathBesideTheScenario) {
  const ProfileFolder folder;
  folder.write("gpu/measured-here.yaml", kTinyGpu);
  const SourceLocation where = {(folder.root() / "run.yaml").string(), 3, 8};
  Diagnostics diagnostics;
  const auto profile =
      load_gpu_profile("profiles/gpu/measured-here.yaml", {}, where, "cluster.gpu", diagnostics);
  ASSERT_TRUE(profile.has_value()) << to_string(diagnostics);
  EXPECT_EQ(profile->name, "tiny");
  EXPECT_EQ(profile->file, (folder.path() / "gpu" / "measured-here.yaml").string());
}

TEST(ProfileSearch, AMissingPathIsNamed) {
  EXPECT_EQ(load_error("my/card.yaml", {}),
            "scenario.yaml:7:8: error: cluster.gpu: there is no file `my/card.yaml` (the name of a "
            "GPU profile or the path of a file)\n");
}

TEST(ProfileSearch, AnUnknownNameGetsTheNearestAndTheList) {
  const ProfileFolder folder;
  folder.write("gpu/tiny.yaml", kTinyGpu);
  folder.write("gpu/large-80gb.yaml", kTinyGpu);
  folder.write("gpu/large-40gb.yaml", kTinyGpu);
  const std::string known = " (known: large-40gb, large-80gb, tiny, or the path of a file)\n";
  EXPECT_EQ(load_error("large-8gb", folder.search()),
            "scenario.yaml:7:8: error: cluster.gpu: `large-8gb` is not a known GPU profile, did "
            "you mean `large-80gb`?" +
                known);
  EXPECT_EQ(load_error("lar", folder.search()),
            "scenario.yaml:7:8: error: cluster.gpu: `lar` is not a known GPU profile, did you mean "
            "`large-40gb` or `large-80gb`?" +
                known);
  EXPECT_EQ(load_error("quantum", folder.search()),
            "scenario.yaml:7:8: error: cluster.gpu: `quantum` is not a known GPU profile" + known);
}

TEST(ProfileSearch, SoftwareHasItsOwnNames) {
  const ProfileFolder folder;
  folder.write("software/stack.yaml", "format: orrery-software/1\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(
      load_software_profile("stak", folder.search(), kWhere, "software", diagnostics).has_value());
  EXPECT_EQ(to_string(diagnostics),
            "scenario.yaml:7:8: error: software: `stak` is not a known software profile, did you "
            "mean `stack`? (known: stack, or the path of a file)\n");
}

TEST(ProfileSearch, NoDirectoryAtAllSaysHowToSetOne) {
  EXPECT_EQ(load_error("h100-sxm-80gb", {}),
            "scenario.yaml:7:8: error: cluster.gpu: no GPU profiles were found (set "
            "ORRERY_PROFILES to a folder that holds gpu/ and software/)\n");
}

TEST(ProfileSearch, ACopyMustNotKeepTheOldName) {
  const ProfileFolder folder;
  const fs::path file = folder.write("gpu/copy.yaml", kTinyGpu);
  EXPECT_EQ(load_error("copy", folder.search()),
            file.string() + ":2:7: error: name: is `tiny` in the file of `copy` (name: copy)\n");
}

}  // namespace
}  // namespace orrery::hardware
