#pragma once

// Conditions under which a key changes nothing, shared by rows of several sections; a row states
// its own beside its key. Internal to scenario/.

#include <algorithm>
#include <vector>

#include "sim/run/failures/failure_spec.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

// Whether anything can fail in a run, and whether a node can, as its specs say before it is
// resolved, so that keys without effect are found.

// Whether a cause of the scenario, or else of its preset, is like that.
template <typename Matches>
bool any_cause(const run::FailureSpec& failures, const Matches& matches) {
  const run::FailureSpec base = failures.preset ? failures.preset->spec : run::FailureSpec{};
  const auto in = [&](const std::vector<run::FailureCause>& stated,
                      const std::vector<run::FailureCause>& otherwise) {
    const std::vector<run::FailureCause>& causes = stated.empty() ? otherwise : stated;
    return std::ranges::any_of(causes, matches);
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

// There is a `training`, so a run.
[[nodiscard]] bool in_run(const Draft& draft);

// Nothing fails in the run, and nothing else restarts it; no node fails, only the job.
[[nodiscard]] bool never_fails(const Draft& draft);
[[nodiscard]] bool nodes_never_fail(const Draft& draft);

// One rank reduces gradients, where the file tells it.
[[nodiscard]] bool shares_no_gradients(const Draft& draft);

inline constexpr Idle kNoExchange =
    ORRERY_WHEN(!d.scenario.model.moe || d.scenario.layout.expert == 1,
                "no token is sent to experts on other ranks");
inline constexpr Idle kNoRun = ORRERY_WHEN(!in_run(d), "there is no `training`, so no run");
inline constexpr Idle kNothingFails = {never_fails, "nothing fails in this scenario"};

}  // namespace orrery::scenario
