#pragma once

// Files that decide the answer beside the scenario's own text and the profiles that are found by
// name: those that it names by path, such as profiles, tables of collectives, traces of spot nodes,
// logs of failures. For those who keep answers, or must not overwrite an input.

#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// As they are now; those that are not there are left out. Throws Error(io) for what cannot be read.
[[nodiscard]] std::vector<FileStamp> named_files(const scenario::Scenario& scenario);

// Inputs of the failure model that the scenario only refers to: the lines of the log it names, and
// the nodes behind a switch or in a rack, which the network states. For evaluate/, and for those
// who ask before long work.

// Domains that are not stated: a switch holds the nodes of the network's lowest tier, a rack those
// of an NVLink domain that is larger than a node. False after an error in the log.
[[nodiscard]] bool add_failure_inputs(const scenario::Scenario& scenario,
                                      run::FailureSpec& failures, Diagnostics& diagnostics);

}  // namespace orrery::evaluate
