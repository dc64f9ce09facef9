#include "gui/charts/chart_view.hpp"

#include <QBuffer>
#include <QEvent>
#include <QFileInfo>
#include <QSvgGenerator>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "gui/charts/chart_ticks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace orrery::gui {

namespace {

constexpr int kExportWidth = 1000;
constexpr int kExportHeight = 620;
constexpr double kAir = 0.06;  // of the range, around the data

QColor hue(std::size_t i, bool dark) {
  static const std::array<const char*, 8> kHues = {
      "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#808080"};
  const QColor color(kHues[i % kHues.size()]);
  const bool again = (i / kHues.size()) % 2 == 1;
  constexpr int kLighter = 140;
  constexpr int kLighterInDark = 115;
  return again ? color.lighter(kLighter) : (dark ? color.lighter(kLighterInDark) : color);
}

QVector<double> vector_of(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

ChartView::ChartView(QWidget* parent) : QCustomPlot(parent) {
  setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
  setAccessibleName("Chart");
  setMinimumSize(240, 180);
  setFocusPolicy(Qt::StrongFocus);
  dress();
}

void ChartView::show_plot(const Plot& plot) {
  plot_ = plot;
  clearPlottables();
  clearItems();
  prepare_axes();
  const bool dark = palette().color(QPalette::Base).lightness() < 128;
  QCPBars* below = nullptr;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    switch (series.kind) {
      case PlotSeries::Kind::line:
        add_line(series, hue(0, dark));
        break;
      case PlotSeries::Kind::band:
        add_band(series, hue(0, dark));
        break;
      case PlotSeries::Kind::bars:
        below = add_bars(series, hue(i, dark), below);
        break;
    }
  }
  add_markers();
  const bool named = plot.series.size() > 1 && (!plot.horizontal || plot.series[0].low.empty());
  place_legend(named && plot.stacked);
  legend->setVisible(named);
  setAccessibleDescription(plot.title);
  dress();
  fit();
  replot();
}

void ChartView::show_nothing(const QString& sentence) {
  show_plot({.name = {}, .title = sentence});
}

void ChartView::prepare_axes() {
  QCPAxis* keys = plot_.horizontal ? yAxis : xAxis;
  QCPAxis* values = plot_.horizontal ? xAxis : yAxis;
  keys->setTicker(ticker_for(plot_.x));
  values->setTicker(ticker_for(plot_.y));
  keys->setLabel(plot_.x.label);
  values->setLabel(plot_.y.label);
  keys->setScaleType(plot_.x.logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  values->setScaleType(QCPAxis::stLinear);
  // The first category of a horizontal plot is on top.
  yAxis->setRangeReversed(plot_.horizontal);
  keys->setSubTicks(plot_.x.categories.empty() && !plot_.x.logarithmic);
  keys->grid()->setVisible(plot_.x.categories.empty());
  values->setSubTicks(true);
  values->grid()->setVisible(true);
  const bool empty = plot_.series.empty();
  xAxis->setVisible(!empty);
  yAxis->setVisible(!empty);
  if (plotLayout()->rowCount() == 1) {
    plotLayout()->insertRow(0);
    plotLayout()->addElement(0, 0, new QCPTextElement(this));
  }
  auto* title = qobject_cast<QCPTextElement*>(plotLayout()->element(0, 0));
  title->setText(plot_.title);
}

// Beside the bars of a stack, which fill the plot; else in the upper left corner of it.
void ChartView::place_legend(bool beside) {
  QCPLayout* holder = legend->layout();
  const bool is_beside = holder == plotLayout();
  if (beside == is_beside) {
    return;
  }
  holder->take(legend);
  if (beside) {
    constexpr double kAsNarrowAsPossible = 0.001;
    plotLayout()->addElement(1, 1, legend);
    plotLayout()->setColumnStretchFactor(1, kAsNarrowAsPossible);
  } else {
    plotLayout()->simplify();
    axisRect()->insetLayout()->addElement(legend, Qt::AlignTop | Qt::AlignLeft);
  }
}

void ChartView::add_line(const PlotSeries& series, const QColor& color) {
  auto* line = new QCPGraph(xAxis, yAxis);
  line->setData(vector_of(series.x), vector_of(series.y), true);
  line->setName(series.name);
  line->setPen(QPen(color, 2.0));
  if (series.marked) {
    line->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, 5.0));
  }
}

void ChartView::add_band(const PlotSeries& series, const QColor& color) {
  QColor light = color;
  light.setAlphaF(0.22F);
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
}

QCPBars* ChartView::add_bars(const PlotSeries& series, const QColor& color, QCPBars* below) {
  QCPAxis* keys = plot_.horizontal ? yAxis : xAxis;
  QCPAxis* values = plot_.horizontal ? xAxis : yAxis;
  auto* bars = new QCPBars(keys, values);
  bars->setName(series.name);
  bars->setPen(Qt::NoPen);
  bars->setBrush(color);
  bars->setWidth(series.width);
  if (!series.low.empty()) {
    // An unseen bar carries the one that begins higher up.
    auto* base = new QCPBars(keys, values);
    base->setPen(Qt::NoPen);
    base->setBrush(Qt::NoBrush);
    base->setWidth(series.width);
    base->removeFromLegend();
    base->setData(vector_of(series.x), vector_of(series.low), true);
    std::vector<double> lengths(series.y);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      lengths[i] -= series.low[i];
    }
    bars->setData(vector_of(series.x), vector_of(lengths), true);
    bars->moveAbove(base);
    return bars;
  }
  bars->setData(vector_of(series.x), vector_of(series.y), true);
  if (plot_.stacked && below != nullptr) {
    bars->moveAbove(below);
  }
  return bars;
}

void ChartView::add_markers() {
  const QColor ink = palette().color(QPalette::Text);
  for (const PlotMarker& marker : plot_.markers) {
    auto* line = new QCPItemStraightLine(this);
    line->setPen(QPen(ink, 1.0, Qt::DashLine));
    const QPointF from = marker.on_x ? QPointF(marker.at, 0.0) : QPointF(0.0, marker.at);
    const QPointF to = marker.on_x ? QPointF(marker.at, 1.0) : QPointF(1.0, marker.at);
    line->point1->setCoords(from);
    line->point2->setCoords(to);
    auto* label = new QCPItemText(this);
    label->setText(marker.label);
    label->setColor(ink);
    label->setPadding(QMargins(4, 2, 4, 2));
    label->position->setTypeX(marker.on_x ? QCPItemPosition::ptPlotCoords
                                          : QCPItemPosition::ptAxisRectRatio);
    label->position->setTypeY(marker.on_x ? QCPItemPosition::ptAxisRectRatio
                                          : QCPItemPosition::ptPlotCoords);
    label->setPositionAlignment(marker.on_x ? Qt::AlignLeft | Qt::AlignTop
                                            : Qt::AlignRight | Qt::AlignBottom);
    label->position->setCoords(marker.on_x ? marker.at : 1.0, marker.on_x ? 0.0 : marker.at);
  }
}

void ChartView::fit() {
  rescaleAxes();
  QCPAxis* keys = plot_.horizontal ? yAxis : xAxis;
  QCPAxis* values = plot_.horizontal ? xAxis : yAxis;
  if (!plot_.x.categories.empty()) {
    keys->setRange(-0.6, static_cast<double>(plot_.x.categories.size()) - 0.4);
  }
  QCPRange range = values->range();
  for (const PlotMarker& marker : plot_.markers) {
    if (!marker.on_x) {
      range.expand(marker.at);
    }
  }
  const double air = range.size() * kAir;
  const bool from_zero = range.lower == 0.0;
  values->setRange(from_zero ? 0.0 : range.lower - air, range.upper + air);
}

// Colours of the window, so that a dark desktop has dark charts.
void ChartView::dress() {
  const QColor ink = palette().color(QPalette::Text);
  QColor faint = ink;
  faint.setAlphaF(0.15F);
  setBackground(palette().color(QPalette::Base));
  QFont small = font();
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->setBasePen(QPen(ink));
    axis->setTickPen(QPen(ink));
    axis->setSubTickPen(QPen(ink));
    axis->setTickLabelColor(ink);
    axis->setLabelColor(ink);
    axis->setTickLabelFont(small);
    axis->setLabelFont(small);
    axis->grid()->setPen(QPen(faint, 1.0, Qt::SolidLine));
    axis->grid()->setZeroLinePen(QPen(ink, 1.0));
  }
  legend->setFont(small);
  legend->setTextColor(ink);
  QColor ground = palette().color(QPalette::Base);
  ground.setAlphaF(0.85F);
  legend->setBrush(ground);
  legend->setBorderPen(QPen(faint));
  if (axisRect()->insetLayout()->elementCount() > 0) {
    axisRect()->insetLayout()->setInsetAlignment(0, Qt::AlignTop | Qt::AlignLeft);
  }
  if (plotLayout()->rowCount() > 1) {
    auto* title = qobject_cast<QCPTextElement*>(plotLayout()->element(0, 0));
    QFont strong = font();
    strong.setBold(true);
    title->setFont(strong);
    title->setTextColor(ink);
  }
}

QString ChartView::save(const QString& path) {
  const QString ending = QFileInfo(path).suffix().toLower();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (ending == "csv") {
    bytes = to_csv(plot_).toUtf8();
  } else if (ending == "png") {
    constexpr double kSharp = 2.0;
    toPixmap(kExportWidth, kExportHeight, kSharp).save(&buffer, "PNG");
  } else if (ending == "svg") {
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize({kExportWidth, kExportHeight});
    svg.setViewBox(QRect(0, 0, kExportWidth, kExportHeight));
    svg.setTitle(plot_.title);
    QCPPainter painter(&svg);
    painter.setMode(QCPPainter::pmVectorized);
    painter.setMode(QCPPainter::pmNoCaching);
    toPainter(&painter, kExportWidth, kExportHeight);
  } else if (ending == "pdf") {
    return savePdf(path, kExportWidth, kExportHeight) ? QString() : path + ": cannot be written.";
  } else {
    return QString("%1: charts are saved as png, svg, pdf or csv.").arg(path);
  }
  try {
    write_file_atomically(std::filesystem::path(path.toStdString()),
                          {bytes.constData(), static_cast<std::size_t>(bytes.size())});
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

void ChartView::draw(QCPPainter& painter, const QRect& place) {
  painter.save();
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

void ChartView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  fit();
  replot();
}

}  // namespace orrery::gui
