#include "sim/scenario/rules/what_fails.hpp"

#include <optional>

namespace orrery::scenario {

namespace {

bool has_rate(const run::FailureSpec& failures, bool of_nodes) {
  const auto positive = [](const std::optional<PerSecond>& stated,
                           const std::optional<PerSecond>& otherwise) {
    return stated.value_or(otherwise.value_or(PerSecond{})) > PerSecond{};
  };
  const run::FailureSpec base = failures.preset ? failures.preset->spec : run::FailureSpec{};
  return positive(failures.node_rate, base.node_rate) ||
         (!of_nodes && positive(failures.job_rate, base.job_rate));
}

// Failures that come by themselves: at a rate, by the lives of parts, from a log, from the
// provider.
}  // namespace

bool can_fail(const run::RunSpec& run) {
  const run::FailureSpec& failures = run.failures;
  return has_rate(failures, false) || !failures.log.empty() || run.capacity.spot ||
         any_cause(failures, [](const run::FailureCause& c) { return c.life.has_value(); });
}

bool can_restart(const run::FailureSpec& failures) {
  const auto evicts = [](const std::vector<run::SlowdownSpec>& slow) {
    return std::any_of(slow.begin(), slow.end(),
                       [](const run::SlowdownSpec& s) { return s.evict_after.has_value(); });
  };
  return failures.silent || (failures.spikes && failures.spikes->rewind_steps) ||
         evicts(failures.stragglers) || evicts(failures.network);
}

bool nodes_can_fail(const run::RunSpec& run) {
  const run::FailureSpec& failures = run.failures;
  return has_rate(failures, true) || !failures.log.empty() || run.capacity.spot ||
         can_restart(failures) || any_cause(failures, [](const run::FailureCause& c) {
           return c.life.has_value() && c.takes_nodes.value_or(1) > 0 &&
                  c.takes_node.value_or(run::takes_node_by_default(c.category));
         });
}

}  // namespace orrery::scenario
