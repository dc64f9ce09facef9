// One visit to a node with a GPU, 900 s in all, as docs/calibration.md ("One visit") tells it: the
// packed programs on a GPU of formulas that takes as long as a real one, in simulated time. The
// node may be taken away at any moment. From the first third of the long sweep on, what is left
// behind must become a profile and a validation, without a GPU.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/samples/sample.hpp"
#include "calibrate/validate/validate_command.hpp"
#include "calibrate/validate/validation_record.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/random.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 26U;
constexpr int kVisit = 900;  // s
constexpr int kStart = 120;  // s, at most, until the first command runs
constexpr std::uint64_t kSeed = 20261126;
constexpr int kCuts = 6;

class Rehearsal : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "build" / "bin");
    const fs::path programs = fs::path(kBinaryDir) / "bin";
    const auto link = [&](const char* name, const char* as) {
      fs::create_symlink(programs / name, folder_ / "build" / "bin" / as);
    };
    link("orrery", "orrery");
    link("orrery-calibrate", "orrery-calibrate");
    link("gpu_of_formulas", "orrery-calibrate-cuda");
    // PyTorch takes its time, and finds no GPU.
    fs::create_directories(folder_ / "path");
    std::ofstream(folder_ / "path" / "python3")
        << "#!/usr/bin/env bash\n"
           "case $* in -c*) echo /nowhere ;; *smoke*) sleep 15 ;; *) sleep 60; exit 5 ;; esac\n";
    fs::permissions(folder_ / "path" / "python3", fs::perms::owner_all);
    ASSERT_EQ(shell(kSourceDir + std::string("/calibrate/run_on_gpu.sh pack node build")), 0)
        << screen();
  }

  [[nodiscard]] int shell(const std::string& command) const {
    const std::string all =
        "cd '" + folder_.string() + "' && TMPDIR=$PWD " + command + " >screen 2>&1";
    const int status = std::system(all.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // A command on the node. It has a session of its own, which ends with it at `cut`, in s.
  [[nodiscard]] int on_node(const std::string& words, double cut = 1e6) const {
    const std::string time =
        fmt::format("BASH_ENV={}/tests/calibrate/simulated_time.bash CLOCK=$PWD/clock CUT={:.0f} ",
                    kSourceDir, cut * 1e3);
    return shell(time + "PATH=$PWD/path:$PATH setsid --wait node/run_on_gpu.sh run out " + words);
  }

  // Afterwards, where there is no GPU.
  [[nodiscard]] int offline(const std::string& program, const std::string& words) const {
    return shell("ORRERY_PROFILES=" + std::string(kSourceDir) + "/scenarios/profiles " +
                 kBinaryDir + "/bin/" + program + " " + words);
  }

  [[nodiscard]] std::string screen() const { return read_file(folder_ / "screen", kMostBytes); }

  [[nodiscard]] double now() const {
    double milliseconds = 0.0;
    std::ifstream(folder_ / "clock") >> milliseconds;
    return milliseconds / 1e3;
  }

  void set_clock(double seconds) const {
    std::ofstream(folder_ / "clock") << std::llround(seconds * 1e3) << '\n';
  }

  // With the times of the files, by which the script knows which profile is current.
  void keep(const std::string& name) const { ASSERT_EQ(shell("cp -a out " + name), 0); }

  void bring_back(const std::string& name) const {
    fs::remove_all(folder_ / "out");
    ASSERT_EQ(shell("cp -a " + name + " out"), 0);
  }

  // The profile as the script or, where it came to none, the samples give it.
  [[nodiscard]] std::string profile() const {
    const fs::path measured = folder_ / "out" / "measured.yaml";
    const fs::path samples = folder_ / "out" / "measured.samples.jsonl";
    if (fs::exists(measured) && fs::last_write_time(measured) >= fs::last_write_time(samples)) {
      return measured;
    }
    EXPECT_EQ(offline("orrery-calibrate", "--samples out/measured.samples.jsonl -o late.yaml"), 0)
        << screen();
    return folder_ / "late.yaml";
  }

  // A profile with the figures that rest on single cases, and steps that it is judged by.
  void expect_a_profile_and_a_validation() const {
    const std::string file = profile();
    const std::string text = read_file(file, kMostBytes);
    for (const char* figure : {"graph_node_us", "gemm_slowdown_per_sm_removed",
                               "gemm_slowdown_per_sm_streaming", "d2h_gemm_slowdown"}) {
      EXPECT_NE(text.find(figure), std::string::npos) << figure;
    }
    EXPECT_GE(steps(), 1U);
    // 1: a gate failed, as gates may on formulas.
    EXPECT_LE(offline("orrery", "validate --record out/validation.yaml --hardware " + file), 1)
        << screen();
    EXPECT_NE(screen().find("\ngates "), std::string::npos) << screen();
  }

  // Of the validation that is kept.
  [[nodiscard]] std::size_t steps() const {
    Diagnostics diagnostics;
    const auto record = read_record(read_file(folder_ / "out" / "validation.yaml", kMostBytes),
                                    "record", diagnostics);
    EXPECT_TRUE(record) << to_string(diagnostics);
    return record ? record->steps.size() : 0;
  }

  // Shapes that a validation has kept by then: the first after half a minute at most, then one in
  // ten seconds at most.
  static std::size_t steps_after(double seconds) {
    const double kept = std::max(0.0, std::floor((seconds - 20.0) / 10.0));
    return std::min(validation_options(false).shapes.size(), static_cast<std::size_t>(kept));
  }

  // Every planned case has a sample; those of scenarios come before them.
  void expect_the_whole_sweep() const {
    std::set<std::string> taken;
    bool of_scenarios = false;
    for (const Sample& sample :
         read_measurements(folder_ / "out" / "measured.samples.jsonl").samples) {
      taken.insert(key_of(sample.kernel, sample.regime, sample.condition));
      of_scenarios = of_scenarios || sample.block == "scenario";
    }
    EXPECT_TRUE(of_scenarios);
    for (const SweepCase& planned : sweep_cases(Depth::full)) {
      const std::string key = key_of(planned.kernel, planned.regime, planned.condition);
      EXPECT_TRUE(taken.contains(key)) << key;
    }
  }

  TempFolder folder_;
};

TEST_F(Rehearsal, EveryCutAfterAThirdOfTheSweepLeavesAProfileAndAValidation) {
  set_clock(kStart);
  EXPECT_LE(on_node("within 160 quick only smoke check sweep profile validate"), 1) << screen();
  EXPECT_LE(now(), kStart + 180.0) << screen();
  EXPECT_EQ(steps(), 2U) << "two steps, judged by the profile of a quick sweep";
  keep("after_a");

  const double sweep_begins = now();
  const std::string b1 = "within 390 only sweep profile";
  EXPECT_EQ(on_node(b1), 0) << screen();
  const double sweep_ends = now();
  EXPECT_LE(sweep_ends, sweep_begins + 415.0);
  expect_the_whole_sweep();
  expect_a_profile_and_a_validation();
  keep("after_b1");

  const std::string b2 =
      fmt::format("within {:.0f} only profile validate torch again", kVisit - now() - 25.0);
  EXPECT_LE(on_node(b2), 1) << screen();
  EXPECT_LE(now(), kVisit);
  EXPECT_EQ(steps(), validation_options(false).shapes.size()) << screen();

  RandomStream random(kSeed, 0, Purpose::property_test);
  const double third = sweep_begins + (sweep_ends - sweep_begins) / 3.0;
  for (int i = 0; i < kCuts; ++i) {
    const double cut = third + random.uniform01() * (kVisit - third);
    SCOPED_TRACE(fmt::format("seed {}, cut {} at {:.1f} s", kSeed, i, cut));
    const bool in_sweep = cut < sweep_ends;
    bring_back(in_sweep ? "after_a" : "after_b1");
    set_clock(in_sweep ? sweep_begins : sweep_ends);
    (void)on_node(in_sweep ? b1 : b2, cut);
    EXPECT_LE(now(), cut + 1e-3);
    expect_a_profile_and_a_validation();
    if (!in_sweep) {
      EXPECT_GE(steps(), steps_after(cut - sweep_ends));
    }
  }
}

}  // namespace
}  // namespace orrery::calibrate
