#pragma once

// At which rates do flows run that share links, and when does each end? Max-min fairness by
// progressive filling, computed anew whenever a flow starts or ends.
//
//   raise all rates together until a link is full; freeze its flows; go on with the others
//
// symbol   | meaning                                                    | unit   | origin
// ---------|------------------------------------------------------------|--------|-------
// capacity | what a link carries                                        | byte/s | caller
// links    | the links that a flow crosses; none: it is never held back | -      | caller
// start    | when its first byte may leave                              | s      | caller
//
// A collective is one flow, or one per link it loads; nothing is cut into messages. Symmetric ranks
// belong into one flow. Exact for fluid flows; reference cases in fair_share_test.cpp. Complexity:
// one filling costs O(links x flows), and there is one per start and end.

#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::cost {

struct Flow {
  std::vector<std::size_t> links;  // indices into the capacities
  Bytes bytes = {};
  Seconds start = {};
};

// One rate per flow. A flow without links gets the largest capacity there is.
[[nodiscard]] std::vector<BytesPerSecond> max_min_rates(std::span<const Flow> flows,
                                                        std::span<const BytesPerSecond> capacity);

// When each flow has sent its last byte.
[[nodiscard]] std::vector<Seconds> flow_ends(std::span<const Flow> flows,
                                             std::span<const BytesPerSecond> capacity);

// How much longer a flow takes that alone needs `own` on a link on which another one, begun with
// it, needs `others`: each has half until the shorter is done, so it ends at own + min(own,
// others). No later wherever the other's parts lie, and never sooner because either got faster.
[[nodiscard]] double stretch_beside(Seconds own, Seconds others);

// Expected number of flows on the fullest of `links` equal links when every flow picks one at
// random (static hashing): exact up to 64 flows, by independent Poisson loads beyond.
[[nodiscard]] double expected_worst_load(std::size_t flows, std::size_t links);

}  // namespace orrery::cost
