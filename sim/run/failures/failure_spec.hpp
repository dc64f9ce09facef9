#pragma once

// Failures as the scenario states them: what breaks, how often, and what each kind takes with it.
//
//   rate of the job = nodes * node_rate + job_rate;   MTBF = 1 / rate
//   node_rate = failures per 1,000 node-days / (1,000 node-days)
//
// symbol      | meaning                                                | unit    | origin
// ------------|--------------------------------------------------------|---------|----------------
// node_rate   | failures of one node per second, all causes together   | 1/s     | preset, scenario
// job_rate    | failures of the job as a whole, whatever its size      | 1/s     | scenario
// weight      | relative frequency of a cause of the node process      | 1       | preset, scenario
// maintenance | planned stops: how often, and how long training stands | 1/s, s  | preset, scenario
// unitemised  | downtime per day that no cause explains                | s per d | scenario
//
// Times between failures are exponential. A cause that takes its node away needs a spare or a
// repair before training resumes; the others resume on the same nodes. Nodes that are idle, as
// spares or in a job that waits, do not fail. A node here is a host of usually 8 GPUs; published
// rates count such hosts.
//
//   mean repair = first + by_hand * manual
//
// symbol  | meaning                                                          | unit | origin
// --------|------------------------------------------------------------------|------|-------
// first   | reset or reboot, and the tests after it                          | s    | preset
// by_hand | share of the nodes that need hands after it                      | 1    | preset
// manual  | until those are back: hours for most, days where parts are sent  | s    | preset

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/failures/life_law.hpp"
#include "sim/run/failures/silent_spec.hpp"
#include "sim/run/recovery/recovery_spec.hpp"

namespace orrery::run {

enum class FailureCategory { gpu, network, host, maintenance, software, dependency, unknown };

inline constexpr std::size_t kFailureCategoryCount = 7;

[[nodiscard]] std::string_view to_string(FailureCategory category);

// True for hardware: the node (or the hosts behind a link) must be replaced or repaired.
[[nodiscard]] bool takes_node_by_default(FailureCategory category);

// What one unit of a cause is, and so how many of them the job has.
enum class FailureScope { gpu, node, rack, network_switch, power_domain, storage, job };

inline constexpr std::size_t kFailureScopeCount = 7;

[[nodiscard]] std::string_view to_string(FailureScope scope);

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
[[nodiscard]] FailureCause failure_cause(std::string_view name,
                                         FailureCategory category,
                                         double weight = 1.0);

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
  Duration first = fixed(Seconds{});
  double by_hand = 0.0;
  Duration manual = fixed(Seconds{});
};

// Of failures of which nothing else is known: most nodes are back after a reboot.
[[nodiscard]] RepairLaw field_repair();

struct FailurePreset;

// Every field left out comes from the preset; without a preset it means "none".
struct FailureSpec {
  std::shared_ptr<const FailurePreset> preset;
  std::optional<PerSecond> node_rate;
  std::optional<PerSecond> job_rate;
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
