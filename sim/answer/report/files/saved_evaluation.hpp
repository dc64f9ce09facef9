#pragma once

// A saved answer of `orrery run --json`, read back so that it can be shown and compared.
//
// Only what the file states is there: figures, ledgers, memory, levers, verdicts and messages.
// Unknown keys are left alone; metrics and categories that this program does not know are left out.

#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/files/figures.hpp"

namespace orrery::report {

struct SavedReading {
  std::vector<Figures> evaluations;  // one for each scenario of the file
  std::string problem;               // a sentence; empty: read
};

[[nodiscard]] SavedReading read_saved_evaluations(std::string_view text);

// Whether the text begins as a saved answer does.
[[nodiscard]] bool is_saved_evaluation(std::string_view text);

}  // namespace orrery::report
