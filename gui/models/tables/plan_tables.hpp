#pragma once

// Tables of a plan, with rows in the plan's order and the proposal behind each row.
//
// table     | a row is                                                    | proposal
// ----------|-------------------------------------------------------------|------------------------
// Ranking   | a finalist; the last, without rank, the scenario as it is   | the finalist
// Trade-off | a point of a front that no other beats in both figures      | the point
// Nearly    | a layout that would win if it fitted, and what would help   | the one that fits, else
// it Firm      | a coefficient off by its error, and who leads then          | the overtaker
//
// Nothing is computed here: every number and sentence is the plan's.

#include <optional>
#include <vector>

#include "gui/models/tables/table.hpp"
#include "sim/answer/plan/result/plan.hpp"

namespace orrery::gui {

struct PlanTable {
  Table table;
  std::vector<std::optional<plan::Proposal>> proposals = {};  // by row
};

[[nodiscard]] PlanTable ranking_table(const plan::Plan& plan);
[[nodiscard]] PlanTable trade_off_table(const plan::Plan& plan, const plan::Front& front);
[[nodiscard]] PlanTable neighbours_table(const plan::Plan& plan);
[[nodiscard]] PlanTable firmness_table(const plan::Plan& plan);

// What is said above them.
struct PlanHeadline {
  QString title;  // "32 GPUs: data 32, zero1, ...", or that there is no plan
  QString lines;  // figures of the best plan, the scenario as it stands beside it, the search
  QString notes;  // what a reader must know first: an interruption, unmet constraints
  bool found = false;
};

// Sentences of `orrery plan` with the keys that do what its flags do.
[[nodiscard]] QString without_flags(QString text);

[[nodiscard]] PlanHeadline plan_headline(const plan::Plan& plan);

// What is said of one plan when it is chosen: standing, figures, reason and changed keys, as HTML.
[[nodiscard]] QString proposal_html(const plan::Plan& plan, const plan::Proposal& proposal);

}  // namespace orrery::gui
