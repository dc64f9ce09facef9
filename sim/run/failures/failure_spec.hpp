#pragma once

// Failures as the scenario states them: what breaks, how often, and what each kind takes with it.
//
//   rate of the job = nodes * node_rate + job_rate;   MTBF = 1 / rate
//   node_rate = failures per 1,000 node-days / (1,000 node-days)
//
// Times between failures are exponential. A cause that takes its node away needs a spare or a
// repair before training resumes; the others resume on the same nodes. Nodes that are idle, as
// spares or in a job that waits, do not fail. A node here is a host of usually 8 GPUs; published
// rates count such hosts.
//
//   mean repair = first + by_hand * manual

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

enum class FailureCategory { gpu, network, host, maintenance, software, dependency, unknown };

inline constexpr std::size_t kFailureCategoryCount = 7;

[[nodiscard]] constexpr std::string_view to_string(FailureCategory category) {
  constexpr std::array<std::string_view, kFailureCategoryCount> kNames = {
      "gpu", "network", "host", "maintenance", "software", "dependency", "unknown"};
  return kNames[static_cast<std::size_t>(category)];
}

// True for hardware: the node (or the hosts behind a link) must be replaced or repaired.
[[nodiscard]] constexpr bool takes_node_by_default(FailureCategory category) {
  using enum FailureCategory;
  return category == gpu || category == network || category == host || category == maintenance;
}

// What one unit of a cause is, and so how many of them the job has.
enum class FailureScope { gpu, node, rack, network_switch, power_domain, storage, job };

inline constexpr std::size_t kFailureScopeCount = 7;

[[nodiscard]] constexpr std::string_view to_string(FailureScope scope) {
  constexpr std::array<std::string_view, kFailureScopeCount> kNames = {
      "gpu", "node", "rack", "switch", "power_domain", "storage", "job"};
  return kNames[static_cast<std::size_t>(scope)];
}

// A crash is noticed at once; a hang only when a watchdog runs out or an inspection finds it.
enum class Symptom { crash, hang };

struct FailureCause {
  std::string name;
  FailureCategory category = FailureCategory::unknown;
  double weight = 1.0;             // share of node_rate; only without a law
  std::optional<bool> takes_node;  // default: by category
  RecoveryStages recovery;         // stages stated here replace those of the job's recovery
  std::optional<LifeLaw> life;     // of one unit; stated: the cause has a rate of its own
  InitialAge age;                  // of its components at the start
  FailureScope scope = FailureScope::node;
  std::optional<std::int64_t> takes_nodes;  // how many, where it is not all of the unit
  Symptom symptom = Symptom::crash;
};

// A cause that shares the node rate.
[[nodiscard]] inline FailureCause failure_cause(std::string_view name, FailureCategory category,
                                                double weight = 1.0) {
  FailureCause cause;
  cause.name = name;
  cause.category = category;
  cause.weight = weight;
  return cause;
}

// Nodes behind one rack, one switch, one power feed.
struct FailureDomains {
  std::optional<std::int64_t> rack;
  std::optional<std::int64_t> network_switch;
  std::optional<std::int64_t> power_domain;
};

// New machines fail more often: hazards of hardware are multiplied by
// 1 + (factor - 1) * exp(-(age + t) / decay).
struct BurnInSpec {
  double factor = 1.0;
  Seconds decay;
  Seconds age;  // of the fleet at the start of the run
};

// Hazards of hardware are multiplied by `factor` from `begin` until `end` of the run.
struct EpisodeSpec {
  Seconds begin;
  Seconds end;
  double factor = 1.0;
};

// Nodes with a multiple of the hazard of the others.
struct LemonSpec {
  double fraction = 0.0;                     // of all nodes, spares included
  double factor = 1.0;                       // of the hazard of a good node
  std::optional<std::int64_t> remove_after;  // failures; the node does not come back then
};

// One line of a failure log.
struct LoggedFailure {
  Seconds at;                         // since the start of the run
  std::string cause;                  // name of a cause; a new one when it is not known
  std::optional<std::int64_t> nodes;  // that it takes out; default: those of its cause
  std::optional<Seconds> outage;      // until training resumes; default: the recovery
};

struct MaintenanceSpec {
  PerSecond rate;  // planned stops, evenly spaced in time
  Seconds stall;   // from the stop to the next step, after a checkpoint was saved
};

// How long a node that a failure took is away.
struct RepairLaw {
  Duration first = fixed(Seconds{});   // reset or reboot, and the tests after it
  double by_hand = 0.0;                // share of the nodes that need hands after it
  Duration manual = fixed(Seconds{});  // until those are back; days where parts are sent
};

// Of failures of which nothing else is known: most nodes are back after a reboot.
//
// A reset or reboot and its tests: 5 to 30 min (assumed; Delta, arXiv 2503.11901, reckons with 5
// min for a fast recovery). Unicron (arXiv 2401.00134) counts 73 % of errors as transient, cured by
// a restart. Hands: lognormal, as Schroeder and Gibson (DSN 2006) find repairs, with a median of 8
// h and a mean of 25 h: one in fourteen takes more than three days, the wait for a part. A
// technician swaps a part in hours, and an exchange takes 3 to 14 working days by a vendor's note:
// the two moments are assumed from that.
[[nodiscard]] inline RepairLaw field_repair() {
  constexpr double kTransient = 0.73;
  return {.first = UniformLaw{minutes(5.0), minutes(30.0)},
          .by_hand = 1.0 - kTransient,
          .manual = lognormal_with_mean(hours(8.0), hours(25.0))};
}

// Failures without a crash: silent corruption, slow nodes and links, loss spikes.
//
// What the run does at each of them: run/run_plan.hpp.

// A factor of at least 1 whose excess is lognormal: 1 + (median - 1) * exp(sigma * z).
struct FactorLaw {
  double median = 1.0;           // of several in `any`: their mean
  double sigma = 0.0;            // 0: always the median
  std::vector<double> any = {};  // where there are some, one of these, each as likely
};

// Links somewhere on the cluster that run at a share of their rate: NICs of a node, or the uplinks
// of a switch. What that makes of a step is the step stage's to say (evaluate/inputs/fault_steps).
struct LinkFault {
  std::optional<std::int64_t> nics;     // of one node; absent, without a tier: all of them
  std::string tier;                     // of the switch, where its uplinks are meant
  std::optional<std::int64_t> uplinks;  // so many of them; absent: all
  double share = 1.0;
};

// Exactly one of the rates is stated.
struct SlowdownSpec {
  std::string name;
  std::optional<PerSecond> node_rate;    // begins per node and time
  std::optional<PerSecond> job_rate;     // begins per time, whatever the size of the job
  FactorLaw slowdown = {.median = 0.0};  // 0: not stated
  std::optional<LinkFault> fault = {};   // in its place, of links
  Duration duration;                     // until it ends by itself
  std::optional<Seconds> evict_after;    // then the node is replaced through a restart
  RecoveryStages recovery;               // of that restart, where it differs from the job's
};

struct SilentSpec {
  std::optional<PerSecond> node_rate;  // first corruptions by a host
  std::optional<PerSecond> job_rate;
  Duration detection;     // from the first wrong result until the job knows
  double repeats = 0.0;   // probability that the host stays in the job and corrupts again
  Duration repeat_after;  // from the restart until it does
  double checks = 1.0;    // factor of every step
  // Hosts evicted for nothing: per node and time, or for the job as a whole.
  std::optional<PerSecond> false_alarm_node_rate;
  std::optional<PerSecond> false_alarm_job_rate;
  RecoveryStages recovery;
};

// A rule that calls a spike whatever lies k standard deviations above the mean, and what it calls
// one that is none.
//
//   p = P(X > k) for one series;  false alarms per step = 1 - (1 - p)^n
//   Gaussian:                       P(X > k) = erfc(k / sqrt 2) / 2
//   Student's t, nu deg. of freedom: P(X > k) = P(T > k sqrt(nu / (nu - 2)))  (scaled to sigma 1)
//
// symbol | meaning                                              | unit | origin
// -------|------------------------------------------------------|------|------------------------
// k      | threshold                                            | 1    | rule.sigma
// n      | independent series watched: loss, gradient norm, ranks | 1  | rule.series
// nu     | heaviness of the tails of a step's noise             | 1    | rule.degrees_of_freedom
//
// Mean and standard deviation are taken as known: those of a window of w steps add about k^2 / 2w.
struct SpikeRule {
  double sigma = 0.0;
  std::int64_t series = 1;
  std::optional<double> degrees_of_freedom = {};  // absent: Gaussian
};

[[nodiscard]] double false_alarms_per_step(const SpikeRule& rule);

// At most one of rate and every_steps is stated, one of them or a rule, and exactly one of
// rewind_steps and skip_steps.
struct SpikeSpec {
  std::optional<PerSecond> rate;             // per time of training
  std::optional<std::int64_t> every_steps;   // mean number of steps between two
  std::optional<SpikeRule> rule = {};        // whose false alarms have the same consequence
  std::optional<std::int64_t> rewind_steps;  // back to a checkpoint at least that far behind
  std::optional<std::int64_t> skip_steps;    // steps done in vain; training goes on
  RecoveryStages recovery;                   // of a rewind
};

struct FailurePreset;

// Every field left out comes from the preset; without a preset it means "none".
struct FailureSpec {
  std::shared_ptr<const FailurePreset> preset;
  std::optional<PerSecond> node_rate;    // failures of one node, all causes together
  std::optional<PerSecond> job_rate;     // of the job as a whole, whatever its size
  bool during_recovery = true;           // false: nothing fails until training goes on
  std::vector<FailureCause> causes;      // empty: the preset's
  std::vector<FailureCause> correlated;  // beside those, each with a life of its own
  FailureDomains domains;
  std::optional<BurnInSpec> burn_in;
  std::vector<double> by_hour;  // multiplier of the hazards of hardware by hour of the day, UTC
  std::vector<EpisodeSpec> episodes;
  std::optional<LemonSpec> lemons;
  std::vector<SlowdownSpec> stragglers;
  std::vector<SlowdownSpec> network;  // degraded links
  std::optional<SilentSpec> silent;
  std::optional<SpikeSpec> spikes;
  std::string log;                                      // path of a CSV file, or empty
  std::optional<std::vector<LoggedFailure>> log_lines;  // what it holds; replaces random failures
  std::optional<MaintenanceSpec> maintenance;
  std::optional<Seconds> unitemised_per_day;
  std::optional<RepairLaw> repair;  // absent: field_repair()
};

struct FailurePreset {
  std::string name;
  FailureSpec spec;
};

}  // namespace orrery::run
