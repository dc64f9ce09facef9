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

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/stages/costing.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

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

// Slow-down of gradient reductions and parameter gathers by other traffic that uses the same NICs
// at the same time:
//
//   stretch = 1 + min(1, O / T)
//
// symbol  | meaning                                                            | unit | origin
// --------|--------------------------------------------------------------------|------|---------
// T       | reductions and gathers of all chunks of a device, alone            | s    | computed
// O       | over one micro-batch: its pipeline messages both ways, and those   | s    | computed
//         | collectives of the passes whose groups leave the NVLink domain     |      |
//
// The law of two flows under max-min fair sharing (cost/fair_share.hpp, stretch_beside): a
// collective stays one event. The passes' own time is not in it, so a faster GPU never lengthens a
// reduction. The device with the largest stretch decides, since a reduction waits for its slowest
// rank. Not modelled: the messages that meet a running reduction take up to twice as long
// themselves, and network_efficiency, where a stack measured it together with its own traffic,
// contains part of this loss already.

struct NicTraffic {
  const cost::Placements& places;
  const hardware::SoftwareProfile& software;
  bool overlapped = true;                    // data-parallel traffic beside the passes
  const std::vector<bool>& hops_on_network;  // by device: the hop to the next one uses NICs
};

// 1 when nothing overlaps the data-parallel traffic or its groups stay inside a domain.
[[nodiscard]] double data_parallel_stretch(const NicTraffic& traffic, const StageCosts& costs);

// Applies it to the reductions and gathers of all buckets.
void share_nics(const NicTraffic& traffic, StageCosts& costs);

}  // namespace orrery::step
