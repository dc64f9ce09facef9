#pragma once

// A plan as text for people, CSV for spreadsheets and JSON for programs.
//
// form | what
// -----|------------------------------------------------------------------------------------------
// text | one page, up to 100 columns: the best plan, the ranking with a reason for each that loses,
//      | what trades off, what nearly fits, how firm the ranking is
// CSV  | one line per finalist: rank, standing, figures, every axis, the reason
// JSON | orrery-plan/1: all of it
//
// Numbers are in base units in CSV and JSON. The same plan gives the same bytes: no clock is read.

#include <string>
#include <string_view>

#include "sim/answer/plan/result/plan.hpp"
#include "sim/answer/report/text/text_page.hpp"

namespace orrery::plan {

inline constexpr std::string_view kPlanSchema = "orrery-plan/1";

[[nodiscard]] std::string to_text(const Plan& plan, report::TextStyle style);
[[nodiscard]] std::string to_csv(const Plan& plan);
[[nodiscard]] std::string to_json(const Plan& plan);

}  // namespace orrery::plan
