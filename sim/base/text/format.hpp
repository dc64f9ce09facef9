#pragma once

// Formatting of quantities for reports, with SI units: 6.21 s, 3.09 h, 3.35 TB/s, $46.1M.
//
// The unit is the largest one in which the rounded magnitude is at least 1 (time: s up to 120 s,
// min up to 120 min, h up to 48 h, then d). Numbers carry `significant` digits, but integer parts
// are never rounded away (1500 d stays 1500 d); magnitudes of a million of the largest unit print
// with an exponent. A minus comes first: -3.09 h, -$46.1M. The parsers of the scenario reader
// accept every non-negative result again.

#include <cstdint>
#include <string>

#include "sim/base/units.hpp"

namespace orrery {

struct NumberStyle {
  int significant = 3;  // digits, at least 1
  bool trim = false;    // true: drop zeros at the end of the fraction, 2.50 -> 2.5
};

[[nodiscard]] std::string format_number(double value, NumberStyle style = {});
[[nodiscard]] std::string format_count(double value, NumberStyle style = {});    // 15.6T, 405B, 8
[[nodiscard]] std::string format_integer(std::int64_t value);                    // 16,384
[[nodiscard]] std::string format_percent(double value, NumberStyle style = {});  // 0.38: 38.0%
[[nodiscard]] std::string format_bytes(Bytes value, NumberStyle style = {});     // 80.0 GB
[[nodiscard]] std::string format_bytes_binary(Bytes value, NumberStyle style = {});  // 80.0 GiB
[[nodiscard]] std::string format_time(Seconds value, NumberStyle style = {});
[[nodiscard]] std::string format_bandwidth(BytesPerSecond value, NumberStyle style = {});  // GB/s
[[nodiscard]] std::string format_flop_rate(FlopPerSecond value, NumberStyle style = {});
[[nodiscard]] std::string format_money(Dollars value, NumberStyle style = {});  // $46.1M, $2.50
[[nodiscard]] std::string format_price_rate(DollarsPerSecond value, NumberStyle style = {});  // /h
[[nodiscard]] std::string format_event_rate(PerSecond value, NumberStyle style = {});  // 0.0065/d

// 2024-04-01T00:00Z, with seconds only when they are not zero. Years 0 to 9999; beyond, the number
// of days since 1970-01-01 is printed instead.
[[nodiscard]] std::string format_date_time(std::int64_t unix_seconds);

}  // namespace orrery
