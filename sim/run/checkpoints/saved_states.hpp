#pragma once

// The saved states of the training that the job could go back to at this moment.
//
// Every tier holds one copy; the last one keeps `kept` of them and every `kept_every`-th for ever,
// which matters only when a copy turns out to be unreadable or tainted, so it is tracked only then.
// The state before the first step can always be made again: the last tier is never empty.
//
// The functions of every save are inline and cost a few instructions with a single tier.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/checkpoints/checkpoint_plan.hpp"

namespace orrery::run {

class SavedStates {
 public:
  static constexpr std::size_t kMostTiers = 8;
  static constexpr std::int64_t kNone = -1;

  // The copy to go back to.
  struct Source {
    std::int64_t steps = 0;
    std::size_t tier = 0;
  };

  // `tracks_older`: copies before the newest one of the last tier can be asked for.
  SavedStates(const CheckpointPlan& plan, bool tracks_older);

  void reset();

  // When the next copy in flight becomes durable; kForever without one.
  [[nodiscard]] SimTime next_durable() const { return next_durable_; }

  // Until when the n-th save has to wait for copies in flight to its tiers; in the past without.
  [[nodiscard]] SimTime blocked_until(std::int64_t n) const {
    if (next_durable_ == kForever) {
      return SimTime{};
    }
    return count_ == 1 ? next_durable_ : slowest_flight(n);
  }

  // The copies of a save that begins `now` with the state after `steps`: those that outlast its
  // stall are in flight from now on; true when one does not (it is durable when the stall ends).
  bool begin(SimTime now, std::int64_t steps, const PlannedSave& save) {
    bool stalls = false;
    for (const SavedCopy& copy : save.copies) {
      if (copy.durable <= save.stall) {
        stalls = true;
      } else {
        Tier& tier = tiers_[static_cast<std::size_t>(copy.tier)];
        tier.flight = steps;
        tier.durable_at = now + copy.durable;
        next_durable_ = std::min(next_durable_, tier.durable_at);
      }
    }
    return stalls;
  }

  // The same with a single tier, whose copy is durable at `durable`.
  void begin_only(SimTime durable, std::int64_t steps) {
    tiers_[0].flight = steps;
    tiers_[0].durable_at = durable;
    next_durable_ = durable;
  }

  // The copies in flight that become durable at `now`, which is next_durable(); returns how many.
  std::int64_t complete(SimTime now) {
    if (count_ != 1) {
      return complete_tiers(now);
    }
    next_durable_ = kForever;
    hold(0, tiers_[0].flight);
    tiers_[0].durable_at = kForever;
    return 1;
  }

  // The copies of `save` that were written during its stall; returns how many.
  std::int64_t end_stall(std::int64_t steps, const PlannedSave& save) {
    std::int64_t copies = 0;
    for (const SavedCopy& copy : save.copies) {
      if (copy.durable <= save.stall) {
        hold(static_cast<std::size_t>(copy.tier), steps);
        ++copies;
      }
    }
    return copies;
  }

  // A copy of the state after `steps` is complete on the last tier, all other states stay.
  void put(std::int64_t steps) { hold(count_ - 1, steps); }

  // The state on the last tier.
  [[nodiscard]] std::int64_t on_storage() const { return tiers_[count_ - 1].durable; }

  // Until when the copy in flight to the last tier is written, kForever without one, and its steps.
  [[nodiscard]] SimTime storage_flight_end() const { return tiers_[count_ - 1].durable_at; }

  [[nodiscard]] std::int64_t storage_flight() const { return tiers_[count_ - 1].flight; }

  // Of a tier: until when its copy in flight is written, kForever without one.
  [[nodiscard]] SimTime flight_end(std::size_t tier) const { return tiers_[tier].durable_at; }

  // The copy in flight to a tier is complete; the next durable copy is found by end_skip().
  void land(std::size_t tier) {
    hold(tier, tiers_[tier].flight);
    tiers_[tier].durable_at = kForever;
  }

  // A copy of the state after `steps` was made on a tier; or is in flight to it until `end`.
  void keep(std::size_t tier, std::int64_t steps) { hold(tier, steps); }

  void fly(std::size_t tier, std::int64_t steps, SimTime end) {
    tiers_[tier].flight = steps;
    tiers_[tier].durable_at = end;
  }

  void end_skip() { find_next_durable(); }

  // All copies in flight are lost.
  void abort();

  // A strike of `cause`, after which `after` instead of `before` nodes are lost in this outage:
  // drops the copies that do not survive it. One draw per copy whose survival is a matter of luck.
  void strike(std::int32_t cause, std::int64_t before, std::int64_t after, RandomStream& luck);

  // The newest copy, of equal ones that of the fastest tier.
  [[nodiscard]] Source newest() const;

  // The newest copy of at most `steps` steps, on the last tier.
  [[nodiscard]] Source newest_until(std::int64_t steps) const;

  // The copy of `tier` cannot be read.
  void drop(std::size_t tier);

  // Training goes on from the state after `steps`: later copies are of no use any more.
  void forget_after(std::int64_t steps);

  [[nodiscard]] bool tracks_older() const { return tracks_older_; }

 private:
  struct Tier {
    std::int64_t durable = kNone;  // steps in the newest complete copy
    std::int64_t flight = kNone;   // steps in the copy that is being written
    SimTime durable_at = kForever;
  };

  void hold(std::size_t tier, std::int64_t steps) {
    tiers_[tier].durable = steps;
    if (tracks_older_ && tier + 1 == count_) [[unlikely]] {
      remember(steps);
    }
  }

  std::int64_t complete_tiers(SimTime now);
  void remember(std::int64_t steps);
  void find_next_durable();
  void drop_older(std::int64_t most);
  [[nodiscard]] std::int64_t older(std::int64_t most) const;
  [[nodiscard]] SimTime slowest_flight(std::int64_t n) const;

  const CheckpointPlan& plan_;
  const std::size_t count_;
  const bool tracks_older_;
  std::array<Tier, kMostTiers> tiers_;
  SimTime next_durable_ = kForever;
  std::vector<std::int64_t> recent_;      // ascending, bounded by the retention
  std::vector<std::int64_t> milestones_;  // ascending, kept for ever
  std::int64_t stored_ = 0;               // copies made on the last tier so far
};

}  // namespace orrery::run
