// Keys of `failures`: what breaks.

#include <fmt/core.h>

#include "sim/scenario/keys/cause_keys.hpp"
#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_makers.hpp"
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

void add_rates(Rows& keys) {
  keys.section("failures", "What breaks, how often, and what is slow or wrong.",
               "{node_rate: 0.0065/d}", {.note = "nothing fails", .idle = {kNoRun}});
  keys.preset("failures.preset",
              "Published failures of one cluster; `orrery list` shows their sources. Keys beside "
              "it replace its own.",
              "llama3-2024", PresetKind::failures,
              preset_at(&Preset::failures, ORRERY_AT(run.failures.preset)),
              {.note = "none; what is not stated does not happen"});
  keys.value<kind::EventRate>(
      "failures.node_rate",
      "Failures of one node per time, all causes together. 6.5 per 1,000 node-days are 0.0065/d.",
      "0.0065/d", {}, ORRERY_AT(run.failures.node_rate), {.note = "the preset's; else none"});
  keys.value<kind::EventRate>(
      "failures.job_rate", "Failures of the job as a whole per time, whatever its size (software).",
      "0.5/d", {}, ORRERY_AT(run.failures.job_rate), {.note = "the preset's; else none"});
}

void add_causes(Rows& keys) {
  const std::string path = "failures.causes[]";
  Key& causes = keys.list(
      "failures.causes",
      "Kinds of failures, each with a rate or a life of its own, or a share of node_rate by "
      "weight.",
      "[{name: GPU, category: gpu, weight: 3}, {name: NIC, category: network}]",
      ORRERY_AT(run.failures.causes),
      {.note = "the preset's; else one cause, `node failure`",
       .idle = {kNothingFails,
                {[](const Draft& d) {
                   return nodes_never_fail(d) &&
                          !any_cause(d.run.failures,
                                     [](const run::FailureCause& c) { return c.life.has_value(); });
                 },
                 "they share node_rate, which is 0"}}});
  causes.end = check_cause;
  keys.value<kind::Number>(
      path + ".weight", "Frequency relative to the other causes without rate and life.", "148",
      yaml::between(0.0, kTera), ORRERY_AT(run.failures.causes.back().weight), {.fallback = "1"});
  keys.flag(path + ".takes_node",
            "The nodes that are hit are replaced by spares or repaired before training resumes.",
            "true", ORRERY_AT(run.failures.causes.back().takes_node), {.note = "by category"});
  add_cause_keys(keys, path, ORRERY_AT(run.failures.causes.back()));
  Key& correlated =
      keys.list("failures.correlated",
                "Failures beside the causes, each with a rate or life of its own: of racks, "
                "switches, power domains, the storage.",
                "[{name: top-of-rack switch, category: network, scope: node, rate: 0.001/d}]",
                ORRERY_AT(run.failures.correlated), {.note = "the preset's; else none"});
  correlated.end = check_cause;
  add_cause_keys(keys, "failures.correlated[]", ORRERY_AT(run.failures.correlated.back()));
}

void add_stops(Rows& keys) {
  keys.part("failures.maintenance",
            "Planned stops, evenly spaced, each after a checkpoint was saved.",
            "{rate: 0.87/d, stall: 10min}", ORRERY_AT(run.failures.maintenance),
            {.note = "the preset's; else none"});
  keys.value<kind::EventRate>("failures.maintenance.rate", "Planned stops per time.", "0.87/d", {},
                              ORRERY_AT(run.failures.maintenance->rate), {.required = true});
  keys.value<kind::Time>("failures.maintenance.stall", "From the stop to the next step.", "10min",
                         yaml::at_most(days(365.0)), ORRERY_AT(run.failures.maintenance->stall),
                         {.required = true});
  keys.flag("failures.during_recovery",
            "Failures strike while the job recovers, too, and start the recovery again.", "false",
            ORRERY_AT(run.failures.during_recovery), {.fallback = "true"});
  keys.value<kind::Time>("failures.unitemised", "Downtime per day that no cause explains.", "30min",
                         yaml::at_most(days(1.0)), ORRERY_AT(run.failures.unitemised_per_day),
                         {.aliases = {"unitemised_per_day"}, .note = "the preset's; else none"});
}

}  // namespace

void failure_keys(Rows& keys) {
  add_rates(keys);
  add_causes(keys);
  add_hazard_keys(keys);
  add_silent_keys(keys);
  add_stops(keys);
}

// Keys of one cause of failures, in any of the lists of `failures`.

namespace {

using run::FailureCategory;
using run::FailureScope;

// The words of an enum of `count` values.
template <typename E>
std::vector<yaml::Choice<E>> words_of_enum(std::size_t count) {
  std::vector<yaml::Choice<E>> words;
  for (std::size_t i = 0; i < count; ++i) {
    words.push_back({run::to_string(static_cast<E>(i)), static_cast<E>(i)});
  }
  return words;
}

void add_who(Rows& keys, const std::string& path, const CauseOf& cause) {
  keys.text(path + ".name", "What reports call the cause.", "GPU memory",
            member_of(cause, &run::FailureCause::name), {.required = true});
  keys.choice<FailureCategory>(
      path + ".category",
      "Row of the failure table. gpu, network, host and maintenance take the node away; gpu, "
      "network, host and unknown feel heat, burn-in and lemons.",
      "gpu", words_of_enum<FailureCategory>(run::kFailureCategoryCount),
      member_of(cause, &run::FailureCause::category), {.fallback = "unknown"});
  keys.choice<FailureScope>(
      path + ".scope",
      "What one strike hits: a GPU or node (its node), a rack, switch or power_domain (all nodes "
      "of failures.domains), the storage or the job (no node).",
      "rack", words_of_enum<FailureScope>(run::kFailureScopeCount),
      member_of(cause, &run::FailureCause::scope), {.fallback = "node"});
  keys.choice<run::Symptom>(
      path + ".symptom",
      "A crash ends the job at once; a hang is found by recovery.watchdog or recovery.inspection.",
      "hang", {{"crash", run::Symptom::crash}, {"hang", run::Symptom::hang}},
      member_of(cause, &run::FailureCause::symptom), {.fallback = "crash"});
}

void add_law(Rows& keys, const std::string& path, const CauseOf& cause) {
  keys.value<kind::EventRate>(path + ".rate",
                              "Strikes of one unit of the scope per time: of one GPU, node, rack, "
                              "switch, power domain, of the storage or of the job.",
                              "0.002/d", {},
                              [cause](Draft& draft, const PerSecond& value) {
                                cause(draft).life = run::ExponentialLaw{1.0 / value};
                              },
                              {.note = "a share of node_rate by weight"});
  add_life_keys(keys, path + ".life",
                "Law of the time from the repair of one unit to its next failure; its age survives "
                "restarts of the job. A time is the mean of an exponential law.",
                "{mean: 400d, shape: 0.8}", member_of(cause, &run::FailureCause::life),
                {.note = "exponential, by rate or weight"});
  age_key(keys, path + ".age",
          "Age of the components at the start: stationary (as in a fleet long in use), new, or one "
          "age for all.",
          "new", member_of(cause, &run::FailureCause::age), {.fallback = "stationary"});
}

void add_consequences(Rows& keys, const std::string& path, const CauseOf& cause) {
  keys.count(path + ".takes_nodes",
             "Nodes that one strike takes out; they are replaced or repaired before training "
             "resumes. 0: the same nodes go on.",
             "0", {0, 1'000'000}, member_of(cause, &run::FailureCause::takes_nodes),
             {.note = "all that are hit, where the category takes nodes away"});
  keys.section(path + ".recovery", "Stages that last differently after this cause.",
               "{diagnose: 2h}", {.note = "as `recovery`"});
  keys.recovery(path + ".recovery", "as `recovery`",
                member_of(cause, &run::FailureCause::recovery));
}

}  // namespace

void add_cause_keys(Rows& keys, const std::string& path, const CauseOf& cause) {
  add_who(keys, path, cause);
  add_law(keys, path, cause);
  add_consequences(keys, path, cause);
}

}  // namespace orrery::scenario
