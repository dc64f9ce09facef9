#pragma once

// Trust in the step time: its shares by the kind of source of the coefficients it rests on.
//
//   share(kind) = GPU time that rests on the kind / GPU time of the step
//
// The shares add up to 1 unless the step has no time at all.

#include <array>

#include "sim/base/provenance.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::report {

struct Trust {
  // By kind: measured, published, datasheet, assumed, given
  std::array<double, kSourceKindCount> share{};
  double extrapolated = 0.0;  // used outside the range in which the coefficient was fitted
};

[[nodiscard]] Trust trust_of(const step::StepResult& step);

}  // namespace orrery::report
