#pragma once

// Cost model of one GPU, stack and network: the time of each operation, collective and transfer.
//
// One value that combines the three profiles; all member functions are const and pure. The formulas
// are in gemm.hpp, attention.hpp, memory_bound.hpp, collective.hpp and transfer.hpp; this
// class only dispatches on the kind of operation and the axis of a collective.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/hierarchical_exchange.hpp"
#include "sim/step/cost/transfer.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/placement.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

// What a collective or a message puts on the network, for the simulation of shared links
// (step/fabric): how many bytes, along which way, and how fast it goes with links of its own.
//
//   bound of its flow = bytes / alone
//
// Latencies, launches and the filling of pipelines stay with the cost: they do not share. A tree
// loads NICs as a ring of tree_crossing does; above them it is taken for a ring as well.
// The model's cluster should be unshared() (cluster_spec.hpp): what flows share must not be in
// `alone`.
enum class NetworkPattern : std::uint8_t { ring, in_switches, exchange, message };

struct NetworkUse {
  NetworkPattern pattern = NetworkPattern::ring;  // which links it loads, in proportion to what
  // Of a ring and in switches S x bus factor, over the border of one node of one group; of an
  // exchange and a message what one rank sends to other nodes.
  Bytes bytes;
  Seconds alone;  // transfer of the cost, scaled by measured tables where they scale it
};

// The placements of the groups that a layer's collectives use, by CommAxis.
struct Placements {
  layout::GroupPlacement tensor;
  layout::GroupPlacement context;
  layout::GroupPlacement expert;
  layout::GroupPlacement expert_tensor;
  layout::GroupPlacement data;  // the group over which gradients are reduced (data x context)
  layout::GroupPlacement expert_data;
  layout::GroupPlacement shard;    // ZeRO/FSDP shard group
  layout::GroupPlacement replica;  // HSDP replicas
  layout::GroupPlacement pipeline;
  layout::GroupPlacement expert_shard;  // the same two for the routed experts
  layout::GroupPlacement expert_replica;
};

class CostModel {
 public:
  CostModel(hardware::GpuProfile gpu, hardware::SoftwareProfile software,
            hardware::ClusterSpec cluster);

  [[nodiscard]] Cost gemm(const model::GemmOp& op) const;
  [[nodiscard]] Cost attention(const model::AttentionOp& op) const;
  [[nodiscard]] Cost scan(const model::ScanOp& op) const;
  [[nodiscard]] Cost memory_bound(const model::MemoryOp& op) const;

  // A collective over a group, all of its groups running at once (sharing_node).
  [[nodiscard]] Cost collective(model::CollectiveKind kind, Bytes bytes_per_rank_in,
                                Bytes bytes_total, model::Dtype dtype,
                                const layout::GroupPlacement& group) const;

  // Dispatch or combine of an all-to-all that crosses the network once per node.
  [[nodiscard]] Cost hierarchical_exchange(const ExchangeBytes& bytes,
                                           const layout::GroupPlacement& group) const;

  // One point-to-point message of the pipeline.
  [[nodiscard]] Cost send_receive(Bytes bytes, const layout::HopPlacement& hop) const;

  // Any operation of a pass; collectives find their group by axis.
  [[nodiscard]] Cost operation(const model::Op& op, const Placements& placements) const;

  // What collectives and messages put on the network; nothing where no byte crosses a NIC.
  [[nodiscard]] std::optional<NetworkUse> network_use(model::CollectiveKind kind,
                                                      Bytes bytes_per_rank_in, Bytes bytes_total,
                                                      model::Dtype dtype,
                                                      const layout::GroupPlacement& group) const;
  [[nodiscard]] std::optional<NetworkUse> network_use(const model::CollectiveOp& op,
                                                      const Placements& placements) const;
  [[nodiscard]] std::optional<NetworkUse> network_use(Bytes bytes,
                                                      const layout::HopPlacement& hop) const;

  // Optimizer step over `parameters` parameters held by the rank.
  [[nodiscard]] Cost optimizer_step(double parameters) const;

  // Why a collective takes what it takes: algorithm, protocol and the terms, for `explain`.
  [[nodiscard]] std::string explain_collective(model::CollectiveKind kind, Bytes bytes_per_rank_in,
                                               Bytes bytes_total, model::Dtype dtype,
                                               const layout::GroupPlacement& group) const;

  [[nodiscard]] const hardware::GpuProfile& gpu() const { return gpu_; }

  [[nodiscard]] const hardware::SoftwareProfile& software() const { return software_; }

  [[nodiscard]] const hardware::ClusterSpec& cluster() const { return cluster_; }

 private:
  hardware::GpuProfile gpu_;
  hardware::SoftwareProfile software_;
  hardware::ClusterSpec cluster_;
};

}  // namespace orrery::cost
