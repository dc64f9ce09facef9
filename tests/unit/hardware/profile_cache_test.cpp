#include "sim/step/hardware/profile_cache.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "sim/base/error.hpp"
#include "tests/unit/hardware/profile_files.hpp"

namespace orrery::hardware {
namespace {

namespace fs = std::filesystem;

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
