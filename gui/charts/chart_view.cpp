#include "gui/charts/chart_view.hpp"

#include <QBuffer>
#include <QEvent>
#include <QFileInfo>
#include <QResizeEvent>
#include <algorithm>

#include "gui/charts/chart_parts.hpp"
#include "gui/models/tables/table.hpp"

namespace orrery::gui {

namespace {

constexpr int kExportWidth = 1000;
constexpr int kExportHeight = 620;
constexpr double kAir = 0.06;            // of the range, around the data
constexpr double kRoomForMarker = 0.17;  // and above a line with its label

void fit_logarithmic(QCPAxis* axis) {
  constexpr double kFactor = 1.5;
  axis->setRange(axis->range().lower / kFactor, axis->range().upper * kFactor);
}

}  // namespace

ChartView::ChartView(QWidget* parent) : QCustomPlot(parent) {
  setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
  setMinimumSize(240, 140);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  title_ = new ChartTitle(this);
  QCPAxisRect* rect = axisRect();
  body_ = new QCPLayoutGrid;
  plotLayout()->take(rect);
  plotLayout()->simplify();
  plotLayout()->addElement(0, 0, title_);
  plotLayout()->addElement(1, 0, body_);
  body_->addElement(0, 0, rect);
  show_plot({});
}

void ChartView::show_plot(const Plot& plot) {
  read_point(std::nullopt);
  drawn_.clear();
  clearPlottables();
  clearItems();
  plot_ = plot;
  const bool spans = plot.horizontal && !plot.series.empty() && !plot.series[0].low.empty();
  if (scale_ != nullptr) {
    body_->remove(scale_);
    body_->simplify();
    scale_ = nullptr;
  }
  legend->setVisible(plot.named || (plot.series.size() > 1 && !spans));
  prepare_axes();
  add_series();
  add_markers();
  setAccessibleName(plot.name.isEmpty() ? QString("Chart") : "Chart: " + plot.name);
  setAccessibleDescription(plot.title);
  dress();
  fit();
  shape(size());
  replot();
}

bool ChartView::dark() const {
  constexpr int kMiddle = 128;
  return palette().color(QPalette::Base).lightness() < kMiddle;
}

void ChartView::prepare_axis(QCPAxis* axis, const PlotAxis& model) {
  axis->setTicker(ticker_for(model));
  axis->setLabel(model.label);
  axis->setScaleType(model.logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  axis->setSubTicks(model.categories.empty() && !model.logarithmic);
  axis->grid()->setVisible(model.categories.empty());
  constexpr int kTick = 5;
  axis->setTickLengthIn(model.categories.empty() ? kTick : 0);  // else they cross what bars say
}

void ChartView::prepare_axes() {
  prepare_axis(plot_.horizontal ? yAxis : xAxis, plot_.x);
  prepare_axis(plot_.horizontal ? xAxis : yAxis, plot_.y);
  // The first category of a horizontal plot is on top.
  yAxis->setRangeReversed(plot_.horizontal);
  const bool empty = plot_.series.empty();
  xAxis->setVisible(!empty);
  yAxis->setVisible(!empty);
  title_->setText(titled_ || empty ? plot_.title : QString());
}

// What depends on the size of the drawing.
void ChartView::shape(const QSize& whole) {
  if (plot_.horizontal) {
    constexpr int kRoomPerTick = 110;  // half of it is taken by the names
    xAxis->ticker()->setTickCount(std::clamp(whole.width() / kRoomPerTick, 2, 5));
  }
  shape_legend(whole);
  fit_names(whole);
}

// Names of many categories in a low chart: smaller before they cover each other, and at last the
// other axis goes without its label.
void ChartView::fit_names(const QSize& whole) {
  if (!plot_.horizontal || plot_.x.categories.empty()) {
    return;
  }
  constexpr double kLeast = 7.0;
  constexpr double kOfLine = 0.85;
  constexpr int kLinesAround = 5;  // title, ticks and label of the other axis
  QFont names = font();
  const int line = QFontMetrics(names, this).height();
  const double legend_below = holder_ != nullptr ? legend->minimumOuterSizeHint().height() : 0.0;
  const auto room_of = [&](int lines_around) {
    return (whole.height() - lines_around * line - legend_below) /
           static_cast<double>(plot_.x.categories.size());
  };
  // In a narrow chart the names give way to the bars; the figure at their end stays.
  constexpr double kMostOfWidth = 0.52;
  const int most = static_cast<int>(kMostOfWidth * static_cast<double>(whole.width()));
  int widest = 0;
  for (const QString& name : plot_.x.categories) {
    widest = std::max(widest, QFontMetrics(names, this).horizontalAdvance(name));
  }
  if (widest > most) {  // smaller before they are cut
    constexpr double kSmallest = 0.8;
    const double fitting = std::max(static_cast<double>(most) / widest, kSmallest);
    names.setPixelSize(static_cast<int>(QFontInfo(names).pixelSize() * fitting));
  }
  constexpr int kAround = 40;  // ticks and margins
  const bool labelled = room_of(kLinesAround) >= kLeast &&
                        QFontMetrics(names, this).horizontalAdvance(plot_.y.label) <=
                            whole.width() - std::min(widest, most) - kAround;
  xAxis->setLabel(labelled ? plot_.y.label : QString());
  const double room = room_of(labelled ? kLinesAround : kLinesAround - 1);
  if (room < line) {
    names.setPixelSize(static_cast<int>(std::max(room * kOfLine, kLeast)));
  }
  yAxis->setTickLabelFont(names);
  const QFontMetrics metrics(names, this);
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  for (std::size_t i = 0; i < plot_.x.categories.size(); ++i) {
    ticker->addTick(static_cast<double>(i),
                    metrics.elidedText(plot_.x.categories[i], Qt::ElideMiddle, most));
  }
  yAxis->setTicker(ticker);
}

void ChartView::fit() {
  rescaleAxes();
  if (scale_ != nullptr) {
    // With the outer halves of the cells at the edges.
    const QCPColorMapData& cells = *static_cast<QCPColorMap*>(drawn_.front())->data();
    const auto widen = [](QCPAxis* axis, int count) {
      const QCPRange range = axis->range();
      const double half = count > 1 ? range.size() / (count - 1) / 2.0 : 0.0;
      axis->setRange(range.lower - half, range.upper + half);
    };
    widen(keys(), cells.keySize());
    widen(values(), cells.valueSize());
    return;
  }
  if (!plot_.x.categories.empty()) {
    keys()->setRange(-0.6, static_cast<double>(plot_.x.categories.size()) - 0.4);
  } else if (plot_.x.logarithmic) {
    fit_logarithmic(keys());
  }
  const auto points = [](const PlotSeries& one) { return one.kind == PlotSeries::Kind::points; };
  if (plot_.x.categories.empty() && !plot_.x.logarithmic &&
      std::ranges::any_of(plot_.series, points)) {
    const QCPRange range = keys()->range();
    keys()->setRange(range.lower - range.size() * kAir, range.upper + range.size() * kAir);
  }
  fit_values(values());
  // The label of a line that stands near the right end goes before it.
  constexpr double kNearTheEnd = 0.8;
  for (const auto& [label, at] : labels_) {
    const double place = xAxis->coordToPixel(at) - axisRect()->left();
    const bool before = place > kNearTheEnd * axisRect()->width();
    label->setPositionAlignment((before ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop);
  }
}

void ChartView::fit_values(QCPAxis* values) {
  if (plot_.y.logarithmic) {
    fit_logarithmic(values);
    return;
  }
  QCPRange range = values->range();
  double air = kAir;
  for (const PlotMarker& marker : plot_.markers) {
    if (marker.on_x == plot_.horizontal) {
      range.expand(marker.at);
      air = std::max(air, kRoomForMarker);
    }
  }
  const double above = range.size() * air;
  const bool from_zero = range.lower == 0.0;
  values->setRange(from_zero ? 0.0 : range.lower - range.size() * kAir, range.upper + above);
}

// Colours of the window, so that a dark desktop has dark charts.
void ChartView::dress() {
  const QColor ink = palette().color(QPalette::Text);
  setBackground(palette().color(QPalette::Base));
  dress_axis(xAxis);
  dress_axis(yAxis);
  legend->setFont(scaled(font(), 0.9));
  constexpr int kIcon = 14;
  legend->setIconSize(kIcon, kIcon * 2 / 3);
  legend->setTextColor(ink);
  QColor ground = palette().color(QPalette::Base);
  ground.setAlphaF(0.85F);
  legend->setBrush(ground);
  legend->setBorderPen(xAxis->grid()->pen());
  title_->setFont(scaled(font(), 1.0, true));
  title_->setTextColor(ink);
}

void ChartView::dress_axis(QCPAxis* axis) {
  const QColor ink = palette().color(QPalette::Text);
  QColor faint = ink;
  faint.setAlphaF(0.15F);
  axis->setBasePen(QPen(ink));
  axis->setTickPen(QPen(ink));
  axis->setSubTickPen(QPen(ink));
  axis->setTickLabelColor(ink);
  axis->setLabelColor(ink);
  axis->setTickLabelFont(font());
  axis->setLabelFont(font());
  axis->grid()->setPen(QPen(faint, 1.0, Qt::SolidLine));
  axis->grid()->setZeroLinePen(QPen(ink, 1.0));
}

QString ChartView::save(const QString& path) {
  read_point(std::nullopt);  // the mark is for the screen
  title_->setText(plot_.title);
  shape({kExportWidth, kExportHeight});
  QString problem = write(path);
  title_->setText(titled_ ? plot_.title : QString());
  shape(size());
  replot();
  return problem;
}

QString ChartView::write(const QString& path) {
  const QString ending = QFileInfo(path).suffix().toLower();
  QByteArray bytes;
  if (ending == "csv") {
    bytes = to_csv(plot_).toUtf8();
  } else if (ending == "png") {
    constexpr double kSharp = 2.0;
    QBuffer buffer(&bytes);
    toPixmap(kExportWidth, kExportHeight, kSharp).save(&buffer, "PNG");
  } else if (ending == "svg") {
    bytes = svg_of({kExportWidth, kExportHeight}, plot_.title, [this](QCPPainter& painter) {
      toPainter(&painter, kExportWidth, kExportHeight);
    });
  } else if (ending == "pdf") {
    return savePdf(path, kExportWidth, kExportHeight) ? QString() : path + ": cannot be written.";
  } else {
    return QString("%1: charts are saved as png, svg, pdf or csv.").arg(path);
  }
  return write_or_say(path, bytes.toStdString());
}

void ChartView::draw(QCPPainter& painter, const QRect& place) {
  painter.save();
  shape(place.size());
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  painter.translate(place.topLeft());
  toPainter(&painter, place.width(), place.height());
  painter.restore();
}

void ChartView::changeEvent(QEvent* event) {
  QCustomPlot::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
    show_plot(Plot(plot_));
  }
}

void ChartView::resizeEvent(QResizeEvent* event) {
  shape(event->size());
  QCustomPlot::resizeEvent(event);
}

void ChartView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  fit();
  replot();
}

}  // namespace orrery::gui
