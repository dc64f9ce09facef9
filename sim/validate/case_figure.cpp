#include "sim/validate/case_figure.hpp"

#include <array>
#include <string>

#include "sim/base/text.hpp"
#include "sim/validate/case_inputs.hpp"

namespace orrery::validate {

namespace {

using Dimension = Figure::Dimension;

struct Unit {
  std::string_view spelled;  // in lower case, without spaces
  Dimension dimension;
  double scale;  // to the base unit
};

constexpr double kHundredth = 0.01;

constexpr std::array<Unit, 67> kUnits = {{
    {"", Dimension::number, 1.0},
    {"1", Dimension::number, 1.0},
    {"percent", Dimension::number, kHundredth},
    {"%", Dimension::number, kHundredth},
    {"s", Dimension::time, 1.0},
    {"sec", Dimension::time, 1.0},
    {"second", Dimension::time, 1.0},
    {"seconds", Dimension::time, 1.0},
    {"ms", Dimension::time, kMilli},
    {"min", Dimension::time, kSecondsPerMinute},
    {"minute", Dimension::time, kSecondsPerMinute},
    {"minutes", Dimension::time, kSecondsPerMinute},
    {"h", Dimension::time, kSecondsPerHour},
    {"hour", Dimension::time, kSecondsPerHour},
    {"hours", Dimension::time, kSecondsPerHour},
    {"gpu-h", Dimension::time, kSecondsPerHour},
    {"gpu-hours", Dimension::time, kSecondsPerHour},
    {"gpuh", Dimension::time, kSecondsPerHour},
    {"d", Dimension::time, kSecondsPerDay},
    {"day", Dimension::time, kSecondsPerDay},
    {"days", Dimension::time, kSecondsPerDay},
    {"b", Dimension::size, 1.0},
    {"byte", Dimension::size, 1.0},
    {"bytes", Dimension::size, 1.0},
    {"kb", Dimension::size, kKilo},
    {"mb", Dimension::size, kMega},
    {"gb", Dimension::size, kGiga},
    {"tb", Dimension::size, kTera},
    {"mib", Dimension::size, kMebi},
    {"gib", Dimension::size, kGibi},
    {"tib", Dimension::size, kTebi},
    {"b/s", Dimension::bandwidth, 1.0},
    {"bytes/s", Dimension::bandwidth, 1.0},
    {"mb/s", Dimension::bandwidth, kMega},
    {"gb/s", Dimension::bandwidth, kGiga},
    {"tb/s", Dimension::bandwidth, kTera},
    {"mib/s", Dimension::bandwidth, kMebi},
    {"gib/s", Dimension::bandwidth, kGibi},
    {"usd", Dimension::money, 1.0},
    {"$", Dimension::money, 1.0},
    {"kusd", Dimension::money, kKilo},
    {"musd", Dimension::money, kMega},
    {"millionusd", Dimension::money, kMega},
    {"$m", Dimension::money, kMega},
    {"usd/h", Dimension::price_rate, 1.0 / kSecondsPerHour},
    {"$/h", Dimension::price_rate, 1.0 / kSecondsPerHour},
    {"usd/hour", Dimension::price_rate, 1.0 / kSecondsPerHour},
    {"usd/gpu-h", Dimension::price_rate, 1.0 / kSecondsPerHour},
    {"usd/gpu-hour", Dimension::price_rate, 1.0 / kSecondsPerHour},
    {"usdpergpu-h", Dimension::price_rate, 1.0 / kSecondsPerHour},
    {"usd/d", Dimension::price_rate, 1.0 / kSecondsPerDay},
    {"usd/day", Dimension::price_rate, 1.0 / kSecondsPerDay},
    {"kwh", Dimension::energy, 1.0},
    {"mwh", Dimension::energy, kKilo},
    {"gwh", Dimension::energy, kMega},
    {"flop/s", Dimension::flop_rate, 1.0},
    {"tflop/s", Dimension::flop_rate, kTera},
    {"tflops", Dimension::flop_rate, kTera},
    {"pflop/s", Dimension::flop_rate, kPeta},
    {"1/s", Dimension::event_rate, 1.0},
    {"1/h", Dimension::event_rate, 1.0 / kSecondsPerHour},
    {"perhour", Dimension::event_rate, 1.0 / kSecondsPerHour},
    {"1/d", Dimension::event_rate, 1.0 / kSecondsPerDay},
    {"perday", Dimension::event_rate, 1.0 / kSecondsPerDay},
    {"pernode-day", Dimension::node_rate, 1.0 / kSecondsPerDay},
    {"per1000node-days", Dimension::node_rate, 1.0 / (kKilo * kSecondsPerDay)},
    {"per1000server-days", Dimension::node_rate, 1.0 / (kKilo * kSecondsPerDay)},
}};

// Lower case, without spaces, and without "per gpu" and the like: the figure is one per GPU then.
std::string plain(std::string_view unit) {
  std::string text;
  for (const char c : lower_case(unit)) {
    if (c != ' ' && c != '\t' && c != ',') {
      text += c;
    }
  }
  for (const std::string_view tail : {"pergpu", "/gpu", "perdevice", "perrank", "perprocess"}) {
    if (text.ends_with(tail)) {
      text.resize(text.size() - tail.size());
    }
  }
  return text;
}

double base_scale(Dimension dimension) {
  return dimension == Dimension::node_rate ? 1.0 / (kKilo * kSecondsPerDay) : 1.0;
}

}  // namespace

std::optional<double> in_unit(const Figure& figure, std::string_view unit) {
  const std::string text = plain(unit);
  for (const Unit& known : kUnits) {
    if (text == known.spelled && known.dimension == figure.dimension) {
      return figure.base / known.scale;
    }
  }
  if (text.empty()) {
    return figure.base / base_scale(figure.dimension);
  }
  for (const Unit& known : kUnits) {
    if (text == known.spelled && !text.empty()) {
      return std::nullopt;  // a unit of something else
    }
  }
  // "fraction", "ratio", "machines", ...: any word counts as a plain number.
  return figure.dimension == Dimension::number ? std::optional(figure.base) : std::nullopt;
}

}  // namespace orrery::validate
