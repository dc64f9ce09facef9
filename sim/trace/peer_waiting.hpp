#pragma once

// The time that a rank waited within a collective for the last of its peers.
//
//   waiting of a rank = its duration - shortest duration over the ranks whose traces are at hand
//
// The kernel of a collective runs from the moment at which its own rank arrives until the data is
// there; all ranks end at nearly the same time. The last to arrive has the shortest kernel: no
// clocks are compared. With traces of a part of the group it is a lower bound.
//
// The n-th kernel of an operation of a group in a step is the same collective on every rank; a step
// in which the counts differ is left alone. Sends and receives are pairs, not collectives, and are
// left alone too.

#include <cstdint>
#include <vector>

#include "sim/trace/gpu_activity.hpp"
#include "sim/trace/step_windows.hpp"

namespace orrery::trace {

struct Peer {
  const GpuTrace* trace = nullptr;
  std::uint32_t device = 0;
  std::vector<StepWindow> windows;
};

struct PeerWaiting {
  std::vector<std::vector<std::int64_t>> waiting;  // by peer, then by index of the activity: ns
  std::int64_t collectives = 0;                    // found on two peers or more
};

[[nodiscard]] PeerWaiting waiting_for_peers(const std::vector<Peer>& peers);

}  // namespace orrery::trace
