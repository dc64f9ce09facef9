#include "gui/charts/chart_ticks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/tables/text.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

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
    const bool numbers = std::all_of(axis.categories.begin(), axis.categories.end(),
                                     [](const QString& name) { return name.size() <= 3; });
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
