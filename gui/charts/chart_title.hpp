#pragma once

// The title above a plot. It never makes the plot wider than its place: a long one is elided.

#include <qcustomplot.h>

namespace orrery::gui {

// For QSvgGenerator, which writes a title as it is.
[[nodiscard]] inline QString svg_title(const QString& text) {
  return text.toHtmlEscaped();
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
    painter->drawText(
        mRect, Qt::AlignCenter, metrics.elidedText(mText, Qt::ElideRight, mRect.width()));
  }
};

}  // namespace orrery::gui
