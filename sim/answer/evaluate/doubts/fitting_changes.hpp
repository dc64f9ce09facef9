#pragma once

// Remedies for a step that does not fit in memory: the smallest changes of one or two keys,
// tried one by one, that a person would try first (sharding, recomputation, degrees of
// parallelism); where none of them is enough, the nodes that hold it with everything sharded.

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::evaluate {

// Sentences with the keys, the step time and what stays free, those first that may be the fastest;
// at most three; one that says so where none of the changes fits.
[[nodiscard]] std::vector<std::string> fitting_changes(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search);

}  // namespace orrery::evaluate
