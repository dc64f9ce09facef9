#pragma once

// Time of a collective over a placed group: NCCL's choice of algorithm (nccl_model.hpp), timed with
// the rates that published measurements reach.
//
//   time = call + latency + fill * S / (S + S_fill) + S / (algorithm bandwidth * stack efficiency)
//
// symbol    | meaning                                                        | unit   | origin
// ----------|----------------------------------------------------------------|--------|----------
// S         | larger of a rank's send and receive buffer (NCCL's nBytes)     | byte   | caller
// call      | launch of the kernel and synchronisation of the ranks          | s      | published
// latency   | NCCL's latency of the chosen algorithm and protocol            | s      | NCCL
// fill      | filling the pipeline of chunks, fill_per_latency, Simple only  | s      | GPU
// S_fill    | fill_bytes: size at which chunks are at half their limit       | byte   | GPU
// bandwidth | NCCL's table, NVLink-SHARP as measured, and never above what   | byte/s | NCCL,
//           | the NICs of one node carry                                     |        | published
// sharing   | sibling groups that use one node's NICs at the same time       | -      | placement
//
//   NIC rate of one group on one node = min(k^e, NICs, NICs / sharing) * rate * 0.92 / taper
//   taper of a ring over blocks of a tier = max(1, product of oversubscription / nodes in a block)
//   static hashing: the fullest uplink of a block decides (fair_share.hpp), not the mean taper
//   all-to-all = max(bytes over NVLink / link rate, bytes over NICs / NIC rate), root-sum-square
//   with the latency of its messages
//
// k is the number of NICs next to the group's ranks of a node; e is 1, for rings the stack's
// ring_nic_exponent. A ring crosses a block's uplink once however many of its nodes are in the
// block, so a taper hurts it only when the sibling rings of the block ask for more than the uplink
// has; an all-to-all sends most of its bytes across.
//
// With NICs down the worst node limits every collective, since all its ranks wait. Over PXN an
// all-to-all sends its bytes for other rails over NVLink first; without it, over the spine.
//
// Tables of measured collectives, where the cluster has them, then scale all terms
// (measured_collectives.hpp); in a table's own fabric and sizes the time is the table's.
//
// Assumptions: groups of one axis run at once and share NICs evenly; full-duplex links; ranks map
// to the nearest NIC. Breaks for tuner plugins (AWS), SHARP switches and TCP transports (give their
// latency as tier latency). Valid range and measured errors: docs/collectives.md.
// Sources: NVIDIA/nccl v2.28.9; nccl-tests logs in
// scenarios/published/collective_measurements.yaml.

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/nccl_model.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/placement.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

// The wires of one group on one node.
struct GroupFabric {
  const hardware::GpuCoefficients* laws = nullptr;  // live as long as the GPU's profile
  NcclGraph graph;
  BytesPerSecond link;       // one GPU to the others of its group and node, one direction
  BytesPerSecond peer_link;  // one GPU to one other: less than `link` in a mesh
  BytesPerSecond nics;       // this group's share of a node's NICs, before any taper
  double ring_taper = 1.0;
  double scatter_taper = 1.0;
  Seconds cross_rail_latency;  // of a message to another rail, beyond inter_latency
  bool pxn = false;            // bytes for other rails change the GPU before they leave the node
  SourceKind link_source = SourceKind::datasheet;
};

// Wires of a group, from its placement. `ranks` >= 2.
[[nodiscard]] GroupFabric group_fabric(const layout::GroupPlacement& group,
                                       const hardware::GpuProfile& gpu,
                                       const hardware::ClusterSpec& cluster,
                                       double ring_nic_exponent = 1.0);

// What one collective takes and why; times before the stack's own overhead and efficiency.
struct CollectiveTime {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Seconds call;
  Seconds latency;
  Seconds fill;
  Seconds transfer;
  BytesPerSecond bandwidth;  // algorithm bandwidth of the transfer
  std::string_view limit;    // what bounds the transfer
  std::string_view reason;   // why this algorithm and protocol
  bool crosses_nodes = false;
  double crossing = 0.0;        // bytes out of one node per byte of S; of exchanges those of a rank
  bool fabric_reduces = false;  // SHARP: once up and once down, whatever the group
  bool extrapolated = false;    // outside the sizes and groups that were measured
  double measured_ratio = 1.0;  // by which measurements scaled all terms
  const hardware::CollectiveTable* table = nullptr;  // the nearest; lives as long as the cluster
  double table_distance = 0.0;

  [[nodiscard]] Seconds total() const { return call + latency + fill + transfer; }
};

// `bytes_per_rank_in` and `bytes_total` as in model/op.hpp. A group of one rank takes no time.
[[nodiscard]] CollectiveTime collective_time(model::CollectiveKind kind, Bytes bytes_per_rank_in,
                                             Bytes bytes_total, model::Dtype dtype,
                                             const layout::GroupPlacement& group,
                                             const hardware::GpuProfile& gpu,
                                             const hardware::ClusterSpec& cluster,
                                             double ring_nic_exponent = 1.0);

// Its transfer at the rates that the stack reaches.
[[nodiscard]] Seconds stack_transfer(const CollectiveTime& time, model::CollectiveKind kind,
                                     const layout::GroupPlacement& group,
                                     const hardware::SoftwareProfile& software,
                                     const hardware::ClusterSpec& cluster);

// The same with the stack's efficiency and overhead, booked by source.
[[nodiscard]] Cost collective_cost(model::CollectiveKind kind, Bytes bytes_per_rank_in,
                                   Bytes bytes_total, model::Dtype dtype,
                                   const layout::GroupPlacement& group,
                                   const hardware::GpuProfile& gpu,
                                   const hardware::SoftwareProfile& software,
                                   const hardware::ClusterSpec& cluster);

// Bus bandwidth over algorithm bandwidth as nccl-tests defines it: 2(n-1)/n, (n-1)/n or 1.
[[nodiscard]] double bus_factor(model::CollectiveKind kind, std::int64_t ranks);

// NCCL's nBytes, the size column of nccl-tests.
[[nodiscard]] Bytes nccl_bytes(model::CollectiveKind kind, Bytes bytes_per_rank_in,
                               Bytes bytes_total);

// Product of the oversubscription of the tiers below `tier`: what a flow that leaves every block on
// its way gets less.
[[nodiscard]] double full_taper(const hardware::NetworkSpec& network, std::size_t tier);

// One-way latency of the tiers up to and including `tier`.
[[nodiscard]] Seconds tier_latency(const hardware::NetworkSpec& network, std::size_t tier);

// Share of `nics` NICs of a group that work on the worst node of the cluster: rings over several
// NICs go on with the rest, the traffic of a lone NIC moves to a neighbour's, which then has two.
[[nodiscard]] double working_nic_share(const hardware::ClusterSpec& cluster, double nics);

// NICs next to one GPU times their number of GPUs, at most what the node has; `exponent` as in
// ring_nic_exponent of a software profile.
[[nodiscard]] BytesPerSecond node_nic_rate(std::int64_t ranks_on_node, std::int64_t sharing,
                                           std::int64_t hosts_per_node,
                                           const hardware::ClusterSpec& cluster,
                                           double exponent = 1.0);

}  // namespace orrery::cost
