#include "sim/step/hardware/stack_knobs.hpp"

#include <algorithm>

#include "sim/step/hardware/stack_coefficients.hpp"

namespace orrery::hardware {

namespace {

constexpr std::string_view kByKernels = "orrery calibrate --scenario";
constexpr std::string_view kByCollectives = "orrery calibrate --collectives";
constexpr std::string_view kBySteps = "orrery fit";

constexpr StackKnob kKnobs[] = {{"rate of matrix products", kByKernels},
                                {"rate of attention", kByKernels},
                                {"rate of memory-bound kernels", kByKernels},
                                {"bandwidth inside nodes", kByCollectives},
                                {"network bandwidth", kByCollectives},
                                {"latency of communication", kByCollectives},
                                {"cost of overlap", kBySteps},
                                {"host time per kernel", kBySteps}};

}  // namespace

double StackKnob::residual(const SoftwareProfile& software) const {
  const auto rows = stack_coefficients();
  const auto first =
      std::find_if(rows.begin(), rows.end(), [this](const auto& row) { return row.knob == name; });
  return first == rows.end() ? 0.0 : first->residual(software);
}

void StackKnob::move(SoftwareProfile& software, double factor) const {
  for (const StackCoefficient& row : stack_coefficients()) {
    if (row.knob == name) {
      row.scale(software, factor);
    }
  }
}

double StackKnob::error(const SoftwareProfile& software) const {
  const double fitted = residual(software);
  return fitted > 0.0 ? fitted : kAssumedError;
}

std::span<const StackKnob> stack_knobs() { return kKnobs; }

}  // namespace orrery::hardware
