#pragma once

// The agenda of the job: what is due at step boundaries beside training and saves, and at which.
//
//   step = min(target, evaluation, end of the phase, rework, save that a growth waits for)
//   stop = min(maintenance, unitemised, save before a departure), or at once
//
// symbol     | meaning                                                    | unit  | origin
// -----------|------------------------------------------------------------|-------|----------
// step       | the first step after which more is due than a save         | steps | run plan
// stop       | from then on something is due at the next step boundary    | ns    | run plan
//
// look_ahead() follows any change. O(1).

#include <cstddef>
#include <cstdint>

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
    bool urgent = false;         // a disturbance waits for the next step boundary
  };

  // Keeps a reference to the plan.
  explicit Agenda(const RunPlan& plan);

  void reset();
  void look_ahead(const Moment& moment);

  [[nodiscard]] std::int64_t next_step() const {
    return next_step_;
  }

  [[nodiscard]] SimTime next_stop() const {
    return next_stop_;
  }

  // Training is over after `steps`.
  [[nodiscard]] bool ends_at(std::int64_t steps) const {
    return steps == target_;
  }

  // The last step of a stretch of training and saves from which nothing is missed; the save at
  // next_step() belongs to what is due there when the job ends or grows with it.
  [[nodiscard]] std::int64_t last_quiet_step() const {
    return next_step_ - (next_step_ == target_ || grows_ ? 1 : 0);
  }

  [[nodiscard]] const PlannedPhase& phase() const {
    return plan_.phases[phase_];
  }

  [[nodiscard]] const PlannedPhase& next_phase() const {
    return plan_.phases[phase_ + 1];
  }

  void enter_next_phase() {
    ++phase_;
  }

  // Going back to `steps` leads to another phase.
  [[nodiscard]] bool leaves_phase(std::int64_t steps) const {
    return phase_ > 0 && steps < plan_.phases[phase_ - 1].until_step;
  }

  void go_back(std::int64_t steps);

  [[nodiscard]] bool evaluates_at(std::int64_t steps) const {
    return steps == next_evaluation_;
  }

  void end_evaluation() {
    next_evaluation_ += evaluation_;
  }

  // nullptr: none is due.
  [[nodiscard]] const PlannedRework* rework_at(std::int64_t steps) const;

  // Of the one that is due; it stalls the job until `end`, whatever else stops it meanwhile.
  void begin_rework(SimTime end) {
    ++rework_;
    stalled_until_ = end;
  }

  [[nodiscard]] SimTime stalled_until() const {
    return stalled_until_;
  }

  [[nodiscard]] bool maintenance_is_due(SimTime now) const {
    return next_maintenance_ <= now;
  }

  // Done `now`; the next one at a multiple of the period.
  void end_maintenance(SimTime now);

  // True when an unitemised stop is due, from now on the next one.
  [[nodiscard]] bool take_unitemised(SimTime now);

  // The pace changes at the next step boundary.
  void ask_for_pace() {
    repace_ = true;
  }

  void set_pace() {
    repace_ = false;
  }

  [[nodiscard]] bool asks_for_pace() const {
    return repace_;
  }

  // Nodes are ready that would make the job larger.
  void ask_for_growth() {
    grows_ = true;
  }

  void forget_growth() {
    grows_ = false;
  }

  [[nodiscard]] bool asks_for_growth() const {
    return grows_;
  }

  // Growth does not wait for the next save.
  [[nodiscard]] bool grows_at_once() const {
    return grows_at_once_;
  }

 private:
  static constexpr std::int64_t kNever = std::int64_t{1} << 62;

  const RunPlan& plan_;
  const std::int64_t target_;      // steps, or a number never reached
  const std::int64_t evaluation_;  // steps between evaluations, or a number never reached
  const bool grows_at_once_;
  std::int64_t next_step_ = 0;
  SimTime next_stop_;
  std::int64_t next_evaluation_ = 0;  // the first one not done yet
  SimTime next_maintenance_;
  SimTime next_unitemised_;
  std::size_t phase_ = 0;
  std::size_t rework_ = 0;  // the first one still to come
  SimTime stalled_until_;
  bool repace_ = false;
  bool grows_ = false;
};

}  // namespace orrery::run
