#pragma once

// Cost of keeping replicas in step: gradient reduction, parameter gather and the sums over copies
// of the same parameters on two pipeline devices. Used inside step/ only.
//
//   no sharding: all-reduce of the gradients over data x context
//   ZeRO, FSDP:  reduce-scatter over the shard group, all-reduce of the shard over the replicas
//   gather:      all-gather of the parameters over the shard group; for a backward over the reshard
//                group, when the forward left a second, coarser shard there (ZeRO++ hpZ, FSDP2's
//                reshard_after_forward: N)
//   quantised:   (ZeRO++) gathers carry int8 instead of 16 bit, with passes that quantise the shard
//                and restore the whole; gradients cross as int4 in two all-to-alls, inside the node
//                and between nodes, where a node's sum leaves it once
//
// symbol     | meaning                                         | unit       | origin
// -----------|-------------------------------------------------|------------|-------------
// parameters | of one bucket of the rank's shard of the model  | parameters | model, layout
// whole      | group over which these parameters are replicated | -         | layout

//
// Source of the quantised forms: Wang et al. 2023, ZeRO++ (arXiv 2306.10209).

#include <string_view>
#include <vector>

#include "sim/step/simulate/stages/costing.hpp"

namespace orrery::step {

// What one rank puts on the wires when a ring moves it, as the bus bandwidth of nccl-tests counts:
//   all-reduce 2 (n - 1) / n in; all-gather (n - 1) / n total; reduce-scatter and all-to-all
//   (n - 1) / n in; else in
[[nodiscard]] Bytes sent_by_rank(model::CollectiveKind kind, Bytes in, Bytes total,
                                 std::int64_t ranks);

// The groups of ranks that hold the same parameters.
struct ReplicaGroups {
  const layout::GroupPlacement& whole;    // all of them: data x context, or expert data
  const layout::GroupPlacement& shard;    // those that share one copy of the states
  const layout::GroupPlacement& replica;  // those that hold the same shard
};

enum class ReplicaGroup : std::uint8_t { whole, shard, replica };  // of ReplicaGroups

// What a collective sends, and between whom: `group` may be part of `of`.
struct ReplicaMessage {
  model::CollectiveKind kind = model::CollectiveKind::all_reduce;
  Bytes in = {};
  Bytes total = {};
  model::Dtype dtype = model::Dtype::bf16;
  ReplicaGroup of = ReplicaGroup::whole;
  layout::GroupPlacement group = {};
};

// A collective of the replicas, or a pass over memory that belongs to one.
struct ReplicaOperation {
  std::string_view name;
  std::optional<ReplicaMessage> message = std::nullopt;  // of a collective
  Bytes bytes = {};  // that one rank sends, or that a pass reads and writes
  cost::Cost cost = {};
};

// Where the operations of the replicas go, in the order in which they run: into the parts of a
// task, all of it communication of the replicas, or into a list.
class ReplicaSink {
 public:
  explicit ReplicaSink(Parts& parts) : parts_(&parts) {}

  explicit ReplicaSink(std::vector<ReplicaOperation>& list) : list_(&list) {}

  void add(const ReplicaOperation& operation);

 private:
  Parts* parts_ = nullptr;
  std::vector<ReplicaOperation>* list_ = nullptr;
};

// What gathers bring: all that a rank needs of sharded parameters, in parameters of its type;
// else only what the optimizer changed.
[[nodiscard]] model::ShardShare gathered_parameters(const Costing& costing,
                                                    const model::ShardParameters& held);

void add_reduction(ReplicaSink to, const Costing& costing, double parameters,
                   const ReplicaGroups& groups);

void add_gather(ReplicaSink to, const Costing& costing, double parameters,
                const ReplicaGroups& groups);

// The gather for a backward.
void add_gather_again(ReplicaSink to, const Costing& costing, double parameters,
                      const ReplicaGroups& groups);

// All of gradient_reduce, parameter_gather or parameter_gather_again, for the dense parameters or
// those of the routed experts, in the order in which they run.
[[nodiscard]] std::vector<ReplicaOperation> replica_operations(const Costing& costing,
                                                               schedule::TaskKind kind,
                                                               const model::ShardParameters& held,
                                                               bool expert);

// Sums over the copies of tables and stages that stand on two pipeline devices.
[[nodiscard]] Parts cost_copies(const Costing& costing, const layout::RankMap& map,
                                std::int64_t device);

}  // namespace orrery::step
