#pragma once

// Assumptions that decide the answer where the scenario is silent, and what the other likely choice
// would have given; and conditions under which the figures mean less than they seem to.
//
// left open  | assumed         | the other choice that is tried
// -----------|-----------------|----------------------------------------------------------------
// `failures` | nothing fails   | kLikelyFailures, with the same trials
// `recovery` | a checkpoint is read | kLikelyRecovery, with the same trials
// `software` | usual_stack.hpp | the `other` of the profile
// nodes of a superchip | those of its rack (`sold_as` of the GPU's profile) | none

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/evaluate/levers.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::evaluate {

inline constexpr std::string_view kLikelyFailures = "llama3-2024";
inline constexpr std::string_view kLikelyRecovery = "megascale-2024";

// Size of node and NVLink domain of a GPU that is sold in racks, where none are stated.
[[nodiscard]] std::optional<std::string> assumed_rack(const scenario::Scenario& scenario);

// The stack, where the scenario states none; the step of `evaluation` is known.
[[nodiscard]] std::optional<std::string> assumed_software(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search,
    const report::Evaluation& evaluation);

// The failures, where the scenario states none; `spec` and `step` as the plan was made of.
[[nodiscard]] std::optional<std::string> assumed_failures(const scenario::Scenario& scenario,
                                                          run::RunSpec spec,
                                                          const run::StepInput& step,
                                                          const LeverOptions& options);

// The recoveries, where neither the scenario nor its failures state one that takes time.
[[nodiscard]] std::optional<std::string> assumed_recovery(const scenario::Scenario& scenario,
                                                          run::RunSpec spec,
                                                          const run::StepInput& step,
                                                          const LeverOptions& options);

// A stated step in which the GPUs would have to work beyond their dense peak, by 6 N D alone.
[[nodiscard]] std::optional<std::string> impossible_step(const report::Evaluation& evaluation);

// More nodes in repair on average than spares: the job waits for them, and the figures say little
// beside that. Below 1 % of the time it is not worth saying. Needs the plan.
[[nodiscard]] std::optional<std::string> missing_spares(const report::Evaluation& evaluation);

// What a budget of memory for recomputation was met by.
[[nodiscard]] std::optional<std::string> chosen_recompute(const scenario::Scenario& scenario,
                                                          const Resolved& resolved);

// Combinations of keys, GPU, nodes and stack that nobody runs, or whose figures are bounds.
void warn_of_the_setup(const scenario::Scenario& scenario, const Resolved& resolved,
                       Diagnostics& diagnostics);

}  // namespace orrery::evaluate
