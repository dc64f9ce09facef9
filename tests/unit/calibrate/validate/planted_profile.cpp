#include "tests/unit/calibrate/validate/planted_profile.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <tuple>

#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibrate::test {

hardware::GpuProfile shipped_gpu() {
  Diagnostics diagnostics;
  const hardware::ProfileSearch search{
      {std::filesystem::path(kSourceDir) / "scenarios" / "profiles"}};
  auto gpu = hardware::load_gpu_profile("h200-sxm", search, {}, "", diagnostics);
  EXPECT_TRUE(gpu) << to_string(diagnostics);
  return gpu.value();
}

// A line through every kind of kernel that a step holds: 3 us, 600 TFLOP/s and 4 TB/s; its one
// point lies far from all that is asked.
hardware::GpuProfile planted_gpu() {
  hardware::GpuProfile gpu = shipped_gpu();
  hardware::KernelTables tables;
  std::set<std::tuple<kernels::Operation, kernels::Role, kernels::Precision>> known;
  std::vector<StepShape> shapes = held_out_shapes();
  shapes.push_back(small_shape(kernels::Precision::bf16, false));
  for (const StepShape& shape : shapes) {
    for (const StepOperation& operation : make_step_program(shape).operations) {
      const kernels::KernelCase& kernel = operation.kernel;
      if (!known.insert({kernel.operation, kernel.role, kernel.precision}).second) {
        continue;
      }
      hardware::KernelSeries series;
      series.operation = kernel.operation;
      series.role = kernel.role;
      series.precision = kernel.precision;
      series.line = {.a = microseconds(3.0), .b = 1.0 / (600.0 * kTera), .c = 1.0 / (4.0 * kTera)};
      series.low.fill(0.0);
      series.high.fill(60.0);
      tables.series.push_back(series);
    }
  }
  hardware::KernelSeries copy = tables.series.front();
  copy.operation = kernels::Operation::device_to_host;
  copy.role = kernels::Role::none;
  copy.precision = kernels::Precision::bf16;
  tables.series.push_back(copy);
  gpu.kernels = std::make_shared<const hardware::KernelTables>(std::move(tables));
  return gpu;
}

// A machine that is `factor` times as slow as the profile says.
FormulaBench::Times machine(const hardware::GpuProfile& gpu, double factor) {
  return [&gpu, factor](const kernels::KernelCase& kernel) {
    const auto predicted = predict_case(kernel, gpu);
    EXPECT_TRUE(predicted) << kernels::to_text(kernel);
    return factor * in_microseconds(predicted->time);
  };
}

// -1: open, -2: there is no such gate.
double gate(const StepValidation& validation, std::string_view name) {
  for (const Gate& one : validation.gates) {
    if (one.name == name) {
      return one.value.value_or(-1.0);
    }
  }
  return -2.0;
}

}  // namespace orrery::calibrate::test
