#include "sim/scenario/table/idle.hpp"

#include <fmt/core.h>

#include <optional>

#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

bool in_run(const Draft& draft) { return draft.stated("training"); }

bool never_fails(const Draft& draft) {
  return in_run(draft) && !can_fail(draft.run) && !can_restart(draft.run.failures);
}

bool nodes_never_fail(const Draft& draft) {
  return in_run(draft) && !never_fails(draft) && !nodes_can_fail(draft.run);
}

bool shares_no_gradients(const Draft& draft) {
  const layout::LayoutSpec& layout = draft.scenario.layout;
  const hardware::ClusterSpec& cluster = draft.scenario.cluster;
  const std::int64_t model_gpus = layout.tensor * layout.context * layout.pipeline;
  const std::int64_t data = cluster.nodes * cluster.gpus_per_node / model_gpus;
  return layout.data.value_or(data) * layout.context == 1;
}

void warn_about_idle_keys(Reading& reading) {
  if (reading.diagnostics.has_errors()) {
    return;
  }
  const Draft& draft = reading.draft;
  for (const Key& key : key_table()) {
    for (const Idle& idle : key.idle) {
      if (draft.stated(key.path) && idle.when(draft)) {
        reading.diagnostics.warning(draft.scenario.where(key.path), key.path,
                                    fmt::format("has no effect: {}", idle.reason));
      }
    }
  }
}

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
    return std::ranges::any_of(
        slow, [](const run::SlowdownSpec& s) { return s.evict_after.has_value(); });
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
