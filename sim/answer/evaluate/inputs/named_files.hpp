#pragma once

// Files that decide the answer beside the scenario's own text and the profiles that are found by
// name: those that it names by path, such as profiles, tables of collectives, traces of spot nodes,
// logs of failures. For those who keep answers, or must not overwrite an input.

#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// As they are now; those that are not there are left out. Throws Error(io) for what cannot be read.
[[nodiscard]] std::vector<FileStamp> named_files(const scenario::Scenario& scenario);

}  // namespace orrery::evaluate
