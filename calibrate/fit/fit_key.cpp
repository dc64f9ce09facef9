#include "calibrate/fit/fit_key.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::fit {

std::span<const FitKey> fit_keys() {
  static const std::vector<FitKey> keys = [] {
    std::vector<FitKey> fitted;
    for (const hardware::StackCoefficient& row : hardware::stack_coefficients()) {
      if (row.fit) {
        fitted.emplace_back(row);
      }
    }
    return fitted;
  }();
  return keys;
}

const FitKey* find_fit_key(std::string_view key) {
  const std::span<const FitKey> keys = fit_keys();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [key](const auto& entry) { return entry.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

double to_scale(const FitKey& key, double value) {
  return key.scale == Scale::linear ? value : std::log(value + key.offset);
}

double from_scale(const FitKey& key, double u) {
  const double value = key.scale == Scale::linear ? u : std::exp(u) - key.offset;
  return std::clamp(value, key.lower, key.upper);
}

std::string value_text(const FitKey& key, double value) {
  const hardware::Unit unit = key.coefficient->unit();
  if (unit != hardware::Unit::seconds) {
    return fmt::format("{:.3g}{}", value, unit == hardware::Unit::bytes ? "B" : "");
  }
  if (value < kNano) {
    return "0us";
  }
  if (value >= 1.0) {
    return fmt::format("{:.3g}s", value);
  }
  return value >= kMilli ? fmt::format("{:.3g}ms", value / kMilli)
                         : fmt::format("{:.3g}us", value / kMicro);
}

}  // namespace orrery::fit
