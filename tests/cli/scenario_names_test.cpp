// A shipped scenario may be named in place of a file, by every command that reads one.

#include <nlohmann/json.hpp>

#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using ScenarioNamesTest = CliTest;
using Json = nlohmann::json;

TEST_F(ScenarioNamesTest, EveryCommandThatReadsAScenarioTakesItsName) {
  for (const char* command :
       {"run", "check", "explain mfu", "export --format csv", "compare one-gpu",
        "sweep --vary batch.global=8,16", "plan --finalists 1"}) {
    const Finished finished = run(std::string(command) + " one-gpu");
    EXPECT_EQ(finished.code, 0) << command << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, "orrery: one-gpu is ")) << command << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, "/scenarios/one-gpu.yaml\n")) << command << "\n" << finished.err;
  }
}

TEST_F(ScenarioNamesTest, TheAnswerIsThatOfTheFile) {
  const Finished by_name = run("run --json one-gpu.yaml");
  const Finished by_path =
      run(std::string("run --json '") + kSourceDir + "/scenarios/one-gpu.yaml'");
  ASSERT_EQ(by_name.code, 0) << by_name.err;
  EXPECT_EQ(Json::parse(by_name.out)["metrics"], Json::parse(by_path.out)["metrics"]);
  EXPECT_EQ(by_path.err, "") << "a file that was named needs no word about it";
  EXPECT_EQ(run("run -q one-gpu").err, "");
}

TEST_F(ScenarioNamesTest, AFileOfThatNameGoesFirst) {
  write("one-gpu", small_scenario());
  write("mpt-7b.yaml", small_scenario());
  for (const char* name : {"one-gpu", "mpt-7b.yaml"}) {
    const Finished finished = run(std::string("run ") + name);
    EXPECT_EQ(finished.err, "") << name;
    EXPECT_TRUE(finished.out.starts_with("Small\n")) << finished.out;
  }
  EXPECT_TRUE(has(run("run mpt-7b").err, "/scenarios/mpt-7b.yaml"));
}

TEST_F(ScenarioNamesTest, AFolderOfThatNameDoesNot) {
  std::filesystem::create_directories(path("one-gpu"));
  EXPECT_EQ(run("run one-gpu").code, 0);
  std::filesystem::create_directories(path("results"));
  EXPECT_TRUE(has(run("run results").err, "results: "));
}

TEST_F(ScenarioNamesTest, UnknownNamesGetTheNearest) {
  const auto problem = [this](const std::string& words) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.code, 6) << words;
    EXPECT_EQ(finished.out, "") << words;
    return finished.err;
  };
  EXPECT_EQ(problem("run one-gpus"),
            "orrery: one-gpus: no such file and no shipped scenario, did you mean one-gpu?\n");
  EXPECT_EQ(problem("plan llama3-405b"),
            "orrery: llama3-405b: no such file and no shipped scenario, did you mean "
            "llama3-405b-16k, llama3-405b-flapping-nics, llama3-405b-half-nics?\n");
  EXPECT_EQ(problem("sweep --vary capacity.spares=0,8 on-gpu.yaml"),
            "orrery: on-gpu.yaml: no such file and no shipped scenario, did you mean one-gpu?\n");
  EXPECT_EQ(problem("explain mfu xyzzy"),
            "orrery: xyzzy: no such file and no shipped scenario (orrery list scenarios shows "
            "all)\n");
}

// Paths and words with another ending are no names: who reads them says what is wrong.
TEST_F(ScenarioNamesTest, PathsAreNoNames) {
  for (const char* word : {"./one-gpu", "nowhere/one-gpu.yaml", "rank0.json.gz"}) {
    const Finished finished = run(std::string("run ") + word);
    EXPECT_EQ(finished.code, 6) << word;
    EXPECT_FALSE(has(finished.err, "shipped")) << finished.err;
    EXPECT_TRUE(has(finished.err, word)) << finished.err;
  }
}

TEST_F(ScenarioNamesTest, OneUnknownNameDoesNotKeepTheOthersFromBeingChecked) {
  const Finished finished = run("check one-gpus mpt-7b");
  EXPECT_EQ(finished.code, 6);
  EXPECT_TRUE(has(finished.err, "one-gpus: no such file"));
  EXPECT_TRUE(has(finished.out, "pass"));
}

TEST_F(ScenarioNamesTest, TheListHoldsThemAllAndShellsOfferThem) {
  const Json list = Json::parse(run("list --json scenarios").out);
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    files += entry.path().extension() == ".yaml" ? 1U : 0U;
  }
  EXPECT_EQ(list["entries"].size(), files);
  for (const Json& entry : list["entries"]) {
    EXPECT_FALSE(entry["summary"].get<std::string>().empty()) << entry;
    EXPECT_TRUE(std::filesystem::exists(entry["source"].get<std::string>())) << entry;
  }
  for (const char* command :
       {"run", "check", "explain mfu", "export", "sweep", "plan", "compare"}) {
    EXPECT_EQ(run("completion --candidates bash -- " + std::string(command) + " one-g").out,
              "files\none-gpu\n")
        << command;
  }
  EXPECT_EQ(run("completion --candidates bash -- run ./").out, "files\n");
}

}  // namespace
}  // namespace orrery::cli::testing
