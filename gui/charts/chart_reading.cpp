// A chart read point by point, by mouse and by keyboard.

#include <QAccessible>
#include <QKeyEvent>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gui/charts/chart_parts.hpp"
#include "gui/charts/chart_view.hpp"

namespace orrery::gui {

namespace {

constexpr double kNear = 10.0;  // pixels
constexpr double kFar = std::numeric_limits<double>::infinity();

std::optional<Way> way_of(int key) {
  return key >= Qt::Key_Left && key <= Qt::Key_Down
             ? std::optional(std::array{Way::left, Way::up, Way::right,
                                        Way::down}[static_cast<std::size_t>(key - Qt::Key_Left)])
             : std::nullopt;
}

}  // namespace

QPointF ChartView::position_of(PlotPoint point) const {
  const PlotSeries& series = plot_.series[point.series];
  const auto* bars = dynamic_cast<const SpanBars*>(drawn_[point.series]);
  const QPointF coordinates = bars != nullptr
                                  ? bars->middle_of(point.index)
                                  : QPointF(series.x[point.index], series.y[point.index]);
  return drawn_[point.series]->coordsToPixels(coordinates.x(), coordinates.y());
}

// In pixels to the nearest point of a curve; of a curve in steps to the step above or below.
double ChartView::distance_to(const PlotSeries& series, const QPointF& position,
                              std::size_t& index) const {
  const QCPAxis* keys = this->keys();
  const QCPAxis* values = this->values();
  if (series.kind == PlotSeries::Kind::steps) {
    const auto after =
        std::upper_bound(series.x.begin(), series.x.end(), keys->pixelToCoord(position.x()));
    if (after == series.x.begin() || after == series.x.end()) {
      return kFar;
    }
    index = static_cast<std::size_t>(after - series.x.begin()) - 1;
    return std::abs(values->coordToPixel(series.y[index]) - position.y());
  }
  double best = kFar;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double across = keys->coordToPixel(series.x[i]) - position.x();
    if (std::abs(across) > kNear) {
      continue;
    }
    const double distance = std::hypot(across, values->coordToPixel(series.y[i]) - position.y());
    if (distance < best) {
      best = distance;
      index = i;
    }
  }
  return best;
}

std::optional<PlotPoint> ChartView::point_at(const QPointF& position) const {
  std::optional<PlotPoint> found;
  double best = kNear;
  const bool inside = axisRect()->rect().contains(position.toPoint());
  for (std::size_t s = 0; s < drawn_.size(); ++s) {
    if (const auto* bars = dynamic_cast<const SpanBars*>(drawn_[s])) {
      if (const auto bar = inside ? bars->bar_at(position) : std::nullopt) {
        return PlotPoint{s, *bar};
      }
      continue;
    }
    if (auto* map = dynamic_cast<QCPColorMap*>(drawn_[s])) {
      double row = 0.0;
      double column = 0.0;
      map->pixelsToCoords(position, row, column);
      int at_row = -1;
      int at_column = -1;
      map->data()->coordToCell(row, column, &at_row, &at_column);
      const int columns = map->data()->valueSize();
      const std::ptrdiff_t cell = std::ptrdiff_t{at_row} * columns + at_column;
      const bool there = inside && at_row >= 0 && at_column >= 0 && at_column < columns;
      if (there && cell < std::ssize(plot_.series[s].x)) {
        return PlotPoint{s, static_cast<std::size_t>(cell)};
      }
      continue;
    }
    std::size_t index = 0;
    const double distance = distance_to(plot_.series[s], position, index);
    if (distance < best) {
      best = distance;
      found = PlotPoint{s, index};
    }
  }
  return found;
}

void ChartView::read_point(const std::optional<PlotPoint>& point) {
  if (ring_ != nullptr) {
    removeItem(ring_);
  }
  ring_ = nullptr;
  read_ = point;
  if (point) {
    ring_ = new QCPItemTracer(this);
    ring_->setStyle(QCPItemTracer::tsCircle);
    ring_->setPen(QPen(palette().color(QPalette::Text), 2.0));
    constexpr double kRing = 11.0;
    ring_->setSize(kRing);
    ring_->setClipToAxisRect(false);
    ring_->position->setAxes(xAxis, yAxis);
    ring_->position->setPixelPosition(position_of(*point));
  }
  setAccessibleDescription(point ? point_text(plot_, *point) : plot_.title);
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
  replot(rpQueuedReplot);
}

void ChartView::keyPressEvent(QKeyEvent* event) {
  constexpr double kCloser = 0.8;
  const auto way = way_of(event->key());
  if (way || event->key() == Qt::Key_Home || event->key() == Qt::Key_End) {
    const auto first =
        std::ranges::find_if(plot_.series, [](const auto& s) { return !s.x.empty(); });
    if (first == plot_.series.end()) {
      return;
    }
    const auto begin = static_cast<std::size_t>(first - plot_.series.begin());
    PlotPoint point = read_.value_or(PlotPoint{begin, 0});
    if (way && read_) {
      point = next_point(plot_, point, *way);
    } else if (!way) {
      point.index = event->key() == Qt::Key_Home ? 0 : plot_.series[point.series].x.size() - 1;
    }
    read_point(point);
    QToolTip::showText(mapToGlobal(position_of(point).toPoint()), point_text(plot_, point), this);
    return;
  }
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (read_) {
        emit point_chosen(*read_);
      }
      return;
    case Qt::Key_Escape:
      if (!read_) {
        QCustomPlot::keyPressEvent(event);  // cancels the evaluation
        return;
      }
      read_point(std::nullopt);
      QToolTip::hideText();
      return;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_Minus:
      for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->scaleRange(event->key() == Qt::Key_Minus ? 1.0 / kCloser : kCloser);
      }
      replot();
      return;
    case Qt::Key_0:
      fit();
      replot();
      return;
    default:
      QCustomPlot::keyPressEvent(event);
  }
}

void ChartView::mouseMoveEvent(QMouseEvent* event) {
  QCustomPlot::mouseMoveEvent(event);
  if (event->buttons() != Qt::NoButton) {
    return;
  }
  const auto point = point_at(event->position());
  QToolTip::showText(event->globalPosition().toPoint(),
                     point ? point_text(plot_, *point) : QString(), this);
}

void ChartView::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  QCustomPlot::mousePressEvent(event);
}

void ChartView::mouseReleaseEvent(QMouseEvent* event) {
  QCustomPlot::mouseReleaseEvent(event);
  constexpr double kStill = 4.0;  // pixels; more is a drag
  const QPointF moved = event->position() - pressed_;
  const auto point = point_at(event->position());
  if (point && moved.manhattanLength() < kStill && event->button() == Qt::LeftButton) {
    emit point_chosen(*point);
  }
}

}  // namespace orrery::gui
