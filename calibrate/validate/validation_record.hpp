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

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/bench.hpp"
#include "calibrate/validate/step_program.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::calibrate {

// Interface of a validation to a GPU: whole steps beside the single kernels of a Bench. Tests
// substitute formulas for the GPU.
//
// time_step() and check_step() throw kernels::Unsupported where the library or the GPU does not
// offer a call of the program, orrery::Error when the device fails.

struct StepTimingRules {
  Seconds warm_up = seconds(2.0);  // of steps that are not counted, on a GPU that is warm already
  Seconds loop = seconds(5.0);     // of steps that are
  int fewest = 5;
  int launched = 5;  // steps without a graph, each call launched by the host; 0: none
};

struct StepTiming {
  Summary step;                     // us, replays of the captured step
  std::optional<Summary> launched;  // us, without a graph
  DeviceState state;
  std::int64_t nodes = 0;  // of the graph
};

// The first step of a small shape, on the device and in double precision on the host.
struct StepCheck {
  bool passed = false;
  double loss = 0.0;
  double reference_loss = 0.0;
  double worst = 0.0;  // largest |g - reference| / |reference| of a parameter's gradient
  std::string where;   // that parameter
};

class StepBench {
 public:
  StepBench() = default;
  StepBench(const StepBench&) = delete;
  StepBench& operator=(const StepBench&) = delete;
  virtual ~StepBench() = default;

  // Of the same GPU, one kernel at a time.
  [[nodiscard]] virtual Bench& kernels() = 0;

  [[nodiscard]] virtual StepTiming time_step(const StepProgram& program,
                                             const StepTimingRules& rules) = 0;
  [[nodiscard]] virtual StepCheck check_step(const StepProgram& program) = 0;
};

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
  std::optional<double> sm_clock = {};  // MHz, mean over its passes, without the optimizer
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
[[nodiscard]] std::optional<ValidationRecord> read_record(std::string_view yaml, std::string file,
                                                          Diagnostics& diagnostics);

// Measurements of an independent program: training steps of the same shapes and single calls of the
// same cases in PyTorch, timed by calibrate/torch_step.py.
//
//   {"schema": "orrery-torch-step/2", "shape": "13b hidden=5120 ...", "mode": "eager",
//    "median_us": 1.0, "p10_us": 0.9, "p90_us": 1.1, "count": 20, "sdpa_backend": "cudnn",
//    "ledger_us": {"products": 0.7, "attention": 0.1, "memory": 0.1, "optimizer": 0.05},
//    "versions": {"torch": "2.8.0", "cuda": "12.8", "device": "NVIDIA H200"}}
//   {"schema": "orrery-torch-kernel/1", "case": "gemm fprop bf16 m=...", "call": "mm", "us": 1.0,
//    "bytes": null, "sdpa_backend": null, "versions": {...}}
//
// One object or an array of them. A step has other kernels than ours (unfused norms, other
// attention): its ledger is printed beside ours, so that the origin of a difference shows. Which
// attention ran is part of the result: without its name a time of attention means nothing.

// As PyTorch calls them; `adamw` is its fused optimizer.
inline constexpr std::array<std::string_view, 4> kTorchCalls = {
    "mm", "_scaled_mm", "scaled_dot_product_attention", "adamw"};

// Where the time of a step goes, by kinds of kernels that every implementation of it has.
struct Ledger {
  Seconds products;
  Seconds attention;
  Seconds memory;     // norms, activations, casts, loss, ...
  Seconds optimizer;  // norm of the gradients and update

  [[nodiscard]] Seconds sum() const { return products + attention + memory + optimizer; }
};

struct TorchStep {
  StepShape shape;
  std::string mode;  // eager, compiled
  double median_us = 0.0;
  double p10_us = 0.0;
  double p90_us = 0.0;
  std::int64_t count = 0;
  std::string sdpa_backend;  // cudnn, flash, efficient, math
  Ledger ledger;             // of the profiler's kernels
  std::string torch;         // versions
  std::string cuda;
  std::string device;
};

struct TorchKernel {
  kernels::KernelCase kernel;
  std::string call;  // of kTorchCalls
  double us = 0.0;
  // That it moves, where that is not what our kernel moves: an AdamW that writes no 16-bit copies.
  std::optional<double> bytes = {};
  std::string sdpa_backend;  // of attention
  std::string torch;
};

// What is wrong, in one sentence, where there is nothing.
struct ReadTorch {
  std::vector<TorchStep> steps;
  std::vector<TorchKernel> kernels;
  std::string problem;
};

[[nodiscard]] ReadTorch read_torch(std::string_view json);

}  // namespace orrery::calibrate
