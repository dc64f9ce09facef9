#pragma once

// The flows of a collective, one per channel: its edges push back on one another, so all of them
// run at the pace of the slowest, and the links are loaded as often as the channel crosses them.
//
// pattern              | flows                      | bytes of each     | weight on a link
// ---------------------|----------------------------|-------------------|------------------------
// ring all-reduce      | one per channel C          | 2 S (n-1) / (n C) | edges over it
// ring gather, reduce  | one per channel C          | S (n-1) / (n C)   | edges over it
// tree all-reduce      | one per channel C          | S / C             | edges over it, each way
// NVLS                 | one                        | S                 | 1 up, 1 down per GPU
// switch reduction     | one per channel C          | S / C             | 1 up, 1 down per port
// PAT                  | one per round k and rank   | S 2^k / n         | 1
// message              | one                        | S                 | 1
// all-to-all           | one per port, block of k   | S k / n           | 1; 1/k per receiver
// storage              | one per node               | S                 | 1
//
// symbol | meaning                                                       | unit | origin
// -------|---------------------------------------------------------------|------|-------
// S      | bytes of the whole buffer; all-to-all: what one port sends    | byte | caller
// n      | ranks of the collective (a ring names one port per node)      | -    | caller
//
// Exact when a channel is many chunks deep; latencies are not in here. Ports of one node are joined
// by NVLink, which the caller loads where it matters.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fabric/flow.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::fabric {

struct Channel {
  FlowPath path;
  Bytes bytes = {};
};

class Channels {
 public:
  explicit Channels(const Topology& topology) : topology_(topology) {}

  // Ports in the order of the ring. `bytes` and `ranks` as in the table, for one of `channels`.
  [[nodiscard]] Channel ring_all_reduce(std::span<const Port> ring,
                                        Bytes bytes,
                                        std::int32_t ranks,
                                        std::int32_t channels) const;
  [[nodiscard]] Channel ring_gather(std::span<const Port> ring,
                                    Bytes bytes,
                                    std::int32_t ranks,
                                    std::int32_t channels) const;
  // ports[i] hangs below ports[(i - 1) / 2].
  [[nodiscard]] Channel tree_all_reduce(std::span<const Port> ports,
                                        Bytes bytes,
                                        std::int32_t channels) const;
  [[nodiscard]] Channel switch_reduction(std::span<const Port> ports,
                                         Bytes bytes,
                                         std::int32_t channels) const;
  [[nodiscard]] Channel nvls(std::span<const std::int32_t> gpus, Bytes bytes) const;
  [[nodiscard]] Channel message(Port from, Port to, Bytes bytes) const;
  // One round: rank i sends to rank i + 2^round.
  [[nodiscard]] std::vector<Channel> pat_round(std::span<const Port> ports,
                                               Bytes bytes,
                                               std::int32_t round) const;
  // From one port to those of `to`, all under one switch of the lowest tier, of `ranks` in all.
  [[nodiscard]] Channel all_to_all(Port from,
                                   std::span<const Port> to,
                                   Bytes bytes,
                                   std::int32_t ranks) const;
  [[nodiscard]] Channel storage_write(std::int32_t node, Bytes bytes) const;
  [[nodiscard]] Channel storage_read(std::int32_t node, Bytes bytes) const;

 private:
  [[nodiscard]] FlowPath ring(std::span<const Port> ports) const;

  const Topology& topology_;
};

}  // namespace orrery::fabric
