// Where the legend of a chart goes, and the labels of its markers.

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/charts/chart_view.hpp"

namespace orrery::gui {

namespace {

// Where a value lies between the ends of an axis: 0 to 1.
double part_of(const QCPAxis& axis, double value) {
  const QCPRange range = axis.range();
  const bool logarithmic = axis.scaleType() == QCPAxis::stLogarithmic;
  if (logarithmic && (value <= 0.0 || range.lower <= 0.0)) {
    return 0.0;
  }
  return logarithmic ? std::log(value / range.lower) / std::log(range.upper / range.lower)
                     : (value - range.lower) / range.size();
}

}  // namespace

// Where a stack or a flame fills the plot, the legend goes beside or below it, whichever takes less
// of a chart of this size; else into the upper left corner of the plot.
void ChartView::shape_legend(const QSize& whole) {
  const bool full = plot_.stacked || plot_.ordered || plot_.named || plot_.horizontal;
  if (!legend->visible() || !full || legend->itemCount() == 0) {
    legend->setWrap(0);
    legend->setFillOrder(QCPLayoutGrid::foRowsFirst, true);
    place_legend(LegendPlace::inside);
    return;
  }
  const QFontMetrics metrics(legend->font(), this);
  constexpr int kBelowWords = 2;  // else letters lose what reaches below the line
  int widest = 0;
  int items = 0;
  for (int i = 0; i < legend->itemCount(); ++i) {
    // Places of a grid, of which the last row may have empty ones.
    if (auto* item = qobject_cast<QCPPlottableLegendItem*>(legend->item(i))) {
      item->setMargins({0, 0, 0, kBelowWords});
      widest = std::max(widest, metrics.horizontalAdvance(item->plottable()->name()));
      ++items;
    }
  }
  const QMargins margins = legend->margins();
  const int item = widest + legend->iconSize().width() + legend->iconTextPadding();
  const int air = margins.left() + margins.right();
  const int columns = std::max((whole.width() - 2 * air) / (item + legend->columnSpacing()), 1);
  const int rows = (items + columns - 1) / columns;
  const int line = metrics.height() + kBelowWords + legend->rowSpacing();
  const double below = rows * line + air;
  const bool fits = (items + 2) * line < whole.height();  // with the title
  const bool beside = fits && (item + air) * whole.height() < below * whole.width();
  place_legend(beside ? LegendPlace::beside : LegendPlace::below);
  legend->setWrap(beside ? 0 : columns);
  legend->setFillOrder(beside ? QCPLayoutGrid::foRowsFirst : QCPLayoutGrid::foColumnsFirst, true);
}

void ChartView::place_legend(LegendPlace place) {
  if (place == legend_place_) {
    return;
  }
  legend_place_ = place;
  legend->layout()->take(legend);
  if (holder_ != nullptr) {
    holder_->layout()->remove(holder_);
    holder_ = nullptr;
    body_->simplify();
    plotLayout()->simplify();
  }
  if (place == LegendPlace::inside) {
    axisRect()->insetLayout()->addElement(legend, Qt::AlignTop | Qt::AlignLeft);
    return;
  }
  // As small as the legend allows; the other element takes what is left beside or below it.
  constexpr double kAsSmallAsPossible = 0.001;
  holder_ = new QCPLayoutGrid;
  holder_->addElement(0, 0, legend);
  auto* rest = new QCPLayoutElement(this);
  if (place == LegendPlace::beside) {
    body_->addElement(0, 1, holder_);
    body_->setColumnStretchFactor(1, kAsSmallAsPossible);
    holder_->addElement(1, 0, rest);
    holder_->setRowStretchFactor(0, kAsSmallAsPossible);
  } else {
    constexpr int kAir = 3;
    holder_->setMargins({0, kAir, 0, kAir});
    plotLayout()->addElement(2, 0, holder_);
    plotLayout()->setRowStretchFactor(2, kAsSmallAsPossible);
    holder_->addElement(0, 1, rest);
    holder_->setColumnStretchFactor(0, kAsSmallAsPossible);
  }
}

// The corner in which a legend hides least of lines, points and labels.
Qt::Alignment ChartView::emptiest_corner(const QSize& whole) const {
  constexpr int kLinesAround = 5;  // title, ticks, label of an axis
  constexpr int kSteps = 24;       // between two points of a line
  constexpr double kLabel = 0.25;  // of the width
  const int line = QFontMetrics(font()).height();
  const QSize size = legend->minimumOuterSizeHint();
  const double width = 1.0 * size.width() / std::max(whole.width() - kLinesAround * line, 1);
  const double height = 1.0 * size.height() / std::max(whole.height() - kLinesAround * line, 1);
  const std::array<Qt::Alignment, 4> corners = {Qt::AlignTop | Qt::AlignLeft,
                                                Qt::AlignTop | Qt::AlignRight,
                                                Qt::AlignBottom | Qt::AlignRight,
                                                Qt::AlignBottom | Qt::AlignLeft};
  std::array<int, 4> hidden{};
  const auto count = [&](double x, double y, int weight) {
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const double across = corners[i].testFlag(Qt::AlignLeft) ? x : 1.0 - x;
      const double down = corners[i].testFlag(Qt::AlignTop) ? 1.0 - y : y;
      hidden[i] += across < width && down < height ? weight : 0;
    }
  };
  for (const PlotSeries& series : plot_.series) {
    const bool joined = series.kind != PlotSeries::Kind::points;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double x = part_of(*xAxis, series.x[i]);
      const double y = part_of(*yAxis, series.y[i]);
      count(x, y, joined ? 1 : kSteps);
      for (int step = 1; joined && i > 0 && step < kSteps; ++step) {
        const double share = 1.0 * step / kSteps;
        count(std::lerp(part_of(*xAxis, series.x[i - 1]), x, share),
              std::lerp(part_of(*yAxis, series.y[i - 1]), y, share),
              1);
      }
    }
  }
  for (const PlotMarker& marker : plot_.markers) {
    const double at = part_of(marker.on_x ? *xAxis : *yAxis, marker.at);
    for (int step = 0; step <= kSteps; ++step) {
      const double share = 1.0 * step / kSteps;
      count(marker.on_x ? at + share * kLabel : 1.0 - share * kLabel, marker.on_x ? 1.0 : at, 1);
    }
  }
  return corners[static_cast<std::size_t>(std::min_element(hidden.begin(), hidden.end()) -
                                          hidden.begin())];
}

// The label of a line that stands near the right end goes before it.
void ChartView::turn_labels() {
  constexpr double kNearTheEnd = 0.8;
  for (const auto& [label, at] : labels_) {
    const bool before = part_of(*xAxis, at) > kNearTheEnd;
    label->setPositionAlignment((before ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop);
  }
}

}  // namespace orrery::gui
