// Keys of `failures`: what breaks.

#include "sim/scenario/key_makers.hpp"
#include "sim/scenario/key_table.hpp"

namespace orrery::scenario {

namespace {

using run::FailureCategory;
using run::FailureCause;
using run::MaintenanceSpec;
namespace kind = yaml::kind;

FailureCause& last_cause(Draft& draft) {
  return draft.run.failures.causes.back();
}

MaintenanceSpec& maintenance(Draft& draft) {
  return *draft.run.failures.maintenance;
}

std::vector<std::string> failure_names() {
  std::vector<std::string> names;
  for (const run::FailurePreset& preset : run::failure_presets()) {
    names.emplace_back(preset.name);
  }
  return names;
}

void add_rates(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "failures",
                              .note = "nothing fails",
                              .meaning = "What breaks and how often; times between failures are "
                                         "exponential.",
                              .example = "{node_rate: 0.0065/d}"}));
  keys.push_back(
      name_key({.path = "failures.preset",
                .note = "none; what is not stated does not happen",
                .meaning = "Published failures of one cluster; `orrery list` shows their sources. "
                           "Keys beside it replace its own.",
                .example = "llama3-2024"},
               failure_names(),
               [](Draft& draft, const std::string& name) { draft.run.failures.preset = name; }));
  keys.push_back(value_key<kind::EventRate>(
      {.path = "failures.node_rate",
       .note = "the preset's; else none",
       .meaning = "Failures of one node per time, all causes together. 6.5 per 1,000 node-days are "
                  "0.0065/d.",
       .example = "0.0065/d"},
      {},
      [](Draft& draft, const PerSecond& value) { draft.run.failures.node_rate = value; }));
  keys.push_back(value_key<kind::EventRate>(
      {.path = "failures.job_rate",
       .note = "the preset's; else none",
       .meaning = "Failures of the job as a whole per time, whatever its size (software).",
       .example = "0.5/d"},
      {},
      [](Draft& draft, const PerSecond& value) { draft.run.failures.job_rate = value; }));
}

void add_causes(std::vector<Key>& keys) {
  Key causes = list_key({.path = "failures.causes",
                         .note = "the preset's; else one cause, `node failure`",
                         .meaning = "Kinds of node failures; they share node_rate by weight.",
                         .example = "[{name: GPU, category: gpu, weight: 3}, {name: NIC, category: "
                                    "network}]"},
                        [](Draft& draft) { draft.run.failures.causes.emplace_back(); });
  keys.push_back(std::move(causes));
  keys.push_back(
      text_key({.path = "failures.causes[].name",
                .meaning = "What reports call the cause.",
                .example = "GPU memory",
                .required = true},
               [](Draft& draft, const std::string& value) { last_cause(draft).name = value; }));
  std::vector<yaml::Choice<FailureCategory>> categories;
  for (std::size_t i = 0; i < run::kFailureCategoryCount; ++i) {
    const auto category = static_cast<FailureCategory>(i);
    categories.push_back({run::to_string(category), category});
  }
  keys.push_back(choice_key<FailureCategory>(
      {.path = "failures.causes[].category",
       .fallback = "unknown",
       .meaning = "Row of the failure table; gpu, network, host and maintenance take the node "
                  "away.",
       .example = "gpu"},
      std::move(categories),
      [](Draft& draft, FailureCategory value) { last_cause(draft).category = value; }));
  keys.push_back(value_key<kind::Number>(
      {.path = "failures.causes[].weight",
       .fallback = "1",
       .meaning = "Frequency relative to the other causes.",
       .example = "148"},
      yaml::between(0.0, kTera),
      [](Draft& draft, const double& value) { last_cause(draft).weight = value; }));
  keys.push_back(value_key<kind::Boolean>(
      {.path = "failures.causes[].takes_node",
       .note = "by category",
       .meaning = "The node is replaced by a spare or repaired before training resumes.",
       .example = "true"},
      {},
      [](Draft& draft, const bool& value) { last_cause(draft).takes_node = value; }));
  keys.push_back(section_key({.path = "failures.causes[].recovery",
                              .note = "as `recovery`",
                              .meaning = "Stages that last differently after this cause.",
                              .example = "{diagnose: 2h}"}));
  add_recovery_keys(
      keys,
      "failures.causes[].recovery",
      "as `recovery`",
      [](Draft& draft) -> run::RecoveryStages& { return last_cause(draft).recovery; });
}

void add_stops(std::vector<Key>& keys) {
  keys.push_back(
      section_key({.path = "failures.maintenance",
                   .note = "the preset's; else none",
                   .meaning = "Planned stops, evenly spaced, each after a checkpoint was saved.",
                   .example = "{rate: 0.87/d, stall: 10min}"},
                  [](Draft& draft) { draft.run.failures.maintenance.emplace(); }));
  keys.push_back(value_key<kind::EventRate>(
      {.path = "failures.maintenance.rate",
       .meaning = "Planned stops per time.",
       .example = "0.87/d",
       .required = true},
      {},
      [](Draft& draft, const PerSecond& value) { maintenance(draft).rate = value; }));
  keys.push_back(value_key<kind::Time>(
      {.path = "failures.maintenance.stall",
       .meaning = "From the stop to the next step.",
       .example = "10min",
       .required = true},
      yaml::at_most(days(365.0)),
      [](Draft& draft, const Seconds& value) { maintenance(draft).stall = value; }));
  keys.push_back(value_key<kind::Time>(
      {.path = "failures.unitemised",
       .aliases = {"unitemised_per_day"},
       .note = "the preset's; else none",
       .meaning = "Downtime per day that no cause explains.",
       .example = "30min"},
      yaml::at_most(days(1.0)),
      [](Draft& draft, const Seconds& value) { draft.run.failures.unitemised_per_day = value; }));
}

}  // namespace

std::vector<Key> failure_keys() {
  std::vector<Key> keys;
  add_rates(keys);
  add_causes(keys);
  add_stops(keys);
  return keys;
}

}  // namespace orrery::scenario
