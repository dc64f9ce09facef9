#pragma once

// Record of a validation: steps and their single kernels, as they are stored beside a profile. The
// comparison is computed from them and the profile, at any time and on any machine.
//
//   schema: orrery-hardware-validation-record/1
//   fingerprint: 3f..    gpu: NVIDIA H200    measured_at: 2026-11-20T12:00:00Z
//   checks:   - {shape: small ..., passed: true, loss: 6.3, reference_loss: 6.3, worst: 0.01, ...}
//   steps:    - {shape: 13b ..., us: 91000, p10: ..., p90: ..., n: 110, launched_us: ..., ...}
//   kernels:  - {case: gemm fprop bf16 m=3072 ..., us: 780.1, implementation: cublaslt,
//                sm_clock_mhz: 1410}
//
// What the library does not offer, or what fails, has its status in place of a time.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/validate/step_bench.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::calibrate {

// A status begins so where a call failed that is offered.
inline constexpr std::string_view kFailedStatus = "failed: ";

struct RecordedCheck {
  StepShape shape;
  StepCheck check;
  std::string status = {};  // where it is not supported
};

struct RecordedStep {
  StepShape shape;
  double us = 0.0;  // median
  double p10 = 0.0;
  double p90 = 0.0;
  std::int64_t count = 0;
  std::optional<double> launched_us = {};
  std::optional<double> sm_clock = {};  // MHz
  std::optional<double> power = {};     // W
  std::string throttled = {};           // reasons, joined by blanks
  std::string status = {};              // where it is not supported
};

struct RecordedKernel {
  kernels::KernelCase kernel;
  double us = 0.0;
  std::string implementation = {};
  std::optional<double> sm_clock = {};  // MHz
  std::string status = {};              // where it is not supported
};

struct ValidationRecord {
  std::string fingerprint;  // id, as of a profile that is measured there
  std::string gpu;
  std::string measured_at;
  std::vector<RecordedCheck> checks = {};
  std::vector<RecordedStep> steps = {};
  std::vector<RecordedKernel> kernels = {};
};

[[nodiscard]] std::string to_yaml(const ValidationRecord& record);

// Nothing after an error.
[[nodiscard]] std::optional<ValidationRecord> read_record(std::string_view yaml,
                                                          std::string file,
                                                          Diagnostics& diagnostics);

}  // namespace orrery::calibrate
