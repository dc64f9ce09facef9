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
#include <deque>
#include <optional>
#include <vector>

#include "sim/base/ledger.hpp"
#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/capacity/node_roster.hpp"
#include "sim/run/capacity/spot_supply.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"

namespace orrery::run {

// Repair of broken nodes: stages with a queue for crews, after which a node returns or is retired.
//
//   first stage -> (with probability `escalates`) queue -> manual stage -> back, or retired
//
// With c crews, one stage, exponential times of mean m and a constant stream of rate r this is the
// M/M/c queue; without crews the nodes in repair are M/G/infinity: Poisson(r m) whatever the law of
// the times. First come, first served. The tests check both.

class RepairShop {
 public:
  static constexpr std::int32_t kGoodNode = -1;

  enum class Outcome {
    moved_on,  // to the queue or the next stage; still in repair
    returned,
    retired,      // no longer in repair, and nothing takes its place
    replaceable,  // no longer in repair; a new good node returns later
    replaced,     // that new node
  };

  struct Event {
    Outcome outcome = Outcome::moved_on;
    std::int32_t strikes = kGoodNode;  // of the node that returned
    std::int64_t number = -1;          // of the node, where nodes have numbers
  };

  // Keeps a reference to the plan.
  RepairShop(const PlannedRepair& plan, std::uint64_t seed);

  void reset(std::uint32_t trial);

  // A node enters the first stage. `strikes` that a bad node has had so far, or kGoodNode.
  void submit(SimTime now, std::int32_t strikes, std::int64_t number = -1);

  // A node is retired without a repair. Whether a new one will come.
  bool replace(SimTime now, std::int64_t number = -1);

  // The next change of any node; kForever when nothing is in repair or on its way.
  [[nodiscard]] SimTime next() const { return changes_.empty() ? kForever : changes_.front().at; }

  // The change at next(), which must be `now`.
  Event take(SimTime now);

  // In a stage or in the queue; replacements that are on their way are not.
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }

  // In the queue for a crew.
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size()); }

 private:
  enum class Stage : std::uint8_t { first, last, replacement };

  // All that happens to a node is drawn when it comes in; only its place in the queue is not known.
  struct Change {
    SimTime at;
    std::int64_t order = 0;  // of two changes at the same time the one submitted first comes first
    SimTime last_stage;      // length of the stage that needs a crew
    std::int64_t number = -1;
    std::int32_t strikes = kGoodNode;
    Stage stage = Stage::first;
    bool crew = false;  // of its last stage
    bool retired = false;
  };

  static bool later(const Change& a, const Change& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  void schedule(const Change& change);
  void wait_for_crew(SimTime now, Change change);
  Event leave(SimTime now, const Change& change);

  const PlannedRepair& plan_;
  const std::uint64_t seed_;
  const bool simple_;            // one stage, no crews, nothing to draw but its time
  std::vector<Change> changes_;  // a heap, the earliest at the front
  std::deque<Change> queue_;
  std::int64_t nodes_ = 0;
  std::int64_t busy_crews_ = 0;
  std::int64_t submitted_ = 0;
  RandomStream first_;
  RandomStream manual_;
  RandomStream outcome_;
  RandomStream replacement_;
};

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
  // traces the job may begin short of nodes. `numbered`: a roster knows which node is where.
  void reset(std::uint32_t trial, bool numbered = false);

  // Where nodes have numbers: a failure strikes some, of which `taken` will leave the job.
  void strike(SimTime now, const Strike& strike, std::int64_t taken) {
    if (roster_) [[unlikely]] {
      roster_->strike(now, strike, taken);
    }
  }

  // The nodes that were hit, at the end of a trial.
  void record(RunTimeline& timeline) { roster_->finish(timeline); }

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
  // One of a crowd: its strikes, and its number where nodes have one.
  struct Node {
    std::int32_t strikes = RepairShop::kGoodNode;
    std::int64_t number = -1;
  };

  [[nodiscard]] std::vector<std::int64_t> place_bad_nodes(std::uint32_t trial);
  void add_bad_node(std::int64_t position);
  void number_nodes(std::uint32_t trial, const std::vector<std::int64_t>& bad);
  [[nodiscard]] std::size_t place_of(const NodeCrowd& crowd) const;
  void add_node(NodeCrowd& to, const Node& node);
  void join_spares(const Node& node);
  [[nodiscard]] Node draw_node(NodeCrowd& from);
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
  std::optional<NodeRoster> roster_;
  RandomStream mix_;    // which node of several
  RandomStream ready_;  // readiness times
};

}  // namespace orrery::run
