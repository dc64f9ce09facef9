#pragma once

// What does a chart show? Numbers in base units with their dimension; the widget only draws.
//
// series kind | x          | y               | low
// ------------|------------|-----------------|-----------------------------------------------------
// line        | position   | value           | -
// band        | position   | upper edge      | lower edge
// bars        | position   | end of the bar  | where the bar begins; empty: at 0, or on the series
//             |            |                 | before it when the plot is stacked
//
// In a horizontal plot x runs upwards: categories are on the vertical axis, the first on top.

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/evaluation.hpp"
#include "sim/sweep/answer.hpp"

namespace orrery::gui {

struct PlotAxis {
  QString label = {};
  std::optional<report::Dimension> dimension = {};  // how its numbers are written
  std::vector<QString> categories = {};             // names of x = 0, 1, 2, ...
  bool logarithmic = false;
};

struct PlotSeries {
  enum class Kind { line, band, bars };

  Kind kind = Kind::line;
  QString name = {};
  std::vector<double> x = {};
  std::vector<double> y = {};
  std::vector<double> low = {};
  double width = 0.75;  // of bars, in x
  bool marked = false;  // a dot at each point of a line
};

struct PlotMarker {
  QString label = {};
  double at = 0.0;
  bool on_x = true;  // a line across at this x, else at this y
};

struct Plot {
  QString name = {};   // in the list of charts
  QString title = {};  // what it answers
  PlotAxis x = {};
  PlotAxis y = {};
  bool horizontal = false;
  bool stacked = false;
  std::vector<PlotSeries> series = {};
  std::vector<PlotMarker> markers = {};
};

// series,x,y,low with all digits.
[[nodiscard]] QString to_csv(const Plot& plot);

[[nodiscard]] Plot step_ledger_plot(const report::Evaluation& evaluation);
[[nodiscard]] Plot run_ledger_plot(const report::Evaluation& evaluation);
[[nodiscard]] Plot memory_plot(const report::Evaluation& evaluation);
[[nodiscard]] Plot spread_plot(const report::Evaluation& evaluation, report::MetricId metric);

// All that this evaluation gives, in the order of a list.
[[nodiscard]] std::vector<Plot> evaluation_plots(const report::Evaluation& evaluation);

// Charts that cost many runs: name of the answer, what the list calls it.
struct AnswerChart {
  std::string answer;
  QString name;
};

[[nodiscard]] const std::vector<AnswerChart>& answer_charts();
[[nodiscard]] Plot answer_plot(const sweep::Answer& answer);

}  // namespace orrery::gui
