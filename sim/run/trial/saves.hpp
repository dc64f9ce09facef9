#pragma once

// The schedule of saves: when the next is due, how long it stalls the job, and its copies.
//
//   due at step saved + every, from the moment on at which no copy to its tiers is in flight
//
// Whole cycles of training and save in which nothing else is due are counted in one go, as long as
// no save has to wait for a copy in flight; what that gives is the same to the nanosecond. O(1) per
// save, O(tiers log saves) per stretch.

#include <cstdint>

#include "sim/run/checkpoints/saved_states.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/trial/run_books.hpp"

namespace orrery::run {

class Saves {
 public:
  // A stretch of training in which nothing else is due.
  struct Stretch {
    SimTime begin;
    SimTime end;               // the cycles end before it
    std::int64_t steps = 0;    // done at its begin
    std::int64_t most = 0;     // steps at its end
    SimTime step;              // duration of one
    std::int64_t longest = 0;  // steps of one action of training
    std::int64_t gpus = 0;     // of the job
  };

  // Cycles of training and save.
  struct Cycles {
    std::int64_t steps = 0;
    SimTime wall;
    SimTime stalled;  // of it
  };

  explicit Saves(const RunPlan& plan);

  void reset(std::int64_t gpus);

  // What the job can go back to.
  [[nodiscard]] SavedStates& states() { return states_; }

  [[nodiscard]] bool is_periodic() const { return every_ != kNever; }

  // The step of the next save.
  [[nodiscard]] std::int64_t next() const { return saved_steps_ + every_; }

  [[nodiscard]] bool is_due(SimTime now, std::int64_t steps) const {
    return steps >= next() && blocked_until_ <= now;
  }

  // The next save waits for copies in flight until then.
  [[nodiscard]] SimTime blocked_until() const { return blocked_until_; }

  // Right after a save, or the begin of the run.
  [[nodiscard]] bool has_saved(std::int64_t steps) const { return steps == saved_steps_; }

  // The storage holds the state after `steps`.
  [[nodiscard]] bool are_stored(std::int64_t steps) const { return states_.on_storage() == steps; }

  // The state to load is of a job of another size.
  [[nodiscard]] bool resharded(std::int64_t gpus) const { return gpus_saved_ != gpus; }

  // Copies that became durable.
  [[nodiscard]] std::int64_t copies() const { return copies_; }

  // Begins the next save; returns its stall, after which end_stall() follows.
  SimTime begin(SimTime now, std::int64_t steps, std::int64_t gpus) {
    ++saves_;
    saved_steps_ = steps;
    gpus_saved_ = gpus;
    if (alike_) {
      save_ = plan_.saves.data();
      stalls_ = alike_stall_;
      if (!alike_stall_) {
        blocked_until_ = now + save_->copies.front().durable;
        states_.begin_only(blocked_until_, steps);
      }
    } else {
      save_ = &plan_.save(saves_);
      stalls_ = states_.begin(now, steps, *save_);
      blocked_until_ = states_.blocked_until(saves_ + 1);
    }
    return save_->stall;
  }

  void end_stall(std::int64_t steps) {
    if (alike_stall_) {
      states_.put(steps);
      count(1);
    } else if (stalls_) {
      count(states_.end_stall(steps, *save_));
    }
  }

  // The copies in flight that are durable `now`.
  void complete(SimTime now) {
    count(states_.complete(now));
    blocked_until_ = states_.blocked_until(saves_ + 1);
  }

  // Of a save on the storage that the job waits for, that in flight before it included.
  [[nodiscard]] SimTime blocking_time(SimTime now, std::int64_t steps) const;
  void end_blocking(std::int64_t steps, std::int64_t gpus);

  // The surviving replicas have saved.
  void end_late(std::int64_t steps);

  // Training goes on after `steps`.
  void go_back(std::int64_t steps);

  // One more failure; true after 10,000 of them in a row without a durable copy.
  [[nodiscard]] bool fail_hopelessly() {
    constexpr std::int64_t kHopeless = 10'000;
    return ++fruitless_failures_ >= kHopeless;
  }

  // Right after a save: the whole cycles of training and save in a stretch, one after the other,
  // with their state in registers; where copies outlast the stall, none.
  [[nodiscard]] Cycles run_cycles(const Stretch& stretch);

  // The same in one step.
  [[nodiscard]] Cycles skip_cycles(const Stretch& stretch);

 private:
  static constexpr std::int64_t kNever = std::int64_t{1} << 62;

  void count(std::int64_t copies) {
    fruitless_failures_ = 0;
    copies_ += copies;
  }

  [[nodiscard]] bool is_skippable(const Stretch& stretch) const;

  // With several tiers.
  [[nodiscard]] Cycles skip_tiers(const Stretch& stretch);
  [[nodiscard]] bool tiers_are_skippable(const Stretch& stretch) const;
  [[nodiscard]] SimTime stalls_of(std::int64_t cycles) const;  // of the next ones

  const CheckpointPlan& plan_;
  const std::int64_t every_;      // steps between saves, or a number never reached
  const bool alike_;              // one tier: every save is the first one
  const bool alike_stall_;        // ... and durable when its stall is over
  const SimTime least_training_;  // training between two saves below which copies may block a save
  SavedStates states_;
  const PlannedSave* save_ = nullptr;  // in progress
  bool stalls_ = false;                // a copy of it is durable when its stall ends
  std::int64_t saves_ = 0;             // begun
  std::int64_t saved_steps_ = 0;
  std::int64_t gpus_saved_ = 0;  // GPUs of the job at the latest save
  SimTime blocked_until_;
  std::int64_t copies_ = 0;
  std::int64_t fruitless_failures_ = 0;
};

}  // namespace orrery::run
