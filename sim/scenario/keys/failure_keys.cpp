// Keys of `failures`: what breaks.

#include <fmt/core.h>

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

namespace kind = yaml::kind;

// One law per cause; those that share node_rate have none.
void check_cause(const yaml::Value& value, const std::string& path, Reading& reading) {
  const auto stated = [&](std::string_view name) {
    return reading.draft.stated(fmt::format("{}.{}", path, name));
  };
  const auto refuse = [&](std::string_view message, std::string_view allowed) {
    yaml::report(reading.diagnostics, value.where, path, std::string(message), allowed);
  };
  if (stated("rate") && stated("life")) {
    refuse("states both a rate and a life", "one of them");
  } else if (stated("weight") && (stated("rate") || stated("life"))) {
    refuse("has a weight beside a law of its own", "weight, rate or life");
  } else if (path.starts_with("failures.correlated") && !stated("rate") && !stated("life")) {
    refuse("has no rate", "rate or life");
  } else if (stated("takes_node") && stated("takes_nodes")) {
    refuse("says twice what it takes", "takes_node or takes_nodes");
  } else if (stated("age") && !stated("life")) {
    refuse("states an age, which matters only to a life that is not exponential", "life");
  }
}

void add_rates(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "failures",
                              .note = "nothing fails",
                              .meaning = "What breaks, how often, and what is slow or wrong.",
                              .example = "{node_rate: 0.0065/d}",
                              .idle = {kNoRun}}));
  keys.push_back(preset_key(
      {.path = "failures.preset",
       .note = "none; what is not stated does not happen",
       .meaning = "Published failures of one cluster; `orrery list` shows their sources. "
                  "Keys beside it replace its own.",
       .example = "llama3-2024"},
      PresetKind::failures, preset_at(&Preset::failures, ORRERY_AT(run.failures.preset))));
  keys.push_back(value_key<kind::EventRate>(
      {.path = "failures.node_rate",
       .note = "the preset's; else none",
       .meaning = "Failures of one node per time, all causes together. 6.5 per 1,000 node-days are "
                  "0.0065/d.",
       .example = "0.0065/d"},
      {}, ORRERY_AT(run.failures.node_rate)));
  keys.push_back(value_key<kind::EventRate>(
      {.path = "failures.job_rate",
       .note = "the preset's; else none",
       .meaning = "Failures of the job as a whole per time, whatever its size (software).",
       .example = "0.5/d"},
      {}, ORRERY_AT(run.failures.job_rate)));
}

void add_causes(std::vector<Key>& keys) {
  const std::string path = "failures.causes[]";
  Key causes = list_key(
      {.path = "failures.causes",
       .note = "the preset's; else one cause, `node failure`",
       .meaning = "Kinds of failures, each with a rate or a life of its own, or "
                  "a share of node_rate by weight.",
       .example = "[{name: GPU, category: gpu, weight: 3}, {name: NIC, category: "
                  "network}]",
       .idle = {kNothingFails,
                {[](const Draft& d) {
                   return nodes_never_fail(d) &&
                          !any_cause(d.run.failures,
                                     [](const run::FailureCause& c) { return c.life.has_value(); });
                 },
                 "they share node_rate, which is 0"}}},
      ORRERY_AT(run.failures.causes));
  causes.end = check_cause;
  keys.push_back(std::move(causes));
  keys.push_back(value_key<kind::Number>(
      {.path = path + ".weight",
       .fallback = "1",
       .meaning = "Frequency relative to the other causes without rate and life.",
       .example = "148"},
      yaml::between(0.0, kTera), ORRERY_AT(run.failures.causes.back().weight)));
  keys.push_back(flag_key(
      {.path = path + ".takes_node",
       .note = "by category",
       .meaning = "The nodes that are hit are replaced by spares or repaired before training "
                  "resumes.",
       .example = "true"},
      ORRERY_AT(run.failures.causes.back().takes_node)));
  add_cause_keys(keys, path, ORRERY_AT(run.failures.causes.back()));
  Key correlated = list_key(
      {.path = "failures.correlated",
       .note = "the preset's; else none",
       .meaning = "Failures beside the causes, each with a rate or life of its own: of racks, "
                  "switches, power domains, the storage.",
       .example = "[{name: top-of-rack switch, category: network, scope: node, rate: 0.001/d}]"},
      ORRERY_AT(run.failures.correlated));
  correlated.end = check_cause;
  keys.push_back(std::move(correlated));
  add_cause_keys(keys, "failures.correlated[]", ORRERY_AT(run.failures.correlated.back()));
}

void add_stops(std::vector<Key>& keys) {
  keys.push_back(
      section_at({.path = "failures.maintenance",
                  .note = "the preset's; else none",
                  .meaning = "Planned stops, evenly spaced, each after a checkpoint was saved.",
                  .example = "{rate: 0.87/d, stall: 10min}"},
                 ORRERY_AT(run.failures.maintenance)));
  keys.push_back(value_key<kind::EventRate>({.path = "failures.maintenance.rate",
                                             .meaning = "Planned stops per time.",
                                             .example = "0.87/d",
                                             .required = true},
                                            {}, ORRERY_AT(run.failures.maintenance->rate)));
  keys.push_back(value_key<kind::Time>({.path = "failures.maintenance.stall",
                                        .meaning = "From the stop to the next step.",
                                        .example = "10min",
                                        .required = true},
                                       yaml::at_most(days(365.0)),
                                       ORRERY_AT(run.failures.maintenance->stall)));
  keys.push_back(flag_key(
      {.path = "failures.during_recovery",
       .fallback = "true",
       .meaning = "Failures strike while the job recovers, too, and start the recovery again.",
       .example = "false"},
      ORRERY_AT(run.failures.during_recovery)));
  keys.push_back(value_key<kind::Time>({.path = "failures.unitemised",
                                        .aliases = {"unitemised_per_day"},
                                        .note = "the preset's; else none",
                                        .meaning = "Downtime per day that no cause explains.",
                                        .example = "30min"},
                                       yaml::at_most(days(1.0)),
                                       ORRERY_AT(run.failures.unitemised_per_day)));
}

}  // namespace

std::vector<Key> failure_keys() {
  std::vector<Key> keys;
  add_rates(keys);
  add_causes(keys);
  add_hazard_keys(keys);
  add_silent_keys(keys);
  add_stops(keys);
  return keys;
}

// Keys of one cause of failures, in any of the lists of `failures`.

namespace {

using run::FailureCategory;
using run::FailureScope;

std::vector<yaml::Choice<FailureCategory>> categories() {
  std::vector<yaml::Choice<FailureCategory>> result;
  for (std::size_t i = 0; i < run::kFailureCategoryCount; ++i) {
    const auto category = static_cast<FailureCategory>(i);
    result.push_back({run::to_string(category), category});
  }
  return result;
}

std::vector<yaml::Choice<FailureScope>> scopes() {
  std::vector<yaml::Choice<FailureScope>> result;
  for (std::size_t i = 0; i < run::kFailureScopeCount; ++i) {
    const auto scope = static_cast<FailureScope>(i);
    result.push_back({run::to_string(scope), scope});
  }
  return result;
}

void add_who(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  keys.push_back(text_key(
      {.path = path + ".name",
       .meaning = "What reports call the cause.",
       .example = "GPU memory",
       .required = true},
      [cause](Draft & draft) -> auto& { return cause(draft).name; }));
  keys.push_back(choice_key<FailureCategory>(
      {.path = path + ".category",
       .fallback = "unknown",
       .meaning = "Row of the failure table. gpu, network, host and maintenance take the node "
                  "away; gpu, network, host and unknown feel heat, burn-in and lemons.",
       .example = "gpu"},
      categories(), [cause](Draft & draft) -> auto& { return cause(draft).category; }));
  keys.push_back(choice_key<FailureScope>(
      {.path = path + ".scope",
       .fallback = "node",
       .meaning = "What one strike hits: a GPU or node (its node), a rack, switch or power_domain "
                  "(all nodes of failures.domains), the storage or the job (no node).",
       .example = "rack"},
      scopes(), [cause](Draft & draft) -> auto& { return cause(draft).scope; }));
  keys.push_back(choice_key<run::Symptom>(
      {.path = path + ".symptom",
       .fallback = "crash",
       .meaning = "A crash ends the job at once; a hang is found by recovery.watchdog or "
                  "recovery.inspection.",
       .example = "hang"},
      {{"crash", run::Symptom::crash}, {"hang", run::Symptom::hang}},
      [cause](Draft & draft) -> auto& { return cause(draft).symptom; }));
}

void add_law(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  keys.push_back(value_key<kind::EventRate>(
      {.path = path + ".rate",
       .note = "a share of node_rate by weight",
       .meaning = "Strikes of one unit of the scope per time: of one GPU, node, rack, switch, "
                  "power domain, of the storage or of the job.",
       .example = "0.002/d"},
      {}, [cause](Draft& draft, const PerSecond& value) {
        cause(draft).life = run::ExponentialLaw{1.0 / value};
      }));
  add_life_keys(
      keys,
      {.path = path + ".life",
       .note = "exponential, by rate or weight",
       .meaning = "Law of the time from the repair of one unit to its next failure; its "
                  "age survives restarts of the job. A time is the mean of an "
                  "exponential law.",
       .example = "{mean: 400d, shape: 0.8}"},
      [cause](Draft & draft) -> auto& { return cause(draft).life; });
  keys.push_back(age_key(
      {.path = path + ".age",
       .fallback = "stationary",
       .meaning = "Age of the components at the start: stationary (as in a "
                  "fleet long in use), new, or one age for all.",
       .example = "new"},
      [cause](Draft & draft) -> auto& { return cause(draft).age; }));
}

void add_consequences(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  keys.push_back(count_key(
      {.path = path + ".takes_nodes",
       .note = "all that are hit, where the category takes nodes away",
       .meaning = "Nodes that one strike takes out; they are replaced or repaired before training "
                  "resumes. 0: the same nodes go on.",
       .example = "0"},
      {0, 1'000'000}, [cause](Draft & draft) -> auto& { return cause(draft).takes_nodes; }));
  keys.push_back(section_key({.path = path + ".recovery",
                              .note = "as `recovery`",
                              .meaning = "Stages that last differently after this cause.",
                              .example = "{diagnose: 2h}"}));
  add_recovery_keys(
      keys, path + ".recovery", "as `recovery`",
      [cause](Draft& draft) -> run::RecoveryStages& { return cause(draft).recovery; });
}

}  // namespace

void add_cause_keys(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  add_who(keys, path, cause);
  add_law(keys, path, cause);
  add_consequences(keys, path, cause);
}

}  // namespace orrery::scenario
