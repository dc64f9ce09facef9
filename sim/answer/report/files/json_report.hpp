#pragma once

// The answer as JSON for other programs, in the schema `orrery-evaluation/1`.
//
// key          | meaning
// -------------|-------------------------------------------------------------------------------
// scenario     | name, file and SHA-256 of what was asked
// outcome      | how good the answer is, and why (verdict.hpp)
// feasible     | fits in memory, and most trials reach the end; `reasons` says why not
// advice       | changes with which it would fit, where it does not
// metrics      | by JSON key (unit in the key): value, and over trials p10, p50, p90 and ci95,
//              | the 95 % confidence interval of the median
// step_ledger  | GPU-seconds of one step by category, share, dollars
// run_ledger   | the same of the run, as mean over the trials; empty without a run
// memory       | peak of one GPU by pipeline stage, with its terms
// step_band    | how sure the step time is; null where it is given or nobody asked
// trust        | shares of the step time by kind of source, and the extrapolated share
// switches     | keys of the stack that would shorten the step, with the step time
// levers       | what a change is worth: seconds and dollars for the same work, negative is better
// expectations | text, pass, verdict (pass, fail, undecided), value of the first comparison, detail
// diagnostics  | warnings with file, line, column, key
//
// Numbers are finite and in base units; one that does not exist is null or left out. Dollars are
// left out without a price.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"

namespace orrery::report {

inline constexpr std::string_view kEvaluationSchema = "orrery-evaluation/1";

[[nodiscard]] std::string to_json(const Evaluation& evaluation);

// Several evaluations as one array, in the given order.
[[nodiscard]] std::string to_json(const std::vector<Evaluation>& evaluations);

// The same for writers of other documents (base/json_text.hpp), and parts of it alone.
[[nodiscard]] nlohmann::ordered_json json_of(const Evaluation& evaluation);
[[nodiscard]] nlohmann::ordered_json json_of(const Diagnostics& diagnostics);
[[nodiscard]] nlohmann::ordered_json json_of(const Trust& trust);

}  // namespace orrery::report
