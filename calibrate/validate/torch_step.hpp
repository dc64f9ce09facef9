#pragma once

// What did an independent program measure? A PyTorch training step of the same shape, timed by
// calibrate/torch_step.py.
//
//   {"schema": "orrery-torch-step/1", "shape": "13b hidden=5120 ...", "mode": "eager",
//    "median_us": 1.0, "p10_us": 0.9, "p90_us": 1.1, "count": 20,
//    "versions": {"torch": "2.8.0", "cuda": "12.8", "device": "NVIDIA H200"}}
//
// One object or an array of them. Its step has other kernels than ours (unfused norms, other
// attention), so its time says how far a profile carries to a stack that it was not measured with.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/validate/step_shape.hpp"

namespace orrery::calibrate {

struct TorchStep {
  StepShape shape;
  std::string mode;  // eager, compiled
  double median_us = 0.0;
  double p10_us = 0.0;
  double p90_us = 0.0;
  std::int64_t count = 0;
  std::string torch;  // versions
  std::string cuda;
  std::string device;
};

// What is wrong, in one sentence, where there are no steps.
struct ReadTorch {
  std::vector<TorchStep> steps;
  std::string problem;
};

[[nodiscard]] ReadTorch read_torch_steps(std::string_view json);

}  // namespace orrery::calibrate
