#pragma once

// Tables of a fresh or saved answer, one function each; every number in them is one of the answer's
// figures.

#include <QString>
#include <vector>

#include "gui/models/tables/table.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/files/saved_evaluation.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::gui {

[[nodiscard]] Table metrics_table(const report::Figures& answer);
// With the length of all in seconds each row tells its own, else its GPU-hours.
[[nodiscard]] Table ledger_table(const QString& title, const std::vector<report::LedgerRow>& rows,
                                 double length = 0.0);
[[nodiscard]] Table memory_table(const report::Figures& answer);
[[nodiscard]] Table levers_table(const report::Figures& answer);
[[nodiscard]] Table expectations_table(const report::Figures& answer);

// What stopped the run in the trial that the timeline draws, the dearest first: the failure, the
// work that it took and the time until training went on; planned stops as well. The number behind
// the first cell is its begin in nanoseconds, that behind the time stopped its length in seconds.
inline constexpr auto kEvents = "Events";
[[nodiscard]] Table events_table(const report::Evaluation& evaluation);

// Those that have rows.
[[nodiscard]] std::vector<Table> filled(std::vector<Table> tables);

// All of an evaluation that have rows: these, and the causes of failures and the trust.
[[nodiscard]] std::vector<Table> all_tables(const report::Evaluation& evaluation);

// Severity, line, key, message, allowed values; where there are several files, `place` says where.
[[nodiscard]] Table problems_table(const Diagnostics& diagnostics, const QString& failure,
                                   QString (*place)(const SourceLocation& where) = nullptr);

// Tables of a saved answer: a file written by `orrery run --json` or by "Save answer".

struct SavedFile {
  std::vector<report::Figures> answers;
  QString problem;  // a sentence; empty: read
};

[[nodiscard]] SavedFile read_saved_file(const QString& path);

// One sentence: fits or not, step time, end, cost, as far as it says.
[[nodiscard]] QString saved_sentence(const report::Figures& saved);

// Those that have rows: metrics, ledgers, memory, levers, expectations, messages.
[[nodiscard]] std::vector<Table> saved_tables(const report::Figures& saved);

}  // namespace orrery::gui
