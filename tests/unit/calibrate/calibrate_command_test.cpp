#include "calibrate/command/calibrate_command.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/samples/sample.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"
#include "tests/unit/calibrate/formula_bench.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::FormulaBench;
using test::time_of;

struct Outcome {
  cli::ExitCode code = cli::ExitCode::internal;
  std::string out;
};

class CalibrateCommand : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "orrery-calibrate");
    std::vector<const char*> words;
    for (const std::string& argument : arguments) {
      words.push_back(argument.c_str());
    }
    Outcome outcome;
    testing::internal::CaptureStdout();
    try {
      outcome.code = calibrate_command(static_cast<int>(words.size()), words.data(),
                                       {.bench = bench(), .collectives = group_});
    } catch (...) {
      (void)testing::internal::GetCapturedStdout();
      throw;
    }
    outcome.out = testing::internal::GetCapturedStdout();
    return outcome;
  }

  BenchFactory bench() {
    return [this](int) -> std::unique_ptr<Bench> {
      ++benches_;
      auto bench = std::make_unique<FormulaBench>(time_of, 0.002);
      bench->error = error_;
      bench->machine().gpu = gpu_;
      bench->unsupported = unsupported_;
      return bench;
    };
  }

  TempFolder folder_;
  CollectiveRunner group_;
  int benches_ = 0;
  double error_ = 0.25;
  std::string gpu_ = "NVIDIA H200";
  std::set<kernels::Precision> unsupported_ = {kernels::Precision::nvfp4};
};

TEST_F(CalibrateCommand, MeasuresAndSaysWhatItFound) {
  const Outcome outcome = run({"--quick", "-q", "-o", path("mine.yaml")});
  EXPECT_EQ(outcome.code, cli::ExitCode::ok);
  EXPECT_NE(outcome.out.find("NVIDIA H200, compute capability 9.0"), std::string::npos);
  EXPECT_NE(outcome.out.find("gemm fprop bf16"), std::string::npos);
  const Measurements kept = read_measurements(path("mine.samples.jsonl"));
  EXPECT_GT(kept.samples.size(), 40U);
}

// What is written is a profile that scenarios may name, with the shipped one below it.
TEST_F(CalibrateCommand, WritesAProfileForScenarios) {
  (void)run({"--quick", "-q", "-o", path("mine.yaml")});
  Diagnostics diagnostics;
  const hardware::ProfileSearch search{{fs::path(kSourceDir) / "scenarios" / "profiles"}};
  const auto gpu = hardware::load_gpu_profile(path("mine.yaml"), search, SourceLocation{},
                                              "cluster.gpu", diagnostics);
  ASSERT_TRUE(gpu) << to_string(diagnostics);
  const hardware::GemmRate* bf16 = gpu->find_gemm(model::Dtype::bf16);
  ASSERT_NE(bf16, nullptr);
  EXPECT_EQ(bf16->sustained.source().kind, SourceKind::measured);
  EXPECT_NEAR(in_teraflop_per_second(bf16->sustained.value()), 700.0, 25.0);
  EXPECT_NEAR(in_terabytes_per_second(gpu->hbm_bandwidth.value()) * gpu->memory_efficiency.value(),
              4.0, 0.1);
}

// The samples alone give the same answer, without a GPU.
TEST_F(CalibrateCommand, ComputesTheSameFromSamples) {
  const Json measured = Json::parse(run({"--quick", "--json", "-q", "-o", path("a.yaml")}).out);
  benches_ = 0;
  const Json again =
      Json::parse(run({"--samples", path("a.samples.jsonl"), "--json", "-o", path("b.yaml")}).out);
  EXPECT_EQ(benches_, 0);
  EXPECT_EQ(again, measured);
  EXPECT_EQ(measured.at("schema"), "orrery-calibration/1");
  // 1.0995 TFLOP in 5 + 1,570.7 + 100.7 us.
  EXPECT_NEAR(measured.at("anchor").at("sustained_flop_per_s").get<double>(), 6.557e14, 2e12);
}

TEST_F(CalibrateCommand, ASecondCallMeasuresNothingAgain) {
  (void)run({"--quick", "-q", "-o", path("a.yaml")});
  const std::string before = read_file(path("a.samples.jsonl"), 1U << 22U);
  (void)run({"--quick", "-q", "-o", path("a.yaml")});
  EXPECT_EQ(read_file(path("a.samples.jsonl"), 1U << 22U), before);
}

// Not as a GPU that fails, after which scripts measure once more.
TEST_F(CalibrateCommand, AGpuWithoutAProfileBelowIsWrongInputAndKeepsItsSamples) {
  gpu_ = "NVIDIA X100";
  EXPECT_EQ(run({"--quick", "-q", "-o", path("x.yaml")}).code, cli::ExitCode::invalid);
  EXPECT_FALSE(fs::exists(path("x.yaml")));
  EXPECT_EQ(
      run({"--samples", path("x.samples.jsonl"), "--base", "h200-sxm", "-o", path("x.yaml")}).code,
      cli::ExitCode::ok);
}

TEST_F(CalibrateCommand, ListsWithoutAGpu) {
  const Outcome outcome = run({"--list", "--quick"});
  EXPECT_EQ(outcome.code, cli::ExitCode::ok);
  EXPECT_EQ(benches_, 0);
  EXPECT_NE(outcome.out.find("anchors     gemm fprop bf16 m=8192 n=8192 k=8192  (burst)\n"),
            std::string::npos);
}

TEST_F(CalibrateCommand, ChecksEveryKernel) {
  const Json good = Json::parse(run({"--check", "--json", "-q"}).out);
  EXPECT_EQ(good.at("schema"), "orrery-kernel-check/1");
  EXPECT_EQ(good.at("failed"), 0);
  EXPECT_GT(good.at("passed"), 100);
  EXPECT_GT(good.at("unsupported"), 0);
  error_ = 3.0;
  const Outcome bad = run({"--check", "-q", "-o", path("check.json")});
  EXPECT_EQ(Json::parse(read_file(path("check.json"), 1U << 22U)).at("passed"), 0);
  EXPECT_EQ(bad.code, cli::ExitCode::device);
  EXPECT_NE(bad.out.find("FAIL        3.000  gemm fprop"), std::string::npos);
  EXPECT_NE(bad.out.find("row 3"), std::string::npos);
}

// Everything is wrong here: nothing is measured, and the screen says why.
TEST_F(CalibrateCommand, SaysWhatIsWrong) {
  error_ = 3.0;
  const Outcome outcome = run({"--quick", "-q", "-o", path("wrong.yaml")});
  EXPECT_NE(outcome.out.find("left out, because it is wrong or fails here:\n"), std::string::npos);
  EXPECT_NE(outcome.out.find(": wrong result: 3 times what its format allows\n"), std::string::npos)
      << outcome.out;
}

TEST_F(CalibrateCommand, AScenarioPutsItsShapesFirst) {
  const std::string scenario =
      (fs::path(kSourceDir) / "scenarios" / "llama3-70b-64h100.yaml").string();
  const Outcome outcome = run({"--list", "--quick", "--scenario", scenario});
  EXPECT_EQ(outcome.code, cli::ExitCode::ok);
  EXPECT_TRUE(outcome.out.starts_with("scenario    gemm "));
  EXPECT_NE(outcome.out.find("scenario    attention backward bf16"), std::string::npos);
}

// Rank 0 keeps what was measured; the others say nothing.
TEST_F(CalibrateCommand, CollectivesAreKeptByTheFirstRank) {
  group_ = [](const CollectiveRequest& request, const OpenJournal& open_journal) {
    if (request.rank == 1) {
      return CollectiveOutcome{.first = false, .functional = false};
    }
    const FormulaBench machine(time_of);
    const std::unique_ptr<SampleJournal> journal = open_journal(machine.fingerprint());
    for (const kernels::KernelCase& kernel : collective_cases({8, 1})) {
      Sample sample;
      sample.kernel = kernel;
      sample.times = {10.0};
      sample.taken_at = "2026-11-20T12:00:00Z";
      journal->append(sample);
    }
    return CollectiveOutcome{};
  };
  const Outcome second = run({"--collectives", "--rank", "1", "-q", "-o", path("c.yaml")});
  EXPECT_EQ(second.code, cli::ExitCode::ok);
  EXPECT_EQ(second.out, "");
  const Outcome first = run({"--collectives", "--rank", "0", "-q", "-o", path("c.yaml")});
  EXPECT_EQ(first.code, cli::ExitCode::ok);
  EXPECT_NE(first.out.find("all_reduce fp32"), std::string::npos);
  EXPECT_EQ(read_measurements(path("c.samples.jsonl")).samples.size(),
            collective_cases({8, 1}).size());
}

TEST_F(CalibrateCommand, SaysWhatIsMissing) {
  EXPECT_THROW((void)run({}), cli::UsageError);
  EXPECT_THROW((void)run({"--list", "--check"}), cli::UsageError);
  try {
    (void)run({"--samples", path("absent"), "-o", path("a.yaml")});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

}  // namespace
}  // namespace orrery::calibrate
