#pragma once

// The agenda of the job: what is due at step boundaries beside training and saves, and at which.
//
//   step = min(target, evaluation, end of the phase, rework, save that a growth waits for)
//   stop = min(maintenance, unitemised, save before a departure), or at once
//
// look_ahead() follows any change. O(1).

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/run/capacity/node_pool.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

class Agenda {
 public:
  // Where the job stands.
  struct Moment {
    SimTime now;
    std::int64_t steps = 0;
    std::int64_t next_save = 0;  // step of it
    SimTime departure;           // when to save before nodes leave
    bool urgent = false;         // something waits for the next step boundary
    bool grows = false;          // nodes are ready that would make the job larger
  };

  // Keeps a reference to the plan.
  explicit Agenda(const RunPlan& plan);

  void reset();
  void look_ahead(const Moment& moment);

  [[nodiscard]] std::int64_t next_step() const { return next_step_; }

  [[nodiscard]] SimTime next_stop() const { return next_stop_; }

  // Training is over after `steps`.
  [[nodiscard]] bool ends_at(std::int64_t steps) const { return steps == target_; }

  // The last step of a stretch of training and saves from which nothing is missed; the save at
  // next_step() belongs to what is due there when the job ends or grows with it.
  [[nodiscard]] std::int64_t last_quiet_step() const { return last_quiet_step_; }

  [[nodiscard]] const PlannedPhase& phase() const { return plan_.phases[phase_]; }

  [[nodiscard]] const PlannedPhase& next_phase() const { return plan_.phases[phase_ + 1]; }

  void enter_next_phase() { ++phase_; }

  // Going back to `steps` leads to another phase.
  [[nodiscard]] bool leaves_phase(std::int64_t steps) const {
    return phase_ > 0 && steps < plan_.phases[phase_ - 1].until_step;
  }

  void go_back(std::int64_t steps);

  [[nodiscard]] bool evaluates_at(std::int64_t steps) const { return steps == next_evaluation_; }

  void end_evaluation() { next_evaluation_ += evaluation_; }

  // nullptr: none is due.
  [[nodiscard]] const PlannedRework* rework_at(std::int64_t steps) const;

  // Of the one that is due; it stalls the job until `end`, whatever else stops it meanwhile.
  void begin_rework(SimTime end) {
    ++rework_;
    stalled_until_ = end;
  }

  [[nodiscard]] SimTime stalled_until() const { return stalled_until_; }

  [[nodiscard]] bool maintenance_is_due(SimTime now) const { return next_maintenance_ <= now; }

  // Done `now`; the next one at a multiple of the period.
  void end_maintenance(SimTime now);

  // True when an unitemised stop is due, from now on the next one.
  [[nodiscard]] bool take_unitemised(SimTime now);

  // Growth does not wait for the next save.
  [[nodiscard]] bool grows_at_once() const { return grows_at_once_; }

 private:
  static constexpr std::int64_t kNever = std::int64_t{1} << 62;

  const RunPlan& plan_;
  const std::int64_t target_;      // steps, or a number never reached
  const std::int64_t evaluation_;  // steps between evaluations, or a number never reached
  const bool grows_at_once_;
  std::int64_t next_step_ = 0;
  std::int64_t last_quiet_step_ = 0;
  SimTime next_stop_;
  std::int64_t next_evaluation_ = 0;  // the first one not done yet
  SimTime next_maintenance_;
  SimTime next_unitemised_;
  std::size_t phase_ = 0;
  std::size_t rework_ = 0;  // the first one still to come
  SimTime stalled_until_;
};

// Announced preemptions: the one for which the job saves next, and the latest start of that save.
//
//   save_at = departure - (longest step in progress + save to the storage) - 1 ns, or now
//
// symbol    | meaning                                                          | unit | origin
// ----------|------------------------------------------------------------------|------|----------
// departure | the first announced preemption that is not dealt with            | ns   | pool
// dealt with| it is over, its save was made, or it is too late for one         | -    | simulated
//
// Several preemptions can be announced at a time; the pool knows them all (spot_supply.hpp). Each
// has a save of its own, as late as it can be: what is trained between it and the loss is lost.
// Longer notice then never costs: it only moves the moment at which a departure becomes known.
class Departures {
 public:
  // Keeps a reference to the pool.
  explicit Departures(const NodePool& pool) : pool_(pool) {}

  void reset() {
    next_ = save_at_ = kForever;
    dealt_with_ = SimTime{};
  }

  // Looks again: after a notice, a departure, a move to another zone or a change of the pace. A
  // save takes `needs`, the step in progress included.
  void update(SimTime now, SimTime needs) {
    next_ = pool_.departure_after(dealt_with_);
    save_at_ = next_ == kForever ? kForever : std::max(now, next_ - needs - SimTime{1});
  }

  // Those up to `time` need nothing more; update() follows.
  void deal_with(SimTime time) { dealt_with_ = std::max(dealt_with_, time); }

  // When the nodes leave; kForever when nothing is announced.
  [[nodiscard]] SimTime next() const { return next_; }

  [[nodiscard]] SimTime save_at() const { return save_at_; }

 private:
  const NodePool& pool_;
  SimTime next_ = kForever;
  SimTime save_at_ = kForever;
  SimTime dealt_with_;
};

}  // namespace orrery::run
