#pragma once

// Tables of a saved answer: a file written by `orrery run --json` or by "Save answer".

#include <QString>
#include <memory>
#include <vector>

#include "gui/models/tables/table.hpp"
#include "sim/answer/report/files/saved_evaluation.hpp"

namespace orrery::gui {

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
