#pragma once

// Conditions under which a key changes nothing, shared by rows of several sections; a row states
// its own beside its key. Internal to scenario/.

#include "sim/scenario/rules/what_fails.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

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
