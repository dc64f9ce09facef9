#pragma once

// Flows for benchmarks of the solvers of shared links. Every host of a two-level fat tree without
// oversubscription always has one message to another host; each end starts the next.

#include <cstdint>
#include <vector>

namespace orrery::bench {

struct Message {
  std::int32_t to = 0;
  double bytes = 0.0;
};

struct Traffic {
  std::int32_t radix = 0;                      // hosts of a leaf, leaves, and spines
  double link_rate = 0.0;                      // byte/s
  std::vector<std::vector<Message>> messages;  // of each host, in their order
};

struct PeerRun {
  double cpu_seconds = 0.0;  // building the platform excluded; below zero: it could not run
  double last_end = 0.0;     // s, simulated
};

// SimGrid with the same messages over the same routes, in a process of its own.
PeerRun run_simgrid(const Traffic& traffic);

}  // namespace orrery::bench
