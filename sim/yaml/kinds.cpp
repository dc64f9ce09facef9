#include "sim/yaml/kinds.hpp"

#include <fmt/core.h>

#include "sim/base/format.hpp"

namespace orrery::yaml::kind {

namespace {

// Enough digits to show any bound that a table states, without zeros at the end.
constexpr NumberStyle kBound = {9, true};

}  // namespace

std::string Count::format(const Type& value) {
  return fmt::format("{}", value);
}

std::string Number::format(const Type& value) {
  return fmt::format("{}", value);
}

std::string Boolean::format(const Type& value) {
  return value ? "true" : "false";
}

std::string Fraction::format(const Type& value) {
  return fmt::format("{}", value);
}

std::string Size::format(const Type& value) {
  return format_bytes(value, kBound);
}

std::string Time::format(const Type& value) {
  return format_time(value, kBound);
}

std::string Bandwidth::format(const Type& value) {
  return format_bandwidth(value, kBound);
}

std::string FlopRate::format(const Type& value) {
  return format_flop_rate(value, kBound);
}

std::string Money::format(const Type& value) {
  return format_money(value, kBound);
}

std::string PriceRate::format(const Type& value) {
  return format_price_rate(value, kBound);
}

std::string EventRate::format(const Type& value) {
  return format_event_rate(value, kBound);
}

std::string Power::format(const Type& value) {
  return fmt::format("{}W", value);
}

std::string CarbonIntensity::format(const Type& value) {
  return fmt::format("{}kg/kWh", value);
}

std::string Date::format(const Type& value) {
  return format_date_time(value.unix_seconds);
}

std::string StepsOrDuration::format(const Type& value) {
  if (const Steps* steps = std::get_if<Steps>(&value)) {
    return fmt::format("{} steps", steps->count);
  }
  return format_time(std::get<Seconds>(value), kBound);
}

}  // namespace orrery::yaml::kind
