#pragma once

// Tables of a fresh or saved answer, one function each; every number in them is one of the answer's
// figures.

#include "gui/models/tables/table.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/report/files/figures.hpp"

namespace orrery::gui {

[[nodiscard]] Table metrics_table(const report::Figures& answer);
[[nodiscard]] Table ledger_table(const QString& title, const std::vector<report::LedgerRow>& rows);
[[nodiscard]] Table memory_table(const report::Figures& answer);
[[nodiscard]] Table levers_table(const report::Figures& answer);
[[nodiscard]] Table expectations_table(const report::Figures& answer);

// Those that have rows.
[[nodiscard]] std::vector<Table> filled(std::vector<Table> tables);

// All of an evaluation that have rows: these, and the causes of failures and the trust.
[[nodiscard]] std::vector<Table> all_tables(const report::Evaluation& evaluation);

// Severity, line, key, message, allowed values.
[[nodiscard]] Table problems_table(const Diagnostics& diagnostics, const QString& failure);

}  // namespace orrery::gui
