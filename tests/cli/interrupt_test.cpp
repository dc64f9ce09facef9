// Ctrl-C during a long run: a clean message, exit code 130, no file.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

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

}  // namespace
}  // namespace orrery::cli::testing
