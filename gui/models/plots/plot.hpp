#pragma once

// Data of a chart: numbers in base units with their dimension. The widget only draws them.
//
// series kind | x          | y               | low
// ------------|------------|-----------------|-----------------------------------------------------
// line        | position   | value           | -
// steps       | position   | value from here | -
//             |            | to the next x   |
// points      | position   | value           | -
// band        | position   | upper edge      | lower edge
// bars        | position   | end of the bar  | where the bar begins; empty: at 0, or on the series
//             |            |                 | before it when the plot is stacked
// map         | row        | column          | value of the cell, on the axis `scale`
//
// In a horizontal plot x runs upwards: categories are on the vertical axis, the first on top.

#include <QString>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gui/timeline/store/slice.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/run/run_result.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::gui {

struct PlotAxis {
  QString label = {};
  std::optional<report::Dimension> dimension = {};  // how its numbers are written
  std::vector<QString> categories = {};             // names of x = 0, 1, 2, ...
  bool logarithmic = false;
};

enum class PlotMark { disc, diamond, square, star, cross, dot };

enum class MapHue { memory, waiting, speed };  // speed: from fast to slow, white in the middle

// Where a click on a point leads: a rank by its number, a stop of the run by its begin and length.
struct PlotTarget {
  enum class Kind { none, rank, event } kind = Kind::none;
  std::int64_t at = 0;
  std::int64_t length = 0;  // ns
};

struct PlotSeries {
  enum class Kind { line, steps, points, band, bars, map };

  Kind kind = Kind::line;
  QString name = {};
  std::vector<double> x = {};
  std::vector<double> y = {};
  std::vector<double> low = {};
  std::vector<QString> names = {};                // what is said of each point; empty: its numbers
  std::function<QString(std::size_t)> tell = {};  // the same, where there are very many
  std::vector<PlotTarget> targets = {};
  std::vector<QString> ends = {};  // what stands at the end of each bar
  double width = 0.75;             // of bars, in x
  bool marked = false;             // a dot at each point of a line
  PlotMark mark = PlotMark::disc;  // of points
  bool written = false;            // the names of bars stand in them
  int hue = -1;                    // place in the colours; -1: that of the series; of a map MapHue
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
  std::optional<PlotAxis> scale = {};  // of the cells of a map
  bool horizontal = false;
  bool stacked = false;
  bool ordered = false;  // colours run from the first series to the last
  bool named = false;    // a legend names the series also where bars begin anywhere
  std::vector<PlotSeries> series = {};
  std::vector<PlotMarker> markers = {};
  QString note = {};                       // what it comes to, in a sentence
  std::optional<std::size_t> marked = {};  // a point of the first series, ringed from the first
};

// A point of a plot, for reading it by mouse or keyboard.
struct PlotPoint {
  std::size_t series = 0;
  std::size_t index = 0;

  friend bool operator==(const PlotPoint&, const PlotPoint&) = default;
};

// "stage 3, 1.25 s: 71.2 GiB"; the name of the point where it has one.
[[nodiscard]] QString point_text(const Plot& plot, PlotPoint point);

enum class Way { left, right, up, down };

// The point that lies next that way; the point itself where there is none. Left and right go along
// a series, up and down to the next series with points. In a horizontal plot up and down go to the
// next category, left and right along the bars of a category.
[[nodiscard]] PlotPoint next_point(const Plot& plot, PlotPoint point, Way way);

// series,x,y,low,name with all digits.
[[nodiscard]] QString to_csv(const Plot& plot);

// Hues of the ledgers' rows: those that the timeline draws the same work, wait or loss in.

inline constexpr int kCategoryHues = 64;  // from here on a hue is a category of the timeline

[[nodiscard]] constexpr int hue_of(timeline::Category category) {
  return kCategoryHues + static_cast<int>(category);
}

// What of the timeline a hue stands for; nothing for other colours of charts.
[[nodiscard]] constexpr timeline::CategorySet lit_by(int hue) {
  return hue < kCategoryHues ? 0 : family_of(static_cast<timeline::Category>(hue - kCategoryHues));
}

// Of what waits: it is hatched.
[[nodiscard]] constexpr bool is_wait_hue(int hue) {
  return hue >= kCategoryHues && is_wait(static_cast<timeline::Category>(hue - kCategoryHues));
}

// In the order of step::StepCategory.
inline constexpr std::array kStepHues = {
    timeline::Category::forward,        timeline::Category::recompute,
    timeline::Category::host,           timeline::Category::wait_other,
    timeline::Category::wait_input,     timeline::Category::copy,
    timeline::Category::tensor,         timeline::Category::context,
    timeline::Category::expert,         timeline::Category::pipeline,
    timeline::Category::data_reduce,    timeline::Category::wait_bubble,
    timeline::Category::wait_imbalance, timeline::Category::optimizer,
    timeline::Category::wait_slower};

// In the order of run::RunCategory.
inline constexpr std::array kRunHues = {
    timeline::Category::training,   timeline::Category::checkpoint,   timeline::Category::lost,
    timeline::Category::rework,     timeline::Category::detection,    timeline::Category::diagnosis,
    timeline::Category::scheduling, timeline::Category::communicator, timeline::Category::load,
    timeline::Category::warm_up,    timeline::Category::waiting,      timeline::Category::backward,
    timeline::Category::evaluation, timeline::Category::maintenance,  timeline::Category::host,
    timeline::Category::wait_other, timeline::Category::unitemised};

static_assert(kStepHues.size() == step::kStepCategories);
static_assert(kRunHues.size() == run::kRunCategoryNames.size());

[[nodiscard]] constexpr int step_hue(step::StepCategory row) {
  return hue_of(kStepHues[static_cast<std::size_t>(row)]);
}

// By the name of the row in JSON and CSV.
[[nodiscard]] constexpr int ledger_hue(std::string_view category) {
  for (std::size_t i = 0; i < kStepHues.size(); ++i) {
    if (step::kStepCategoryNames[i] == category) {
      return hue_of(kStepHues[i]);
    }
  }
  for (std::size_t i = 0; i < kRunHues.size(); ++i) {
    if (run::kRunCategoryNames[i] == category) {
      return hue_of(kRunHues[i]);
    }
  }
  return -1;
}

}  // namespace orrery::gui
