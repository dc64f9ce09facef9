// Keys of `recovery`: how the job comes back.

#include "sim/scenario/key_makers.hpp"
#include "sim/scenario/key_table.hpp"

namespace orrery::scenario {

namespace {

std::vector<std::string> recovery_names() {
  std::vector<std::string> names;
  for (const run::RecoveryPreset& preset : run::recovery_presets()) {
    names.emplace_back(preset.name);
  }
  return names;
}

void add_recovery(std::vector<Key>& keys) {
  keys.push_back(section_key(
      {.path = "recovery",
       .note = "only loading the checkpoint takes time",
       .meaning = "How long the stages after a failure last, one after the other; each is a time "
                  "or a law.",
       .example = "{detect: 5min, diagnose: {median: 30min, sigma: 1.5}, reschedule: 2min}"}));
  keys.push_back(
      name_key({.path = "recovery.preset",
                .note = "none",
                .meaning = "Published recovery times; `orrery list` shows their sources. Stages "
                           "beside it replace its own.",
                .example = "megascale-2024"},
               recovery_names(),
               [](Draft& draft, const std::string& name) { draft.run.recovery.preset = name; }));
  add_recovery_keys(keys, "recovery", {}, [](Draft& draft) -> run::RecoveryStages& {
    return draft.run.recovery.stages;
  });
}

}  // namespace

std::vector<Key> recovery_keys() {
  std::vector<Key> keys;
  add_recovery(keys);
  return keys;
}

}  // namespace orrery::scenario
