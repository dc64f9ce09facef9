#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/step/hardware/profile_cache.hpp"
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

std::string tiny_with_power(std::string_view watts) {
  return replaced(kTinyGpu, "value: 200,", "value: " + std::string(watts) + ",");
}

double power_of(const ProfileSearch& search, std::string_view name = "tiny") {
  Diagnostics diagnostics;
  const auto profile = load_gpu_profile(name, search, kWhere, "cluster.gpu", diagnostics);
  EXPECT_TRUE(profile.has_value()) << to_string(diagnostics);
  return profile ? profile->power_watts.value() : 0.0;
}

// As if nobody had written to the file for an hour; its inode was changed just now all the same.
void age(const fs::path& file) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

TEST(ProfileCache, SeesAnEditOfTheSameSizeInTheSameSecond) {
  const ProfileFolder folder;
  const ProfileSearch search = folder.search();
  for (const std::string_view watts : {"200", "300", "400"}) {
    folder.write("gpu/tiny.yaml", tiny_with_power(watts));
    EXPECT_EQ(power_of(search), std::stod(std::string(watts)));
  }
}

TEST(ProfileCache, SeesAnEditThatRestoresTheTimeOfTheFile) {
  const ProfileFolder folder;
  const ProfileSearch search = folder.search();
  const fs::path file = folder.write("gpu/tiny.yaml", tiny_with_power("200"));
  age(file);
  const auto time = fs::last_write_time(file);
  EXPECT_EQ(power_of(search), 200.0);
  folder.write("gpu/tiny.yaml", tiny_with_power("300"));
  fs::last_write_time(file, time);
  EXPECT_EQ(power_of(search), 300.0);
}

TEST(ProfileCache, AnErrorIsForgottenOnceItIsMended) {
  const ProfileFolder folder;
  const ProfileSearch search = folder.search();
  folder.write("gpu/tiny.yaml", tiny_with_power("-20"));
  for (int i = 0; i < 2; ++i) {  // and told each time until then
    Diagnostics diagnostics;
    EXPECT_FALSE(load_gpu_profile("tiny", search, kWhere, "cluster.gpu", diagnostics).has_value());
    EXPECT_TRUE(diagnostics.has_errors());
  }
  folder.write("gpu/tiny.yaml", tiny_with_power("200"));
  EXPECT_EQ(power_of(search), 200.0);
}

TEST(ProfileCache, AFileThatBreaksOrGoesIsNotRemembered) {
  const ProfileFolder folder;
  const ProfileSearch search = folder.search();
  const fs::path file = folder.write("gpu/tiny.yaml", kTinyGpu);
  EXPECT_EQ(power_of(search), 200.0);
  folder.write("gpu/tiny.yaml", tiny_with_power("-20"));
  Diagnostics broken;
  EXPECT_FALSE(load_gpu_profile("tiny", search, kWhere, "cluster.gpu", broken).has_value());
  fs::remove(file);
  Diagnostics gone;
  EXPECT_FALSE(load_gpu_profile("tiny", search, kWhere, "cluster.gpu", gone).has_value());
  EXPECT_NE(to_string(gone).find("no GPU profiles were found"), std::string::npos)
      << to_string(gone);
}

TEST(ProfileCache, TwoNamesOfOneFileAreToldApartAndBothSeeEdits) {
  const ProfileFolder folder;
  const ProfileSearch search = folder.search();
  const fs::path file = folder.write("gpu/tiny.yaml", kTinyGpu);
  const fs::path link = folder.path() / "link.yaml";
  fs::create_symlink(file, link);
  EXPECT_EQ(power_of(search), 200.0);
  EXPECT_EQ(power_of(search, link.string()), 200.0);
  folder.write("gpu/tiny.yaml", tiny_with_power("-20"));
  for (const fs::path& name : {file, link}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(load_gpu_profile(name.string(), search, kWhere, "cluster.gpu", diagnostics));
    EXPECT_EQ(to_string(diagnostics).find(name.string()), 0U) << to_string(diagnostics);
  }
}

// A reader that counts how often it is asked, and warns.
class Counted {
 public:
  explicit Counted(std::size_t most) : cache_(most) {}

  int read(const fs::path& file, Diagnostics& diagnostics) {
    const auto made = cache_.read<int>(
        file, diagnostics,
        [this](const yaml::Value& tree, const std::string&, Diagnostics& problems) {
          problems.warning(tree.where, "", "worth knowing");
          return std::optional(++made_);
        });
    return made == nullptr ? 0 : *made;
  }

  int read(const fs::path& file) {
    Diagnostics ignored;
    return read(file, ignored);
  }

 private:
  ProfileCache cache_;
  int made_ = 0;
};

TEST(ProfileCache, WarningsAreToldEachTime) {
  const ProfileFolder folder;
  const fs::path file = folder.write("gpu/a.yaml", "a: 1\n");
  Counted counted(4);
  for (int i = 0; i < 3; ++i) {
    Diagnostics diagnostics;
    EXPECT_EQ(counted.read(file, diagnostics), 1);
    EXPECT_EQ(diagnostics.all().size(), 1U);
  }
}

TEST(ProfileCache, AFileThatWasTouchedIsNotReadAnew) {
  const ProfileFolder folder;
  const fs::path file = folder.write("gpu/a.yaml", "a: 1\n");
  Counted counted(4);
  EXPECT_EQ(counted.read(file), 1);
  age(file);
  EXPECT_EQ(counted.read(file), 1);
}

TEST(ProfileCache, KeepsThoseThatWereAskedForLast) {
  const ProfileFolder folder;
  const fs::path a = folder.write("gpu/a.yaml", "a: 1\n");
  const fs::path b = folder.write("gpu/b.yaml", "b: 1\n");
  const fs::path c = folder.write("gpu/c.yaml", "c: 1\n");
  Counted counted(2);
  EXPECT_EQ(counted.read(a), 1);
  EXPECT_EQ(counted.read(b), 2);
  EXPECT_EQ(counted.read(a), 1);
  EXPECT_EQ(counted.read(c), 3);  // pushes out b
  EXPECT_EQ(counted.read(a), 1);
  EXPECT_EQ(counted.read(b), 4);
}

TEST(ProfileCache, AFileThatIsNotThereIsAnErrorOfTheSystem) {
  const ProfileFolder folder;
  Counted counted(2);
  EXPECT_THROW((void)counted.read(folder.path() / "none.yaml"), Error);
}

TEST(ProfileCache, ThreadsMayShareIt) {
  const ProfileFolder folder;
  const ProfileSearch search = folder.search();
  folder.write("gpu/tiny.yaml", kTinyGpu);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&search] {
      for (int j = 0; j < 50; ++j) {
        EXPECT_EQ(power_of(search), 200.0);
      }
    });
  }
}

TEST(ProfileCache, TablesOfTheSameFilesAreTheSame) {
  const ProfileSearch search = default_search({});
  const auto tables = [&search] {
    NetworkSpec network;
    Diagnostics diagnostics;
    EXPECT_TRUE(load_collective_tables(network, search, kWhere, "collectives", diagnostics));
    return network.tables;
  };
  const auto first = tables();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first, tables());
}

}  // namespace
}  // namespace orrery::hardware
