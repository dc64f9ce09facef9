#pragma once

// The pool of nodes and their whereabouts: in the job, spare, in repair, on spot.
//
//   job + spares + repair + retired + parked = all nodes of the plan that are not spot, at any time
//
// Held (allocated) are: the job, levels of spares with `held`, nodes in repair. A level that is not
// held belongs to others until one of its nodes joins the job. Spot nodes are held while they are
// in the job, and never wait as spares: what is released goes back to the provider.
//
// The owner calls, at any time that does not go backwards: take() at next(), lose() when broken
// nodes leave, fill() when the job wants nodes. Events of the pool leave the job as it is, except
// `preempted`, which has taken its nodes out of it already; without nodes it ends a notice.
//
// Assumptions: which nodes are bad is drawn, each node alone, at the start of a trial; spot nodes
// are good. Which node of a level joins the job, and which node of the job is on spot, is drawn.
//
// Complexity: O(1) per call, O(log nodes in repair) per repair.

#include <cstdint>
#include <vector>

#include "sim/base/ledger.hpp"
#include "sim/base/random.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/capacity/repair_shop.hpp"
#include "sim/run/capacity/spot_supply.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"

namespace orrery::run {

enum class PoolEventKind {
  nothing,    // a repair went on to its next stage
  returned,   // nodes came back from repair (or new ones arrived): fill() may find them
  notice,     // `nodes` will be preempted at `at`
  preempted,  // `nodes` have left the job
  available,  // the zone offers more spot nodes than before: fill() may find them
};

struct PoolEvent {
  PoolEventKind kind = PoolEventKind::nothing;
  std::int64_t nodes = 0;
  SimTime at;

  friend bool operator==(const PoolEvent&, const PoolEvent&) = default;
};

// Nodes in one place: bad ones with the strikes that each has had.
struct NodeCrowd {
  std::int64_t good = 0;
  std::vector<std::int32_t> bad;

  [[nodiscard]] std::int64_t total() const { return good + static_cast<std::int64_t>(bad.size()); }
};

// What is allocated, by what it is billed as.
struct HeldNodes {
  std::int64_t fixed = 0;  // nodes of the job that nobody can take away
  std::int64_t spot = 0;
  std::int64_t spare = 0;
  std::int64_t repair = 0;
  std::int32_t zone = 0;  // of the spot nodes

  friend bool operator==(const HeldNodes&, const HeldNodes&) = default;
};

// One object per thread; keeps a reference to the plan.
class NodePool {
 public:
  explicit NodePool(const RunPlan& plan);

  // The state before the first step: a full job, all spares in place, nothing in repair. With
  // traces the job may begin short of nodes.
  void reset(std::uint32_t trial);

  [[nodiscard]] NodeMix job() const {
    return {job_.good, static_cast<std::int64_t>(job_.bad.size())};
  }

  [[nodiscard]] std::int64_t job_nodes() const { return job_.total(); }

  // Spares and spot nodes that fill() could add to the job now.
  [[nodiscard]] std::int64_t ready_nodes() const;

  // The next event that happens by itself; kForever without one.
  [[nodiscard]] SimTime next() const { return next_; }

  // The event at next(), which must be `now`.
  PoolEvent take(SimTime now);

  // The first announced preemption after `time`; kForever without one.
  [[nodiscard]] SimTime departure_after(SimTime time) const { return spot_.departure_after(time); }

  // `nodes` of the job, of which `bad` are bad as far as there are such, leave it: to repair, or
  // back to the provider.
  void lose(SimTime now, std::int64_t nodes, std::int64_t bad);

  // Moves spares (the soonest first) and spot nodes into the job until it has `wanted`; fewer when
  // there are no more. Returns how long the slowest of them needs until it can be placed.
  SimTime fill(SimTime now, std::int64_t wanted);

  // `nodes` of the job become spares again; spot nodes go back to the provider first.
  void release(SimTime now, std::int64_t nodes);

  // Books what spares and nodes in repair spent since the last call.
  void settle(SimTime now, RunLedger& ledger);

  // Held now, billed or not: job, held spares and repair.
  [[nodiscard]] std::int64_t allocated_nodes() const;
  [[nodiscard]] HeldNodes held() const;

  [[nodiscard]] std::int64_t nodes_in_repair() const { return repairs_.nodes(); }

  [[nodiscard]] std::int64_t retired_nodes() const { return retired_; }

  // Over all levels.
  [[nodiscard]] NodeMix spare_nodes() const;

  [[nodiscard]] std::int64_t parked_nodes() const { return parked_.total(); }

 private:
  void place_bad_nodes(std::uint32_t trial);
  void add_bad_node(std::int64_t position);
  void join_spares(std::int32_t strikes);
  [[nodiscard]] std::int32_t draw_node(NodeCrowd& from);
  void take_spares(std::size_t level, std::int64_t count, SimTime& ready);
  void fill_from_spot(SimTime now, std::int64_t wanted, SimTime& ready);
  void find_next();
  PoolEvent take_repair(SimTime now);
  PoolEvent take_spot(SimTime now);
  [[nodiscard]] std::int64_t held_spares() const;

  const RunPlan& plan_;
  const std::int64_t gpus_per_node_;
  const double bad_share_;
  const std::int64_t spot_nodes_;  // of the job at full size
  NodeCrowd job_;
  std::int64_t job_spot_ = 0;      // of job_.good
  std::int64_t wanted_ = 0;        // by the job, when it asked last
  std::vector<NodeCrowd> spares_;  // by level of the plan
  NodeCrowd parked_;  // of a later, larger phase, or more than the levels hold; nobody holds them
  std::int64_t retired_ = 0;  // for good, or until a replacement arrives
  SimTime since_;             // spares and repair are booked up to here
  SimTime next_ = kForever;
  RepairShop repairs_;
  SpotSupply spot_;
  RandomStream mix_;    // which node of several
  RandomStream ready_;  // readiness times
};

}  // namespace orrery::run
