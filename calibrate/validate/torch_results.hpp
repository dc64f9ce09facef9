#pragma once

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

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/validate/step_shape.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

// As PyTorch calls them; `adamw` is its fused optimizer.
inline constexpr std::array<std::string_view, 4> kTorchCalls = {
    "mm", "_scaled_mm", "scaled_dot_product_attention", "adamw"};

// us per step, by the profiler's kernels.
struct TorchLedger {
  double products = 0.0;
  double attention = 0.0;
  double memory = 0.0;
  double optimizer = 0.0;
};

struct TorchStep {
  StepShape shape;
  std::string mode;  // eager, compiled
  double median_us = 0.0;
  double p10_us = 0.0;
  double p90_us = 0.0;
  std::int64_t count = 0;
  std::string sdpa_backend;  // cudnn, flash, efficient, math
  TorchLedger ledger;
  std::string torch;  // versions
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
