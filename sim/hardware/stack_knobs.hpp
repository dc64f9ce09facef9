#pragma once

// Which coefficients of a stack err together, by how much, and what measures them?
//
// knob                          | moves
// ------------------------------|------------------------------------------------------------------
// rate of matrix products       | gemm_efficiency of the stack, 16 and 8 bit
// rate of attention             | attention_efficiency
// rate of memory-bound kernels  | memory_efficiency
// NVLink bandwidth              | nvlink_efficiency
// network bandwidth             | network_efficiency
// latency of communication      | collective_overhead, transfer_overhead
// cost of overlap               | communication_slowdown
// host time per kernel          | kernel_gap, host_layer_time
//
// The error of a knob is the residual of its coefficient's fit, or kAssumedError without one.

#include <span>
#include <string_view>

#include "sim/hardware/software_profile.hpp"

namespace orrery::hardware {

inline constexpr double kAssumedError = 0.05;

struct StackKnob {
  std::string_view name;
  std::string_view measured_by;                          // a command
  double (*residual)(const SoftwareProfile&) = nullptr;  // 0: not fitted
  void (*move)(SoftwareProfile&, double factor) = nullptr;

  [[nodiscard]] double error(const SoftwareProfile& software) const {
    const double fitted = residual(software);
    return fitted > 0.0 ? fitted : kAssumedError;
  }
};

[[nodiscard]] std::span<const StackKnob> stack_knobs();

}  // namespace orrery::hardware
