#pragma once

// The columns of a table of points: operands in the grammar of `expect:`.
//
//   goodput            where it varies over the trials: mean, p10, p50 and p90; else its value
//   p99(finish_time)   one column;  mean(cost);  probability(finish_date <= 2026-12-01)
//
// name    | of the column, with the unit: goodput, goodput_p90, finish_time_s, finish_time_s_p99
// title   | for people: p90(goodput)

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/expect.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::sweep {

// Which end of the operand's 95 % confidence interval, or its value.
enum class Part { value, ci95_low, ci95_high };

struct Column {
  std::string name;
  std::string title;
  report::Operand operand;
  Part part = Part::value;
  bool with_error = false;  // of a probability: the error of the predicted step beside the trials
};

// Every metric of the registry.
[[nodiscard]] std::vector<Column> all_columns();

// Nothing after an error, which names the wrong one.
[[nodiscard]] std::optional<std::vector<Column>> parse_columns(
    const std::vector<std::string>& texts, const SourceLocation& where, Diagnostics& diagnostics);

// One column of an operand that is known to be right: `mean(goodput)`, or `mean(goodput) low` and
// `high` for the ends of its interval. A bare metric is its mean.
[[nodiscard]] Column column_of(std::string_view operand);

}  // namespace orrery::sweep
