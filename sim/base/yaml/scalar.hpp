#pragma once

// Exact rules from the text of a scalar to numbers, quantities, money and dates.
//
// kind            | accepted                                       | refused
// ----------------|------------------------------------------------|-------------------------------
// count           | 8, -3, 15.6T (k M B T), 15e12                  | 010, 0x8, 1_000, 1.5, nan, -0
// number          | 0.38, -2, 1e3                                  | 01, .5, +1, 1e999, nan, inf
// bool            | true, false                                    | yes, no, on, off, True, 1
// fraction        | 0.38, 38%, 38 % (0 to 1)                       | 38, -0.1, 101%
// bytes           | 80GiB, 2TB, 14B, 0                             | 80, 80Gib, 80KB, 80Gb
// time            | 5min, 2d, 250 ms (ns us ms s min h d), 0       | 5m, 5, 5sec, 1h30min, 1e305s
// bandwidth       | 400Gbps, 25 Gbit/s (bits), 3.35TB/s (bytes), 0 | 400Gb/s, 25GBps, 25
// FLOP rate       | 989TFLOP/s (M G T P E), 0                      | 989TFLOPS, 989
// money           | $46.1M (k M B T), $12, 0                       | 46.1M, USD 12, $1,000
// price rate      | $2.50/h ($ per s, min, h, d), 0                | 2.50/h, $2.50
// event rate      | 0.0065/d (per s, min, h, d), 0                 | 0.0065, 1/5d
// date            | 2024-04-01T00:00Z, ...:30Z, 2026-11-01         | local time, 2023-02-29
// steps or time   | 1000 steps, 1 step, 30min                      | 1000
//
// A number is an optional minus, digits without leading zero, an optional fraction and exponent
// (the grammar of JSON). One space may separate number and unit. Units are exact in case: a
// wrong case is an error that names the right spelling. Quantities are never negative. A bare
// number where a unit is needed is an error, except 0. Prefixes: k M G T P are powers of 1000,
// Ki Mi Gi Ti Pi of 1024; B is byte, bps is bit per second.
//
// Every refusal says what is wrong (`message`, without the key) and what is allowed (`allowed`,
// with an example). Results are correctly rounded products of the number and the unit's factory.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sim/base/units.hpp"

namespace orrery::yaml {

template <typename T>
struct Parsed {
  std::optional<T> value;
  std::string message;  // what is wrong; empty when there is a value
  std::string allowed;  // what is allowed, with an example
};

// Whole steps of the run, as opposed to a time.
struct Steps {
  std::int64_t count = 0;

  friend bool operator==(Steps, Steps) = default;
};

using StepsOrTime = std::variant<Steps, Seconds>;

// Seconds since 1970-01-01T00:00Z, without leap seconds.
struct DateTime {
  std::int64_t unix_seconds = 0;

  friend auto operator<=>(DateTime, DateTime) = default;
};

[[nodiscard]] Parsed<std::int64_t> parse_count(std::string_view text);
[[nodiscard]] Parsed<double> parse_number(std::string_view text);
[[nodiscard]] Parsed<bool> parse_bool(std::string_view text);
[[nodiscard]] Parsed<double> parse_fraction(std::string_view text);  // 38% and 0.38 are equal
[[nodiscard]] Parsed<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] Parsed<Seconds> parse_time(std::string_view text);
[[nodiscard]] Parsed<BytesPerSecond> parse_bandwidth(std::string_view text);
[[nodiscard]] Parsed<FlopPerSecond> parse_flop_rate(std::string_view text);
[[nodiscard]] Parsed<Dollars> parse_money(std::string_view text);
[[nodiscard]] Parsed<DollarsPerSecond> parse_price_rate(std::string_view text);
[[nodiscard]] Parsed<PerSecond> parse_event_rate(std::string_view text);
[[nodiscard]] Parsed<double> parse_power(std::string_view text);             // watts
[[nodiscard]] Parsed<double> parse_carbon_intensity(std::string_view text);  // kg per kWh
[[nodiscard]] Parsed<DateTime> parse_date_time(std::string_view text);
[[nodiscard]] Parsed<StepsOrTime> parse_steps_or_time(std::string_view text);

}  // namespace orrery::yaml
