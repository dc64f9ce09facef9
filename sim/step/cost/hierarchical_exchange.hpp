#pragma once

// Time of a hierarchical all-to-all, which crosses the network once per node and fans out over
// NVLink there, as in dispatch and combine of DeepEP-like libraries.
//
//   time = call + latency + max(bytes over the NIC / NIC rate, bytes over NVLink / link rate)
//   latency = exchange_base + (N - 1) * exchange_node + exchange_network + tier latencies,
//             without the NIC's part when N = 1 (hardware/gpu_profile.cpp)
//
// symbol             | meaning                                               | unit   | origin
// -------------------|-------------------------------------------------------|--------|----------
// bytes over the NIC | what one rank sends to other nodes, one copy per node | byte   | caller
// bytes over NVLink  | what one rank hands to the other ranks of its node    | byte   | caller
// N, g               | nodes of the group, its ranks on each                 | -      | placement
// NIC rate           | NIC share of one rank, less the all-to-all's taper    | byte/s | cluster
// link rate          | NVLink rate of direct exchanges                       | byte/s | profile
// E[D](N)            | N * (1 - C(E - E/N, k) / C(E, k)), at most the limit  | nodes  | routing
//
// E experts spread evenly over N nodes, k of them chosen uniformly and without replacement. With a
// node limit M (group-limited routing) a token never goes to more than M nodes. Per rank with T
// tokens of h elements of e bytes: NIC bytes = T h e E[D](N) (N-1)/N, and one copy for every rank
// that holds one of the token's experts: NVLink bytes = T h e E[D](N g) (g-1)/g.
//
// Assumptions: both legs are pipelined in chunks, so the longer one counts; messages: N - 1 over
// the network and g - 1 inside the node instead of n - 1. Published: DeepEP dispatch and combine on
// 32 and 64 H100 with 50 GB/s NICs 43.7/46.1 and 39.6/39.2 GB/s over the NICs
// (awsome-distributed-ai, 4096 tokens, hidden 7168, top-8 of 256). Errors: docs/collectives.md.

#include <cstdint>
#include <optional>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/cost.hpp"

namespace orrery::cost {

// What one rank sends in one direction (dispatch or combine).
struct ExchangeBytes {
  Bytes over_network;
  Bytes over_links;
};

// As collective_time; algorithm `direct`, limit "NICs" or "NVLink". `ranks` >= 2.
[[nodiscard]] CollectiveTime hierarchical_exchange_time(const ExchangeBytes& bytes,
                                                        const layout::GroupPlacement& group,
                                                        const hardware::GpuProfile& gpu,
                                                        const hardware::ClusterSpec& cluster);

// Of the wire that bounds it.
[[nodiscard]] const Coefficient<double>& exchange_efficiency(
    const CollectiveTime& time, const hardware::SoftwareProfile& software);

// The same with the stack's efficiency and overhead, booked by source.
[[nodiscard]] Cost hierarchical_exchange_cost(const ExchangeBytes& bytes,
                                              const layout::GroupPlacement& group,
                                              const hardware::GpuProfile& gpu,
                                              const hardware::SoftwareProfile& software,
                                              const hardware::ClusterSpec& cluster);

struct Routing {
  std::int64_t experts = 0;
  std::int64_t top_k = 1;
  std::int64_t nodes = 1;                  // over which the experts are spread evenly
  std::optional<std::int64_t> node_limit;  // most nodes that one token may go to
};

// Expected number of different nodes that hold one of a token's experts, its own node included.
[[nodiscard]] double distinct_nodes(const Routing& routing);

// Bytes of one rank for tokens of `token_bytes` each, routed uniformly over the group.
[[nodiscard]] ExchangeBytes routed_bytes(double tokens, Bytes token_bytes, const Routing& routing,
                                         std::int64_t ranks_per_node);

}  // namespace orrery::cost
