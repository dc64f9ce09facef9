#pragma once

// The coefficients of a software profile that step times may determine: those of
// stack_coefficients.hpp that have bounds for a fit.
//
// symbol | meaning                                                      | unit          | origin
// -------|--------------------------------------------------------------|---------------|---------
// value  | the coefficient                                              | s, byte or 1  | profile
// u      | log(value + offset), or value on a linear scale              | 1             | computed
// lower  | bounds of physics: a fit that ends on one means that a       | as value      | table
// upper  | mechanism is missing, so it is printed                       |               |
// sigma  | how far the value may move from its centre before the rows   | as u          | table
//        | have to pay for it: one standard deviation                   |               |
// z      | (u - u(centre)) / sigma, what the search moves               | 1             | computed
//
// neutral: an optional coefficient that a profile leaves out is fitted only when it is asked for by
// name. The offset lets a coefficient whose centre is 0 move. Coefficients of the GPU profile are
// not in the table: they come from kernel and collective measurements before any step is fitted.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/provenance.hpp"
#include "sim/hardware/software_profile.hpp"
#include "sim/hardware/stack_coefficients.hpp"

namespace orrery::fit {

using Scale = hardware::FitScale;

struct FitKey : hardware::FitBounds {
  explicit FitKey(const hardware::StackCoefficient& row)
      : hardware::FitBounds(*row.fit), key(row.key), coefficient(&row) {}

  std::string_view key;  // as in the profile file
  const hardware::StackCoefficient* coefficient;

  [[nodiscard]] double get(const hardware::SoftwareProfile& profile) const {
    return coefficient->get(profile);
  }

  void set(hardware::SoftwareProfile& profile, double value, const Source& source) const {
    coefficient->set(profile, value, source);
  }
};

[[nodiscard]] std::span<const FitKey> fit_keys();

// nullptr when there is no such key.
[[nodiscard]] const FitKey* find_fit_key(std::string_view key);

// Position on the scale of the search, and back.
[[nodiscard]] double to_scale(const FitKey& key, double value);
[[nodiscard]] double from_scale(const FitKey& key, double u);

// "12.3us", "86B", "0.47": as a profile file writes it, three significant digits.
[[nodiscard]] std::string value_text(const FitKey& key, double value);

}  // namespace orrery::fit
