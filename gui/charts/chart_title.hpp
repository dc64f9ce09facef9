#pragma once

// The title above a plot. It never makes the plot wider than its place: a long one is elided.

#include <qcustomplot.h>

#include <QBuffer>
#include <QSvgGenerator>
#include <functional>

namespace orrery::gui {

// A drawing of this size as SVG.
[[nodiscard]] inline QByteArray svg_of(const QSize& size, const QString& title,
                                       const std::function<void(QCPPainter& painter)>& paint) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setSize(size);
  svg.setViewBox(QRect({0, 0}, size));
  svg.setTitle(title.toHtmlEscaped());  // it is written as it is
  QCPPainter painter(&svg);
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  paint(painter);
  painter.end();
  return bytes;
}

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

}  // namespace orrery::gui
