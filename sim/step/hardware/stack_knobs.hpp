#pragma once

// Coefficients of a stack that err together, by how much, and what measures them. A row of
// stack_coefficients.hpp names its knob.
//
// The error of a knob is the residual of the fit of its first coefficient, or kAssumedError without
// one.

#include <span>
#include <string_view>

#include "sim/step/hardware/software_profile.hpp"

namespace orrery::hardware {

inline constexpr double kAssumedError = 0.05;

struct StackKnob {
  std::string_view name;
  std::string_view measured_by;  // a command

  [[nodiscard]] double residual(const SoftwareProfile& software) const;  // 0: not fitted
  [[nodiscard]] double error(const SoftwareProfile& software) const;
  void move(SoftwareProfile& software, double factor) const;
};

[[nodiscard]] std::span<const StackKnob> stack_knobs();

}  // namespace orrery::hardware
