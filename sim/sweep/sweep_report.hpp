#pragma once

// How do people, spreadsheets and programs read a sweep?
//
// form | what
// -----|------------------------------------------------------------------------------------------
// text | one line per point: its values, its status, the figures that differ, up to 100 columns
// CSV  | point, one column per key, status, reason, one column per figure, all points and digits
// JSON | orrery-sweep-result/1: keys, points with values, status, reason and metrics by name
//
// Numbers are in base units in CSV and JSON; a figure that a point does not have is empty or null.
// The same results give the same bytes.

#include <string>
#include <string_view>
#include <vector>

#include "sim/report/text_page.hpp"
#include "sim/sweep/point_result.hpp"
#include "sim/sweep/sweep.hpp"

namespace orrery::sweep {

inline constexpr std::string_view kResultSchema = "orrery-sweep-result/1";

[[nodiscard]] std::string to_csv(const Sweep& sweep, const std::vector<PointResult>& results);
[[nodiscard]] std::string to_json(const Sweep& sweep, const std::vector<PointResult>& results);
[[nodiscard]] std::string to_text(const Sweep& sweep,
                                  const std::vector<PointResult>& results,
                                  report::TextStyle style);

// Cells in columns, right-aligned but for the first ones; `faint` heads. For pages of answers.
struct TextTable {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
  std::size_t left = 1;  // columns aligned left
};

// As many columns as fit; lines end in a newline. Rows may be shorter than the heads.
[[nodiscard]] std::string to_text(const TextTable& table, const report::TextPage& page);

// A figure for people: dates as dates, dollars as dollars; "-" when there is none.
[[nodiscard]] std::string figure_text(const Column& column, const std::optional<double>& value);

}  // namespace orrery::sweep
