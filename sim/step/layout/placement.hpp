#pragma once

// Placement of ranks and groups on hosts and NVLink domains: which wires each group crosses.
//
//   rank = sum over axes of coordinate[axis] * stride[axis]; strides follow `order`, fastest first
//   node = rank / gpus_per_node, NVLink domain = rank / nvlink_domain
//
// Every group but that of the pipeline is an arithmetic progression of positions on its pipeline
// device, position = t + T (c + C d): tensor fastest, the order in which expert groups are cut.
//
// All groups of one axis are congruent under the rank map except at uneven borders; the placement
// reported is that of the worst group (most domains, highest tier).

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::layout {

// Logical groups. expert and expert_data are the sub-groups of tensor x context x data that MoE
// layers use, expert_shard and expert_replica the parts of expert_data that share or repeat one
// copy of the routed experts' states; shard is the part of the data group over which ZeRO/FSDP
// states are split, replica the group of ranks that hold the same shard (HSDP, sharded ZeRO-1).
enum class GroupKind {
  tensor,
  context,
  pipeline,
  data,
  data_context,
  expert,
  expert_tensor,
  expert_data,
  expert_shard,
  expert_replica,
  shard,
  replica
};

struct GroupPlacement {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;           // hosts that it touches
  std::int64_t ranks_per_node = 1;  // smallest over the hosts
  std::int64_t domains = 1;         // NVLink domains that it touches
  std::int64_t ranks_per_domain = 1;
  std::int64_t sharing_node = 1;  // groups of the same axis on one host's NICs
  std::size_t tier = 0;           // lowest whose switch holds the group; tier_nodes.size(): core

  friend bool operator==(const GroupPlacement&, const GroupPlacement&) = default;
};

// Ranks at equal distances: first, first + stride, ...
struct RankRun {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 1;
};

// The same several times, at equal distances: first, ..., first + repeat_stride, ...
struct RankLattice {
  RankRun run;
  std::int64_t repeat_stride = 1;
  std::int64_t repeats = 1;
};

struct RankCoordinates {
  std::int64_t tensor = 0;
  std::int64_t context = 0;
  std::int64_t pipeline = 0;
  std::int64_t data = 0;
};

class RankMap {
 public:
  explicit RankMap(const Layout& layout);

  [[nodiscard]] RankId rank(const RankCoordinates& at) const;
  [[nodiscard]] RankCoordinates coordinates(RankId rank) const;
  // Ranks of the group of `kind` that holds `member`, ascending.
  [[nodiscard]] std::vector<RankId> group(GroupKind kind, RankId member) const;
  // The same group when its ranks stand at equal distances, as they do unless `order` tears the
  // axes apart that the group joins. O(1), where group() takes time and memory for every rank.
  [[nodiscard]] std::optional<RankRun> run(GroupKind kind, RankId member) const;

  // The same for groups that `order` tears into runs, at most two axes of it.
  [[nodiscard]] std::optional<RankLattice> lattice(GroupKind kind, RankId member) const;

 private:
  // One digit of a position: positions that differ in it alone by one lie `stride` ranks apart.
  struct Digit {
    std::int64_t weight = 1;
    std::int64_t size = 1;
    std::int64_t stride = 1;
  };

  void find_digits();
  [[nodiscard]] RankRun positions(GroupKind kind, const RankCoordinates& at) const;
  [[nodiscard]] std::int64_t rank_at(std::int64_t position, std::int64_t device) const;

  Layout layout_;
  std::array<std::int64_t, kAxisCount> stride_{};
  std::vector<Digit> digits_;
};

[[nodiscard]] GroupPlacement place_group(const RankMap& map, const Layout& layout, GroupKind kind,
                                         const ClusterShape& cluster);

// One hop of the pipeline, from device `from` to the next (the wrap from last to first included).
struct HopPlacement {
  bool same_domain = true;
  bool same_node = true;
  std::int64_t sharing_node = 1;  // ranks of one node that send at the same time
  std::int64_t nodes = 2;         // hosts of the communicator the message belongs to
  std::size_t tier = 0;

  friend bool operator==(const HopPlacement&, const HopPlacement&) = default;
};

[[nodiscard]] HopPlacement place_hop(const RankMap& map, const Layout& layout, std::int64_t from,
                                     const ClusterShape& cluster);

}  // namespace orrery::layout
