// What `cmake --install` has copied works from a folder that nobody has named before.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sim/base/files/file.hpp"
#include "tests/support.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kInstalled = ORRERY_INSTALLED;
const fs::path kSource = ORRERY_SOURCE_DIR;
const fs::path kBuild = ORRERY_BINARY_DIR;

struct Finished {
  int code = -1;
  std::string out;
  std::string err;
};

class InstallTest : public ::testing::Test {
 protected:
  // In a folder far from everything, with nothing in the environment.
  [[nodiscard]] Finished run(const std::string& command) const {
    const std::string line = fmt::format(
        "cd '{0}' && env -i PATH=/usr/bin:/bin HOME='{0}' sh -c \"$(cat <<'END'\n{1}\nEND\n)\" "
        "> out 2> err",
        folder_.string(), command);
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("err")};
  }

  [[nodiscard]] std::string read(const std::string& name) const { return folder_.read(name); }

  [[nodiscard]] fs::path folder() const { return folder_; }

 private:
  TempFolder folder_;
};

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

std::string program(const fs::path& prefix = kInstalled) {
  return quoted(prefix / "bin" / "orrery");
}

fs::path scenarios() { return kInstalled / "share" / "orrery" / "scenarios"; }

TEST_F(InstallTest, MainScenarioGivesTheSameAnswerFromThere) {
  const std::string name = "llama3-405b-16k.yaml";
  const Finished installed = run(program() + " run --trials 20 " + quoted(scenarios() / name));
  EXPECT_EQ(installed.code, 0) << installed.err;
  const Finished built =
      run(program(kBuild) + " run --trials 20 " + quoted(kSource / "scenarios" / name));
  EXPECT_EQ(installed.out, built.out);
  EXPECT_NE(installed.out.find("ONE STEP"), std::string::npos);
}

TEST_F(InstallTest, ProfilesAreFoundBesideTheProgramForAScenarioAnywhere) {
  const Finished copied = run("cp " + quoted(scenarios() / "one-gpu.yaml") + " mine.yaml && " +
                              program() + " run mine.yaml");
  EXPECT_EQ(copied.code, 0) << copied.err;
  const Json list = Json::parse(run(program() + " list --json gpus").out);
  for (const Json& entry : list["entries"]) {
    EXPECT_TRUE(entry["source"].get<std::string>().starts_with(kInstalled.string())) << entry;
  }
  EXPECT_GE(list["entries"].size(), 19U);
}

TEST_F(InstallTest, ShippedScenariosAreFoundByTheirNames) {
  const Finished named = run(program() + " run --json one-gpu");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.err,
            fmt::format("orrery: one-gpu is {}\n", (scenarios() / "one-gpu.yaml").string()));
  EXPECT_EQ(named.out, run(program() + " run --json " + quoted(scenarios() / "one-gpu.yaml")).out);
}

TEST_F(InstallTest, ALinkToTheProgramFindsThemToo) {
  const Finished linked =
      run("ln -s " + program() + " here && ./here run " + quoted(scenarios() / "one-gpu.yaml"));
  EXPECT_EQ(linked.code, 0) << linked.err;
}

TEST_F(InstallTest, DoctorFindsItWhole) {
  const Finished finished = run(program() + " doctor --json");
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  const Json report = Json::parse(finished.out);
  EXPECT_EQ(report["schema"], "orrery-doctor/1");
  EXPECT_EQ(report["healthy"], true);
  ASSERT_EQ(report["profiles"].size(), 1U);
  EXPECT_EQ(fs::path(report["profiles"][0]["path"].get<std::string>()), scenarios() / "profiles");
  EXPECT_EQ(fs::path(report["scenarios"].get<std::string>()), scenarios());
}

TEST_F(InstallTest, EveryCommandHasItsPageAndShellsTheirScripts) {
  const Json table = Json::parse(run(program() + " man --json").out);
  std::set<std::string> pages = {"orrery"};
  for (const Json& command : table["commands"]) {
    const std::string name = command["name"];
    if (ORRERY_HAS_GUI || (name != "gui" && name != "report")) {
      pages.insert("orrery-" + name);
    }
  }
  EXPECT_GE(pages.size(), 15U);
  for (const std::string& page : pages) {
    const fs::path file = kInstalled / "share" / "man" / "man1" / (page + ".1");
    EXPECT_TRUE(fs::exists(file) || fs::exists(file.string() + ".gz")) << page;
  }
  for (const std::string script :
       {"bash-completion/completions/orrery", "zsh/vendor-completions/_orrery",
        "fish/vendor_completions.d/orrery.fish"}) {
    EXPECT_TRUE(fs::exists(kInstalled / "share" / script)) << script;
  }
}

TEST_F(InstallTest, NoTextNamesTheFolderOfTheBuild) {
  const Finished found =
      run(fmt::format("grep -rl -e '{}' -e '{}' {} {}", kSource.string(), kBuild.string(),
                      quoted(kInstalled / "share"), quoted(kInstalled / "lib" / "cmake")));
  EXPECT_EQ(found.out, "");
}

TEST_F(InstallTest, BillOfMaterialsIsSpdx) {
  constexpr std::size_t kMostBytes = 1'000'000;
  const Json bill =
      Json::parse(read_file(kInstalled / "share/doc/orrery/orrery.spdx.json", kMostBytes));
  EXPECT_EQ(bill["spdxVersion"], "SPDX-2.3");
  EXPECT_EQ(bill["dataLicense"], "CC0-1.0");
  EXPECT_TRUE(bill["creationInfo"]["created"].is_string());
  std::set<std::string> known = {"SPDXRef-DOCUMENT"};
  std::map<std::string, std::string> licences;
  for (const Json& package : bill["packages"]) {
    EXPECT_TRUE(known.insert(package["SPDXID"]).second) << package;
    licences[package["name"]] = package["licenseConcluded"];
    for (const auto* field : {"versionInfo", "downloadLocation", "licenseDeclared"}) {
      EXPECT_FALSE(package[field].get<std::string>().empty()) << package << field;
    }
  }
  std::set<std::string> of_program;  // what `orrery` itself links
  for (const Json& relation : bill["relationships"]) {
    EXPECT_TRUE(known.contains(relation["spdxElementId"])) << relation;
    EXPECT_TRUE(known.contains(relation["relatedSpdxElement"])) << relation;
    if (relation["spdxElementId"] == "SPDXRef-Program-orrery") {
      of_program.insert(relation["relatedSpdxElement"]);
    }
  }
  EXPECT_TRUE(of_program.contains("SPDXRef-Library-fmt"));
  EXPECT_TRUE(of_program.contains("SPDXRef-Library-yaml-cpp"));
  EXPECT_FALSE(of_program.contains("SPDXRef-Library-QCustomPlot"));
  const std::string left_out = run(program() + " doctor --json").out;
  EXPECT_EQ(of_program.contains("SPDXRef-Library-tomlplusplus"),
            left_out.find("import of TOML") == std::string::npos);
  EXPECT_EQ(licences.at("orrery"), "Apache-2.0");
  if (ORRERY_HAS_GUI) {
    EXPECT_EQ(licences.at("orrery-gui"), "GPL-3.0-or-later");
  }
}

TEST_F(InstallTest, MenuEntryIsSound) {
  const fs::path entry = kInstalled / "share" / "applications" / "orrery-gui.desktop";
  if (!ORRERY_HAS_GUI || std::system("command -v desktop-file-validate >/dev/null") != 0) {
    GTEST_SKIP() << "no desktop program, or no desktop-file-validate";
  }
  const Finished checked = run("desktop-file-validate " + quoted(entry));
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_EQ(checked.out, "");
  EXPECT_TRUE(fs::exists(kInstalled / "share/icons/hicolor/scalable/apps/orrery-gui.svg"));
}

TEST_F(InstallTest, AnotherProjectUsesTheLibraries) {
  if (ORRERY_SANITIZED) {
    GTEST_SKIP() << "the libraries want the sanitizers' own";
  }
  const std::string build =
      fmt::format("'{}' -S {} -B build {} -DCMAKE_PREFIX_PATH={} && '{}' --build build",
                  ORRERY_CMAKE, quoted(kSource / "tests" / "install" / "downstream"),
                  ORRERY_CONFIGURE, quoted(kInstalled), ORRERY_CMAKE);
  const Finished built = run(build);
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  const Finished asked = run("build/downstream");
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Json answer = Json::parse(
      run(program() + " run --json " + quoted(scenarios() / "llama3-70b-64h100.yaml")).out);
  EXPECT_EQ(std::stod(asked.out), answer["metrics"]["step_time_s"]["value"].get<double>());
}

}  // namespace
}  // namespace orrery
