#pragma once

// The answer as flat data for other tools.
//
// CSV for spreadsheets: one table per call, with a header row.
//
// table   | columns
// --------|-------------------------------------------------------------------------------------
// metrics | metric (unit in the name), value, p10, p50, p90, ci95_low, ci95_high (of the median)
// ledger  | ledger (step, run), category, gpu_s, share, usd
// roofline| operation, flop_per_byte, flop_per_s, roof_flop_per_s, roof (what limits it), time_s,
//         | share; needs StepResult::operation_timeline
// memory  | stage, peak_bytes, limit_bytes, and one column per term
// failures| of one trial, a row for each node hit: at_s, cause, category, scope, unit (number of
//         | the rack, switch or power domain), node, leaves (the job), replaced_by (node), back_s
//         | (from repair); without a node where a failure hits none
//
// Numbers are in base units with all digits; cells without a value are empty. Fields are quoted
// where RFC 4180 asks for it; lines end in "\n".

#include <string>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

[[nodiscard]] std::string metrics_csv(const Evaluation& evaluation);
[[nodiscard]] std::string ledger_csv(const Evaluation& evaluation);
[[nodiscard]] std::string roofline_csv(const Evaluation& evaluation);
[[nodiscard]] std::string memory_csv(const Evaluation& evaluation);
[[nodiscard]] std::string failures_csv(const Evaluation& evaluation);

// JSON Lines for data tools: one object per line.
//
// table   | fields of a line
// --------|-------------------------------------------------------------------------------------
// metrics | scenario, metric (unit in the name), value, and over trials p10, p50, p90, ci95
// ledger  | scenario, ledger (step, run), category, gpu_s, share, usd
// memory  | scenario, stage, peak_bytes, limit_bytes, terms
// failures| scenario, and the columns of the CSV
// a trace | type slice: track, name, category, begin_ns, duration_ns, arguments
//         | type mark: track, name, at_ns, arguments where it has some
//         | type sample: track, unit, at_ns, value
//         | type flow: name, slices (numbers of the slice lines from 0, in their order)
//
// The lines of a table hold the same numbers as the report's JSON and are made from it.

[[nodiscard]] std::string metrics_lines(const Evaluation& evaluation);
[[nodiscard]] std::string ledger_lines(const Evaluation& evaluation);
[[nodiscard]] std::string memory_lines(const Evaluation& evaluation);
[[nodiscard]] std::string failures_lines(const Evaluation& evaluation);
[[nodiscard]] std::string to_json_lines(const Trace& trace);

// Prometheus' text format, in which a dashboard draws plan beside run.
//
//   orrery_NAME{scenario="..."} value
//   orrery_NAME{scenario="...",quantile="0.1"} value     over trials, where the metric varies
//   orrery_NAME{scenario="...",band="low"} value         of the band of the prediction
//
// Names are the registry's with the unit in the name. A node exporter's textfile collector reads
// the file, or a push gateway takes it.

[[nodiscard]] std::string metrics_prometheus(const Evaluation& evaluation);

}  // namespace orrery::report
