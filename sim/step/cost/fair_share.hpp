#pragma once

// Slow-down of flows that share a link: two closed forms of max-min fair sharing, for steps in
// which a collective is one event; sim/step/fabric solves many flows on many links.

#include <cstddef>

#include "sim/base/units.hpp"

namespace orrery::cost {

// How much longer a flow takes that alone needs `own` on a link on which another one, begun with
// it, needs `others`: each has half until the shorter is done, so it ends at own + min(own,
// others). No later wherever the other's parts lie, and never sooner because either got faster.
[[nodiscard]] double stretch_beside(Seconds own, Seconds others);

// Expected number of flows on the fullest of `links` equal links when every flow picks one at
// random (static hashing): exact up to 64 flows, by independent Poisson loads beyond.
[[nodiscard]] double expected_worst_load(std::size_t flows, std::size_t links);

}  // namespace orrery::cost
