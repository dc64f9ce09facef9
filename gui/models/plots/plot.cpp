#include "gui/models/plots/plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "sim/answer/report/table.hpp"

namespace orrery::gui {

namespace {

QString number_text(const PlotAxis& axis, double value) {
  constexpr int kDigits = 4;
  return axis.dimension ? shown(*axis.dimension, value) : QString::number(value, 'g', kDigits);
}

QString position_text(const PlotAxis& axis, double x) {
  const auto index = static_cast<std::size_t>(std::max(0.0, std::round(x)));
  if (index >= axis.categories.size()) {
    return number_text(axis, x);
  }
  return axis.label.isEmpty() ? axis.categories[index] : axis.label + ' ' + axis.categories[index];
}

double x_of(const Plot& plot, PlotPoint point) { return plot.series[point.series].x[point.index]; }

// Where a bar is looked at: its middle.
double middle_of(const Plot& plot, PlotPoint point) {
  const PlotSeries& series = plot.series[point.series];
  if (series.kind == PlotSeries::Kind::map) {
    return series.y[point.index];
  }
  const double low = point.index < series.low.size() ? series.low[point.index] : 0.0;
  return (low + series.y[point.index]) / 2;
}

}  // namespace

QString point_text(const Plot& plot, PlotPoint point) {
  if (point.series >= plot.series.size() || point.index >= plot.series[point.series].x.size()) {
    return {};
  }
  const PlotSeries& series = plot.series[point.series];
  const std::size_t i = point.index;
  if (series.tell) {
    return series.tell(i);
  }
  if (i < series.names.size()) {
    return series.names[i];
  }
  QString value = number_text(plot.y, series.y[i]);
  if (i < series.low.size()) {
    value = number_text(plot.y, series.low[i]) + " to " + value;
  }
  const QString name = plot.series.size() > 1 ? series.name + ", " : QString();
  return name + position_text(plot.x, series.x[i]) + ": " + value;
}

// The nearest that way, then the nearest beside it. Of bars up and down go from category to
// category, the first of which is on top, else from series to series.
PlotPoint next_point(const Plot& plot, PlotPoint from, Way way) {
  using Order = std::pair<double, double>;
  const bool across = way == Way::up || way == Way::down;
  const double sign = way == Way::right || way == Way::down ? 1.0 : -1.0;
  const auto order_of = [&](PlotPoint point) {
    const double x = x_of(plot, point) - x_of(plot, from);
    const double middle = middle_of(plot, point) - middle_of(plot, from);
    const auto series = static_cast<double>(point.series) - static_cast<double>(from.series);
    const auto place = static_cast<double>(point.index) - static_cast<double>(from.index);
    if (plot.horizontal) {
      return across ? Order(sign * x, std::abs(middle))
                    : Order(x == 0.0 ? sign * middle : 0.0, 0.0);
    }
    return across ? Order(sign * series, std::abs(x))
                  : Order(series == 0.0 ? sign * place : 0.0, 0.0);
  };
  std::pair<Order, PlotPoint> best{{std::numeric_limits<double>::infinity(), 0.0}, from};
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    for (std::size_t i = 0; i < plot.series[s].x.size(); ++i) {
      const Order order = order_of({s, i});
      if (order.first > 0.0 && order < best.first) {
        best = {order, {s, i}};
      }
    }
  }
  return best.second;
}

QString to_csv(const Plot& plot) {
  report::Table table = report::table_of({"series", "x", "y", "low", "name"});
  for (const PlotSeries& series : plot.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      table.rows.push_back(
          {series.name.toStdString(), series.x[i], series.y[i],
           i < series.low.size() ? report::Cell(series.low[i]) : report::Cell(),
           series.tell || i < series.names.size()
               ? report::Cell(
                     point_text(plot, {static_cast<std::size_t>(&series - plot.series.data()), i})
                         .toStdString())
               : report::Cell()});
    }
  }
  return qt(report::to_csv(table));
}

}  // namespace orrery::gui
