#pragma once

// What the printed figures of a table lack to add up to the printed whole.
//
//   remainder = whole - sum of the parts, of all as their digits read
//
// Figures add up where it is at most half of the coarsest last digit among them. Texts are those of
// base/text/format.hpp: "6.51 s", "66.0%", "$48.2M", "-3.09 h", "+1.98 pt"; a text without a number
// and "<0.01%" count as nothing.

#include <span>
#include <string>
#include <string_view>

#include "sim/answer/report/metrics.hpp"

namespace orrery::report {

// 0 where they add up. In base units; shares as fractions.
[[nodiscard]] double printed_remainder(std::span<const std::string> parts, std::string_view whole);

// The same with its sign, "-0.08%", "+58.2 ms"; empty where they add up.
[[nodiscard]] std::string rounding_text(Dimension dimension, std::span<const std::string> parts,
                                        std::string_view whole);

}  // namespace orrery::report
