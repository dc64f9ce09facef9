#pragma once

// The supply of spot nodes that the job can hold, and when it changes: a rate of preemptions, or
// traces of several zones of which the job uses one at a time.
//
//   rate:  one node is preempted at rate 1 / mtbp; an event takes `burst` nodes, so that
//          k nodes see k / (mtbp burst) events per second;
//          each node can be had again after a draw of `returns`
//   trace: the job holds min(wanted, available(t)); a drop below what it holds takes the difference
//
// Memoryless with a rate: the hazard left until the next event is kept when the number of held
// nodes changes (unit-hazard clock), so that a change of the job does not disturb the process.
// Traces of all zones begin at the same offset, each modulo its own length, so that they stay
// aligned.
//
// Assumptions
// - A zone is left when it cannot supply what is wanted and another one can supply more.
// - A loss is announced `notice` before it comes, however many are announced already; in a trace,
//   only the loss of the next row.
//   A job that leaves a zone has nothing to fear from that zone
//   any more.
// - A node that fails is handed back, and another one can be had in its place.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/capacity_plan.hpp"

namespace orrery::run {

// Walks along one trace, as if it repeated for ever.
class TraceWalk {
 public:
  TraceWalk(const SpotTrace& trace, SimTime offset);

  [[nodiscard]] std::int64_t available() const;

  // Nodes available from next() on.
  [[nodiscard]] std::int64_t available_next() const;

  // When the next row begins, in simulated time; kForever for a trace of one row.
  [[nodiscard]] SimTime next() const { return next_; }

  void step();

  // Price of one GPU of the row, if the trace has prices.
  [[nodiscard]] std::optional<DollarsPerSecond> price() const;

 private:
  const SpotTrace* trace_;
  std::size_t row_ = 0;
  SimTime next_;
};

// Where in its traces a trial begins; the same for everybody who asks.
[[nodiscard]] SimTime trace_offset(const PlannedSpot& spot, std::uint64_t seed,
                                   std::uint32_t trial);

class SpotSupply {
 public:
  enum class Kind { nothing, notice, loss, offer };

  struct Event {
    Kind kind = Kind::nothing;
    std::int64_t nodes = 0;
    SimTime at;  // of a notice: when the loss comes
  };

  struct Grant {
    std::int64_t held = 0;  // nodes held from now on
    bool moved = false;     // to another zone: none of them was held before
  };

  // Keeps a reference to the plan.
  SpotSupply(const std::optional<PlannedSpot>& plan, std::uint64_t seed);

  // At time 0, with nothing held.
  void reset(std::uint32_t trial);

  // The job would like to hold `wanted` nodes, not fewer than it holds.
  Grant request(SimTime now, std::int64_t wanted);

  // The job gives `nodes` of those it holds away.
  void hand_back(SimTime now, std::int64_t nodes);

  [[nodiscard]] SimTime next() const { return next_; }

  // The event at next(), which must be `now`. After a loss so many fewer nodes are held; a loss of
  // none ends a notice whose nodes had gone before.
  Event take(SimTime now);

  // The first announced loss after `time`, among all whose nodes have not gone yet; kForever
  // without one.
  [[nodiscard]] SimTime departure_after(SimTime time) const;

  // Nodes that request() could grant, those held included.
  [[nodiscard]] std::int64_t obtainable() const;

  [[nodiscard]] std::int64_t held() const { return held_; }

  [[nodiscard]] std::int32_t zone() const { return zone_; }

 private:
  struct Loss {
    SimTime at;
    std::int64_t nodes = 0;
  };

  void set_held(SimTime now, std::int64_t held);
  void find_next(SimTime now);
  void schedule_preemption(SimTime now);
  Event take_rate_event(SimTime now);
  Event take_trace_event(SimTime now);
  Event lose(SimTime now, std::int64_t nodes);
  [[nodiscard]] std::size_t best_zone() const;

  [[nodiscard]] std::int64_t in_zone(std::size_t zone) const {
    return std::min(plan_->nodes, walks_[zone].available());
  }

  const std::optional<PlannedSpot>& plan_;  // its fields as in SpotSpec
  const std::uint64_t seed_;
  std::int64_t held_ = 0;
  SimTime next_ = kForever;

  // With a rate.
  double hazard_ = 0.0;  // left until the next preemption, at `hazard_at_`
  SimTime hazard_at_;
  SimTime preemption_ = kForever;  // when it is used up
  std::deque<Loss> announced_;
  std::vector<Loss> away_;  // a heap: until when, the earliest at the front
  std::int64_t away_nodes_ = 0;
  RandomStream preemptions_;
  RandomStream returns_;

  // With traces.
  std::vector<TraceWalk> walks_;
  std::int32_t zone_ = 0;
  SimTime noticed_ = kForever;  // the loss that has been announced
};

// The rate at which a job on traces of spot capacity loses nodes, for `mtbf` and automatic
// intervals of checkpoints.
//
//   rate = losses / length of the longest trace
//
// symbol | meaning                                                              | unit | origin
// -------|----------------------------------------------------------------------|------|---------
// losses | events that take nodes from a job that holds as many as it can, by   | -    | traces
//        | SpotSupply's own choice of the zone, from the begin of the traces on |      |
//
// A drop in a zone where the job is not, or of nodes that it does not hold, is none.
//
// Zero without traces.
[[nodiscard]] PerSecond traced_loss_rate(const PlannedSpot& spot);

}  // namespace orrery::run
