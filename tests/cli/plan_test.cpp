// `orrery plan`: the page, the winner as a file, resuming, Ctrl-C, several processes.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using Json = nlohmann::json;
using PlanTest = CliTest;

std::string planned() {
  return small_scenario() + R"(plan:
  search: {pipeline: [1, 2], tensor: [1, 2, 4], micro: [1, 2], sharding: [zero1, zero3]}
  fix: [context, shard_group, offload, recompute, schedule, sequence_parallel]
  finalists: 4
)";
}

std::string without_pipelines() {
  std::string text = planned();
  text.replace(text.find("pipeline: [1, 2]"), 16, "pipeline: [1]");
  return text;
}

TEST_F(PlanTest, ShowsOnePageWithinAHundredColumns) {
  write("small.yaml", planned());
  const Finished done = run("plan small.yaml", "LC_ALL=C");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("Small: the plan with the shortest step"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("RANKING"), std::string::npos) << done.out;
  std::size_t begin = 0;
  while (begin < done.out.size()) {
    const std::size_t end = done.out.find('\n', begin);
    EXPECT_LE(end - begin, 100U) << done.out;
    begin = end + 1;
  }
}

TEST_F(PlanTest, WritesTheWinnerAsAScenarioThatRunsWithTheSameNumbers) {
  write("small.yaml", "# what we train\n" + planned());
  const Finished done = run("plan small.yaml --objective cost --json -o best.yaml -o plan.json");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_NE(read("best.yaml").find("# what we train"), std::string::npos);
  const Json plan = Json::parse(read("plan.json"));
  const Finished again = run("run --json best.yaml");
  ASSERT_EQ(again.code, 0) << again.err;
  const Json alone = Json::parse(again.out);
  for (const auto& [name, metric] : plan["finalists"][0]["metrics"].items()) {
    EXPECT_EQ(metric["value"], alone["metrics"][name]["value"]) << name;
  }
}

TEST_F(PlanTest, TakesTheCommandLineBeforeTheFile) {
  write("small.yaml", planned());
  const Finished done =
      run("plan small.yaml --fix tensor,pipeline --search micro=1 --search "
          "'recompute=none,{layers: 4}' "
          "--finalists 3 --headroom 2GiB --json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json plan = Json::parse(done.out);
  for (const Json& finalist : plan["finalists"]) {
    EXPECT_EQ(finalist["axes"]["tp"], "2");
    EXPECT_EQ(finalist["axes"]["micro"], "1");
    EXPECT_NE(finalist["axes"]["recompute"], "selective");
  }
  EXPECT_EQ(plan["constraints"]["memory_headroom_bytes"], 2147483648.0);
}

TEST_F(PlanTest, RefusesWhatMakesNoSense) {
  write("small.yaml", planned());
  const Finished axis = run("plan small.yaml --search tensr=1");
  EXPECT_EQ(axis.code, 2);
  EXPECT_NE(axis.err.find("`tensr` is no axis, did you mean `tensor`?"), std::string::npos)
      << axis.err;
  EXPECT_EQ(run("plan small.yaml --search tensor").code, 2);
  EXPECT_EQ(run("plan small.yaml --budget 3").code, 3);
  EXPECT_EQ(run("plan small.yaml --pareto cost").code, 2);
  EXPECT_EQ(run("plan small.yaml --resume").code, 2);
  EXPECT_EQ(run("plan small.yaml -o a.yaml -o b.yaml").code, 2);
  const Finished value = run("plan small.yaml --search spares=many");
  EXPECT_EQ(value.code, 3);
  EXPECT_NE(value.err.find("--search: error: capacity.spares: `many`"), std::string::npos)
      << value.err;
  const Finished deadline = run("plan small.yaml --objective fewest_gpus");
  EXPECT_EQ(deadline.code, 3);
  EXPECT_NE(deadline.err.find("fewest_gpus needs a deadline"), std::string::npos) << deadline.err;
}

// A recipe of the stack hides the collectives of tensor parallelism; this scenario follows none.
std::string plain_tensor() {
  return R"(format: orrery/1
name: Plain
model: llama3-8b
cluster: {gpu: h100-sxm-80gb, nodes: 1}
layout: {tensor: 4, sequence_parallel: true, sharding: zero1}
batch: {global: 64}
software: {name: megatron-bridge, recipe: plain}
plan:
  fix: [tensor, sequence_parallel, context, pipeline, schedule, virtual_stages, sharding, recompute,
        offload]
)";
}

TEST_F(PlanTest, SwitchesOnWhatRecipesOfTheStackHave) {
  write("plain.yaml", plain_tensor());
  const Finished done = run("plan plain.yaml --json -o best.yaml -o plan.json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json plan = Json::parse(read("plan.json"));
  EXPECT_EQ(plan["switches"]["changes"]["overlap.tensor"], "true");
  const double step = plan["finalists"][0]["metrics"]["step_time_s"]["value"];
  EXPECT_LT(step, plan["switches"]["step_time_s_before"].get<double>());
  const Json alone = Json::parse(run("run --json best.yaml").out);
  EXPECT_EQ(alone["metrics"]["step_time_s"]["value"], step);
  const Finished page = run("plan plain.yaml");
  EXPECT_NE(page.out.find("`overlap.tensor: true`"), std::string::npos) << page.out;
}

TEST_F(PlanTest, KeepsTheSwitchesThatAreFixed) {
  write("plain.yaml", plain_tensor());
  const Finished done = run("plan plain.yaml --fix switches --json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json plan = Json::parse(done.out);
  EXPECT_TRUE(plan["switches"]["changes"].empty()) << done.out;
  for (const Json& finalist : plan["finalists"]) {
    EXPECT_FALSE(finalist["changes"].contains("overlap.tensor")) << finalist.dump();
  }
}

TEST_F(PlanTest, ChangesNoMoreKeysThanAreAllowed) {
  write("small.yaml", planned());
  const Finished done = run("plan small.yaml --json --at-most-changes 1");
  EXPECT_EQ(done.code, 0) << done.err;
  const Json plan = Json::parse(done.out);
  EXPECT_EQ(plan["constraints"]["changes_at_most"], 1);
  ASSERT_FALSE(plan["finalists"].empty());
  for (const Json& finalist : plan["finalists"]) {
    int changes = 0;
    for (const auto& [axis, stated] : std::map<std::string, std::string>{
             {"tp", "2"}, {"pp", "1"}, {"micro", "1"}, {"sharding", "zero1"}}) {
      changes += finalist["axes"][axis] != stated ? 1 : 0;
    }
    EXPECT_LE(changes, 1) << finalist["words"];
  }
  EXPECT_EQ(run("plan small.yaml --at-most-changes 0").code, 2);
}

TEST_F(PlanTest, KeepsTheReplicasThatAreStated) {
  std::string text = planned();
  text.replace(text.find("layout: {"), 9, "layout: {data: 8, ");
  write("small.yaml", text);
  const Json plan = Json::parse(run("plan small.yaml --json --keep layout.data").out);
  ASSERT_FALSE(plan["finalists"].empty());
  for (const Json& finalist : plan["finalists"]) {
    EXPECT_EQ(finalist["axes"]["dp"], "8");
  }
  EXPECT_EQ(run("plan small.yaml --keep layout.tensor").code, 2);
  EXPECT_EQ(run("plan small.yaml --keep layout.data --clusters dgx-h100=64").code, 2);
}

// Tensor overlap does nothing in the scenario, whose tensor degree is 1, and much in its plans.
TEST_F(PlanTest, DoesNotWarnOfKeysThatALayoutOfTheSearchMayNeed) {
  std::string text = planned();
  text += "overlap: {tensor: true}\n";
  text.replace(text.find("tensor: 2"), 9, "tensor: 1");
  write("one.yaml", text);
  EXPECT_EQ(run("plan one.yaml").err.find("has no effect"), std::string::npos);
}

TEST_F(PlanTest, RanksTheBestThatItHasFoundWhenItsTimeIsOver) {
  write("small.yaml", small_scenario());
  const Finished done = run("plan small.yaml --time 1ms");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("stopped as asked during the search"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("stopped as asked before a plan was simulated"), std::string::npos)
      << done.out;
  EXPECT_NE(done.out.find("BEST"), std::string::npos) << done.out;
  const Finished whole = run("plan small.yaml --time 10min");
  EXPECT_EQ(whole.out.find("stopped"), std::string::npos) << whole.out;
  EXPECT_EQ(run("plan small.yaml --time 3x").code, 2);
  EXPECT_EQ(run("plan small.yaml --time 0s").code, 2);
}

// What eight of ten such plans lie in, not the luck of one run.
TEST_F(PlanTest, IsAsSureOfTheWinnerAsTheRunIs) {
  write("small.yaml", planned());
  ASSERT_EQ(run("plan small.yaml -o best.yaml -o plan.txt").code, 0);
  const std::string page = run("run best.yaml").out;
  const std::string plan = read("plan.txt");
  const std::size_t at = plan.find("step ", plan.find("BEST"));
  const std::string step = plan.substr(at + 5, plan.find(" in 8 of 10", at) - at - 5);
  EXPECT_NE(page.find(step), std::string::npos) << step << page;
}

// Each machine with its GPUs, network and price; the best one is written with its cluster.
TEST_F(PlanTest, SetsMachinesBesideOneAnother) {
  write("small.yaml", planned());
  const Finished done =
      run("plan small.yaml --objective cost --clusters nebius-h100=8,nebius-b200=8 -o best.yaml "
          "-o plan.json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json plans = Json::parse(read("plan.json"));
  EXPECT_EQ(plans["schema"], "orrery-plan-clusters/1");
  ASSERT_EQ(plans["clusters"].size(), 2U);
  for (const Json& one : plans["clusters"]) {
    EXPECT_EQ(one["plan"]["schema"], "orrery-plan/1");
  }
  const Json& best = plans["clusters"][0];
  const Json& other = plans["clusters"][1];
  EXPECT_LE(best["plan"]["finalists"][0]["value"], other["plan"]["finalists"][0]["value"]);
  const std::string preset = best["preset"];
  EXPECT_NE(read("best.yaml").find("preset: " + preset), std::string::npos) << read("best.yaml");
  const Json alone = Json::parse(run("run --json best.yaml").out);
  EXPECT_EQ(alone["metrics"]["cost_usd"]["value"],
            best["plan"]["finalists"][0]["metrics"]["cost_usd"]["value"]);
  const Finished page =
      run("plan small.yaml --objective cost --clusters nebius-h100=8,nebius-b200=8");
  EXPECT_NE(page.out.find("$4.50 per GPU-hour (2026-10-10)"), std::string::npos) << page.out;
  EXPECT_NE(page.out.find("$8.50 per GPU-hour (2026-10-10)"), std::string::npos) << page.out;
}

TEST_F(PlanTest, RefusesMachinesThatItDoesNotKnow) {
  write("small.yaml", planned());
  EXPECT_EQ(run("plan small.yaml --clusters nebius-h100").code, 2);
  EXPECT_EQ(run("plan small.yaml --clusters nebius-h100=8 --search nodes=1,2").code, 2);
  const Finished done = run("plan small.yaml --clusters nowhere=8");
  EXPECT_EQ(done.code, 3);
  EXPECT_NE(done.out.find("is no machine"), std::string::npos) << done.out << done.err;
}

TEST_F(PlanTest, SaysThatNothingFitsWithExitCodeFour) {
  write("big.yaml", too_big_scenario());
  const Finished done = run("plan big.yaml --search pipeline=1 -o best.yaml");
  EXPECT_EQ(done.code, 4) << done.err;
  EXPECT_NE(done.out.find("fits in memory"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("NEARLY"), std::string::npos) << done.out;
  EXPECT_FALSE(std::filesystem::exists(path("best.yaml")));
}

TEST_F(PlanTest, ResumesFromAJournal) {
  write("small.yaml", planned());
  const Finished whole = run("plan small.yaml --objective cost --json");
  ASSERT_EQ(whole.code, 0) << whole.err;
  int kills = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Finished killed = run("plan small.yaml --objective cost --json --journal j --resume -j 1",
                                "timeout -s KILL " + std::to_string(0.05 + 0.05 * attempt));
    kills += killed.code == 137 || killed.code == 124 ? 1 : 0;
  }
  const Finished resumed = run("plan small.yaml --objective cost --json --journal j --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, whole.out);
  EXPECT_GT(kills, 0);
}

// What the program says, on both streams, when Ctrl-C comes so long after its start.
std::string said_at_ctrl_c(const std::string& out, const std::string& scenario,
                           const std::string& option, const std::string& value,
                           std::chrono::seconds after) {
  const pid_t child = fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    const int descriptor = open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(descriptor, STDOUT_FILENO);
    dup2(descriptor, STDERR_FILENO);
    std::signal(SIGINT, SIG_DFL);
    execl(program().c_str(), program().c_str(), "plan", scenario.c_str(), option.c_str(),
          value.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  std::this_thread::sleep_for(after);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  return read_file(out, std::size_t{1} << 20U);
}

// Months with many failures: seconds for each of the plans.
TEST_F(PlanTest, KeepsTheBestSoFarAtCtrlC) {
  std::string text = planned();
  text.replace(text.find("200000"), 6, "5000000");
  text.replace(text.find("0.05/d"), 6, "2/d");
  write("small.yaml", text);
  const std::string said = said_at_ctrl_c(path("out"), path("small.yaml"), "--trials", "200000",
                                          std::chrono::seconds(3));
  EXPECT_NE(said.find("interrupted"), std::string::npos) << said;
  EXPECT_NE(said.find("Small: the plan with"), std::string::npos) << said;
}

// Millions of layouts: seconds until all of them are bounded, and some of those estimated.
TEST_F(PlanTest, SaysHowFarTheSearchCameAtCtrlC) {
  const std::string scenario = std::string(kSourceDir) + "/scenarios/llama3-405b-16k.yaml";
  const std::string said =
      said_at_ctrl_c(path("out"), scenario, "--any-stack", "--threads=1", std::chrono::seconds(2));
  EXPECT_NE(said.find("interrupted during the search, "), std::string::npos) << said;
  EXPECT_EQ(said.find("none of"), std::string::npos) << said;
  EXPECT_NE(said.find("BEST"), std::string::npos) << said;
}

TEST_F(PlanTest, GivesTheSamePlanWithTwoProcesses) {
  if (!has_mpi()) {
    GTEST_SKIP() << "orrery-mpi or mpirun is not there";
  }
  write("small.yaml", without_pipelines());
  ASSERT_EQ(run("plan small.yaml --objective cost -j 1 -o one.json").code, 0);
  const Finished two = run("plan small.yaml --objective cost -j 1 -o two.json",
                           "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 "
                           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun -np 2");
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(read("two.json"), read("one.json"));
}

}  // namespace
}  // namespace orrery::cli::testing
