#pragma once

// The differences of two or more answers, by metric and by ledger category, each from the first.
//
//   change = value - value of the first;   relative = change / |value of the first|
//
// symbol   | meaning                                                     | unit        | origin
// ---------|-------------------------------------------------------------|-------------|----------
// value    | point value or mean of the trials, as in metrics.hpp        | base units  | evaluation
// change   | absent where one of the two has no value                    | base units  | computed
// relative | absent too for dates and where the first value is 0         | 1           | computed
//
// Of the ledgers the shares are compared: the GPU time of jobs of different size is not.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/files/figures.hpp"

namespace orrery::report {

struct Compared {
  std::optional<double> value;
  std::optional<double> change;    // nothing for the first
  std::optional<double> relative;  // likewise
};

struct DifferenceRow {
  std::string_view group;  // "metric", "step ledger", "run ledger"
  std::string_view name;   // of the metric, or the label of the category
  Dimension dimension = Dimension::count;
  std::vector<Compared> values;  // by evaluation
};

// Rows that at least one of them has, in the order of the registry and of the ledgers.
[[nodiscard]] std::vector<DifferenceRow> differences(std::span<const Figures> answers);

// With its sign, of a change: "+1.20 s", "-$3.1M", "+2.31 points" for fractions, "-1.5 d" for
// dates, "no change".
[[nodiscard]] std::string format_change(Dimension dimension, double change);

}  // namespace orrery::report
