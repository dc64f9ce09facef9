#pragma once

// Inputs of the failure model that the scenario only refers to: the lines of the log it names, and
// the nodes behind a switch or in a rack, which the network states. For evaluate/, and for those
// who ask before long work.

#include "sim/base/diagnostics.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// Domains that are not stated: a switch holds the nodes of the network's lowest tier, a rack those
// of an NVLink domain that is larger than a node. False after an error in the log.
[[nodiscard]] bool add_failure_inputs(const scenario::Scenario& scenario,
                                      run::FailureSpec& failures, Diagnostics& diagnostics);

}  // namespace orrery::evaluate
