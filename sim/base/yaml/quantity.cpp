// Quantities with a unit: bytes, times, rates and money (rules in scalar.hpp).

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "sim/base/text/text.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/number_text.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::yaml {

namespace {

struct Unit {
  std::string_view name;
  double scale;  // base units in one of this unit
};

// A spelling that people use, and what to write in its place.
struct Hint {
  std::string_view wrong;
  std::string_view advice;
};

struct Rule {
  std::span<const Unit> units;
  std::span<const Hint> hints;
  std::string_view allowed;
};

constexpr std::array kByteUnits = {Unit{"B", 1.0},     Unit{"kB", kKilo},        Unit{"MB", kMega},
                                   Unit{"GB", kGiga},  Unit{"TB", kTera},        Unit{"PB", kPeta},
                                   Unit{"KiB", kKibi}, Unit{"MiB", kMebi},       Unit{"GiB", kGibi},
                                   Unit{"TiB", kTebi}, Unit{"PiB", kTebi* kKibi}};
constexpr std::array kByteHints = {Hint{"KB", "write `kB` (decimal) or `KiB` (binary)"},
                                   Hint{"K", "write `kB` or `KiB`"},
                                   Hint{"M", "write `MB` or `MiB`"},
                                   Hint{"G", "write `GB` or `GiB`"},
                                   Hint{"T", "write `TB` or `TiB`"},
                                   Hint{"Mb", "a lower-case b is bits; write `MB` or `MiB`"},
                                   Hint{"Gb", "a lower-case b is bits; write `GB` or `GiB`"},
                                   Hint{"Tb", "a lower-case b is bits; write `TB` or `TiB`"},
                                   Hint{"bytes", "write `B`"},
                                   Hint{"byte", "write `B`"}};
constexpr Rule kByteRule = {kByteUnits, kByteHints,
                            "bytes in B kB MB GB TB PB or KiB MiB GiB TiB PiB, such as 80GiB"};

constexpr std::array kTimeUnits = {Unit{"ns", kNano},
                                   Unit{"us", kMicro},
                                   Unit{"ms", kMilli},
                                   Unit{"s", 1.0},
                                   Unit{"min", kSecondsPerMinute},
                                   Unit{"h", kSecondsPerHour},
                                   Unit{"d", kSecondsPerDay}};
constexpr std::array kTimeHints = {Hint{"m", "`m` could be minutes or months; write `min`"},
                                   Hint{"M", "`M` could be minutes or months; write `min`"},
                                   Hint{"mins", "write `min`"},
                                   Hint{"minute", "write `min`"},
                                   Hint{"minutes", "write `min`"},
                                   Hint{"sec", "write `s`"},
                                   Hint{"secs", "write `s`"},
                                   Hint{"second", "write `s`"},
                                   Hint{"seconds", "write `s`"},
                                   Hint{"msec", "write `ms`"},
                                   Hint{"usec", "write `us`"},
                                   Hint{"\xC2\xB5s", "write `us`"},
                                   Hint{"\xCE\xBCs", "write `us`"},
                                   Hint{"hr", "write `h`"},
                                   Hint{"hrs", "write `h`"},
                                   Hint{"hour", "write `h`"},
                                   Hint{"hours", "write `h`"},
                                   Hint{"day", "write `d`"},
                                   Hint{"days", "write `d`"},
                                   Hint{"w", "write days, 7d for a week"},
                                   Hint{"week", "write days, 7d for a week"},
                                   Hint{"weeks", "write days, 7d for a week"},
                                   Hint{"month", "write days"},
                                   Hint{"months", "write days"},
                                   Hint{"y", "write days, 365d for a year"},
                                   Hint{"year", "write days, 365d for a year"},
                                   Hint{"years", "write days, 365d for a year"}};
constexpr Rule kTimeRule = {kTimeUnits, kTimeHints, "a time in ns us ms s min h d, such as 30min"};

constexpr std::array kBandwidthUnits = {Unit{"bps", 1.0 / kBitsPerByte},
                                        Unit{"kbps", kKilo / kBitsPerByte},
                                        Unit{"Mbps", kMega / kBitsPerByte},
                                        Unit{"Gbps", kGiga / kBitsPerByte},
                                        Unit{"Tbps", kTera / kBitsPerByte},
                                        Unit{"Mbit/s", kMega / kBitsPerByte},
                                        Unit{"Gbit/s", kGiga / kBitsPerByte},
                                        Unit{"Tbit/s", kTera / kBitsPerByte},
                                        Unit{"B/s", 1.0},
                                        Unit{"kB/s", kKilo},
                                        Unit{"MB/s", kMega},
                                        Unit{"GB/s", kGiga},
                                        Unit{"TB/s", kTera},
                                        Unit{"PB/s", kPeta},
                                        Unit{"KiB/s", kKibi},
                                        Unit{"MiB/s", kMebi},
                                        Unit{"GiB/s", kGibi},
                                        Unit{"TiB/s", kTebi}};
constexpr std::array kBandwidthHints = {Hint{"Mb/s", "write `Mbps` for bits or `MB/s` for bytes"},
                                        Hint{"Gb/s", "write `Gbps` for bits or `GB/s` for bytes"},
                                        Hint{"Tb/s", "write `Tbps` for bits or `TB/s` for bytes"},
                                        Hint{"MBps", "write `MB/s` for bytes or `Mbps` for bits"},
                                        Hint{"GBps", "write `GB/s` for bytes or `Gbps` for bits"},
                                        Hint{"TBps", "write `TB/s` for bytes or `Tbps` for bits"},
                                        Hint{"gb/s", "write `Gbps` for bits or `GB/s` for bytes"},
                                        Hint{"KB/s", "write `kB/s` or `KiB/s`"},
                                        Hint{"G", "write `Gbps` for bits or `GB/s` for bytes"},
                                        Hint{"GB", "write `GB/s`"},
                                        Hint{"TB", "write `TB/s`"}};
constexpr Rule kBandwidthRule = {kBandwidthUnits, kBandwidthHints,
                                 "bits in Mbps Gbps Tbps or bytes in MB/s GB/s TB/s and GiB/s, "
                                 "such as 400Gbps or 3.35TB/s"};

constexpr std::array kFlopRateUnits = {Unit{"FLOP/s", 1.0},    Unit{"MFLOP/s", kMega},
                                       Unit{"GFLOP/s", kGiga}, Unit{"TFLOP/s", kTera},
                                       Unit{"PFLOP/s", kPeta}, Unit{"EFLOP/s", kExa}};
constexpr std::array kFlopRateHints = {
    Hint{"TFLOPS", "write `TFLOP/s`"}, Hint{"TFLOPs", "write `TFLOP/s`"},
    Hint{"TFLOP", "write `TFLOP/s`"},  Hint{"TFlops", "write `TFLOP/s`"},
    Hint{"TF", "write `TFLOP/s`"},     Hint{"PFLOPS", "write `PFLOP/s`"},
    Hint{"PFLOPs", "write `PFLOP/s`"}, Hint{"GFLOPS", "write `GFLOP/s`"},
    Hint{"GFLOPs", "write `GFLOP/s`"}, Hint{"TOPS", "write `TFLOP/s`"}};
constexpr Rule kFlopRateRule = {kFlopRateUnits, kFlopRateHints,
                                "FLOP/s with M G T P or E, such as 989TFLOP/s"};

constexpr std::array kEventRateUnits = {Unit{"/s", 1.0}, Unit{"/min", 1.0 / kSecondsPerMinute},
                                        Unit{"/h", 1.0 / kSecondsPerHour},
                                        Unit{"/d", 1.0 / kSecondsPerDay}};
constexpr std::array kEventRateHints = {Hint{"/m", "`m` could be minutes or months; write `/min`"},
                                        Hint{"/hour", "write `/h`"}, Hint{"/day", "write `/d`"},
                                        Hint{"/year", "write per day, divided by 365"}};
constexpr Rule kEventRateRule = {kEventRateUnits, kEventRateHints,
                                 "events per time in /s /min /h or /d, such as 0.0065/d"};

constexpr std::array kMoneyUnits = {Unit{"", 1.0}, Unit{"k", kKilo}, Unit{"M", kMega},
                                    Unit{"B", kGiga}, Unit{"T", kTera}};
constexpr std::array kMoneyHints = {Hint{"K", "write `k`"}, Hint{"m", "write `M` for a million"},
                                    Hint{"bn", "write `B` for 10^9"},
                                    Hint{"USD", "write `$` before the number"}};
constexpr Rule kMoneyRule = {kMoneyUnits, kMoneyHints,
                             "dollars with k M B or T, such as $46.1M or $12"};
constexpr std::string_view kPriceAllowed = "dollars per time in /s /min /h or /d, such as $2.50/h";

constexpr std::array kPowerUnits = {Unit{"W", 1.0}, Unit{"kW", kKilo}, Unit{"MW", kMega}};
constexpr std::array kPowerHints = {Hint{"kw", "write `kW`"}, Hint{"Mw", "write `MW`"}};
constexpr Rule kPowerRule = {kPowerUnits, kPowerHints, "a power in W kW or MW, such as 10.2kW"};

constexpr std::array kCarbonUnits = {Unit{"kg/kWh", 1.0}, Unit{"g/kWh", kMilli}};
constexpr std::array kCarbonHints = {Hint{"g", "write `g/kWh`"}, Hint{"kg", "write `kg/kWh`"}};
constexpr Rule kCarbonRule = {kCarbonUnits, kCarbonHints,
                              "mass per energy in g/kWh or kg/kWh, such as 400g/kWh"};

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

// What is wrong with a unit that is not in the table, with the nearest right one.
std::string unit_problem(std::string_view unit, const Rule& rule) {
  const std::string start = fmt::format("has the unknown unit {}", display(unit));
  for (const Hint& hint : rule.hints) {
    if (unit == hint.wrong) {
      return fmt::format("{}: {}", start, hint.advice);
    }
  }
  for (const Unit& candidate : rule.units) {
    if (equal_but_for_case(unit, candidate.name)) {
      return fmt::format("{}: did you mean `{}`?", start, candidate.name);
    }
  }
  return start;
}

struct Magnitude {
  double value = 0.0;  // in base units
  std::string problem;
};

// Number and unit to base units; `text` has lost its currency sign.
Magnitude read_magnitude(std::string_view text, const Rule& rule) {
  const NumberText split = split_number(text);
  if (!split.problem.empty()) {
    return {0.0, split.problem};
  }
  if (split.number.starts_with('-')) {
    return {0.0, "is negative"};
  }
  const NumberValue number = number_value(split.number);
  if (!number.problem.empty()) {
    return {0.0, number.problem};
  }
  const auto unit = std::ranges::find(rule.units, split.rest, &Unit::name);
  if (unit == rule.units.end()) {
    if (!split.rest.empty()) {
      return {0.0, unit_problem(split.rest, rule)};
    }
    return number.value == 0.0 ? Magnitude{} : Magnitude{0.0, "has no unit"};
  }
  const double value = number.value * unit->scale;
  if (!std::isfinite(value) || (value == 0.0 && number.value != 0.0)) {
    return {0.0, "is outside the range of a double"};
  }
  return {value, {}};
}

template <typename Q>
Parsed<Q> parse_quantity(std::string_view text, const Rule& rule, Q (*factory)(double)) {
  const Magnitude magnitude = read_magnitude(text, rule);
  if (!magnitude.problem.empty()) {
    return refuse<Q>(text, magnitude.problem, rule.allowed);
  }
  return {factory(magnitude.value), {}, {}};
}

double plain_number(double value) { return value; }

// An amount such as $46.1M or a bare 0.
Magnitude read_money(std::string_view text) {
  if (text == "0") {
    return {};
  }
  if (text.starts_with("-$")) {
    return {0.0, "is negative"};
  }
  if (!text.starts_with('$')) {
    return {0.0, "has no dollar sign before the number"};
  }
  text.remove_prefix(1);
  return read_magnitude(text, kMoneyRule);
}

}  // namespace

Parsed<Bytes> parse_bytes(std::string_view text) {
  return parse_quantity<Bytes>(text, kByteRule, bytes);
}

Parsed<Seconds> parse_time(std::string_view text) {
  Parsed<Seconds> parsed = parse_quantity<Seconds>(text, kTimeRule, seconds);
  constexpr double kMostDays = 365'250'000.0;  // lives of parts may be longer than any run
  if (parsed.value && *parsed.value > days(kMostDays)) {
    return refuse<Seconds>(text, "is beyond the longest time, a million years", kTimeRule.allowed);
  }
  return parsed;
}

Parsed<BytesPerSecond> parse_bandwidth(std::string_view text) {
  return parse_quantity<BytesPerSecond>(text, kBandwidthRule, bytes_per_second);
}

Parsed<FlopPerSecond> parse_flop_rate(std::string_view text) {
  return parse_quantity<FlopPerSecond>(text, kFlopRateRule, flop_per_second);
}

Parsed<PerSecond> parse_event_rate(std::string_view text) {
  return parse_quantity<PerSecond>(text, kEventRateRule, per_second);
}

Parsed<double> parse_power(std::string_view text) {
  return parse_quantity<double>(text, kPowerRule, plain_number);
}

Parsed<double> parse_carbon_intensity(std::string_view text) {
  return parse_quantity<double>(text, kCarbonRule, plain_number);
}

Parsed<Dollars> parse_money(std::string_view text) {
  const Magnitude amount = read_money(text);
  if (!amount.problem.empty()) {
    return refuse<Dollars>(text, amount.problem, kMoneyRule.allowed);
  }
  return {dollars(amount.value), {}, {}};
}

Parsed<DollarsPerSecond> parse_price_rate(std::string_view text) {
  if (text == "0") {
    return {dollars_per_second(0.0), {}, {}};
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string_view amount_text = text.substr(0, slash);
  if (amount_text.size() > 1 && amount_text.ends_with(' ')) {
    amount_text.remove_suffix(1);
  }
  const Magnitude amount = read_money(amount_text);
  if (!amount.problem.empty()) {
    return refuse<DollarsPerSecond>(text, amount.problem, kPriceAllowed);
  }
  const std::string_view per = text.substr(slash);
  if (per.empty()) {
    return refuse<DollarsPerSecond>(text, "has no time after the amount", kPriceAllowed);
  }
  for (const Unit& unit : kTimeUnits) {
    const bool priced = unit.scale >= 1.0;  // nobody pays by the nanosecond
    if (priced && per.substr(1) == unit.name) {
      return {dollars(amount.value) / seconds(unit.scale), {}, {}};
    }
  }
  return refuse<DollarsPerSecond>(text, unit_problem(per, kEventRateRule), kPriceAllowed);
}

}  // namespace orrery::yaml
