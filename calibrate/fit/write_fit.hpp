#pragma once

// Output of a fit: a table of rows and coefficients, JSON `orrery-fit/1`, and the new values for
// the profile's file.

#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/folds.hpp"
#include "calibrate/fit/profile_text.hpp"

namespace orrery::fit {

struct Selection {
  std::string profile;
  std::vector<std::string> stacks;
  Rows rows;  // all rows of the stacks
  Rows used;  // those that the fit saw
  std::vector<SkippedRow> skipped;
  bool own = false;  // every row is of a scenario or a log
};

struct FitReport {
  Selection chosen;
  StackFit fit;
  std::vector<double> before = {};  // s, in the order of chosen.rows
  std::vector<double> after = {};
  std::optional<CrossValidation> left_out = {};
};

[[nodiscard]] std::string to_text(const FitReport& report);
[[nodiscard]] std::string to_json(const FitReport& report);

// Values that moved, with where they come from. `file` is the profile as it is now.
[[nodiscard]] std::vector<NewValue> new_values(const FitReport& report, std::string_view file);

}  // namespace orrery::fit
