#pragma once

// The kinds of scalar a key can hold: one small traits struct each, for readers, tables and
// schemas, with its C++ type, its parser, what it is called in a message, and how a bound prints.
//
//   K::Type       the C++ type of the value
//   K::kWhat      "a time": fills "... where a time is needed"
//   K::kExample   an example in the spelling of the scenario
//   K::parse      text -> Parsed<Type>, the exact rules of scalar.hpp
//   K::format     a value in a spelling that K::parse accepts

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::yaml {

// Accepted interval of a value; an unset bound does not limit.
template <typename T>
struct Range {
  std::optional<T> min;
  std::optional<T> max;
  bool min_exclusive = false;  // true: the minimum itself is refused
};

template <typename T>
[[nodiscard]] Range<T> at_least(T min) {
  return {min, std::nullopt, false};
}

template <typename T>
[[nodiscard]] Range<T> above(T min) {
  return {min, std::nullopt, true};
}

template <typename T>
[[nodiscard]] Range<T> at_most(T max) {
  return {std::nullopt, max, false};
}

template <typename T>
[[nodiscard]] Range<T> between(T min, T max) {
  return {min, max, false};
}

namespace kind {

#define ORRERY_SCALAR_KIND(Name, CppType, what, example, parser)                      \
  struct Name {                                                                       \
    using Type = CppType;                                                             \
    static constexpr std::string_view kWhat = what;                                   \
    static constexpr std::string_view kExample = example;                             \
    [[nodiscard]] static Parsed<Type> parse(std::string_view t) { return parser(t); } \
    [[nodiscard]] static std::string format(const Type& value);                       \
  }

ORRERY_SCALAR_KIND(Count, std::int64_t, "a whole number", "8 or 15.6T", parse_count);
ORRERY_SCALAR_KIND(Number, double, "a number", "1.5", parse_number);
ORRERY_SCALAR_KIND(Boolean, bool, "true or false", "true", parse_bool);
ORRERY_SCALAR_KIND(Fraction, double, "a fraction", "0.38 or 38%", parse_fraction);
ORRERY_SCALAR_KIND(Size, Bytes, "a size in bytes", "80GiB", parse_bytes);
ORRERY_SCALAR_KIND(Time, Seconds, "a time", "30min", parse_time);
ORRERY_SCALAR_KIND(Bandwidth, BytesPerSecond, "a bandwidth", "400Gbps or 3.35TB/s",
                   parse_bandwidth);
ORRERY_SCALAR_KIND(FlopRate, FlopPerSecond, "a FLOP rate", "989TFLOP/s", parse_flop_rate);
ORRERY_SCALAR_KIND(Money, Dollars, "an amount of money", "$46.1M", parse_money);
ORRERY_SCALAR_KIND(PriceRate, DollarsPerSecond, "a price per time", "$2.50/h", parse_price_rate);
ORRERY_SCALAR_KIND(EventRate, PerSecond, "a rate of events", "0.0065/d", parse_event_rate);
ORRERY_SCALAR_KIND(Power, double, "a power", "10.2kW", parse_power);
ORRERY_SCALAR_KIND(CarbonIntensity, double, "carbon per energy", "400g/kWh",
                   parse_carbon_intensity);
ORRERY_SCALAR_KIND(Date, DateTime, "a date in UTC", "2024-04-01T00:00Z", parse_date_time);
ORRERY_SCALAR_KIND(StepsOrDuration, StepsOrTime, "a number of steps or a time",
                   "1000 steps or 30min", parse_steps_or_time);

#undef ORRERY_SCALAR_KIND

}  // namespace kind

}  // namespace orrery::yaml
