// The scripts that need PyTorch, where it only pretends: each attempt fails and says so.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

// Has a GPU and nothing else: not even the memory to give back what it holds.
constexpr const char* kTorch = R"(class cuda:
    @staticmethod
    def is_available():
        return True

    @staticmethod
    def empty_cache():
        raise RuntimeError("the GPU is lost")
)";

class TorchStep : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c pass >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "no Python here";
    }
    folder_ = fs::temp_directory_path() / ("orrery_torch_step_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    std::ofstream(folder_ / "torch.py") << kTorch;
  }

  void TearDown() override { fs::remove_all(folder_); }

  // The exit code of a script of calibrate/; the screen is in `out`.
  [[nodiscard]] int run(const std::string& words) const {
    const std::string command = "cd '" + folder_.string() + "' && PYTHONPATH=$PWD python3 -B " +
                                kSourceDir + "/calibrate/" + words + " >out 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[nodiscard]] std::string text(const char* name) const {
    return read_file(folder_ / name, 1U << 20U);
  }

  fs::path folder_;
};

// The compiler takes a minute: whatever ends the script, eager steps are there by then. A GPU that
// is lost does not end it either.
TEST_F(TorchStep, BeginsWithWhatTakesSecondsAndOutlivesEveryFailure) {
  std::ofstream(folder_ / "cases") << "\"gemm fprop bf16 m=8 n=8 k=8\"\n";
  EXPECT_EQ(run("torch_step.py --cases cases -o steps.json"), 5) << "nothing was timed";
  const std::string screen = text("out");
  std::vector<std::string> begun;
  const std::regex line("torch_step: (eager|compiled|gemm)");
  for (std::sregex_iterator at(screen.begin(), screen.end(), line), end; at != end; ++at) {
    begun.push_back((*at)[1]);
  }
  EXPECT_EQ(begun, (std::vector<std::string>{"eager", "eager", "gemm", "compiled", "compiled"}))
      << screen;
}

TEST_F(TorchStep, WithoutPyTorchEveryScriptEndsWithOneSentence) {
  std::ofstream(folder_ / "torch.py") << "raise ImportError()\n";
  for (const std::string name : {"torch_step", "smoke"}) {
    EXPECT_EQ(run(name + ".py"), 5);
    EXPECT_EQ(text("out"), name + ": PyTorch is not installed\n");
  }
}

// A file that is written in place is empty for a moment, in which a machine may be taken away.
TEST_F(TorchStep, ReplacesItsOutputInOnePiece) {
  std::ofstream(folder_ / "steps.json") << "before";
  fs::create_hard_link(folder_ / "steps.json", folder_ / "old");
  EXPECT_EQ(run("torch_step.py --mode eager -o steps.json"), 5);
  EXPECT_EQ(text("steps.json"), "[]");
  EXPECT_EQ(text("old"), "before");
  EXPECT_FALSE(fs::exists(folder_ / "steps.json.part"));
}

}  // namespace
}  // namespace orrery::calibrate
