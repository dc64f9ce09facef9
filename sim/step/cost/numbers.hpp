#pragma once

// Small conversions shared by all costs. Internal to cost/.

#include <cstdint>

#include "sim/step/model/op.hpp"

namespace orrery::cost {

[[nodiscard]] constexpr double as_double(std::int64_t value) { return static_cast<double>(value); }

// Below 16 bits: kernels and messages of such elements have rates of their own.
[[nodiscard]] constexpr bool is_narrow(model::Dtype dtype) {
  return dtype == model::Dtype::fp8 || dtype == model::Dtype::fp4;
}

}  // namespace orrery::cost
