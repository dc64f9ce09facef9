#pragma once

// Resolves a cause of a spec into a cause of the plan: units, nodes taken, law and stages of one
// cause at a time. Internal to run/.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// The exponential law of a rate; rate 0 never happens.
[[nodiscard]] LifeLaw at_rate(PerSecond rate);

// Appends to RunPlan::causes. Keeps references to all its arguments.
class CausePlanner {
 public:
  CausePlanner(const FailureSpec& spec, RunPlan& plan, Findings& findings)
      : spec_(spec), plan_(plan), findings_(findings) {}

  // A cause without a law of its own has `share` of the node rate.
  void add(const FailureCause& cause, std::string_view key, PerSecond share);

  // A cause that strikes nodes one by one, or else the job as a whole, at the rate that is stated,
  // and takes one node. Returns its index.
  std::int32_t add_process(std::string_view name,
                           std::optional<PerSecond> node_rate,
                           std::optional<PerSecond> job_rate,
                           const RecoveryStages& stages,
                           std::string_view key);

 private:
  void check(const FailureCause& cause, std::string_view key);
  [[nodiscard]] PlannedCause resolve(const FailureCause& cause) const;

  const FailureSpec& spec_;
  RunPlan& plan_;
  Findings& findings_;
};

}  // namespace orrery::run
