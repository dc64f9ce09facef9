#pragma once

// The bench of a real GPU for whole steps: captured as one graph, and launched call by call.
//
//   step = time between events around one replay of the graph; the median of those of the loop
//
// check_step() runs the first step of a small shape with the seed of the reference and compares the
// loss and the gradient of every parameter:
//
//   error = |g - reference| / |reference|, Euclidean norms over a parameter
//
// precision  | largest error | why
// -----------|---------------|------------------------------------------------------------------
// bf16       | 0.05          | 2^-9 per rounding, some tens of roundings in a row
// fp8_tensor | 0.30          | 2^-4 (E4M3) and 2^-3 (E5M2) per operand, averaged in the sums
//
// A wrong kernel, layout or operand makes an error of order 1. The loss agrees within a fifth of
// these, relative.

#include "calibrate/measure/device_bench.hpp"
#include "calibrate/validate/step_bench.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/nvml/nvml.hpp"

namespace orrery::calibrate {

class DeviceStepBench : public StepBench {
 public:
  // Throws Error(device) with one clear sentence where there is no GPU.
  explicit DeviceStepBench(int device);

  [[nodiscard]] Bench& kernels() override {
    return bench_;
  }

  [[nodiscard]] StepTiming time_step(const StepProgram& program,
                                     const StepTimingRules& rules) override;
  [[nodiscard]] StepCheck check_step(const StepProgram& program) override;

 private:
  DeviceBench bench_;
  kernels::Nvml nvml_;
  kernels::OwnedStream stream_;
};

}  // namespace orrery::calibrate
