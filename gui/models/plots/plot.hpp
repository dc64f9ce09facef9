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
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::gui {

struct PlotAxis {
  QString label = {};
  std::optional<report::Dimension> dimension = {};  // how its numbers are written
  std::vector<QString> categories = {};             // names of x = 0, 1, 2, ...
  bool logarithmic = false;
};

enum class PlotMark { disc, diamond, square, star, cross };

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
  QString note = {};  // what it comes to, in a sentence
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

}  // namespace orrery::gui
