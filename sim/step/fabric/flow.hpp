#pragma once

// The vocabulary of the fabric: links, hops, and flows that load them.
//
// symbol | meaning                                                        | unit   | origin
// -------|----------------------------------------------------------------|--------|-------
// link   | one direction of a cable, a port, or a whole tier              | -      | caller
// hop    | a link that the flow loads with `weight` times its own rate    | -      | caller
// bound  | the rate that the flow never exceeds, with all links to itself | byte/s | caller
//
// A flow is a message, or one channel of a collective: a ring moves at the pace of its slowest
// edge, so it is one flow that loads every link it crosses, as often as it crosses it.

#include <limits>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

namespace orrery::fabric {

using LinkId = StrongId<struct LinkTag>;
using FlowId = StrongId<struct FlowTag>;

inline constexpr LinkId kNoLink{-1};
inline constexpr BytesPerSecond kUnbounded =
    bytes_per_second(std::numeric_limits<double>::infinity());

struct Hop {
  LinkId link;
  double weight = 1.0;

  friend constexpr bool operator==(const Hop& a, const Hop& b) = default;
};

struct FlowPath {
  std::vector<Hop> hops;  // a link may appear twice: its weights add up
  BytesPerSecond bound = kUnbounded;
};

}  // namespace orrery::fabric
