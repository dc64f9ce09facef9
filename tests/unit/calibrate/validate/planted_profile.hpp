#pragma once

// A profile of known lines, a machine slower by a given factor, and the verdicts of the gates.

#include <string_view>

#include "calibrate/validate/step_comparison.hpp"
#include "tests/unit/calibrate/validate/formula_step_bench.hpp"

namespace orrery::calibrate::test {

[[nodiscard]] hardware::GpuProfile shipped_gpu();

// A line through every kind of kernel that a step holds: 3 us, 600 TFLOP/s and 4 TB/s.
[[nodiscard]] hardware::GpuProfile planted_gpu();

// A machine that is `factor` times as slow as the profile says.
[[nodiscard]] FormulaBench::Times machine(const hardware::GpuProfile& gpu, double factor);

// -1: open, -2: there is no such gate.
[[nodiscard]] double gate(const StepValidation& validation, std::string_view name);

}  // namespace orrery::calibrate::test
