#include "calibrate/sweep/sweep_runner.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "sim/base/error.hpp"
#include "tests/support.hpp"
#include "tests/unit/calibrate/formula_bench.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;
using test::FormulaBench;
using test::time_of;

class SweepRunner : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path path() const { return folder_ / "samples.jsonl"; }

  SweepReport run(FormulaBench& bench, const SweepOptions& options = {},
                  const std::vector<SweepCase>& exact = {}) {
    SampleJournal journal(path(), bench.fingerprint());
    const SweepReport report = run_sweep(exact, sweep_cases(Depth::quick), bench, journal, options);
    journal.close();
    return report;
  }

  [[nodiscard]] std::set<std::string> keys() const {
    std::set<std::string> found;
    for (const Sample& sample : read_measurements(path()).samples) {
      if (sample.repeat == 0) {
        found.insert(key_of(sample.kernel, sample.regime, sample.condition));
      }
    }
    return found;
  }

  static std::set<std::string> planned() {
    std::set<std::string> wanted;
    for (const SweepCase& one : sweep_cases(Depth::quick)) {
      wanted.insert(key_of(one.kernel, one.regime, one.condition));
    }
    return wanted;
  }

  TempFolder folder_;
};

TEST_F(SweepRunner, MeasuresEveryCaseOnceAfterOneSoak) {
  FormulaBench bench(time_of);
  const SweepReport report = run(bench);
  EXPECT_EQ(keys(), planned());
  EXPECT_EQ(report.measured, static_cast<std::int64_t>(planned().size()));
  EXPECT_EQ(bench.soaks, std::vector<double>{10.0});
  EXPECT_EQ(report.blocks_repeated, 0);
  EXPECT_EQ(report.worst_drift, 0.0);
  EXPECT_TRUE(report.warnings.empty());
  // 44 sustained cases in blocks of 20: anchors before, between and after.
  EXPECT_EQ(bench.measured.size(), planned().size() + 4);
  EXPECT_EQ(bench.searched, 18 + 2);  // dense products and the anchors of the plan
}

// A figure that rests on one case must not hang on the luck of a random order.
TEST_F(SweepRunner, ASweepThatIsCutHasItsAnchorsAndConditions) {
  std::set<std::string> single;
  for (const SweepCase& one : sweep_cases(Depth::quick)) {
    if (one.singly) {
      single.insert(key_of(one.kernel, one.regime, one.condition));
    }
  }
  EXPECT_EQ(single.size(), 5U) << "an anchor in both regimes, three conditions";
  FormulaBench bench(time_of);
  std::stop_source stop;
  bench.on_measure = [&] {
    if (bench.measured.size() == single.size() + 1) {  // and the anchor before the first block
      stop.request_stop();
    }
  };
  EXPECT_TRUE(run(bench, {.stop = stop.get_token()}).interrupted);
  EXPECT_EQ(keys(), single);
}

TEST_F(SweepRunner, TheFirstOfEachKindIsVerified) {
  FormulaBench bench(time_of);
  (void)run(bench);
  std::set<std::tuple<kernels::Operation, kernels::Role, kernels::Precision>> kinds;
  for (const SweepCase& one : sweep_cases(Depth::quick)) {
    kinds.insert({one.kernel.operation, one.kernel.role, one.kernel.precision});
  }
  EXPECT_EQ(bench.verified, static_cast<int>(kinds.size()));
}

// Times of wrong results mean nothing, and say nothing about other kernels.
TEST_F(SweepRunner, AWrongResultLeavesOutItsKindAndNothingElse) {
  FormulaBench bench(time_of);
  bench.error_of = [](const kernels::KernelCase& kernel) {
    return kernel.operation == kernels::Operation::swiglu ? 1.5 : 0.1;
  };
  (void)run(bench);
  EXPECT_EQ(keys(), planned());
  int wrong = 0;
  for (const Sample& sample : read_measurements(path()).samples) {
    EXPECT_EQ(sample.supported, sample.kernel.operation != kernels::Operation::swiglu);
    if (is_failure(sample)) {
      ++wrong;
      EXPECT_EQ(sample.status, "wrong result: 1.5 times what its format allows");
      EXPECT_TRUE(sample.times.empty());
    } else if (!sample.supported) {
      EXPECT_EQ(sample.status, "left out: its kind fails on this GPU");
    }
  }
  EXPECT_EQ(wrong, 2);  // forward and backward, of the first size each
}

TEST_F(SweepRunner, AFailureLeavesOutItsCase) {
  FormulaBench bench(time_of);
  kernels::KernelCase broken;
  bench.on_case = [&broken](const kernels::KernelCase& kernel) {
    if (kernel.operation == kernels::Operation::rms_norm &&
        (broken == kernels::KernelCase() || broken == kernel)) {
      broken = kernel;
      throw Error(ErrorKind::device, "the GPU failed to launch a norm");
    }
  };
  (void)run(bench);
  EXPECT_EQ(keys(), planned());
  int failures = 0;
  for (const Sample& sample : read_measurements(path()).samples) {
    failures += is_failure(sample) ? 1 : 0;
    EXPECT_EQ(sample.supported, sample.kernel != broken);
  }
  EXPECT_EQ(failures, 1);
}

// A GPU that is lost to the process: the next process goes on, without what lost it.
TEST_F(SweepRunner, ADeviceThatIsLostEndsTheSweepAndItsKindIsNotTriedAgain) {
  const auto lose = [](FormulaBench& bench) {
    bench.on_case = [&bench](const kernels::KernelCase& kernel) {
      if (kernel.operation == kernels::Operation::adamw) {
        bench.alive = false;
        throw Error(ErrorKind::device, "an illegal address");
      }
    };
  };
  FormulaBench first(time_of);
  lose(first);
  try {
    (void)run(first);
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what()).find("device lost: an illegal address; what was measured"),
              std::string::npos)
        << error.what();
  }
  FormulaBench second(time_of);
  lose(second);
  (void)run(second);
  EXPECT_EQ(keys(), planned());
  for (const Sample& sample : read_measurements(path()).samples) {
    EXPECT_EQ(sample.supported, sample.kernel.operation != kernels::Operation::adamw);
  }
}

// A library that ends the process itself: what it leaves is the name of its case. Once it may have
// been killed from outside; the second time its kind is left out.
TEST_F(SweepRunner, AKindThatEndsTheProcessTwiceIsLeftOut) {
  const auto crash = [this] {  // as it stands when a process is gone
    std::ofstream(path().string() + ".running", std::ios::app)
        << "swiglu forward bf16 rows=4096 columns=16384\n";
  };
  crash();
  FormulaBench first(time_of);
  (void)run(first);
  for (const Sample& sample : read_measurements(path()).samples) {
    EXPECT_TRUE(sample.supported);
  }
  EXPECT_FALSE(fs::exists(path().string() + ".running"));
  fs::remove(path());
  crash();
  crash();
  FormulaBench second(time_of);
  (void)run(second);
  EXPECT_EQ(keys(), planned());
  int failures = 0;
  for (const Sample& sample : read_measurements(path()).samples) {
    const bool left_out = sample.kernel.operation == kernels::Operation::swiglu &&
                          sample.kernel.role == kernels::Role::forward;
    EXPECT_EQ(sample.supported, !left_out);
    failures += is_failure(sample) ? 1 : 0;
  }
  EXPECT_EQ(failures, 1);
}

// Stopped after every number of measurements, and started again: each point is there once, and none
// that was there is measured again.
TEST_F(SweepRunner, ResumesWithWhatIsMissing) {
  for (int stop_after = 1; stop_after < 45; stop_after += 9) {
    SCOPED_TRACE(stop_after);
    fs::remove(path());
    FormulaBench first(time_of);
    std::stop_source source;
    first.on_measure = [&] {
      if (static_cast<int>(first.measured.size()) == stop_after) {
        source.request_stop();
      }
    };
    SweepOptions options;
    options.stop = source.get_token();
    EXPECT_TRUE(run(first, options).interrupted);
    const std::size_t known = keys().size();
    EXPECT_LT(known, planned().size());
    FormulaBench second(time_of);
    const SweepReport report = run(second);
    EXPECT_EQ(report.known, static_cast<std::int64_t>(known));
    EXPECT_EQ(report.measured + report.known, static_cast<std::int64_t>(planned().size()));
    EXPECT_EQ(keys(), planned());
  }
  FormulaBench third(time_of);
  EXPECT_EQ(run(third).measured, 0);
  EXPECT_TRUE(third.soaks.empty());
}

TEST_F(SweepRunner, ExactShapesComeFirstAndAreNotMeasuredTwice) {
  std::vector<SweepCase> exact;
  for (const SweepCase& one : sweep_cases(Depth::quick)) {
    if (one.block == "attention") {
      exact.push_back({one.kernel, "scenario"});
    }
  }
  FormulaBench bench(time_of);
  const SweepReport report = run(bench, {}, exact);
  EXPECT_EQ(report.measured, static_cast<std::int64_t>(planned().size()));
  // One burst, one anchor, then they.
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(bench.measured[i + 2], exact[i].kernel);
  }
}

TEST_F(SweepRunner, WhatIsNotSupportedIsKeptAsSuch) {
  FormulaBench bench(time_of);
  SampleJournal journal(path(), bench.fingerprint());
  bench.unsupported = {kernels::Precision::nvfp4, kernels::Precision::mxfp8};
  const SweepReport report = run_sweep({}, sweep_cases(Depth::full), bench, journal, {});
  EXPECT_GT(report.unsupported, 2 * 48);
  for (const Sample& sample : journal.samples()) {
    EXPECT_EQ(sample.supported, !bench.unsupported.contains(sample.kernel.precision));
  }
}

// A GPU that slows down once, in the middle of a block: the block is measured again, and then the
// anchor stands still.
TEST_F(SweepRunner, ABlockInWhichTheClockMovedIsRepeated) {
  FormulaBench bench(time_of);
  bench.on_measure = [&] { bench.slowness = bench.measured.size() > 10 ? 1.05 : 1.0; };
  const SweepReport report = run(bench);
  EXPECT_EQ(report.blocks_repeated, 1);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_LT(report.worst_drift, 1e-12);
  EXPECT_EQ(bench.soaks, (std::vector<double>{10.0, 2.0}));
  for (const Sample& sample : read_measurements(path()).samples) {
    const bool steady = sample.regime == Regime::sustained && sample.condition.alone();
    if (sample.repeat == 0 && steady) {
      EXPECT_NEAR(summarise(sample.times).median, 1.05 * time_of(sample.kernel), 1e-9);
    }
  }
}

TEST_F(SweepRunner, AClockThatKeepsMovingIsSaid) {
  FormulaBench bench(time_of);
  bench.on_measure = [&] { bench.slowness *= 1.002; };
  const SweepReport report = run(bench);
  EXPECT_GE(report.blocks_repeated, 2);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_GT(report.worst_drift, 0.02);
  const std::vector<Sample> samples = read_measurements(path()).samples;
  EXPECT_TRUE(
      std::any_of(samples.begin(), samples.end(), [](const Sample& s) { return s.drifted; }));
}

TEST_F(SweepRunner, TheOrderDependsOnTheSeedAlone) {
  const auto order_of = [this](std::uint64_t seed) {
    fs::remove(path());
    FormulaBench bench(time_of);
    SweepOptions options;
    options.seed = seed;
    (void)run(bench, options);
    return bench.measured;
  };
  EXPECT_EQ(order_of(1), order_of(1));
  EXPECT_NE(order_of(1), order_of(2));
}

}  // namespace
}  // namespace orrery::calibrate
