// Ctrl-C during a long run: a clean message, exit code 130, no file.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

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

}  // namespace
}  // namespace orrery::cli::testing
