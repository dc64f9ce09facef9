#include "gui/charts/span_bars.hpp"

#include <algorithm>
#include <utility>

namespace orrery::gui {

namespace {

constexpr int kMiddle = 140;      // lightness from which on a ground needs dark words
constexpr double kWordAir = 3.0;  // around words, in pixels
constexpr double kThinnest = 1.0;

}  // namespace

SpanBars::SpanBars(QCPAxis* keys, QCPAxis* values) : QCPAbstractPlottable(keys, values) {}

void SpanBars::set_data(std::vector<double> keys, std::vector<double> lows,
                        std::vector<double> highs) {
  keys_ = std::move(keys);
  lows_ = std::move(lows);
  highs_ = std::move(highs);
}

void SpanBars::set_words(Words where, std::vector<QString> texts) {
  words_ = where;
  texts_ = std::move(texts);
}

void SpanBars::set_width(double width) { width_ = width; }

QRectF SpanBars::place_of(std::size_t bar) const {
  const QPointF from = coordsToPixels(keys_[bar] - width_ / 2, lows_[bar]);
  const QPointF to = coordsToPixels(keys_[bar] + width_ / 2, highs_[bar]);
  return QRectF(from, to).normalized();
}

std::optional<std::size_t> SpanBars::bar_at(const QPointF& position) const {
  for (std::size_t i = keys_.size(); i-- > 0;) {
    const QRectF place = place_of(i).adjusted(-kThinnest, -kThinnest, kThinnest, kThinnest);
    if (place.contains(position)) {
      return i;
    }
  }
  return std::nullopt;
}

QPointF SpanBars::middle_of(std::size_t bar) const {
  return {keys_[bar], (lows_[bar] + highs_[bar]) / 2};
}

double SpanBars::selectTest(const QPointF& position, bool /*only_selectable*/,
                            QVariant* /*details*/) const {
  return bar_at(position) ? 0.0 : -1.0;
}

QCPRange SpanBars::getKeyRange(bool& found, QCP::SignDomain /*sign*/) const {
  found = !keys_.empty();
  if (!found) {
    return {};
  }
  const auto [least, most] = std::minmax_element(keys_.begin(), keys_.end());
  return {*least - width_ / 2, *most + width_ / 2};
}

QCPRange SpanBars::getValueRange(bool& found, QCP::SignDomain /*sign*/,
                                 const QCPRange& /*keys*/) const {
  found = !keys_.empty();
  if (!found) {
    return {};
  }
  QCPRange range(std::min(lows_.front(), highs_.front()), std::max(lows_.front(), highs_.front()));
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    range.expand(lows_[i]);
    range.expand(highs_[i]);
  }
  return range;
}

void SpanBars::draw(QCPPainter* painter) {
  applyFillAntialiasingHint(painter);
  const QRectF room(clipRect());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    QRectF place = place_of(i);
    if (lows_[i] == highs_[i] || !place.intersects(room.adjusted(-1, -1, 1, 1))) {
      continue;
    }
    // Whatever takes any time can be seen.
    place.setWidth(std::max(place.width(), kThinnest));
    place.setHeight(std::max(place.height(), kThinnest));
    painter->fillRect(place, mBrush);
    if (mPen.style() != Qt::NoPen && place.width() > 2 * kWordAir) {
      painter->setPen(mPen);
      painter->setBrush(Qt::NoBrush);
      painter->drawRect(place);
    }
    if (i < texts_.size() && words_ != Words::none) {
      draw_words(painter, place, texts_[i]);
    }
  }
}

void SpanBars::draw_words(QCPPainter* painter, const QRectF& place, const QString& text) const {
  painter->setFont(words_ == Words::at_end ? mKeyAxis->tickLabelFont() : parentPlot()->font());
  const QFontMetricsF metrics(painter->font(), parentPlot());
  const QColor on_bar = mBrush.color().lightness() > kMiddle ? Qt::black : Qt::white;
  if (words_ == Words::at_end) {
    const double wide = metrics.horizontalAdvance(text) + kWordAir;
    QRectF room(place.center().x() - wide, place.top() - metrics.height(), 2 * wide,
                metrics.height());
    Qt::Alignment side = Qt::AlignHCenter | Qt::AlignVCenter;
    QColor ink = parentPlot()->palette().color(QPalette::Text);
    if (mKeyAxis->orientation() == Qt::Vertical) {
      // Behind the bar, else before it, else in it.
      const bool behind = place.right() + wide <= clipRect().right();
      const bool before = !behind && place.left() - wide >= clipRect().left();
      side = Qt::AlignVCenter | (behind ? Qt::AlignLeft : Qt::AlignRight);
      room = place.adjusted(0, -metrics.height(), 0, metrics.height());
      room.setLeft(behind ? place.right() + kWordAir : room.left() - (before ? wide : 0.0));
      room.setRight(behind   ? room.left() + wide
                    : before ? place.left() - kWordAir
                             : place.right() - kWordAir);
      ink = behind || before ? ink : on_bar;
    }
    painter->setPen(ink);
    painter->drawText(room, static_cast<int>(side.toInt()), text);
    return;
  }
  const QRectF inside =
      place.intersected(QRectF(clipRect())).adjusted(kWordAir, 0.0, -kWordAir, 0.0);
  const double fewest = metrics.horizontalAdvance("mm");
  if (inside.width() < fewest || inside.height() < metrics.height()) {
    return;
  }
  const QString words = metrics.elidedText(text, Qt::ElideRight, inside.width());
  painter->setPen(on_bar);
  painter->drawText(inside, Qt::AlignLeft | Qt::AlignVCenter, words);
}

void SpanBars::drawLegendIcon(QCPPainter* painter, const QRectF& rect) const {
  applyDefaultAntialiasingHint(painter);
  painter->setBrush(mBrush);
  painter->setPen(Qt::NoPen);
  painter->drawRect(rect);
}

}  // namespace orrery::gui
