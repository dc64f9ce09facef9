#pragma once

// What breaks, how often, and what does each kind of failure take with it?
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
// repair before training resumes; the others resume on the same nodes. Idle spares do not fail. A
// node here is a host of usually 8 GPUs; published rates count such hosts.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/recovery_spec.hpp"

namespace orrery::run {

enum class FailureCategory { gpu, network, host, maintenance, software, dependency, unknown };

inline constexpr std::size_t kFailureCategoryCount = 7;

[[nodiscard]] std::string_view to_string(FailureCategory category);

// True for hardware: the node (or the hosts behind a link) must be replaced or repaired.
[[nodiscard]] bool takes_node_by_default(FailureCategory category);

struct FailureCause {
  std::string name;
  FailureCategory category = FailureCategory::unknown;
  double weight = 1.0;
  std::optional<bool> takes_node;  // default: by category
  RecoveryStages recovery;         // stages stated here replace those of the job's recovery
};

struct MaintenanceSpec {
  PerSecond rate;  // planned stops, evenly spaced in time
  Seconds stall;   // from the stop to the next step, after a checkpoint was saved
};

// Every field left out comes from the preset; without a preset it means "none".
struct FailureSpec {
  std::string preset;
  std::optional<PerSecond> node_rate;
  std::optional<PerSecond> job_rate;
  std::vector<FailureCause> causes;  // of the node process; empty: the preset's
  std::optional<MaintenanceSpec> maintenance;
  std::optional<Seconds> unitemised_per_day;
};

struct FailurePreset {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  FailureSpec spec;
};

// Failures per node and second from the usual published unit, and back.
[[nodiscard]] PerSecond per_thousand_node_days(double failures);
[[nodiscard]] double in_per_thousand_node_days(PerSecond rate);

[[nodiscard]] std::span<const FailurePreset> failure_presets();
[[nodiscard]] const FailurePreset* find_failure_preset(std::string_view name);

}  // namespace orrery::run
