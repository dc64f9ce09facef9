#pragma once

// Whether anything can fail in a run, and whether a node can, as its specs say before it is
// resolved, so that keys without effect are found.

#include <algorithm>
#include <vector>

#include "sim/run/failures/failure_spec.hpp"
#include "sim/run/run_spec.hpp"

namespace orrery::scenario {

// Whether a cause of the scenario, or else of its preset, is like that.
template <typename Matches>
bool any_cause(const run::FailureSpec& failures, const Matches& matches) {
  const run::FailureSpec base = failures.preset ? failures.preset->spec : run::FailureSpec{};
  const auto in = [&](const std::vector<run::FailureCause>& stated,
                      const std::vector<run::FailureCause>& otherwise) {
    const std::vector<run::FailureCause>& causes = stated.empty() ? otherwise : stated;
    return std::any_of(causes.begin(), causes.end(), matches);
  };
  return in(failures.causes, base.causes) || in(failures.correlated, base.correlated);
}

// Failures that come by themselves: at a rate, by the lives of parts, from a log, from the
// provider.
[[nodiscard]] bool can_fail(const run::RunSpec& run);

// What ends in a restart although nothing failed.
[[nodiscard]] bool can_restart(const run::FailureSpec& failures);

// A node can leave the job.
[[nodiscard]] bool nodes_can_fail(const run::RunSpec& run);

}  // namespace orrery::scenario
