#pragma once

// The resolved failures of a run: laws, rates, who is hit, and what happens then.
//
//   units(cause)  = units_per_node * nodes held by the job   (scopes gpu ... power_domain)
//                 = 1 while the job runs                      (scopes storage and job)
//   hazard(cause) = units / mean of the law * multiplier(t)   (multiplier: only causes of hardware)
//   bad nodes have `lemons.multiplier` times the hazard (exponential causes of scopes gpu, node)
//
// symbol        | meaning                                                  | unit  | origin
// --------------|----------------------------------------------------------|-------|---------
// life          | law of the time between two failures of one unit         | s     | scenario
// units_per_node| GPUs per node, 1, or 1 / nodes of a rack, switch, domain | 1     | computed
// takes_nodes   | nodes that leave the job at a strike                     | nodes | scope
// hit_nodes     | nodes whose memory and processes are gone                | nodes | scope
// effect        | what a strike does                                       | -     | computed
//
// What the run does at a strike, by its effect
// - failure: training stops at once; a hang goes unnoticed until the watchdog acts. The recovery
//   stages of the cause follow. `takes_nodes` nodes leave the job when the diagnosis is done.
// - slowdown: only while the job trains. From now on every step takes `factor` times as long, until
//   `duration` (of wall time) is over; several at once: the greatest factor holds. A restart of the
//   job for another reason does not end it: the slow node or link stays. With `evict_after`, a
//   slowdown that lasts so long ends in a recovery with the stages of `cause`, which takes the
//   node; work since the last durable checkpoint is lost as at a failure unless a checkpoint is
//   saved first.
// - silent: only while the job trains. From now on results are wrong, and every checkpoint saved is
//   corrupt. After `detection` the job knows: it goes back to the newest checkpoint begun before
//   the corruption, through the stages of `cause`. With probability `repeats` the host was not
//   found: no node is taken, and it corrupts again `repeat_after` the end of that recovery.
//   Otherwise its node leaves the job. A failure in between that goes back to a corrupt checkpoint
//   does not end the corruption; one that goes back behind it does when the host leaves.
// - spike: only while the job trains. With `rewind_steps` the job goes back to the newest
//   checkpoint at least that many steps behind, through the stages of `cause`, and no node leaves;
//   with `skip_steps` that many steps are trained again, without a stop.
//
// A false alarm is a failure like any other whose node is sound.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/run/failures/life_law.hpp"
#include "sim/run/failures/silent_spec.hpp"
#include "sim/run/trial/time_warp.hpp"

namespace orrery::run {

enum class StrikeEffect : std::uint8_t { failure, slowdown, silent, spike };

struct PlannedCause {
  std::string name;
  FailureCategory category = FailureCategory::unknown;
  double cumulative = 0.0;           // long-run share of this and the failures before it
  RecoveryStages stated;             // stages that the cause itself states
  LifeLaw life = ExponentialLife{};  // of one unit
  InitialAge age;
  FailureScope scope = FailureScope::node;
  double units_per_node = 1.0;   // 0: one unit whatever the number of nodes
  std::int64_t takes_nodes = 0;  // leave the job; 0: training resumes on the same nodes
  std::int64_t hit_nodes = 0;    // lose memory and processes, whether they leave or not
  Symptom symptom = Symptom::crash;
  bool is_hardware = false;  // feels heat, burn-in, episodes and lemons
  StrikeEffect effect = StrikeEffect::failure;
  std::int32_t effect_index = 0;  // into FailurePlan::slowdowns, silent or spikes
};

struct PlannedSlowdown {
  FactorLaw factor;
  Duration duration;
  std::optional<SimTime> evict_after;
  std::int32_t cause = 0;  // index into RunPlan::causes: of its strikes, its name, its recovery
};

struct PlannedSilent {
  Duration detection;
  double repeats = 0.0;
  Duration repeat_after;
  std::int32_t cause = 0;
};

struct PlannedSpike {
  std::optional<std::int64_t> rewind_steps;
  std::optional<std::int64_t> skip_steps;
  std::int32_t cause = 0;
};

// Nodes that fail more often than the others. Which of its nodes are bad, how often each was struck
// and which are removed is the business of the node pool (CapacityPlan::bad_share).
struct LemonPlan {
  double fraction = 0.0;
  double multiplier = 1.0;
  std::optional<std::int64_t> remove_after;
};

// One failure of a log that is replayed.
struct LoggedStrike {
  SimTime at;
  std::int32_t cause = 0;
  std::int64_t nodes = 0;              // that leave the job
  std::optional<SimTime> outage = {};  // stated: replaces all stages of the recovery
};

struct FailurePlan {
  HazardModulation modulation;
  LemonPlan lemons;
  std::vector<PlannedSlowdown> slowdowns;
  std::vector<PlannedSilent> silent;
  std::vector<PlannedSpike> spikes;
  double step_factor = 1.0;     // of every step: determinism checks; not in StepInput::step_time
  bool during_recovery = true;  // false: nothing strikes from a failure until training goes on
  std::optional<std::vector<LoggedStrike>> log;  // replaces the random failures
  std::int64_t full_nodes = 1;  // nodes of the job at which `units_per_node` counts all components
  double rate_factor = 1.0;     // of the hazard of all failures (what-if answers)
};

// Whether bad nodes are struck more often by this cause than good ones.
[[nodiscard]] bool feels_lemons(const PlannedCause& cause);

}  // namespace orrery::run
