#pragma once

// Compares scenarios: a table of the keys that differ, a table of the results that differ, and
// their timelines on one axis.

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/answer/report/files/figures.hpp"

namespace orrery::gui {

struct Candidate {
  QString title;
  OutcomePtr outcome;  // null: not evaluated yet, or a saved answer
  std::shared_ptr<const report::Figures> saved = {};

  [[nodiscard]] bool answered() const {
    return saved != nullptr || (outcome != nullptr && outcome->evaluation != nullptr);
  }
};

// Keys that they do not state alike, a column for each candidate.
[[nodiscard]] Table differing_keys_table(std::span<const Candidate> candidates);

// The first against the second of those with a step: which keys change, what that does to the step,
// and in which row of its ledger most of it is. Empty where there are no two.
[[nodiscard]] QString why_sentence(std::span<const Candidate> candidates);

// Metrics and ledger categories: value of the first, value and change of every other. Candidates
// without an evaluation have empty columns.
[[nodiscard]] Table differences_table(std::span<const Candidate> candidates);

// The timelines of this level ("run" or "step") one below the other, all from zero; empty when
// fewer than two candidates have it.
[[nodiscard]] timeline::Levels timelines_beside(std::span<const Candidate> candidates,
                                                const std::string& level);

// The operations of these steps in the same way, the level within that of the steps; nothing when
// fewer than two candidates have them, or after a stop request. Millions of slices take seconds.
[[nodiscard]] std::optional<timeline::Level> operations_beside(
    std::span<const Candidate> candidates, const std::stop_token& stop = {});

}  // namespace orrery::gui
