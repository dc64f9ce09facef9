#include "gui/models/plots/plot.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "gui/models/tables/text.hpp"
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

template <typename Visitor>
void for_each_point(const Plot& plot, Visitor visit) {
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    for (std::size_t i = 0; i < plot.series[s].x.size(); ++i) {
      visit(PlotPoint{s, i});
    }
  }
}

// The point nearest in x of the next or previous series that has points.
PlotPoint next_series(const Plot& plot, PlotPoint point, int direction) {
  const double here = x_of(plot, point);
  auto wanted = static_cast<std::ptrdiff_t>(point.series) + direction;
  const auto count = static_cast<std::ptrdiff_t>(plot.series.size());
  while (wanted >= 0 && wanted < count && plot.series[static_cast<std::size_t>(wanted)].x.empty()) {
    wanted += direction;
  }
  if (wanted < 0 || wanted >= count) {
    return point;
  }
  const std::vector<double>& x = plot.series[static_cast<std::size_t>(wanted)].x;
  const auto nearest = std::min_element(x.begin(), x.end(), [here](double a, double b) {
    return std::abs(a - here) < std::abs(b - here);
  });
  return {static_cast<std::size_t>(wanted), static_cast<std::size_t>(nearest - x.begin())};
}

// Of the nearest category that way the bar nearest to here.
PlotPoint next_category(const Plot& plot, PlotPoint from, Way way) {
  using Order = std::pair<double, double>;
  const double sign = way == Way::down ? 1.0 : -1.0;  // the first category is on top
  std::optional<std::pair<Order, PlotPoint>> best;
  for_each_point(plot, [&](PlotPoint point) {
    const double away = sign * (x_of(plot, point) - x_of(plot, from));
    const Order order{away, std::abs(middle_of(plot, point) - middle_of(plot, from))};
    if (away > 0.0 && (!best || order < best->first)) {
      best = {order, point};
    }
  });
  return best ? best->second : from;
}

PlotPoint next_in_category(const Plot& plot, PlotPoint from, Way way) {
  const double sign = way == Way::right ? 1.0 : -1.0;
  const auto order_of = [&](PlotPoint point) { return sign * middle_of(plot, point); };
  std::optional<PlotPoint> best;
  for_each_point(plot, [&](PlotPoint point) {
    if (x_of(plot, point) == x_of(plot, from) && order_of(point) > order_of(from) &&
        (!best || order_of(point) < order_of(*best))) {
      best = point;
    }
  });
  return best.value_or(from);
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

PlotPoint next_point(const Plot& plot, PlotPoint point, Way way) {
  if (plot.horizontal) {
    return way == Way::up || way == Way::down ? next_category(plot, point, way)
                                              : next_in_category(plot, point, way);
  }
  if (way == Way::up || way == Way::down) {
    return next_series(plot, point, way == Way::up ? -1 : 1);
  }
  const std::size_t last = plot.series[point.series].x.size() - 1;
  if (way == Way::left) {
    point.index -= point.index > 0 ? 1 : 0;
  } else {
    point.index = std::min(point.index + 1, last);
  }
  return point;
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
