#pragma once

// An axis of a sweep: the values that one key takes.
//
//   KEY=V1,V2,...            these values, in the spelling of a scenario, flow style included
//   KEY=from:to:steps        evenly spaced:  x_i = from + (to - from) i / (steps - 1)
//   KEY=from:to:steps:log    evenly in the logarithm:  x_i = from (to / from)^(i / (steps - 1))
//   KEY=from:to[:log]        an open range, for random points only
//
// symbol | meaning                                                     | unit      | origin
// -------|-------------------------------------------------------------|-----------|-------
// from,to| ends of the range, exact as written                         | as stated | user
// steps  | how many values, both ends included                         | -         | user
//
// The ends may have different units of one kind (30min:4h:8); values in between are written in the
// unit of `from`, with six digits. Where a key takes whole numbers (or the unit is `steps`) they
// are rounded, and equal ones are taken once. Lists and ranges mix: 0,1:8:4:log.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::sweep {

inline constexpr std::int64_t kMostPoints = 1'000'000;

struct OpenRange {
  double from = 0.0;
  double to = 0.0;
  bool logarithmic = false;
  bool whole = false;
  std::string prefix;  // "$"
  std::string suffix;  // unit, with the blank before it if there was one

  // The value at 0 <= share < 1 of the range.
  [[nodiscard]] std::string at(double share) const;
};

struct Axis {
  scenario::KeyFacts key;
  std::vector<std::string> values;  // empty for an open range
  std::optional<OpenRange> range;
  SourceLocation where;
};

// `text` stands behind `KEY=`. Nothing after an error.
[[nodiscard]] std::optional<Axis> parse_axis(std::string_view key, std::string_view text,
                                             const SourceLocation& where, Diagnostics& diagnostics);

// The same with a list of values that are not split.
[[nodiscard]] std::optional<Axis> axis_of(std::string_view key, std::vector<std::string> values,
                                          const SourceLocation& where, Diagnostics& diagnostics);

// "KEY=..." of the command line.
[[nodiscard]] std::optional<Axis> parse_vary(std::string_view argument, Diagnostics& diagnostics);

}  // namespace orrery::sweep
