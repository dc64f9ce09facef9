#pragma once

// Max-min fair rates by progressive filling over all flows: the plain algorithm with which the
// local solver (rate_solver.hpp) is compared.
//
//   raise all rates together until a link is full or a flow at its bound; freeze; go on
//   share(l) = (C(l) - sum of w r over the frozen) / (sum of w over the others)
//
// symbol | meaning                       | unit   | origin
// -------|-------------------------------|--------|-------
// C(l)   | what link l carries           | byte/s | caller
// w      | weight of a flow on l         | -      | caller
// r      | rate of a flow                | byte/s | computed
//
// Complexity O(rounds x (links + flows) + hops), rounds <= links + flows. Source: Bertsekas and
// Gallager, Data Networks, chapter 6.

#include <span>
#include <vector>

#include "sim/step/fabric/flow.hpp"

namespace orrery::fabric {

// One rate per flow. A flow without links has its bound.
[[nodiscard]] std::vector<BytesPerSecond> progressive_filling(
    std::span<const BytesPerSecond> capacities, std::span<const FlowPath> flows);

}  // namespace orrery::fabric
