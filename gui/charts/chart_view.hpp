#pragma once

// How is a plot drawn, and how does it reach a file? QCustomPlot, dressed in the colours of the
// window: wheel zooms, drag moves, double click shows everything again.
//
// Source of the hues: M. Okabe, K. Ito, "Color Universal Design", 2008.

#include <qcustomplot.h>

#include <QString>

#include "gui/models/plot.hpp"

namespace orrery::gui {

class ChartView : public QCustomPlot {
  Q_OBJECT

 public:
  explicit ChartView(QWidget* parent = nullptr);

  void show_plot(const Plot& plot);
  void show_nothing(const QString& sentence);

  [[nodiscard]] const Plot& plot() const {
    return plot_;
  }

  // By the ending: png, svg, pdf, csv. A sentence, empty when it went well.
  [[nodiscard]] QString save(const QString& path);

  // Into a rectangle of another drawing.
  void draw(QCPPainter& painter, const QRect& place);

 protected:
  void changeEvent(QEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  void dress();
  void prepare_axes();
  void place_legend(bool beside);
  void add_line(const PlotSeries& series, const QColor& color);
  void add_band(const PlotSeries& series, const QColor& color);
  QCPBars* add_bars(const PlotSeries& series, const QColor& color, QCPBars* below);
  void add_markers();
  void fit();

  Plot plot_;
};

}  // namespace orrery::gui
