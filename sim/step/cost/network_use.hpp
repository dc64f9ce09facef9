#pragma once

// What a collective or a message puts on the network, for the simulation of shared links
// (step/fabric): how many bytes, along which way, and how fast it goes with links of its own.
//
//   bound of its flow = bytes / alone
//
// symbol  | meaning                                                            | unit | origin
// --------|--------------------------------------------------------------------|------|-----------
// pattern | which links it loads, in proportion to what                        | -    | algorithm
// bytes   | ring, switches: S x bus factor, over the border of one node of one | byte | collective
//         | group; exchange, message: what one rank sends to other nodes       |      |
// alone   | transfer of the cost, at the rates that the stack reaches; what    | s    | cost
//         | measured tables scale is scaled in it                              |      |
//
// Latencies, launches and the filling of pipelines stay with the cost: they do not share. A tree
// loads NICs as a ring of tree_crossing does; above them it is taken for a ring as well.
// `cluster` should be unshared() (cluster_spec.hpp): what flows share must not be in `alone`.

#include <optional>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/hierarchical_exchange.hpp"
#include "sim/step/cost/transfer.hpp"

namespace orrery::cost {

enum class NetworkPattern : std::uint8_t { ring, in_switches, exchange, message };

struct NetworkUse {
  NetworkPattern pattern = NetworkPattern::ring;
  Bytes bytes;
  Seconds alone;
};

// Nothing where no byte crosses a NIC.
[[nodiscard]] std::optional<NetworkUse> collective_use(
    model::CollectiveKind kind, Bytes bytes_per_rank_in, Bytes bytes_total, model::Dtype dtype,
    const layout::GroupPlacement& group, const hardware::GpuProfile& gpu,
    const hardware::SoftwareProfile& software, const hardware::ClusterSpec& cluster);

[[nodiscard]] std::optional<NetworkUse> hierarchical_exchange_use(
    const ExchangeBytes& bytes, const layout::GroupPlacement& group,
    const hardware::GpuProfile& gpu, const hardware::SoftwareProfile& software,
    const hardware::ClusterSpec& cluster);

[[nodiscard]] std::optional<NetworkUse> transfer_use(Bytes bytes, const layout::HopPlacement& hop,
                                                     const hardware::GpuProfile& gpu,
                                                     const hardware::SoftwareProfile& software,
                                                     const hardware::ClusterSpec& cluster);

}  // namespace orrery::cost
