#pragma once

// The results of `check` as JUnit XML for CI servers: one suite per file, one test case per
// expectation.
//
// A metric that moved against the baseline is a case of its own, the others are one together.
//
// A failed or undecided expectation is a <failure>, a file that cannot be evaluated an <error>. The
// text holds what was found and needed; properties hold trials, seed and the hash of the scenario.

#include <string>
#include <vector>

#include "sim/cli/check/checked_file.hpp"

namespace orrery::cli {

[[nodiscard]] std::string to_junit(const CheckReport& report);

}  // namespace orrery::cli
