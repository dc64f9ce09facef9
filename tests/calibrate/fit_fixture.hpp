#pragma once

// Made-up runs of one stack, and what the simulator itself says about them with other coefficients:
// a fit of such rows has a known answer.

#include <string>
#include <vector>

#include "calibrate/fit/generalisation.hpp"

namespace orrery::fit::testing {

// Twelve runs on A100: three models of different width, with and without tensor and pipeline
// parallelism, on one and on several nodes; measured by nobody yet (1 s each).
[[nodiscard]] Observations small_runs();

[[nodiscard]] Rows pointers_to(const Observations& observations);

// The profile of small_runs().
[[nodiscard]] hardware::SoftwareProfile start_profile();

[[nodiscard]] FitSettings settings_for(const std::vector<std::string>& keys, int threads = 1);

// Replaces what was measured by what the simulator says with this profile.
void measure_with(Observations& observations, const hardware::SoftwareProfile& truth);

void set_value(hardware::SoftwareProfile& profile, const std::string& key, double value);

}  // namespace orrery::fit::testing
