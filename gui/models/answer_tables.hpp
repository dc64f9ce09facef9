#pragma once

// Which tables does an evaluation give? One function each; every number is the registry's or the
// ledger's.

#include "gui/models/table.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/report/evaluation.hpp"

namespace orrery::gui {

[[nodiscard]] Table metrics_table(const report::Evaluation& evaluation);
[[nodiscard]] Table step_ledger_table(const report::Evaluation& evaluation);
[[nodiscard]] Table run_ledger_table(const report::Evaluation& evaluation);
[[nodiscard]] Table memory_table(const report::Evaluation& evaluation);
[[nodiscard]] Table causes_table(const report::Evaluation& evaluation);
[[nodiscard]] Table levers_table(const report::Evaluation& evaluation);
[[nodiscard]] Table expectations_table(const report::Evaluation& evaluation);
[[nodiscard]] Table trust_table(const report::Evaluation& evaluation);

// All of these that have rows, in this order.
[[nodiscard]] std::vector<Table> all_tables(const report::Evaluation& evaluation);

// Severity, line, key, message, allowed values.
[[nodiscard]] Table problems_table(const Diagnostics& diagnostics, const QString& failure);

}  // namespace orrery::gui
