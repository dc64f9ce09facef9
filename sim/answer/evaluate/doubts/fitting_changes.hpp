#pragma once

// Remedies for a step that does not fit in memory: the smallest changes of one or two keys,
// tried one by one, that a person would try first (sharding, recomputation, degrees of
// parallelism); where none of them is enough, the nodes that hold it with as much sharded as the
// stack can.

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::evaluate {

// Whether the stack runs what is changed of the stated layout, by what its profile offers: nobody
// is told to shard beside a pipeline what the stack does not.
[[nodiscard]] bool runs(const hardware::SoftwareProfile& software,
                        const layout::LayoutSpec& changed, const layout::LayoutSpec& stated);

// Sentences with the keys, the step time and what stays free, those first that may be the fastest;
// at most three; one that says so where none of the changes fits.
[[nodiscard]] std::vector<std::string> fitting_changes(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search);

}  // namespace orrery::evaluate
