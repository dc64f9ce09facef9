#pragma once

// A sweep as text for people, CSV for spreadsheets and JSON for programs.
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

#include "sim/answer/report/text/text_page.hpp"
#include "sim/answer/sweep/sweep.hpp"

namespace orrery::sweep {

inline constexpr std::string_view kResultSchema = "orrery-sweep-result/1";

[[nodiscard]] std::string to_csv(const Sweep& sweep, const std::vector<PointResult>& results);
[[nodiscard]] std::string to_json(const Sweep& sweep, const std::vector<PointResult>& results);
[[nodiscard]] std::string to_text(const Sweep& sweep, const std::vector<PointResult>& results,
                                  report::TextStyle style);

}  // namespace orrery::sweep
