#pragma once

// Which files decide the answer to a scenario, beside its own text and the profiles that are found
// by name? Those that it names by path: profiles, tables of collectives, traces of spot nodes, logs
// of failures. For those who keep answers, or must not overwrite a question.

#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// As they are now; those that are not there are left out. Throws Error(io) for what cannot be read.
[[nodiscard]] std::vector<FileStamp> named_files(const scenario::Scenario& scenario);

}  // namespace orrery::evaluate
