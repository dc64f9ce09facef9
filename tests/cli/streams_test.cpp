// Data on stdout, messages on stderr; nothing that was not written is called written.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using StreamsTest = CliTest;
using Json = nlohmann::json;

TEST_F(StreamsTest, TheAnswerGoesToStdoutAndNothingToStderr) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run small.yaml");
  EXPECT_EQ(finished.code, 0);
  EXPECT_NE(finished.out.find("ONE STEP"), std::string::npos);
  EXPECT_EQ(finished.err, "");
}

TEST_F(StreamsTest, NoEscapeSequencesUnlessATerminalReads) {
  write("small.yaml", small_scenario());
  EXPECT_EQ(run("run small.yaml").out.find('\x1b'), std::string::npos);
  EXPECT_NE(run("run --color always small.yaml").out.find('\x1b'), std::string::npos);
  EXPECT_EQ(run("run --color never small.yaml").out.find('\x1b'), std::string::npos);
}

// script(1) gives the command a terminal.
TEST_F(StreamsTest, NoColorIsHonouredOnATerminal) {
  if (std::system("command -v script >/dev/null") != 0) {
    GTEST_SKIP() << "script(1) is missing";
  }
  write("small.yaml", small_scenario());
  const std::string command = "script -qec \"" + program() + " run small.yaml\" /dev/null; true ";
  const Finished coloured = run("--version", "TERM=xterm NO_COLOR= " + command + ";");
  const Finished plain = run("--version", "TERM=xterm NO_COLOR=1 " + command + ";");
  EXPECT_NE(coloured.out.find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(plain.out.find("\x1b[1m"), std::string::npos);
}

TEST_F(StreamsTest, BarsAreAsciiInACLocale) {
  write("small.yaml", small_scenario());
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0; });
  };
  EXPECT_TRUE(is_ascii(run("run small.yaml", "LC_ALL=C").out));
  EXPECT_FALSE(is_ascii(run("run small.yaml", "LC_ALL=en_US.UTF-8").out));
}

TEST_F(StreamsTest, OutputFileHoldsTheDataAndStdoutNone) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run --json -o result.json small.yaml");
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(Json::parse(read("result.json"))["schema"], "orrery-evaluation/1");
  EXPECT_EQ(files(), (std::vector<std::string>{"result.json", "small.yaml"}));
}

TEST_F(StreamsTest, ADashIsStdout) {
  write("small.yaml", small_scenario());
  EXPECT_EQ(run("run --json -o - small.yaml").out, run("run --json small.yaml").out);
  EXPECT_EQ(files(), (std::vector<std::string>{"small.yaml"}));
}

TEST_F(StreamsTest, AFailureLeavesTheOldOutputFileAlone) {
  write("bad.yaml", "format: orrery/1\n");
  write("result.json", "old");
  EXPECT_EQ(run("run --json -o result.json bad.yaml").code, 3);
  EXPECT_EQ(read("result.json"), "old");
}

TEST_F(StreamsTest, AFullDeviceIsAnError) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run small.yaml", "", ">/dev/full");
  EXPECT_EQ(finished.code, 6);
  EXPECT_EQ(finished.err, "orrery: standard output: cannot write: No space left on device\n");
  EXPECT_EQ(run("run -o /dev/full small.yaml").code, 6);
  EXPECT_EQ(run("--version", "", ">/dev/full").code, 6);
}

TEST_F(StreamsTest, AClosedStdoutIsAnError) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run small.yaml", "", ">&-");
  EXPECT_EQ(finished.code, 6);
  EXPECT_EQ(finished.err, "orrery: standard output: cannot write: Bad file descriptor\n");
}

TEST_F(StreamsTest, AReaderThatHasGoneIsNoNews) {
  // The reader ends at once; the exit code of the writer is kept in a file.
  const Finished finished = run("schema", "{ sleep 0.3;", "; echo $? >code; } | true; sleep 0.6");
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(read("code"), "6\n");
}

TEST_F(StreamsTest, OutputIntoAMissingFolderIsAnError) {
  const Finished finished = run("schema -o missing/x.json");
  EXPECT_EQ(finished.code, 6);
  EXPECT_NE(finished.err.find("missing/x.json: cannot"), std::string::npos);
}

TEST_F(StreamsTest, ADashReadsTheScenarioFromStdin) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run --json -", "cat small.yaml |");
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(Json::parse(finished.out)["scenario"]["file"], "<stdin>");
}

TEST_F(StreamsTest, SeveralFilesAreOneJsonArray) {
  write("small.yaml", small_scenario());
  const Json json = Json::parse(run("run --json small.yaml small.yaml").out);
  ASSERT_TRUE(json.is_array());
  EXPECT_EQ(json.size(), 2U);
}

TEST_F(StreamsTest, ResultsDoNotDependOnTheNumberOfThreads) {
  write("small.yaml", small_scenario());
  const std::string one = run("run --json --threads 1 small.yaml").out;
  EXPECT_EQ(run("run --json --threads 2 small.yaml").out, one);
  EXPECT_NE(run("run --json --seed 4 small.yaml").out, one);
}

TEST_F(StreamsTest, TrialsOfTheCommandLineReplaceThoseOfTheScenario) {
  write("small.yaml", small_scenario());
  EXPECT_NE(run("run --trials 7 small.yaml").out.find("7 trials, seed 3"), std::string::npos);
}

// Ctrl-C during a long run: a clean message, exit code 130, no file.

using InterruptTest = CliTest;

// Months with several failures a day: many seconds for 200,000 trials.
std::string long_scenario() {
  std::string text = small_scenario();
  text.replace(text.find("200000"), 6, "5000000");
  text.replace(text.find("0.05/d"), 6, "2/d");
  return text;
}

// The command in the background, stderr into a file.
pid_t start(std::vector<std::string> arguments, const std::string& error_file) {
  arguments.insert(arguments.begin(), program());
  const pid_t child = fork();
  if (child != 0) {
    return child;
  }
  std::vector<char*> raw;
  for (std::string& argument : arguments) {
    raw.push_back(argument.data());
  }
  raw.push_back(nullptr);
  const int descriptor = open(error_file.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(descriptor, STDERR_FILENO);
  std::signal(SIGINT, SIG_DFL);
  execv(raw.front(), raw.data());
  _exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(InterruptTest, EndsALongRunWithoutAFile) {
  write("small.yaml", long_scenario());
  const pid_t child =
      start({"run", path("small.yaml"), "--trials", "200000", "--json", "-o", path("result.json")},
            path("errors"));
  ASSERT_GT(child, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  kill(child, SIGINT);
  EXPECT_EQ(wait_for(child), 130);
  EXPECT_EQ(read("errors"), "orrery: interrupted\n");
  EXPECT_EQ(files(), (std::vector<std::string>{"errors", "small.yaml"}));
}

TEST_F(InterruptTest, KeepsTheOldFile) {
  write("small.yaml", long_scenario());
  write("result.json", "old");
  const pid_t child = start(
      {"check", path("small.yaml"), "--trials", "200000", "--json", "-o", path("result.json")},
      path("errors"));
  ASSERT_GT(child, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  kill(child, SIGINT);
  EXPECT_EQ(wait_for(child), 130);
  EXPECT_EQ(read("result.json"), "old");
}

// Every phase that can take long, interrupted in its midst: the program is gone within a second,
// and the same time again for a machine that has more to do.
class PhaseTest : public InterruptTest {
 protected:
  void expect_soon(const std::vector<std::string>& arguments, int signal, const std::string& said) {
    using Clock = std::chrono::steady_clock;
    const pid_t child = start(arguments, path("errors"));
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const auto begin = Clock::now();
    kill(child, signal);
    EXPECT_EQ(wait_for(child), 130);
    const std::chrono::duration<double> taken = Clock::now() - begin;
    EXPECT_LT(taken.count(), 2.0);
    EXPECT_TRUE(read("errors").starts_with(said)) << read("errors");
    std::filesystem::remove(path("errors"));
  }

  void write_with(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = small_scenario();
    text.replace(text.find(from), from.size(), to);
    write(name, text);
  }
};

TEST_F(PhaseTest, DrawsOfUnequalGpusEndWithinASecond) {
  write_with("a.yaml", "nodes: 2, gpus_per_node: 8", "nodes: 512, gpus_per_node: 8");
  std::string text = read("a.yaml");
  text.replace(text.find("global: 64"), 10, "global: 16384");
  write("a.yaml", text + "variation: {gpu_sigma: 0.02, draws: 5000}\n");
  expect_soon({"run", path("a.yaml"), "-o", path("r")}, SIGINT, "orrery: interrupted");
}

// A hundred and twenty-eight steps, the last of a million micro-batches.
TEST_F(PhaseTest, ARampUpToAMillionMicroBatchesEndsWithinASecond) {
  std::string text = small_scenario();
  text.replace(text.find("global: 64"), 10, "global: 1048576");
  const std::string training = "training: {steps: 200000}";
  text.replace(text.find(training), training.size(),
               "training: {steps: 200000, batch_ramp: {start: 8192, increment: 8192, samples: "
               "100000000}}");
  write("a.yaml", text);
  expect_soon({"run", path("a.yaml"), "--trials", "10"}, SIGINT, "orrery: interrupted");
}

// No look at the stop request in any of them: the watch over all commands ends them.
TEST_F(PhaseTest, CommandsThatReadOrJudgeEndWithinASecond) {
  ASSERT_EQ(mkfifo(path("never").c_str(), 0600), 0);
  const int writer = open(path("never").c_str(), O_RDWR | O_CLOEXEC);  // so that reading waits
  for (const char* command : {"run", "plan", "check", "sweep"}) {
    SCOPED_TRACE(command);
    expect_soon({command, path("never")}, SIGINT, "orrery: interrupted\n");
  }
  close(writer);
  expect_soon({"validate", "--layouts", "--tuned",
               std::string(kSourceDir) + "/scenarios/published/measured_runs.yaml"},
              SIGTERM, "orrery: told to end (SIGTERM)\norrery: interrupted\n");
}

TEST_F(PhaseTest, SigtermIsCtrlCWithALineOfItsOwn) {
  write("small.yaml", long_scenario());
  expect_soon(
      {"run", path("small.yaml"), "--trials", "200000", "--json", "-o", path("result.json")},
      SIGTERM, "orrery: told to end (SIGTERM)\norrery: interrupted\n");
  EXPECT_EQ(files(), (std::vector<std::string>{"small.yaml"}));
}

// What stands behind an option is taken as it stands, or refused: names of files that a command
// would overwrite, numbers, folders that are not there.

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
