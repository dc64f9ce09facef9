// Limits on the memory of a command, per byte of input and per trial. How soon a command ends is
// tested in interrupt_test.cpp.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

class BudgetTest : public CliTest {
 protected:
  // The most memory that the command ever held, in bytes.
  static double peak_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program());
    std::vector<char*> raw;
    for (std::string& argument : arguments) {
      raw.push_back(argument.data());
    }
    raw.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
      execv(raw.front(), raw.data());
      _exit(127);
    }
    int status = 0;
    rusage usage{};
    EXPECT_EQ(wait4(child, &status, 0, &usage), child);
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3));
    return static_cast<double>(usage.ru_maxrss) * 1024.0;  // KiB on Linux
  }

  static std::string repeated(std::string_view unit, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
      text += unit;
    }
    return text;
  }
};

// Trials are counted, not kept: a few buffers hold those in progress.
TEST_F(BudgetTest, MemoryDoesNotGrowWithTheTrials) {
  write("small.yaml", small_scenario());
  const auto peak = [this](const char* trials) {
    return peak_of({"run", path("small.yaml"), "--trials", trials, "-q", "-j", "1"});
  };
  EXPECT_LT(peak("100000") - peak("100"), 64.0 * kMebibyte);
}

// A bracket becomes a token and a level of nesting of the YAML library before it is refused.
TEST_F(BudgetTest, AByteOfAScenarioTakesNoMoreThan300Bytes) {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  constexpr double kMost = 300.0 * kBytes;
  write("empty.yaml", "");
  const double empty = peak_of({"run", path("empty.yaml")});
  for (const std::string_view unit : {" ", "[", "{", "a: [b, c]\n", "- - - -\n", "&a [*a,", "'"}) {
    write("hostile.yaml", repeated(unit, kBytes));
    EXPECT_LT(peak_of({"run", path("hostile.yaml")}) - empty, kMost) << unit;
  }
  write("string.yaml", "name: \"" + repeated("a", kBytes) + "\"\n");
  EXPECT_LT(peak_of({"run", path("string.yaml")}) - empty, kMost);
}

TEST_F(BudgetTest, AByteOfASavedAnswerTakesNoMoreThanEightyBytes) {
  constexpr std::size_t kBytes = std::size_t{2} << 20U;
  const std::string head = R"({"schema":"orrery-evaluation/1","x":)";
  write("empty.json", head + "0}");
  const double empty = peak_of({"compare", path("empty.json"), path("empty.json")});
  const std::vector<std::pair<std::string, std::string>> around = {
      {repeated(" ", kBytes), "0}"},
      {"\"" + repeated("a", kBytes), "\"}"},
      {"[" + repeated("1,", kBytes), "1]}"},
      {"[" + repeated("{},", kBytes), "1]}"},
      {repeated("[", kBytes), ""}};
  for (const auto& [begin, end] : around) {
    write("hostile.json", head + begin + end);
    const double peak = peak_of({"compare", path("hostile.json"), path("hostile.json")});
    EXPECT_LT(peak - empty, 80.0 * kBytes) << begin.substr(0, 8);
  }
}

}  // namespace
}  // namespace orrery::cli::testing
