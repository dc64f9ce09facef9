#pragma once

// Cost of one operation on one GPU, and the provenance of each part of it.
//
// symbol    | meaning                                                        | unit | origin
// ----------|----------------------------------------------------------------|------|---------
// time      | busy time of the operation, launch gap included                | s    | computed
// gap       | part of `time` in which the GPU waits for the host or a launch | s    | computed
// by_source | `time` split by the kind of source its coefficients have       | s    | computed
//
// by_source books a term to the weakest coefficient in it (assumed < datasheet < published <
// measured < given), and its entries add up to `time`.

#include <array>
#include <string>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"

namespace orrery::cost {

struct Cost {
  Seconds time;
  Seconds gap;
  std::array<Seconds, kSourceKindCount> by_source{};
  Seconds extrapolated;  // part of `time` outside the valid range of its coefficients

  Cost& operator+=(const Cost& other);
};

// A term of `time` that rests on one kind of source.
[[nodiscard]] Cost term(Seconds time, SourceKind kind);

// The weaker of two kinds of source.
[[nodiscard]] SourceKind weaker(SourceKind a, SourceKind b);

}  // namespace orrery::cost
