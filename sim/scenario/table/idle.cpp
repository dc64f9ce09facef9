#include "sim/scenario/table/idle.hpp"

#include <fmt/core.h>

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

}  // namespace orrery::scenario
