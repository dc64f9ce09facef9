#pragma once

// Colours for the series of a plot that remain distinguishable with colour-blind vision.
//
// Rows of a ledger get the colour that the timeline has for them (hues.hpp); other kinds get eight
// hues, then the same ones lighter. An ordered series runs from dark to light
// through one scale, without the end of it that would vanish against the background.
//
// Sources: hues of M. Okabe, K. Ito, "Color Universal Design", 2008; the scale "viridis" of
// S. van der Walt, N. Smith, 2015.

#include <qcustomplot.h>

#include <QSharedPointer>
#include <QString>
#include <functional>
#include <optional>
#include <vector>

#include "gui/models/plots/plot.hpp"

namespace orrery::gui {

[[nodiscard]] QColor hue(std::size_t i, bool dark);

// Solid works, hatched waits.
[[nodiscard]] QBrush fill_of(const QColor& color, bool waits);

// Of the cells of a map.
[[nodiscard]] QCPColorGradient map_gradient(MapHue hue);

// Of points or, as on a page of the report, of pixels.
[[nodiscard]] QFont scaled(QFont font, double factor, bool bold = false);

// The colour of series i of `count`.
[[nodiscard]] QColor scale_color(std::size_t i, std::size_t count, bool dark);

// The title above a plot. It never makes the plot wider than its place: a long one is elided.

// A drawing of this size as SVG.
[[nodiscard]] QByteArray svg_of(const QSize& size, const QString& title,
                                const std::function<void(QCPPainter& painter)>& paint);

class ChartTitle : public QCPTextElement {
 public:
  using QCPTextElement::QCPTextElement;

 protected:
  [[nodiscard]] QSize minimumOuterSizeHint() const override {
    return {0, mText.isEmpty() ? 0 : QCPTextElement::minimumOuterSizeHint().height()};
  }

  [[nodiscard]] QSize maximumOuterSizeHint() const override {
    const int most = mText.isEmpty() ? 0 : QCPTextElement::maximumOuterSizeHint().height();
    return {QWIDGETSIZE_MAX, most};
  }

  void draw(QCPPainter* painter) override {
    painter->setFont(mFont);
    painter->setPen(QPen(mTextColor));
    const QFontMetrics metrics(mFont, parentPlot());
    painter->drawText(mRect, Qt::AlignCenter,
                      metrics.elidedText(mText, Qt::ElideRight, mRect.width()));
  }
};

// Floating bars with labels inside or beside them, as a QCustomPlot plottable: bar i covers key +-
// width / 2 from low to high.

class SpanBars : public QCPAbstractPlottable {
 public:
  enum class Words { none, inside, at_end };

  using QCPAbstractPlottable::QCPAbstractPlottable;

  // All of the same length; `texts` may be empty.
  void set_data(std::vector<double> keys, std::vector<double> lows, std::vector<double> highs);
  void set_words(Words where, std::vector<QString> texts);

  void set_width(double width) { width_ = width; }

  [[nodiscard]] std::optional<std::size_t> bar_at(const QPointF& position) const;

  // In coordinates: key, value.
  [[nodiscard]] QPointF middle_of(std::size_t bar) const {
    return {keys_[bar], (lows_[bar] + highs_[bar]) / 2};
  }

  double selectTest(const QPointF& position, bool only_selectable,
                    QVariant* details = nullptr) const override;
  QCPRange getKeyRange(bool& found, QCP::SignDomain sign = QCP::sdBoth) const override;
  QCPRange getValueRange(bool& found, QCP::SignDomain sign = QCP::sdBoth,
                         const QCPRange& keys = QCPRange()) const override;

 protected:
  void draw(QCPPainter* painter) override;
  void drawLegendIcon(QCPPainter* painter, const QRectF& rect) const override;

 private:
  [[nodiscard]] QRectF place_of(std::size_t bar) const;
  void draw_words(QCPPainter* painter, const QRectF& place, const QString& text) const;

  std::vector<double> keys_;
  std::vector<double> lows_;
  std::vector<double> highs_;
  std::vector<QString> texts_;
  Words words_ = Words::none;
  double width_ = 1.0;
};

// Ticks of an axis and their labels, at round values of a unit that suits the quantity.
//
//   step = round number of units near span / ticks;  unit: s, min, h, d for times, powers of two
//   for bytes, one hundredth for fractions

// With as many digits as tell two ticks `step` apart.
[[nodiscard]] QString tick_text(report::Dimension dimension, double value, double step);

// For the numbers of the axis; nothing special without dimension and categories.
[[nodiscard]] QSharedPointer<QCPAxisTicker> ticker_for(const PlotAxis& axis);

}  // namespace orrery::gui
