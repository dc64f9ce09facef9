#include "gui/charts/chart_parts.hpp"

#include <QBuffer>
#include <QSvgGenerator>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "gui/timeline/raster.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

QColor hue(std::size_t i, bool dark) {
  if (i >= kCategoryHues) {
    static const std::array<timeline::Palette, 2> kPalettes = {timeline::light_palette(),
                                                               timeline::dark_palette()};
    return QColor(kPalettes[dark ? 1 : 0].category[(i - kCategoryHues) % timeline::kCategories]);
  }
  static const std::array<const char*, 8> kHues = {"#0b5cad", "#e08a00", "#0f9b78", "#b784b7",
                                                   "#5cc3f5", "#c8430a", "#b8a800", "#808080"};
  const QColor color(kHues[i % kHues.size()]);
  const bool again = (i / kHues.size()) % 2 == 1;
  constexpr int kLighter = 140;
  constexpr int kLighterInDark = 115;
  return again ? color.lighter(kLighter) : (dark ? color.lighter(kLighterInDark) : color);
}

QBrush fill_of(const QColor& color, bool waits) {
  return waits ? QBrush(color, Qt::BDiagPattern) : QBrush(color);
}

QCPColorGradient map_gradient(MapHue hue) {
  static const std::array<std::array<const char*, 3>, 3> kHues = {{
      {"#e8f3ec", "#7a99a1", "#0b3f55"},
      {"#f1e9fa", "#977fae", "#3c1d63"},
      {"#0b5cad", "#f4f4f2", "#b3420a"},
  }};
  QCPColorGradient gradient;
  const auto& stops = kHues[static_cast<std::size_t>(hue)];
  gradient.setColorStops(
      {{0.0, QColor(stops[0])}, {0.5, QColor(stops[1])}, {1.0, QColor(stops[2])}});
  return gradient;
}

QColor scale_color(std::size_t i, std::size_t count, bool dark) {
  QCPColorGradient gradient(QCPColorGradient::gpThermal);
  const double from = dark ? 0.3 : 0.0;  // not the darkest on a dark ground, nor the lightest
  const double to = dark ? 0.95 : 0.65;
  const double share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
  return QColor(gradient.color(from + (to - from) * share, {0.0, 1.0}));
}

QByteArray svg_of(const QSize& size, const QString& title,
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
  // XML has no other control characters, and a name may hold any.
  erase_if(bytes, [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r';
  });
  return bytes;
}

QFont scaled(QFont font, double factor, bool bold) {
  if (font.pointSizeF() > 0.0) {
    font.setPointSizeF(font.pointSizeF() * factor);
  } else {
    font.setPixelSize(static_cast<int>(font.pixelSize() * factor));
  }
  font.setBold(bold);
  return font;
}

namespace {

constexpr int kMiddle = 140;      // lightness from which on a ground needs dark words
constexpr double kWordAir = 3.0;  // around words, in pixels
constexpr double kThinnest = 1.0;

}  // namespace

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

double SpanBars::selectTest(const QPointF& position, bool /*only_selectable*/,
                            QVariant* /*details*/) const {
  return bar_at(position) ? 0.0 : -1.0;
}

QCPRange SpanBars::getKeyRange(bool& found, QCP::SignDomain /*sign*/) const {
  found = !keys_.empty();
  const auto [least, most] = std::ranges::minmax_element(keys_);
  return found ? QCPRange(*least - width_ / 2, *most + width_ / 2) : QCPRange();
}

QCPRange SpanBars::getValueRange(bool& found, QCP::SignDomain /*sign*/,
                                 const QCPRange& /*keys*/) const {
  found = !keys_.empty();
  if (!found) {
    return {};
  }
  const auto [low, least] = std::ranges::minmax(lows_);
  const auto [most, high] = std::ranges::minmax(highs_);
  return {std::min(low, most), std::max(least, high)};
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

namespace {

using report::Dimension;

// Digits that tell `value` from `value + step`.
int digits_for(double value, double step) {
  constexpr int kFewest = 2;
  constexpr int kMost = 9;
  const double size = std::max(std::abs(value), step);
  const int digits = step > 0.0 ? static_cast<int>(std::floor(std::log10(size) + 1e-9) -
                                                   std::floor(std::log10(step) + 1e-9)) +
                                      1
                                : kMost;
  return std::clamp(digits + 1, kFewest, kMost);
}

double unit_of(Dimension dimension, double span) {
  if (dimension != Dimension::time) {
    return 1.0;
  }
  constexpr double kFewUnits = 3.0;
  for (const Seconds unit : {hours(kHoursPerDay), hours(1.0), minutes(1.0)}) {
    if (span > kFewUnits * in_seconds(unit)) {
      return in_seconds(unit);
    }
  }
  return 1.0;
}

class DimensionTicker : public QCPAxisTicker {
 public:
  explicit DimensionTicker(Dimension dimension) : dimension_(dimension) {}

 protected:
  double getTickStep(const QCPRange& range) override {
    const double wanted = range.size() / mTickCount;
    if (dimension_ == Dimension::bytes) {
      step_ = std::exp2(std::round(std::log2(wanted)));
    } else {
      const double unit = unit_of(dimension_, range.size());
      step_ = cleanMantissa(wanted / unit) * unit;
    }
    return step_;
  }

  QString getTickLabel(double tick, const QLocale& /*locale*/, QChar /*format*/,
                       int /*precision*/) override {
    constexpr double kRounding = 1e-9;
    return tick_text(dimension_, std::abs(tick) < kRounding * step_ ? 0.0 : tick, step_);
  }

 private:
  Dimension dimension_;
  double step_ = 0.0;
};

// Powers of ten in the unit of the dimension.
class PowerTicker : public QCPAxisTickerLog {
 public:
  explicit PowerTicker(Dimension dimension) : dimension_(dimension) {}

 protected:
  QString getTickLabel(double tick, const QLocale& /*locale*/, QChar /*format*/,
                       int /*precision*/) override {
    return tick_text(dimension_, tick, tick);
  }

 private:
  Dimension dimension_;
};

// Times that people would write on a logarithmic axis.
QSharedPointer<QCPAxisTicker> log_time_ticker() {
  constexpr std::array<double, 6> kSixties = {1.0, 2.0, 5.0, 10.0, 20.0, 30.0};
  constexpr std::array<double, 7> kDays = {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0};
  constexpr NumberStyle kShort = {.significant = 3, .trim = true};
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  const auto add = [&ticker](Seconds time, const char* unit, double count) {
    ticker->addTick(in_seconds(time), qt(format_number(count, kShort)) + unit);
  };
  for (const double count : kSixties) {
    add(seconds(count), " s", count);
    add(minutes(count), " min", count);
    if (count < kHoursPerDay) {
      add(hours(count), " h", count);
    }
  }
  for (const double count : kDays) {
    add(hours(kHoursPerDay * count), " d", count);
  }
  return ticker;
}

}  // namespace

QString tick_text(Dimension dimension, double value, double step) {
  const NumberStyle style = {.significant = digits_for(value, step), .trim = true};
  switch (dimension) {
    case Dimension::time:
      return qt(value < 0.0 ? "-" + format_time(seconds(-value), style)
                            : format_time(seconds(value), style));
    case Dimension::bytes:
      return qt(format_bytes_binary(bytes(value), style));
    case Dimension::dollars:
      return qt(format_money(dollars(value), style));
    case Dimension::fraction:
      return qt(format_percent(value, style));
    case Dimension::count:
      return qt(format_count(value, style));
    case Dimension::flop_rate:
      return qt(format_flop_rate(flop_per_second(value), style));
    default:
      return shown(dimension, value);
  }
}

QSharedPointer<QCPAxisTicker> ticker_for(const PlotAxis& axis) {
  if (!axis.categories.empty()) {
    // Numbers of many stages stand below every second bar.
    constexpr std::size_t kMany = 10;
    const bool numbers =
        std::ranges::all_of(axis.categories, [](const QString& name) { return name.size() <= 3; });
    const std::size_t step = numbers && axis.categories.size() > kMany ? 2 : 1;
    QSharedPointer<QCPAxisTickerText> names(new QCPAxisTickerText);
    for (std::size_t i = 0; i < axis.categories.size(); ++i) {
      names->addTick(static_cast<double>(i), i % step == 0 ? axis.categories[i] : QString());
    }
    return names;
  }
  if (axis.dimension == Dimension::date) {
    QSharedPointer<QCPAxisTickerDateTime> dates(new QCPAxisTickerDateTime);
    dates->setDateTimeSpec(Qt::UTC);
    dates->setDateTimeFormat("yyyy-MM-dd");
    return dates;
  }
  if (axis.logarithmic && axis.dimension == Dimension::time) {
    return log_time_ticker();
  }
  if (axis.logarithmic && axis.dimension) {
    return QSharedPointer<QCPAxisTicker>(new PowerTicker(*axis.dimension));
  }
  if (axis.dimension) {
    return QSharedPointer<QCPAxisTicker>(new DimensionTicker(*axis.dimension));
  }
  return QSharedPointer<QCPAxisTicker>(new QCPAxisTicker);
}

}  // namespace orrery::gui
