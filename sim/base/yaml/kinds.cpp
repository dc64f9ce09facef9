#include "sim/base/yaml/kinds.hpp"

#include <fmt/core.h>

#include "sim/base/text/format.hpp"

namespace orrery::yaml::kind {

namespace {

// As few digits as give the value back: those of a bound that a table states, else all.
template <typename K, typename Format>
std::string exact(const typename K::Type& value, Format format) {
  constexpr NumberStyle kBound = {9, true};
  constexpr NumberStyle kAll = {17, true};
  std::string text = format(value, kBound);
  return K::parse(text).value == value ? text : format(value, kAll);
}

}  // namespace

std::string Count::format(const Type& value) { return fmt::format("{}", value); }

std::string Number::format(const Type& value) { return fmt::format("{}", value); }

std::string Boolean::format(const Type& value) { return value ? "true" : "false"; }

std::string Fraction::format(const Type& value) { return fmt::format("{}", value); }

std::string Size::format(const Type& value) { return exact<Size>(value, format_bytes); }

std::string Time::format(const Type& value) { return exact<Time>(value, format_time); }

std::string Bandwidth::format(const Type& value) {
  return exact<Bandwidth>(value, format_bandwidth);
}

std::string FlopRate::format(const Type& value) { return exact<FlopRate>(value, format_flop_rate); }

std::string Money::format(const Type& value) { return exact<Money>(value, format_money); }

std::string PriceRate::format(const Type& value) {
  return exact<PriceRate>(value, format_price_rate);
}

std::string EventRate::format(const Type& value) {
  return exact<EventRate>(value, format_event_rate);
}

std::string Power::format(const Type& value) { return fmt::format("{}W", value); }

std::string CarbonIntensity::format(const Type& value) { return fmt::format("{}kg/kWh", value); }

std::string Date::format(const Type& value) { return format_date_time(value.unix_seconds); }

std::string StepsOrDuration::format(const Type& value) {
  if (const Steps* steps = std::get_if<Steps>(&value)) {
    return fmt::format("{} steps", steps->count);
  }
  return Time::format(std::get<Seconds>(value));
}

}  // namespace orrery::yaml::kind
