#pragma once

// How much longer steps take while links somewhere on the cluster are slow (failures.network with a
// fault), from the step simulator with the traffic as flows (docs/fabric.md).
//
//   factor(place) = step(flows, fault at the place) / step(flows)
//   places        = up to 16 nodes or switches, at equal distances; each as likely as another
//
// The job's groups stand at different places of the network: a slow NIC of a pipeline stage that
// waits anyway costs nothing, one under the largest reduction costs most. A given step time takes
// the same factor.

#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/evaluate/evaluate_options.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// Fills the slowdowns that `failures`, or its preset, leaves to a fault, and says in `assumed` what
// they came to. False, with diagnostics, where the cluster has no such links.
[[nodiscard]] bool add_fault_steps(const scenario::Scenario& scenario,
                                   const EvaluateOptions& options,
                                   run::FailureSpec& failures,
                                   std::vector<std::string>& assumed,
                                   Diagnostics& diagnostics);

}  // namespace orrery::evaluate
