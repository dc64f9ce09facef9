// What stands behind an option is taken as it stands, or refused: names of files that a command
// would overwrite, numbers, folders that are not there.

#include <fmt/core.h>

#include <filesystem>
#include <string>

#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

namespace fs = std::filesystem;

using GuardedWordsTest = CliTest;

std::string titan_log() {
  std::string text =
      "[rank0]:2025-02-13 11:33:12,140 - root - INFO - Building 1-D device mesh with ['dp_shard'], "
      "[8]\n"
      "[rank0]:2025-02-13 11:33:12,140 - root - INFO - Training starts at step 1, with local batch "
      "size 1, global batch size 8, sequence length 8192, total steps 50\n";
  for (int step = 1; step < 5; ++step) {
    text += fmt::format(
        "[rank0]:2025-02-13 11:33:{},026 - root - INFO - step:  {}  loss: 12.2417  memory: "
        "42.08GiB(30.10%)  tps: 7,000  mfu: 8.65%\n",
        10 + step, step);
  }
  return text;
}

TEST_F(GuardedWordsTest, NoInputIsOverwrittenByTheRestartsOfAnImport) {
  write("t.log", titan_log());
  const std::string import = "import t.log --gpu h100-sxm-80gb --nodes 1 ";
  const Finished refused = run(import + "--failures ./t.log -o t.yaml");
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_TRUE(has(refused.err, "./t.log is read by this command: choose another file"));
  EXPECT_EQ(read("t.log"), titan_log());
  const Finished twice = run(import + "--failures t.yaml -o ./t.yaml");
  EXPECT_EQ(twice.code, 2) << twice.err;
  EXPECT_TRUE(has(twice.err, "t.yaml is written twice"));
  EXPECT_FALSE(fs::exists(path("t.yaml")));
}

TEST_F(GuardedWordsTest, NoProfileIsOverwrittenThatIsFoundByItsName) {
  const fs::path shipped = fs::path(kSourceDir) / "scenarios/profiles/gpu/h100-sxm-80gb.yaml";
  write("s.yaml", small_scenario());
  for (const char* folder : {"mine/gpu", "profiles/gpu"}) {
    fs::create_directories(path(folder));
    fs::copy_file(shipped, path(folder) + "/h100-sxm-80gb.yaml");
  }
  const Finished mine = run("run s.yaml --profiles mine -o mine/gpu/h100-sxm-80gb.yaml");
  EXPECT_EQ(mine.code, 2) << mine.err;
  EXPECT_TRUE(has(mine.err, "is read by this command"));
  const Finished beside = run("run s.yaml -o profiles/gpu/h100-sxm-80gb.yaml");
  EXPECT_EQ(beside.code, 2) << beside.err;
  EXPECT_TRUE(has(beside.err, "is a profile that scenarios find by its name"));
  write("t.log", titan_log());
  const std::string import = "import t.log --nodes 1 --profiles mine -o ";
  EXPECT_EQ(run(import + "mine/gpu/h100-sxm-80gb.yaml --gpu h100-sxm-80gb").code, 2);
  EXPECT_EQ(run(import + "mine/gpu/h100-sxm-80gb.yaml --set cluster.gpu=h100-sxm-80gb").code, 2);
}

TEST_F(GuardedWordsTest, NoShippedProfileIsOverwritten) {
  const Finished refused =
      run(fmt::format("list gpus -o {}/scenarios/profiles/gpu/h100-sxm-80gb.yaml", kSourceDir));
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_TRUE(has(refused.err, "is a profile of this program: choose another file"));
}

TEST_F(GuardedWordsTest, NumbersAreReadWholeAndDecimal) {
  write("s.yaml", small_scenario());
  const std::pair<const char*, const char*> refused[] = {
      {"--trials 0100", "has a leading zero"},
      {"--trials 0x10", "is not a decimal number"},
      {"--trials 10x", "(allowed: 1 to 10000000)"},
      {"--trials 1k", "`1k` is not written in digits alone (allowed: 1 to 10000000)"},
      {"--trials 0", "`0` is not allowed (allowed: 1 to 10000000)"},
      {"--seed 010", "has a leading zero"},
      {"--seed -1", "`-1` is not allowed (allowed: 0 or more)"},
      {"--seed 18446744073709551616", "is beyond the largest count, 9223372036854775807"},
      {"--threads 1e99", "is beyond the largest count"}};
  for (const auto& [words, why] : refused) {
    const Finished finished = run(fmt::format("run s.yaml {}", words));
    EXPECT_EQ(finished.code, 2) << words << finished.err;
    EXPECT_TRUE(has(finished.err, why)) << words << finished.err;
  }
  EXPECT_EQ(run("compare s.yaml s.yaml --tolerance 05").code, 2);
}

TEST_F(GuardedWordsTest, AMeasuredStepTakesTime) {
  for (const char* time : {"1e305s", "0s"}) {
    write("s.yaml", small_scenario() + fmt::format("measured: {{step_time: {}}}\n", time));
    for (const char* command : {"run", "validate", "compare s.yaml"}) {
      const Finished finished = run(fmt::format("{} s.yaml", command));
      EXPECT_EQ(finished.code, 3) << command << time << finished.err;
      EXPECT_TRUE(has(finished.err, "measured.step_time")) << finished.err;
    }
  }
}

TEST_F(GuardedWordsTest, AFolderOfProfilesIsThere) {
  write("s.yaml", small_scenario());
  for (const char* command : {"run s.yaml", "list gpus"}) {
    const Finished finished = run(command, "ORRERY_PROFILES=/nowhere/at/all");
    EXPECT_EQ(finished.code, 6) << command;
    EXPECT_EQ(finished.err, "orrery: ORRERY_PROFILES names /nowhere/at/all, which is no folder\n");
  }
  write("t.log", titan_log());
  for (const char* command : {"import t.log", "run s.yaml", "list gpus"}) {
    EXPECT_EQ(run(fmt::format("{} --profiles nowhere", command)).code, 2) << command;
  }
}

TEST_F(GuardedWordsTest, WordsOfAPresetAreNoCommandsToATerminal) {
  fs::create_directories(path("mine/failures"));
  write("mine/failures/evil.yaml",
        "format: orrery-preset/1\nname: evil\nsummary: \"\\e]0;owned\\a\\e[31mred\"\nsource: x\n"
        "order: 1\nfailures: {node_rate: 1/d}\n");
  const Finished listed = run("list failures --profiles mine");
  EXPECT_TRUE(has(listed.out, "evil"));
  EXPECT_EQ(listed.out.find_first_of("\x1b\x07"), std::string::npos);
}

TEST_F(GuardedWordsTest, AJournalSaysWhyItIsNotContinued) {
  write("s.yaml", small_scenario());
  const std::string sweep =
      "sweep s.yaml --trials 5 --vary capacity.spares=1,2 --journal j --resume ";
  ASSERT_EQ(run(sweep).code, 0);
  const Finished foreign = run(sweep + "--allow-foreign-profile");
  EXPECT_EQ(foreign.code, 6);
  EXPECT_TRUE(has(foreign.err, "(it differs in: allow_foreign_profile)")) << foreign.err;
  write("j", "\xEF\xBB\xBF" + read("j"));
  const Finished marked = run(sweep);
  EXPECT_EQ(marked.code, 6);
  EXPECT_EQ(marked.err,
            "orrery: j: begins with a byte-order mark, as some editors write it: remove the mark, "
            "or the journal\n");
}

TEST_F(GuardedWordsTest, APlanWithoutItsLogOfFailuresIsNotSearched) {
  std::string text = small_scenario();
  text.replace(text.find("{node_rate: 0.05/d}"), 19, "{log: failures.log}");
  write("s.yaml", text);
  const Finished finished = run("plan s.yaml --trials 2");
  EXPECT_EQ(finished.code, 3) << finished.out;
  EXPECT_TRUE(has(finished.err, "failures.log: there is no file")) << finished.err;
  EXPECT_EQ(finished.out, "");
}

}  // namespace
}  // namespace orrery::cli::testing
