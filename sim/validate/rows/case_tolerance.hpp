#pragma once

// How far may a prediction be from what a data set expects? Its own words, read as numbers.
//
//   `0.2 %` relative; `exact`; `0.001 closed form` absolute; `0.1 % / 1 %` for two values in turn
//
// Whatever is stated, a prediction that rounds to the printed digits is within.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;

  [[nodiscard]] bool allows(double predicted, double expected) const {
    const double distance = std::abs(predicted - expected);
    return distance <= absolute || distance <= relative * std::abs(expected);
  }
};

// Of the value with number `index` in a check of whole-runs/1.
[[nodiscard]] Tolerance tolerance_of(const std::string& words, std::size_t index);

// Half a unit of the last digit of a number as it is printed.
[[nodiscard]] double rounding_of(const std::string& printed);

}  // namespace orrery::validate
