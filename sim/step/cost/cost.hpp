#pragma once

// Cost of one operation on one GPU, and the provenance of each part of it.
//
// by_source books a term to the weakest coefficient in it (assumed < datasheet < published <
// measured < given), and its entries add up to `time`.

#include <array>
#include <cstdint>
#include <string>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

struct Cost {
  Seconds time;  // busy, launch gap included
  Seconds gap;   // part of it in which the GPU waits for the host or a launch
  std::array<Seconds, kSourceKindCount> by_source{};
  Seconds extrapolated;  // part of `time` outside the valid range of its coefficients

  Cost& operator+=(const Cost& other);
};

// A term of `time` that rests on one kind of source.
[[nodiscard]] Cost term(Seconds time, SourceKind kind);

// The weaker of two kinds of source.
[[nodiscard]] SourceKind weaker(SourceKind a, SourceKind b);

// Small conversions shared by all costs. Internal to cost/.

[[nodiscard]] constexpr double as_double(std::int64_t value) { return static_cast<double>(value); }

// Below 16 bits: kernels and messages of such elements have rates of their own.
[[nodiscard]] constexpr bool is_narrow(model::Dtype dtype) {
  return dtype == model::Dtype::fp8 || dtype == model::Dtype::fp4;
}

}  // namespace orrery::cost
