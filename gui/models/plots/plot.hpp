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
//
// In a horizontal plot x runs upwards: categories are on the vertical axis, the first on top. It
// may have a second panel of bars beside the first, with the same categories and an axis of its
// own.

#include <QString>
#include <optional>
#include <vector>

#include "sim/report/evaluation.hpp"

namespace orrery::gui {

struct PlotAxis {
  QString label = {};
  std::optional<report::Dimension> dimension = {};  // how its numbers are written
  std::vector<QString> categories = {};             // names of x = 0, 1, 2, ...
  bool logarithmic = false;
};

enum class PlotMark { disc, diamond, square, star, cross };

struct PlotSeries {
  enum class Kind { line, steps, points, band, bars };

  Kind kind = Kind::line;
  QString name = {};
  std::vector<double> x = {};
  std::vector<double> y = {};
  std::vector<double> low = {};
  std::vector<QString> names = {};  // what is said of each point; empty: its numbers
  std::vector<QString> ends = {};   // what stands at the end of each bar, in place of its value
  double width = 0.75;              // of bars, in x
  bool marked = false;              // a dot at each point of a line
  PlotMark mark = PlotMark::disc;   // of points
  bool second = false;              // in the second panel
  bool written = false;             // the names of bars stand in them or at their ends
  int hue = -1;                     // place in the colours; -1: that of the series
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
  std::optional<PlotAxis> second = {};  // values of the second panel
  bool horizontal = false;
  bool stacked = false;
  bool ordered = false;  // colours run from the first series to the last
  bool named = false;    // a legend names the series also where bars begin anywhere
  std::vector<PlotSeries> series = {};
  std::vector<PlotMarker> markers = {};
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
// next category, left and right along the bars of a category and into the other panel.
[[nodiscard]] PlotPoint next_point(const Plot& plot, PlotPoint point, Way way);

// series,x,y,low,name with all digits.
[[nodiscard]] QString to_csv(const Plot& plot);

}  // namespace orrery::gui
