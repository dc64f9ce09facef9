#pragma once

// How do two or more scenarios differ, in what they state and in what comes out? Two tables.

#include <span>

#include "gui/models/evaluation_job.hpp"
#include "gui/models/table.hpp"

namespace orrery::gui {

struct Candidate {
  QString title;
  OutcomePtr outcome;  // null: not evaluated yet
};

// Keys that they do not state alike, a column for each candidate.
[[nodiscard]] Table differing_keys_table(std::span<const Candidate> candidates);

// Metrics and ledger categories: value of the first, value and change of every other. Candidates
// without an evaluation have empty columns.
[[nodiscard]] Table differences_table(std::span<const Candidate> candidates);

}  // namespace orrery::gui
