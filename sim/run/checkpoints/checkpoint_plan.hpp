#pragma once

// The saves of a trial, their costs, and the copies from which the job can come back.
//
//   the n-th save of the run (n = 1, 2, ...) writes a copy to tier i when n % every_saves[i] == 0;
//   after going back to s steps the next save is number s / every_steps + 1
//   usable copies after an outage that began with cause c and has taken k nodes away (nodes that
//   only reboot or restart count in survival[c], not in k):
//       probability survival[c] * after_lost[min(k, last)]
//
// Tiers go from the fastest to the durable storage, which is the last one and always exists. A save
// that reaches a tier reaches all faster ones too, so there are as many kinds of saves as tiers. No
// copy protects before the stall of its save is over. A save that is due while a copy to one of its
// tiers is still being written waits for it; training goes on meanwhile.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/run/checkpoints/checkpoint_spec.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

// Probability that all parts of the state are still there. `after_lost` is cumulative over the
// nodes lost since the job last trained; the last entry holds beyond it.
struct CopySurvival {
  std::vector<double> by_cause;            // by index into RunPlan::causes
  std::vector<double> after_lost = {1.0};  // by number of nodes lost; never rises

  [[nodiscard]] double at(std::int64_t lost) const {
    const auto last = static_cast<std::int64_t>(after_lost.size()) - 1;
    return after_lost[static_cast<std::size_t>(std::min(lost, last))];
  }

  // One strike of `cause` that takes the nodes that left in this outage from `before` to `after`,
  // given that the copies were usable before it.
  [[nodiscard]] double of(std::int32_t cause, std::int64_t before, std::int64_t after) const {
    const double held = at(before);
    return held > 0.0 ? by_cause[static_cast<std::size_t>(cause)] * at(after) / held : 0.0;
  }
};

struct PlannedTier {
  std::string name;
  std::int64_t every_saves = 1;  // saves between two copies; divides that of the next tier
  CopySurvival survival;
  std::vector<Duration> load;  // by cause: stage `load` when the job comes back from this tier
};

struct SavedCopy {
  std::int32_t tier = 0;
  SimTime durable;  // since the begin of the save; at least its stall
};

struct PlannedSave {
  SimTime stall;                  // training blocked
  std::vector<SavedCopy> copies;  // fastest tier first
};

// Saved after the failure by the replicas that survived it: only the unfinished step is lost.
struct JustInTime {
  SimTime save;  // extra time of the recovery
  CopySurvival survival;
};

struct CheckpointPlan {
  std::optional<std::int64_t> every_steps;  // absent: nothing is saved before the end
  std::vector<PlannedSave> saves;           // by slowest tier reached
  std::vector<PlannedTier> tiers;
  Bytes size;
  std::optional<std::int64_t> kept;        // on the last tier: newest ones kept; absent: all
  std::optional<std::int64_t> kept_every;  // beside them every n-th of that tier, for ever
  double corrupt = 0.0;  // a checkpoint turns out to be unreadable when its load ends
  std::optional<JustInTime> just_in_time;
  SimTime emergency;  // of a last save to the last tier before a notice runs out
  SimTime reshard;    // extra load when the number of nodes has changed since the save
  bool final_save = true;

  // The n-th save of the run, n >= 1: the slowest tier whose turn it is.
  [[nodiscard]] const PlannedSave& save(std::int64_t n) const {
    std::size_t kind = 0;
    while (kind + 1 < tiers.size() && n % tiers[kind + 1].every_saves == 0) {
      ++kind;
    }
    return saves[kind];
  }

  // Saves after which the pattern begins again.
  [[nodiscard]] std::int64_t period() const { return tiers.empty() ? 1 : tiers.back().every_saves; }
};

}  // namespace orrery::run
