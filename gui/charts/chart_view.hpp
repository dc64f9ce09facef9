#pragma once

// A QCustomPlot in the colours of the window: it draws a plot, lets the user read values with mouse
// or keyboard, and exports it to a file.
//
// A value read with the keyboard becomes the accessible description of the widget.

#include <qcustomplot.h>

#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "gui/models/plots/plot.hpp"

namespace orrery::gui {

class ChartTitle;

class ChartView : public QCustomPlot {
  Q_OBJECT

 public:
  explicit ChartView(QWidget* parent = nullptr);

  void show_plot(const Plot& plot);

  // Without a title on the screen, where the panel has one; saved and printed with it.
  void hide_title() { titled_ = false; }

  void show_nothing(const QString& sentence) { show_plot({.name = {}, .title = sentence}); }

  [[nodiscard]] const Plot& plot() const { return plot_; }

  // By the ending: png, svg, pdf, csv. A sentence, empty when it went well.
  [[nodiscard]] QString save(const QString& path);

  // Into a rectangle of another drawing.
  void draw(QCPPainter& painter, const QRect& place);

  // What lies under this position of the widget.
  [[nodiscard]] std::optional<PlotPoint> point_at(const QPointF& position) const;

  // Where a point is drawn, in pixels.
  [[nodiscard]] QPointF position_of(PlotPoint point) const;

  // Marks a point; nothing takes the mark away.
  void read_point(const std::optional<PlotPoint>& point);

  [[nodiscard]] const std::optional<PlotPoint>& read() const { return read_; }

 signals:
  void point_chosen(orrery::gui::PlotPoint point);  // by a click, or by Return while it is read

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  // chart_view.cpp
  [[nodiscard]] bool dark() const;
  void prepare_axes();
  void prepare_axis(QCPAxis* axis, const PlotAxis& model);
  void shape(const QSize& whole);
  void fit_names(const QSize& whole);
  [[nodiscard]] QString write(const QString& path);
  void dress();
  void dress_axis(QCPAxis* axis);
  void fit();
  void fit_values(QCPAxis* values);

  // chart_legend.cpp
  void shape_legend(const QSize& whole);
  void show_legend(bool seen);

  // chart_series.cpp
  [[nodiscard]] QCPAxis* keys() const { return plot_.horizontal ? yAxis : xAxis; }

  [[nodiscard]] QCPAxis* values() const { return plot_.horizontal ? xAxis : yAxis; }

  [[nodiscard]] QColor color_of(std::size_t series) const;
  void add_series();
  QCPAbstractPlottable* add_line(const PlotSeries& series, const QColor& color);
  QCPAbstractPlottable* add_band(const PlotSeries& series, const QColor& color);
  QCPAbstractPlottable* add_bars(const PlotSeries& series, const QColor& color);
  QCPAbstractPlottable* add_map(const PlotSeries& series);
  void add_markers();

  // chart_reading.cpp
  [[nodiscard]] double distance_to(const PlotSeries& series, const QPointF& position,
                                   std::size_t& index) const;

  Plot plot_;
  std::vector<QCPAbstractPlottable*> drawn_;             // by series
  std::vector<double> ends_;                             // of stacked bars so far, by position
  std::vector<std::pair<QCPItemText*, double>> labels_;  // of markers on the first axis
  ChartTitle* title_;
  bool titled_ = true;
  QCPLayoutGrid* body_;
  QCPLayoutGrid* holder_ = nullptr;  // of the legend where it is seen
  QCPColorScale* scale_ = nullptr;   // of a map
  std::optional<PlotPoint> read_;
  QPointF pressed_;
  QCPItemTracer* ring_ = nullptr;
};

}  // namespace orrery::gui
