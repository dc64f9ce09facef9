// The script that takes a calibration to a GPU machine, with programs that only pretend, in
// simulated time (simulated_time.bash): stages that fail, hang or lose the GPU must not cost what
// other stages have.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

// Finds the argument after -o, and does what CHECK and SWEEP say.
constexpr const char* kCalibrate = R"(#!/usr/bin/env bash
while [[ $1 != -o && $# -gt 1 ]]; do all+=" $1"; shift; done
all+=" $*" file=${2:-}
case $all in
  *--machine*) [[ -z ${DRIVER:-} || ":$LD_LIBRARY_PATH:" == *":$DRIVER:"* ]]; exit ;;
  *--check*)
    if [[ $CHECK == absent ]]; then
      echo "orrery: no NVIDIA GPU is visible on this machine"
      exit 5
    fi
    echo '{}' >"$file"; echo "200 passed, 0 failed" ;;
  *--samples*) echo "profile of what there is" >"$file" ;;
  *--collectives*) echo "{}" >"${file%.yaml}.samples.jsonl" ;;
  *)
    echo "sample" >>"${file%.yaml}.samples.jsonl"
    if [[ $SWEEP == hang ]]; then sleep 6000; fi
    if [[ $SWEEP == talks ]]; then printf '%0200000d\n' 0; fi
    if [[ $SWEEP == unknown ]]; then exit 3; fi
    if [[ $SWEEP == lost && $(wc -l <"${file%.yaml}.samples.jsonl") -lt 3 ]]; then exit 5; fi
    echo "700 TFLOP/s"; echo "profile" >"$file" ;;
esac
)";

constexpr const char* kOrrery = R"(#!/usr/bin/env bash
while [[ $1 != -o && $# -gt 1 ]]; do shift; done
if [[ $1 == -o ]]; then
  for shape in 1 2; do
    if [[ ${VALIDATE:-} == hang && $shape == 2 ]]; then sleep 6000; fi
    sleep "${STEP:-9}"
    echo "shape $shape" >>"$2"
  done
fi
echo "gates passed"
)";

// In place of Python: says where its packages lie, and pretends to be the scripts.
constexpr const char* kPython = R"(#!/usr/bin/env bash
case $* in
  -c*) echo "${PACKAGES:-/nowhere}" ;;
  */smoke.py) sleep 12; echo "bf16 8192^3, TFLOP/s" ;;
  *) echo '[]' >"${!#}" ;;
esac
)";

class RunOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "packed" / "bin");
    fs::create_directories(folder_ / "packed" / "scenarios" / "profiles");
    fs::copy_file(fs::path(kSourceDir) / "calibrate" / "run_on_gpu.sh", folder_ / "run_on_gpu.sh");
    program("orrery-calibrate", kCalibrate);
    program("orrery-calibrate-cuda", kCalibrate);
    program("orrery", kOrrery);
    ASSERT_EQ(shell("tar -C packed -czf programs.tar.gz ."), 0);
    program("python3", kPython);
    write(folder_ / "clock", "0\n");
  }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  void program(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / "packed" / "bin" / name;
    write(path, text);
    fs::permissions(path, fs::perms::owner_all);
  }

  [[nodiscard]] int shell(const std::string& command) const {
    const int status = std::system(("cd '" + folder_.string() + "' && " + command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Exit code; the screen is in screen().
  [[nodiscard]] int run(const std::string& settings, const std::string& words) const {
    const std::string time = std::string("BASH_ENV=") + kSourceDir +
                             "/tests/calibrate/simulated_time.bash CLOCK=$PWD/clock ";
    return shell(time + "PATH=$PWD/packed/bin:$PATH " + settings + " ./run_on_gpu.sh run out " +
                 words + " >screen 2>&1");
  }

  // Seconds that a stage took, -1 where the screen does not say.
  [[nodiscard]] int seconds_of(const std::string& stage) const {
    std::smatch found;
    const std::string text = screen();
    return std::regex_search(text, found, std::regex("(^|\n)" + stage + " +([0-9]+) s  exit"))
               ? std::stoi(found[2])
               : -1;
  }

  [[nodiscard]] std::string screen() const { return read_file(folder_ / "screen", kMostBytes); }

  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  TempFolder folder_;
};

// A machine may give back few files with plain names: at most eight, nothing in folders.
TEST_F(RunOnGpu, LeavesEightFilesAtMost) {
  ASSERT_EQ(run("CHECK=fine SWEEP=fine", "within 600"), 0) << screen();
  const std::set<std::string> expected = {
      "again.samples.jsonl", "check.json", "collectives.samples.jsonl", "measured.samples.jsonl",
      "measured.yaml",       "report.txt", "torch_step.json",           "validation.yaml"};
  EXPECT_EQ(files(), expected);
  EXPECT_TRUE(std::regex_search(screen(), std::regex("sweep +[0-9]+ s  exit 0")));
  EXPECT_NE(screen().find("700 TFLOP/s"), std::string::npos) << screen();
  EXPECT_NE(screen().find("gates passed"), std::string::npos) << screen();
}

TEST_F(RunOnGpu, ASweepThatRunsOutOfTimeStillBecomesAProfileAndIsJudged) {
  EXPECT_EQ(run("CHECK=fine SWEEP=hang", "within 180 only check sweep profile validate"), 1);
  EXPECT_TRUE(std::regex_search(screen(), std::regex("sweep +[0-9]+ s  exit 124"))) << screen();
  EXPECT_EQ(read_file(folder_ / "out" / "measured.yaml", kMostBytes), "profile of what there is\n");
  EXPECT_TRUE(files().contains("validation.yaml"));
}

// After the sweep nothing was kept back: validation took what a PyTorch step needs. What it had
// kept before it was ended is judged.
TEST_F(RunOnGpu, AValidationThatRunsOutOfTimeIsJudgedAndLeavesTorchItsOwn) {
  EXPECT_EQ(
      run("CHECK=fine SWEEP=fine VALIDATE=hang", "within 360 only sweep profile validate torch"),
      1);
  EXPECT_TRUE(std::regex_search(screen(), std::regex("validate +[0-9]+ s  exit 124"))) << screen();
  EXPECT_TRUE(std::regex_search(screen(), std::regex("torch +[0-9]+ s  exit 0"))) << screen();
  EXPECT_TRUE(files().contains("torch_step.json"));
  EXPECT_EQ(read_file(folder_ / "out" / "validation.yaml", kMostBytes), "shape 1\n");
  EXPECT_TRUE(std::regex_search(screen(), std::regex("compare_steps +[0-9]+ s  exit 0")));
}

// A visit's last command has some 200 s: what validation needs is not kept back for what is worth
// less, and its two and a half minutes are not what ends a sweep.
TEST_F(RunOnGpu, AStageHasItsOwnBeforeThoseThatAreWorthLess) {
  EXPECT_EQ(run("CHECK=fine SWEEP=fine STEP=84", "within 195 only sweep validate torch again"), 0)
      << screen();
  EXPECT_EQ(seconds_of("validate"), 168);
  EXPECT_EQ(run("CHECK=fine SWEEP=hang", "within 390 only sweep profile"), 1);
  EXPECT_EQ(seconds_of("sweep"), 375);
}

// The profile of a short sweep stays until there is a better one, also where the script is ended.
TEST_F(RunOnGpu, ALaterSweepReplacesAProfileAndDoesNotRemoveIt) {
  ASSERT_EQ(run("CHECK=fine SWEEP=fine", "quick only sweep profile"), 0) << screen();
  EXPECT_EQ(run("CHECK=fine SWEEP=hang", "within 300 only sweep"), 1);
  EXPECT_EQ(read_file(folder_ / "out" / "measured.yaml", kMostBytes), "profile\n");
  EXPECT_EQ(run("CHECK=fine SWEEP=fine", "only profile"), 0) << screen();
  EXPECT_EQ(read_file(folder_ / "out" / "measured.yaml", kMostBytes), "profile of what there is\n");
}

// Several commands on one machine: the second finds what the first left in OUT.
TEST_F(RunOnGpu, ASecondCallGoesOnInTheSameFolder) {
  ASSERT_EQ(run("CHECK=fine SWEEP=fine", "within 570 only check sweep profile validate"), 0)
      << screen();
  EXPECT_EQ(files(), (std::set<std::string>{"check.json", "measured.samples.jsonl", "measured.yaml",
                                            "report.txt", "validation.yaml"}));
  ASSERT_EQ(run("CHECK=fine SWEEP=fine", "within 570 only torch again collectives"), 0) << screen();
  EXPECT_EQ(read_file(folder_ / "out" / "measured.samples.jsonl", kMostBytes), "sample\n")
      << "nothing was measured again";
  EXPECT_TRUE(files().contains("again.samples.jsonl"));
  EXPECT_TRUE(std::regex_search(screen(), std::regex("compare +[0-9]+ s  exit 0"))) << screen();
  if (files().contains("torch_step.json")) {
    EXPECT_TRUE(std::regex_search(screen(), std::regex("gates +[0-9]+ s  exit 0"))) << screen();
  }
  EXPECT_LE(files().size(), 8U);
}

// More than a pipe holds: what cuts it for the screen leaves before all is written.
TEST_F(RunOnGpu, ALongReportIsCutForTheScreenAndTheVerdictFollows) {
  EXPECT_EQ(run("CHECK=fine SWEEP=talks", "only sweep validate"), 0);
  EXPECT_LT(screen().size(), 10'000U);
  EXPECT_NE(screen().find("gates passed\n"), std::string::npos) << screen();
}

TEST_F(RunOnGpu, ALostGpuCostsOneProcess) {
  EXPECT_EQ(run("CHECK=fine SWEEP=lost", "only check sweep"), 1);
  EXPECT_EQ(read_file(folder_ / "out" / "measured.yaml", kMostBytes), "profile\n");
  EXPECT_EQ(read_file(folder_ / "out" / "measured.samples.jsonl", kMostBytes),
            "sample\nsample\nsample\n");
}

// A GPU of a name that no profile has, for one: measuring again would not give it one.
TEST_F(RunOnGpu, WrongInputIsNotMeasuredAgain) {
  EXPECT_EQ(run("CHECK=fine SWEEP=unknown", "only sweep"), 1);
  EXPECT_EQ(read_file(folder_ / "out" / "measured.samples.jsonl", kMostBytes), "sample\n");
}

// Every CUDA machine has its libraries elsewhere, behind a link for some of them.
TEST_F(RunOnGpu, FindsLibrariesBehindALink) {
  fs::create_directories(folder_ / "driver");
  write(folder_ / "driver" / "libcuda.so.1", "");
  fs::create_directory_symlink(folder_ / "driver", folder_ / "link");
  EXPECT_EQ(run("CHECK=fine SWEEP=fine PACKAGES=$PWD/link DRIVER=$PWD/link", "only check"), 0)
      << screen();
}

TEST_F(RunOnGpu, WithoutAGpuEndsWithOneSentence) {
  EXPECT_EQ(run("CHECK=absent SWEEP=fine", "only check sweep"), 5);
  EXPECT_TRUE(
      std::regex_match(screen(), std::regex("check +[0-9]+ s  exit 5\n"
                                            "orrery: no NVIDIA GPU is visible on this machine\n")))
      << screen();
  EXPECT_EQ(files(), std::set<std::string>{"report.txt"});
}

// Programs that start, but say nothing of cuDNN: attention of our own must not enter a profile.
TEST_F(RunOnGpu, PacksNoBuildWithoutCudnn) {
  fs::create_directories(folder_ / "build" / "bin");
  for (const char* name : {"orrery", "orrery-calibrate", "orrery-calibrate-cuda"}) {
    fs::copy_file("/bin/true", folder_ / "build" / "bin" / name);
  }
  const std::string script = std::string(kSourceDir) + "/calibrate/run_on_gpu.sh";
  EXPECT_EQ(shell(script + " pack there build >screen 2>&1"), 2);
  EXPECT_TRUE(screen().starts_with("run_on_gpu.sh: build has no attention through cuDNN: "))
      << screen();
  EXPECT_FALSE(fs::exists(folder_ / "there" / "programs.tar.gz"));
}

// The version that is fetched is the one that the documentation names.
TEST_F(RunOnGpu, DocumentsNameTheHeadersThatAreFetched) {
  const std::string script =
      read_file(std::string(kSourceDir) + "/scripts/cudnn-frontend", kMostBytes);
  std::smatch version;
  ASSERT_TRUE(std::regex_search(script, version, std::regex("version=([0-9.]+)\n")));
  const std::string page = read_file(std::string(kSourceDir) + "/docs/calibration.md", kMostBytes);
  EXPECT_NE(page.find("the tested version, " + version[1].str() + ","), std::string::npos)
      << version[1];
}

TEST_F(RunOnGpu, RefusesStagesThatItDoesNotHave) {
  EXPECT_EQ(run("CHECK=fine SWEEP=fine", "only sweeps"), 2);
  EXPECT_TRUE(screen().starts_with("run_on_gpu.sh: there is no stage sweeps (smoke check sweep"));
}

// The scripts that need PyTorch, where it only pretends: each attempt fails and says so.

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
    folder_.write("torch.py", kTorch);
  }

  // The exit code of a script of calibrate/; the screen is in `out`.
  [[nodiscard]] int run(const std::string& words) const {
    const std::string command = "cd '" + folder_.string() + "' && PYTHONPATH=$PWD python3 -B " +
                                kSourceDir + "/calibrate/" + words + " >out 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[nodiscard]] std::string text(const char* name) const { return folder_.read(name); }

  TempFolder folder_;
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
