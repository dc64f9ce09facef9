#pragma once

// Failures of `check` as annotations in a pull request: workflow commands of GitHub Actions.
//
//   ::error file=F,line=L,col=C,title=T::message
//
// In the message % CR LF become %25 %0D %0A, in properties : and , become %3A %2C as well (GitHub,
// "Workflow commands", and actions/toolkit). One command a line: every expectation that is not met
// and every diagnostic at its own line, a metric that moved at its file, a scenario that is missing
// at the baseline.

#include <string>

#include "sim/cli/check/checked_file.hpp"

namespace orrery::cli {

[[nodiscard]] std::string github_annotations(const CheckReport& report);

}  // namespace orrery::cli
