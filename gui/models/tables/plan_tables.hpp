#pragma once

// Tables of a plan, with rows in the plan's order and the proposal behind each row.
//
// Nothing is computed here: every number and sentence is the plan's.

#include <optional>
#include <vector>

#include "gui/models/plots/plot.hpp"
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

[[nodiscard]] PlanHeadline plan_headline(const plan::Plan& plan);

// What is said of one plan when it is chosen: standing, figures, reason and changed keys, as HTML.
[[nodiscard]] QString proposal_html(const plan::Plan& plan, const plan::Proposal& proposal);

// Scatter plot of two figures of every plan, lower is better in both.
//
// The target of a point is its place in the front's points.
[[nodiscard]] Plot front_plot(const plan::Plan& plan, const plan::Front& front);

// "cost against finish".
[[nodiscard]] QString front_name(const plan::Front& front);

// The first point that shows this plan, of the series that come last, which are drawn on top.
[[nodiscard]] std::optional<PlotPoint> point_of(const Plot& shown, const plan::Front& front,
                                                const std::string& tag);

}  // namespace orrery::gui
