#pragma once

// The answer as CSV for spreadsheets: one table per call, with a header row.
//
// table   | columns
// --------|-------------------------------------------------------------------------------------
// metrics | metric (unit in the name), value, p10, p50, p90, ci95_low, ci95_high (of the median)
// ledger  | ledger (step, run), category, gpu_s, share, usd
// roofline| operation, flop_per_byte, flop_per_s, roof_flop_per_s, roof (what limits it), time_s,
//         | share; needs StepResult::operation_timeline
// memory  | stage, peak_bytes, limit_bytes, and one column per term
//
// Numbers are in base units with all digits; cells without a value are empty. Fields are quoted
// where RFC 4180 asks for it; lines end in "\n".

#include <string>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

[[nodiscard]] std::string metrics_csv(const Evaluation& evaluation);
[[nodiscard]] std::string ledger_csv(const Evaluation& evaluation);
[[nodiscard]] std::string roofline_csv(const Evaluation& evaluation);
[[nodiscard]] std::string memory_csv(const Evaluation& evaluation);

}  // namespace orrery::report
