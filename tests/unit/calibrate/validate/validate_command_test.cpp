// From a sweep to a judged profile, on a machine of formulas.

#include "calibrate/validate/validate_command.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/profile/build_profile.hpp"
#include "calibrate/validate/validation_record.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"
#include "tests/unit/calibrate/validate/planted_profile.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

const std::string kShipped = std::string(kSourceDir) + "/scenarios/profiles";

// 4 us, 650 TFLOP/s, 4 TB/s; attention at 400 TFLOP/s, half of it at 500 tokens.
double planted_us(const kernels::KernelCase& kernel) {
  static const hardware::GpuProfile gpu = test::shipped_gpu();
  const double work = in_flop(fit_work(kernel, gpu));
  if (kernel.operation == kernels::Operation::attention) {
    const double queries = static_cast<double>(kernels::extent(kernel, "queries"));
    return work / (400.0 * kTera) * (1.0 + 500.0 / queries) / kMicro + 4.0;
  }
  const double rate = kernel.precision == kernels::Precision::bf16 ? 650.0 : 1100.0;
  return 4.0 + work / (rate * kTera) / kMicro +
         in_bytes(fit_bytes(kernel)) / (4.0 * kTera) / kMicro;
}

class ValidateCommand : public testing::Test {
 protected:
  ValidateCommand() { write("planted.yaml", profile()); }

  static std::string profile(double slowness = 1.0, const std::string& board = "GPU-0") {
    test::FormulaBench bench(planted_us);
    bench.slowness = slowness;
    Measurements measurements{bench.fingerprint(), {}};
    measurements.fingerprint.gpu_uuid = board;
    for (const SweepCase& planned : sweep_cases(Depth::full)) {
      if (planned.regime == Regime::sustained) {
        measurements.samples.push_back(
            bench.measure(planned.kernel, {.condition = planned.condition}));
        measurements.samples.back().block = planned.block;
      }
    }
    Diagnostics diagnostics;
    const auto text = write_profile(measurements, {}, {.directories = {kShipped}}, diagnostics);
    EXPECT_TRUE(text) << to_string(diagnostics);
    return text.value_or("");
  }

  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  // Slower than the profile by `factor`; without one there is no GPU.
  [[nodiscard]] cli::ExitCode run(std::vector<std::string> words,
                                  std::optional<double> factor) const {
    words.insert(words.begin(), {"orrery-calibrate", "--profiles", kShipped, "-q"});
    std::vector<const char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(word.c_str());
    }
    const StepBenchFactory make = [factor, this](int) -> std::unique_ptr<StepBench> {
      if (!factor) {
        throw Error(ErrorKind::device, "there is no GPU");
      }
      auto bench = std::make_unique<test::FormulaStepBench>(
          [factor](const kernels::KernelCase& kernel) { return *factor * planted_us(kernel); });
      bench->on_step = on_step;
      return bench;
    };
    return validate_command(static_cast<int>(arguments.size()), arguments.data(), make);
  }

  std::function<void()> on_step;

 private:
  TempFolder folder_;
};

TEST_F(ValidateCommand, AcceptsTheMachineThatWasMeasuredAndRefusesASlowerOne) {
  EXPECT_EQ(run({"--validate", path("planted.yaml"), "--rows"}, 1.0), cli::ExitCode::ok);
  EXPECT_TRUE(fs::exists(path("planted.validation.yaml")));
  EXPECT_EQ(run({"--validate", path("planted.yaml"), "--quick", "-o", path("slow.yaml")}, 1.2),
            cli::ExitCode::expectation_failed);
  // Again from what was kept, without a GPU.
  EXPECT_EQ(run({"--validate", path("planted.yaml"), "--record", path("slow.yaml")}, {}),
            cli::ExitCode::expectation_failed);
  EXPECT_EQ(run({"--validate", path("planted.yaml"), "--record", path("planted.validation.yaml"),
                 "--json"},
                {}),
            cli::ExitCode::ok);
}

// A profile that nothing was measured for is judged by its laws, on the record of a visit to an
// H100 (scenarios/calibration): without a measurement of its own the step is within 3 %, after a
// quick sweep within 4 %, and the better rule of thumb was 5.5 % off.
TEST_F(ValidateCommand, JudgesTheLawsOfAShippedProfileOnARealStep) {
  const fs::path visit =
      fs::path(kSourceDir) / "scenarios" / "calibration" / "h100-sxm-80gb-2026-11-28";
  Diagnostics diagnostics;
  const auto record =
      read_record(read_file(visit / "profile.validation.yaml", 1U << 20U), "record", diagnostics);
  ASSERT_TRUE(record) << to_string(diagnostics);
  const auto judged = [&](const std::string& name) {
    const auto gpu =
        hardware::load_gpu_profile(name, {.directories = {kShipped}}, {name}, "", diagnostics);
    EXPECT_TRUE(gpu) << to_string(diagnostics);
    return compare_steps(*record, gpu.value(), {});
  };
  const StepValidation laws = judged("h100-sxm-80gb");
  EXPECT_EQ(laws.laws, "h100-sxm-80gb");
  ASSERT_EQ(laws.steps.size(), 2U);
  for (const ComparedStep& step : laws.steps) {
    EXPECT_LT(std::abs(step.simulation().value()), 0.03);
    EXPECT_LT(std::abs(step.prediction().value()), 0.03);
    for (const ComparedKernel& kernel : step.kernels) {
      ASSERT_TRUE(kernel.predicted) << kernels::to_text(kernel.kernel);
      EXPECT_EQ(kernel.predicted->reach, cost::Reach::law);
    }
  }
  const StepValidation measured = judged((visit / "profile.yaml").string());
  EXPECT_EQ(measured.laws, "");
  for (const ComparedStep& step : measured.steps) {
    EXPECT_LT(std::abs(step.simulation().value()), 0.04);
  }
  EXPECT_EQ(run({"--validate", "h100-sxm-80gb", "--record",
                 (visit / "profile.validation.yaml").string(), "--again", path("planted.yaml")},
                {}),
            cli::ExitCode::invalid)
      << "there is no first sweep";
}

// A step takes longer than a process that is told to end has left: what was kept before counts.
TEST_F(ValidateCommand, KeepsEveryShapeAsSoonAsItIsMeasured) {
  struct Killed {};

  std::size_t begun = 0;
  on_step = [&] {
    Diagnostics diagnostics;
    ++begun;
    if (begun == 1) {
      EXPECT_FALSE(fs::exists(path("kept.yaml"))) << "nothing is measured yet";
      return;
    }
    const auto record =
        read_record(read_file(path("kept.yaml"), 1U << 20U), "kept.yaml", diagnostics);
    ASSERT_TRUE(record) << to_string(diagnostics);
    EXPECT_EQ(record->steps.size(), begun - 1);
    EXPECT_GT(record->steps.back().us, 0.0);
    if (begun == 3) {
      throw Killed();
    }
  };
  EXPECT_THROW((void)run({"--validate", path("planted.yaml"), "-o", path("kept.yaml")}, 1.0),
               Killed);
  EXPECT_EQ(begun, 3U);
  // Two shapes are a validation: steps of both are judged, and the copy that came before them.
  EXPECT_EQ(run({"--validate", path("planted.yaml"), "--record", path("kept.yaml"), "--json"}, {}),
            cli::ExitCode::ok);
}

TEST_F(ValidateCommand, JudgesASecondSweepAndRefusesThatOfAnotherBoard) {
  ASSERT_EQ(run({"--validate", path("planted.yaml"), "-o", path("record.yaml")}, 1.0),
            cli::ExitCode::ok);
  const auto with = [&](const std::string& again) {
    return run({"--validate", path("planted.yaml"), "--record", path("record.yaml"), "--again",
                path(again)},
               {});
  };
  write("close.yaml", profile(1.01));
  EXPECT_EQ(with("close.yaml"), cli::ExitCode::ok);
  write("far.yaml", profile(1.03));
  EXPECT_EQ(with("far.yaml"), cli::ExitCode::expectation_failed);
  write("other.yaml", profile(1.0, "GPU-1"));
  try {
    (void)with("other.yaml");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what()).find("was measured on another machine, board"),
              std::string::npos);
  }
}

TEST_F(ValidateCommand, SaysThatThereIsNoGpu) {
  EXPECT_THROW((void)run({"--validate", path("planted.yaml")}, {}), Error);
}

TEST_F(ValidateCommand, RefusesFilesThatItDoesNotUnderstand) {
  write("torch.json", "{}");
  EXPECT_EQ(run({"--validate", path("planted.yaml"), "--torch", path("torch.json")}, 1.0),
            cli::ExitCode::invalid);
  EXPECT_EQ(run({"--validate", path("planted.yaml"), "--record", path("torch.json")}, 1.0),
            cli::ExitCode::invalid);
}

}  // namespace
}  // namespace orrery::calibrate
