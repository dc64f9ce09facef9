// Every gate with a machine just inside and one just outside of its limit.

#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/validate/validate_command.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/kernels/kernel_case.hpp"
#include "tests/unit/calibrate/validate/planted_profile.hpp"

namespace orrery::calibrate {
namespace {

using kernels::KernelCase;
using kernels::Operation;
using Times = test::FormulaBench::Times;

const hardware::GpuProfile& gpu() {
  static const hardware::GpuProfile profile = test::planted_gpu();
  return profile;
}

StepValidation judged(const Times& times, double composition = 1.0) {
  test::FormulaStepBench bench(times);
  bench.composition = composition;
  return compare_steps(run_validation(bench, validation_options(true)), gpu(), {});
}

// `factor` times the profile where `slow` says so, else the profile itself.
template <typename Slow>
Times slower(double factor, const Slow& slow) {
  return [factor, slow](const KernelCase& kernel) {
    return in_microseconds(predict_case(kernel, gpu())->time) * (slow(kernel) ? factor : 1.0);
  };
}

bool fails(const StepValidation& validation, std::string_view name) {
  for (const Gate& one : validation.gates) {
    if (one.name == name) {
      EXPECT_TRUE(one.value) << name << " is open";
      return one.failed();
    }
  }
  ADD_FAILURE() << "there is no gate " << name;
  return false;
}

bool any_case(const KernelCase&) { return true; }

bool is_update(const KernelCase& kernel) { return kernel.operation == Operation::adamw; }

bool is_transfer(const KernelCase& kernel) { return kernel.operation == Operation::device_to_host; }

bool is_forward(const KernelCase& kernel) { return kernel.role == kernels::Role::fprop; }

TEST(Gates, UnseenShapesByMedianAndNinetiethPercentile) {
  EXPECT_FALSE(fails(judged(slower(1.025, any_case)), "unseen shape, median"));
  EXPECT_TRUE(fails(judged(slower(1.035, any_case)), "unseen shape, median"));
  // A third of the products is off, and the median does not see it.
  const StepValidation few = judged(slower(1.12, is_forward));
  EXPECT_FALSE(fails(few, "unseen shape, median"));
  EXPECT_TRUE(fails(few, "unseen shape, 90th percentile"));
  EXPECT_FALSE(fails(judged(slower(1.05, is_forward)), "unseen shape, 90th percentile"));
}

TEST(Gates, StepsAndLayersOfOwnKernels) {
  for (const std::string_view name : {"step, largest", "layer, largest"}) {
    EXPECT_FALSE(fails(judged(slower(1.0, any_case), 1.045), name));
    EXPECT_TRUE(fails(judged(slower(1.0, any_case), 1.06), name));
    EXPECT_TRUE(fails(judged(slower(1.0, any_case), 0.94), name));
  }
}

TEST(Gates, OptimizerAndTransfer) {
  EXPECT_FALSE(fails(judged(slower(1.04, is_update)), "optimizer, largest"));
  EXPECT_TRUE(fails(judged(slower(1.06, is_update)), "optimizer, largest"));
  EXPECT_FALSE(fails(judged(slower(1.09, is_transfer)), "copy to the host"));
  EXPECT_TRUE(fails(judged(slower(1.13, is_transfer)), "copy to the host"));
}

// Norms at 91 and at 89 % of the rate of a copy, by their fastest size.
TEST(Gates, MemoryBoundKernelsAgainstTheCopy) {
  const auto judged_at = [](double share) {
    hardware::GpuProfile measured = gpu();
    measured.memory_efficiency = Coefficient<double>(0.9, {SourceKind::measured, "planted"});
    const BytesPerSecond copy = measured.hbm_bandwidth.value() * 0.9;
    hardware::KernelTables tables = *measured.kernels;
    for (hardware::KernelSeries& series : tables.series) {
      if (!kernels::is_memory_bound(series.operation) ||
          series.operation == Operation::device_to_host) {
        continue;
      }
      const double rate = series.operation == Operation::rms_norm ? share : 0.97;
      for (const std::int64_t rows : {1024, 65536}) {
        hardware::KernelPoint point;
        point.call = {
            .operation = series.operation, .role = series.role, .precision = series.precision};
        point.call.extents.fill(1);
        point.call.extents[0] = rows;
        // The smaller size is slower and does not count.
        const double slack = rows == 1024 ? 0.5 : 1.0;
        point.time = kernels::work_of(point.call).moved() / (copy * (rate * slack));
        series.points.push_back(point);
      }
    }
    measured.kernels = std::make_shared<const hardware::KernelTables>(std::move(tables));
    return compare_steps({}, measured, {});
  };
  EXPECT_FALSE(fails(judged_at(0.91), "memory-bound, short of the copy rate"));
  EXPECT_TRUE(fails(judged_at(0.89), "memory-bound, short of the copy rate"));
  EXPECT_NEAR(test::gate(judged_at(0.89), "memory-bound, short of the copy rate"), 0.11, 1e-9);
}

// Ours may be faster than PyTorch's as much as it likes, and 3 % slower.
TEST(Gates, OwnKernelsAgainstPyTorchCallByCall) {
  test::FormulaStepBench bench(test::machine(gpu(), 1.0));
  const ValidationRecord record = run_validation(bench, validation_options(true));
  const auto of = [&record](Operation operation) {
    for (const RecordedKernel& entry : record.kernels) {
      if (entry.kernel.operation == operation) {
        return entry;
      }
    }
    ADD_FAILURE() << "not recorded";
    return RecordedKernel{};
  };
  const std::array<std::pair<std::string, Operation>, 4> calls = {
      {{"mm", Operation::gemm},
       {"_scaled_mm", Operation::gemm},
       {"scaled_dot_product_attention", Operation::attention},
       {"adamw", Operation::adamw}}};
  for (const auto& [call, operation] : calls) {
    const RecordedKernel own = of(operation);
    const auto with = [&](double theirs) {
      const TorchKernel kernel{.kernel = own.kernel,
                               .call = call,
                               .us = own.us * theirs,
                               .sdpa_backend = "flash",
                               .torch = "2.8.0"};
      return compare_steps(record, gpu(), {.kernels = {kernel}});
    };
    const std::string name = "slower than PyTorch's " + call + ", largest";
    EXPECT_TRUE(fails(with(1.0 / 1.04), name));
    EXPECT_FALSE(fails(with(1.0 / 1.02), name));
    EXPECT_FALSE(fails(with(1.3), name));
    EXPECT_FALSE(passed(with(1.0 / 1.04)));
  }
}

// The mode that PyTorch runs faster is the one that counts.
TEST(Gates, PyTorchsStep) {
  test::FormulaStepBench bench(test::machine(gpu(), 1.0));
  const ValidationRecord record = run_validation(bench, validation_options(true));
  const RecordedStep& own = record.steps.front();
  const auto with = [&](double eager, double compiled) {
    TorchStep step;
    step.shape = own.shape;
    step.sdpa_backend = "flash";
    step.mode = "eager";
    step.median_us = eager * own.us;
    TorchStep other = step;
    other.mode = "compiled";
    other.median_us = compiled * own.us;
    return compare_steps(record, gpu(), {.steps = {step, other}});
  };
  EXPECT_FALSE(fails(with(1.4, 1.08), "PyTorch step, largest"));
  EXPECT_TRUE(fails(with(1.4, 1.10), "PyTorch step, largest"));
  EXPECT_TRUE(fails(with(0.92, 1.0), "PyTorch step, largest"));
}

hardware::CalibrationProfile sweep(const std::vector<double>& ratios) {
  hardware::CalibrationProfile profile;
  std::int64_t rows = 64;
  for (const double ratio : ratios) {
    hardware::CalibrationSample sample;
    sample.call = {.operation = Operation::gemm,
                   .role = kernels::Role::fprop,
                   .extents = {rows *= 2, 4096, 4096}};
    sample.median = microseconds(100.0 * ratio);
    profile.samples.push_back(sample);
    sample.burst = true;  // never compared
    sample.median *= 2.0;
    profile.samples.push_back(sample);
  }
  return profile;
}

TEST(Gates, TwoSweepsOfOneMachine) {
  const std::vector<double> same(10, 1.0);
  const auto with = [&](std::vector<double> second) {
    return compare_steps({}, gpu(), {.again = repeat_errors(sweep(same), sweep(second))});
  };
  const std::vector<double> close = {1.0, 1.01, 0.99, 1.01, 1.0, 1.01, 0.99, 1.0, 1.04, 0.96};
  EXPECT_FALSE(fails(with(close), "second sweep, median"));
  EXPECT_FALSE(fails(with(close), "second sweep, 90th percentile"));
  EXPECT_TRUE(fails(with(std::vector<double>(10, 1.03)), "second sweep, median"));
  EXPECT_FALSE(fails(with(std::vector<double>(10, 1.03)), "second sweep, 90th percentile"));
  std::vector<double> spoilt = same;
  spoilt[3] = spoilt[7] = 1.2;
  EXPECT_FALSE(fails(with(spoilt), "second sweep, median"));
  EXPECT_TRUE(fails(with(spoilt), "second sweep, 90th percentile"));
}

TEST(Gates, TheFirstChoiceOfAProductIsCloseToTheBest) {
  const auto with = [](double first_over_best) {
    hardware::CalibrationProfile profile = sweep(std::vector<double>(3, 1.0));
    for (hardware::CalibrationSample& sample : profile.samples) {
      sample.first_over_best = first_over_best;
    }
    return compare_steps({}, gpu(), {.first_choices = first_choice_losses(profile)});
  };
  EXPECT_FALSE(fails(with(1.01), "cuBLASLt's first choice above its best, median"));
  EXPECT_TRUE(fails(with(1.03), "cuBLASLt's first choice above its best, median"));
}

TEST(Gates, OpenOnesNeitherPassNorFail) {
  const StepValidation nothing = compare_steps({}, gpu(), {});
  EXPECT_TRUE(passed(nothing));
  EXPECT_EQ(test::gate(nothing, "PyTorch step, largest"), -1.0);
  EXPECT_NE(to_text(nothing, false).find("open: nothing to judge"), std::string::npos);
}

// Products ran alone at 1,400 MHz and take 1,400 / 1,500 of that in a step at 1,500 MHz; norms take
// as long as alone. The profile states products at 1,450 MHz.
TEST(Clocks, KernelsAndStepsAreComparedAtOneClock) {
  const auto us = [](const KernelCase& kernel, double mhz) {
    const double stated = in_microseconds(predict_case(kernel, gpu())->time);
    return hardware::follows_clock(kernel.operation) ? stated * 1450.0 / mhz : stated;
  };
  test::FormulaStepBench bench([&](const KernelCase& kernel) { return us(kernel, 1500.0); });
  ValidationRecord record = run_validation(bench, validation_options(true));
  for (RecordedStep& step : record.steps) {
    step.sm_clock = 1500.0;
  }
  for (RecordedKernel& kernel : record.kernels) {
    kernel.us = us(kernel.kernel, 1400.0);
    kernel.sm_clock = 1400.0;
  }
  Diagnostics diagnostics;
  const auto again = read_record(to_yaml(record), "v.yaml", diagnostics);
  ASSERT_TRUE(again) << to_string(diagnostics);
  const StepValidation validation = compare_steps(*again, gpu(), {.step_clock = 1450.0});
  for (const ComparedStep& step : validation.steps) {
    EXPECT_NEAR(*step.composition(), 0.0, 1e-9);
    EXPECT_GT(*step.prediction(), 0.01);  // 1,500 / 1,450 of what is product
    for (const ComparedKernel& one : step.kernels) {
      EXPECT_NEAR(*one.error(), 0.0, 1e-9) << one.name;
    }
  }
  EXPECT_NE(to_text(validation, false).find("clock 1500 MHz, the profile states 1450 (-3.3%)"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::calibrate
