#pragma once

// The answer as JSON Lines for data tools: one object per line.
//
// table   | fields of a line
// --------|-------------------------------------------------------------------------------------
// metrics | scenario, metric (unit in the name), value, and over trials p10, p50, p90, ci95
// ledger  | scenario, ledger (step, run), category, gpu_s, share, usd
// memory  | scenario, stage, peak_bytes, limit_bytes, terms
// a trace | type slice: track, name, category, begin_ns, duration_ns, arguments
//         | type mark: track, name, at_ns;  type sample: track, unit, at_ns, value
//         | type flow: name, slices (numbers of the slice lines from 0, in their order)
//
// The lines of a table hold the same numbers as the report's JSON and are made from it.

#include <string>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

[[nodiscard]] std::string metrics_lines(const Evaluation& evaluation);
[[nodiscard]] std::string ledger_lines(const Evaluation& evaluation);
[[nodiscard]] std::string memory_lines(const Evaluation& evaluation);
[[nodiscard]] std::string to_json_lines(const Trace& trace);

}  // namespace orrery::report
