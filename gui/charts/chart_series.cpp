// The series and markers of a plot as plottables and items of QCustomPlot.

#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/charts/chart_parts.hpp"
#include "gui/charts/chart_view.hpp"
#include "gui/models/plots/plot.hpp"
#include "gui/models/tables/table.hpp"

namespace orrery::gui {

namespace {

QVector<double> vector_of(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

// Marks differ in shape, so that they are told apart without colour.
QCPScatterStyle mark_style(PlotMark mark, const QColor& color, const QColor& edge) {
  constexpr double kDisc = 8.0;
  constexpr double kCross = 5.0;
  constexpr double kDiamond = 11.0;
  constexpr double kStar = 14.0;
  constexpr double kDot = 5.5;
  QColor ground = color;
  ground.setAlphaF(0.85F);
  switch (mark) {
    case PlotMark::cross:
      ground.setAlphaF(0.6F);
      return {QCPScatterStyle::ssCross, QPen(ground, 1.2), Qt::NoBrush, kCross};
    case PlotMark::square:
      return {QCPScatterStyle::ssSquare, QPen(edge, 1.0), QBrush(ground), kDisc};
    case PlotMark::diamond:
      return {QCPScatterStyle::ssDiamond, QPen(edge, 1.0), QBrush(ground), kDiamond};
    case PlotMark::star:
      return {QCPScatterStyle::ssStar, QPen(color, 2.5), Qt::NoBrush, kStar};
    case PlotMark::dot:
      return {QCPScatterStyle::ssCircle, QPen(edge, 0.5), QBrush(ground), kDot};
    case PlotMark::disc:
      break;
  }
  return {QCPScatterStyle::ssCircle, QPen(edge, 1.0), QBrush(ground), kDisc};
}

}  // namespace

QColor ChartView::color_of(std::size_t series) const {
  if (plot_.ordered) {
    return scale_color(series, plot_.series.size(), dark());
  }
  const PlotSeries& asked = plot_.series[series];
  const bool kinds = asked.kind == PlotSeries::Kind::bars || asked.kind == PlotSeries::Kind::points;
  return hue(asked.hue >= 0 ? static_cast<std::size_t>(asked.hue) : (kinds ? series : 0), dark());
}

void ChartView::add_series() {
  ends_.assign(plot_.stacked ? plot_.x.categories.size() : 0, 0.0);
  for (std::size_t i = 0; i < plot_.series.size(); ++i) {
    const PlotSeries& series = plot_.series[i];
    const QColor color = color_of(i);
    switch (series.kind) {
      case PlotSeries::Kind::line:
      case PlotSeries::Kind::steps:
      case PlotSeries::Kind::points:
        drawn_.push_back(add_line(series, color));
        break;
      case PlotSeries::Kind::band:
        drawn_.push_back(add_band(series, color));
        break;
      case PlotSeries::Kind::bars:
        drawn_.push_back(add_bars(series, color));
        break;
      case PlotSeries::Kind::map:
        drawn_.push_back(add_map(series));
        break;
    }
  }
}

QCPAbstractPlottable* ChartView::add_line(const PlotSeries& series, const QColor& color) {
  constexpr double kThick = 2.0;
  constexpr double kThin = 1.4;
  constexpr double kDot = 5.0;
  auto* line = new QCPGraph(keys(), values());
  line->setData(vector_of(series.x), vector_of(series.y), true);
  line->setName(series.name);
  line->setPen(QPen(color, plot_.ordered ? kThin : kThick));
  if (series.kind == PlotSeries::Kind::steps) {
    line->setLineStyle(QCPGraph::lsStepLeft);
  } else if (series.kind == PlotSeries::Kind::points) {
    line->setLineStyle(QCPGraph::lsNone);
    line->setScatterStyle(mark_style(series.mark, color, palette().color(QPalette::Base)));
  } else if (series.marked) {
    line->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, kDot));
  }
  return line;
}

QCPAbstractPlottable* ChartView::add_band(const PlotSeries& series, const QColor& color) {
  QColor light = color;
  light.setAlphaF(dark() ? 0.34F : 0.22F);  // seen on the ground, and in the legend
  auto* low = new QCPGraph(xAxis, yAxis);
  low->setData(vector_of(series.x), vector_of(series.low), true);
  low->setPen(Qt::NoPen);
  low->removeFromLegend();
  auto* high = new QCPGraph(xAxis, yAxis);
  high->setData(vector_of(series.x), vector_of(series.y), true);
  high->setPen(Qt::NoPen);
  high->setBrush(light);
  high->setChannelFillGraph(low);
  high->setName(series.name);
  return high;
}

QCPAbstractPlottable* ChartView::add_bars(const PlotSeries& series, const QColor& color) {
  auto* bars = new SpanBars(keys(), values());
  bars->setName(series.name);
  bars->setPen(Qt::NoPen);
  bars->setBrush(fill_of(color, is_wait_hue(series.hue) && !series.written));
  bars->set_width(series.width);
  std::vector<double> lows = series.low;
  std::vector<double> highs = series.y;
  if (lows.empty()) {
    lows.assign(highs.size(), 0.0);
  }
  // On top of what stands at this position already.
  for (std::size_t i = 0; i < highs.size() && !ends_.empty(); ++i) {
    double& end = ends_[static_cast<std::size_t>(std::lround(series.x[i]))];
    lows[i] = end;
    highs[i] = end = end + series.y[i];
  }
  bars->set_data(series.x, std::move(lows), std::move(highs));
  if (!series.ends.empty()) {
    bars->set_words(SpanBars::Words::at_end, series.ends);
  } else if (series.written) {
    bars->set_words(SpanBars::Words::inside, series.names);
    bars->setPen(QPen(palette().color(QPalette::Base), 1.0));
  }
  return bars;
}

// Cells stand at equal distances, row by row; the last row may have fewer.
QCPAbstractPlottable* ChartView::add_map(const PlotSeries& series) {
  const auto columns = std::ranges::count(series.x, series.x.front());
  const auto cells = static_cast<std::ptrdiff_t>(series.x.size());
  const int rows = static_cast<int>((cells + columns - 1) / columns);
  auto* map = new QCPColorMap(keys(), values());
  map->data()->setSize(rows, static_cast<int>(columns));
  // Of the middles of the cells; a single row or column is one unit wide.
  const auto range_of = [](double first, double last) {
    return last > first ? QCPRange(first, last) : QCPRange(first - 0.5, first + 0.5);
  };
  map->data()->setRange(
      range_of(series.x.front(), series.x.back()),
      range_of(series.y.front(), series.y[static_cast<std::size_t>(columns - 1)]));
  map->data()->fillAlpha(0);
  const auto [low, high] = std::ranges::minmax_element(series.low);
  for (std::size_t i = 0; i < series.low.size(); ++i) {
    const auto place = static_cast<std::ptrdiff_t>(i);
    const int row = static_cast<int>(place / columns);
    const int column = static_cast<int>(place % columns);
    map->data()->setCell(row, column, series.low[i]);
    map->data()->setAlpha(row, column, std::numeric_limits<unsigned char>::max());
  }
  map->setInterpolate(false);
  map->setTightBoundary(false);
  QCPRange range(*low, *high);
  if (series.hue == static_cast<int>(MapHue::speed)) {
    const double half = std::max(*high - 1.0, 1.0 - *low);
    range = {1.0 - half, 1.0 + half};
  } else if (range.size() <= 0.0) {
    range.expand(0.0);
  }
  scale_ = new QCPColorScale(this);
  scale_->setType(QCPAxis::atBottom);
  constexpr int kBar = 10;
  scale_->setBarWidth(kBar);
  map->setColorScale(scale_);  // whose colours it takes
  map->setGradient(map_gradient(static_cast<MapHue>(series.hue)));
  map->setDataRange(range);
  body_->addElement(1, 0, scale_);
  constexpr double kAsSmallAsPossible = 0.001;
  body_->setRowStretchFactor(1, kAsSmallAsPossible);
  prepare_axis(scale_->axis(), *plot_.scale);
  dress_axis(scale_->axis());
  constexpr int kFewTicks = 3;
  scale_->axis()->ticker()->setTickCount(kFewTicks);
  return map;
}

void ChartView::add_markers() {
  const QColor ink = palette().color(QPalette::Text);
  labels_.clear();
  for (const PlotMarker& marker : plot_.markers) {
    auto* line = new QCPItemStraightLine(this);
    line->setPen(QPen(ink, 1.0, Qt::DashLine));
    const QPointF from = marker.on_x ? QPointF(marker.at, 0.0) : QPointF(0.0, marker.at);
    const QPointF to = marker.on_x ? QPointF(marker.at, 1.0) : QPointF(1.0, marker.at);
    line->point1->setCoords(from);
    line->point2->setCoords(to);
    auto* label = new QCPItemText(this);
    label->setText(marker.label);
    label->setFont(font());
    label->setColor(ink);
    label->setPadding(QMargins(4, 2, 4, 2));
    label->position->setTypeX(marker.on_x ? QCPItemPosition::ptPlotCoords
                                          : QCPItemPosition::ptAxisRectRatio);
    label->position->setTypeY(marker.on_x ? QCPItemPosition::ptAxisRectRatio
                                          : QCPItemPosition::ptPlotCoords);
    label->setPositionAlignment(marker.on_x ? Qt::AlignLeft | Qt::AlignTop
                                            : Qt::AlignRight | Qt::AlignBottom);
    label->position->setCoords(marker.on_x ? marker.at : 1.0, marker.on_x ? 0.0 : marker.at);
    if (marker.on_x) {
      labels_.emplace_back(label, marker.at);
    }
  }
}

// Where the legend of a chart goes, and the labels of its markers.

// Below the plot, in as many columns as there is room for.
void ChartView::shape_legend(const QSize& whole) {
  show_legend(legend->visible() && legend->itemCount() > 0);
  if (holder_ == nullptr) {
    return;
  }
  const QFontMetrics metrics(legend->font(), this);
  constexpr int kBelowWords = 2;  // else letters lose what reaches below the line
  int widest = 0;
  for (int i = 0; i < legend->itemCount(); ++i) {
    // Places of a grid, of which the last row may have empty ones.
    if (auto* item = qobject_cast<QCPPlottableLegendItem*>(legend->item(i))) {
      item->setMargins({0, 0, 0, kBelowWords});
      widest = std::max(widest, metrics.horizontalAdvance(item->plottable()->name()));
    }
  }
  const QMargins margins = legend->margins();
  const int item = widest + legend->iconSize().width() + legend->iconTextPadding();
  const int air = margins.left() + margins.right();
  const int columns = std::max((whole.width() - 2 * air) / (item + legend->columnSpacing()), 1);
  legend->setWrap(columns);
  legend->setFillOrder(QCPLayoutGrid::foColumnsFirst, true);
}

// As small as the legend allows; an empty element takes what is left beside it.
void ChartView::show_legend(bool seen) {
  if (seen == (holder_ != nullptr)) {
    return;
  }
  legend->layout()->take(legend);
  if (!seen) {
    plotLayout()->remove(holder_);
    plotLayout()->simplify();
    holder_ = nullptr;
    axisRect()->insetLayout()->addElement(legend, Qt::AlignTop | Qt::AlignLeft);
    return;
  }
  constexpr double kAsSmallAsPossible = 0.001;
  constexpr int kAir = 3;
  holder_ = new QCPLayoutGrid;
  holder_->setMargins({0, kAir, 0, kAir});
  holder_->addElement(0, 0, legend);
  holder_->addElement(0, 1, new QCPLayoutElement(this));
  holder_->setColumnStretchFactor(0, kAsSmallAsPossible);
  plotLayout()->addElement(2, 0, holder_);
  plotLayout()->setRowStretchFactor(2, kAsSmallAsPossible);
}

}  // namespace orrery::gui
