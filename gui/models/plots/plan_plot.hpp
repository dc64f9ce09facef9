#pragma once

// Scatter plot of a front of a plan: two figures of every plan, lower is better in both.
//
// series       | mark     | points
// -------------|----------|------------------------------------------------------------
// best         | star     | the chosen plan
// within error | diamond  | ranked, and not distinguishable from the best
// ranked       | disc     | ranked behind it
// now          | square   | the scenario as it stands, where it is not ranked
// others       | cross    | simulated or estimated, but not ranked
// on the front | line     | through those that no other beats in both figures

#include <optional>
#include <vector>

#include "gui/models/plots/plot.hpp"
#include "sim/answer/plan/result/plan.hpp"

namespace orrery::gui {

// Those of the plan in which both figures vary by a thousandth; where there are none, step time
// against peak memory of what is ranked and of the scenario as it stands.
[[nodiscard]] std::vector<plan::Front> fronts_of(const plan::Plan& plan);

// The target of a point is its place in the front's points.
[[nodiscard]] Plot front_plot(const plan::Plan& plan, const plan::Front& front);

// "cost against finish".
[[nodiscard]] QString front_name(const plan::Front& front);

// The first point that shows this plan, of the series that come last, which are drawn on top.
[[nodiscard]] std::optional<PlotPoint> point_of(const Plot& shown, const plan::Front& front,
                                                const std::string& tag);

}  // namespace orrery::gui
