#pragma once

// All trials of a plan, and how well their mean is known.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "sim/run/monte_carlo.hpp"

namespace orrery::run::testing {

inline MonteCarloResult run_all(const RunPlan& plan, bool event_by_event = false) {
  MonteCarloOptions options;
  options.event_by_event = event_by_event;
  const std::optional<MonteCarloResult> result = simulate(plan, options);
  EXPECT_TRUE(result.has_value());
  return result.value_or(MonteCarloResult{});
}

inline double standard_error(const Distribution& d) {
  return d.standard_deviation() / std::sqrt(static_cast<double>(d.count()));
}

}  // namespace orrery::run::testing
