#pragma once

// One step of a changed scenario, to find what the change is worth.

#include <optional>

#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::evaluate {

struct WhatIfStep {
  Seconds time;
  Bytes peak;  // of the fullest GPU
  bool fits = true;
};

[[nodiscard]] WhatIfStep what_if_of(const step::StepResult& step);

// Nothing where a rule forbids it or the stack cannot run it.
[[nodiscard]] std::optional<WhatIfStep> what_if_step(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search);

}  // namespace orrery::evaluate
