// Keys of what goes wrong without a crash: `failures.stragglers`, `network`, `sdc`, `loss_spikes`.

#include <fmt/core.h>

#include "sim/scenario/keys/cause_keys.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/table/limits.hpp"

namespace orrery::scenario {

namespace {

using run::SlowdownSpec;
namespace kind = yaml::kind;

Key rate_key(KeyText text, Lens<PerSecond> lens) {
  return value_key<kind::EventRate>(std::move(text), {}, std::move(lens));
}

// Links that are slow, in place of how slow they make the step.
void add_fault_keys(std::vector<Key>& keys, const std::string& path,
                    const std::function<SlowdownSpec&(Draft&)>& last) {
  keys.push_back(section_at(
      {.path = path,
       .note = "none; then slowdown must be stated",
       .meaning = "Links that run at a share of their rate: each time those of another node or "
                  "switch. How much longer steps then take comes from replays of the step's flows "
                  "with the fault at up to sixteen places.",
       .example = "{nics: 1, share: 0.5}"},
      [last](Draft & draft) -> auto& { return last(draft).fault; }));
  keys.push_back(count_key(
      {.path = path + ".nics",
       .note = "all NICs of the node; not used with tier",
       .meaning = "NICs of one node that are slow.",
       .example = "1"},
      {1, 1000}, [last](Draft & draft) -> auto& { return last(draft).fault->nics; }));
  keys.push_back(text_key(
      {.path = path + ".tier",
       .note = "none: the NICs of a node",
       .meaning = "Level of the switch whose uplinks are slow, by its name in "
                  "cluster.network.tiers.",
       .example = "leaf"},
      [last](Draft & draft) -> auto& { return last(draft).fault->tier; }));
  keys.push_back(count_key(
      {.path = path + ".uplinks",
       .note = "all uplinks of the switch",
       .meaning = "Uplinks of the switch that are slow: one cable, or some.",
       .example = "1"},
      {1, 1'000'000}, [last](Draft & draft) -> auto& { return last(draft).fault->uplinks; }));
  keys.push_back(value_key<kind::Number>(
      {.path = path + ".share",
       .meaning = "Share of its rate that a link still has.",
       .example = "0.5",
       .required = true},
      yaml::between(0.001, 1.0), [last](Draft & draft) -> auto& {
        return last(draft).fault->share;
      }));
}

// A slowdown is found and the node or link replaced, or it ends by itself.
void add_slowdown_keys(std::vector<Key>& keys, KeyText text, bool faults,
                       const std::function<std::vector<SlowdownSpec>&(Draft&)>& list) {
  const std::string path = text.path + "[]";
  const auto last = [list](Draft& draft) -> SlowdownSpec& { return list(draft).back(); };
  keys.push_back(list_key(std::move(text), list));
  keys.push_back(text_key(
      {.path = path + ".name",
       .meaning = "What reports call it.",
       .example = "slow GPU",
       .required = true},
      [last](Draft & draft) -> auto& { return last(draft).name; }));
  keys.push_back(rate_key(
      {.path = path + ".node_rate",
       .note = "one of node_rate and job_rate",
       .meaning = "How often it begins, per node of the job and time.",
       .example = "0.001/d"},
      [last](Draft & draft) -> auto& { return last(draft).node_rate; }));
  keys.push_back(rate_key(
      {.path = path + ".job_rate",
       .note = "one of node_rate and job_rate",
       .meaning = "How often it begins, whatever the size of the job.",
       .example = "0.5/d"},
      [last](Draft & draft) -> auto& { return last(draft).job_rate; }));
  keys.push_back(value_key<kind::Number>(
      {.path = path + ".slowdown",
       .note = faults ? "what the links of fault make it" : "",
       .meaning = "Step time while it lasts over the step time without it (the median). Of several "
                  "at once the greatest counts.",
       .example = "1.34",
       .required = !faults},
      yaml::between(1.0, kKilo), [last](Draft & draft) -> auto& {
        return last(draft).slowdown.median;
      }));
  keys.push_back(value_key<kind::Number>(
      {.path = path + ".spread",
       .fallback = "0",
       .meaning = "Standard deviation of the logarithm of slowdown - 1.",
       .example = "0.5"},
      yaml::between(0.0, 10.0), [last](Draft & draft) -> auto& {
        return last(draft).slowdown.sigma;
      }));
  if (faults) {
    add_fault_keys(keys, path + ".fault", last);
  }
  add_duration_keys(
      keys,
      {.path = path + ".duration",
       .meaning = "Until it ends by itself.",
       .example = "72min",
       .required = true},
      [last](Draft & draft) -> auto& { return last(draft).duration; });
  keys.push_back(value_key<kind::Time>(
      {.path = path + ".evict_after",
       .note = "never",
       .meaning = "Found and removed through a restart after that long.",
       .example = "10min"},
      kSpan, [last](Draft & draft) -> auto& { return last(draft).evict_after; }));
  keys.push_back(section_key({.path = path + ".recovery",
                              .note = "as `recovery`",
                              .meaning = "Stages of that restart that last differently.",
                              .example = "{detect: 0s}"}));
  add_recovery_keys(keys, path + ".recovery", "as `recovery`",
                    [last](Draft& draft) -> run::RecoveryStages& { return last(draft).recovery; });
}

void add_sdc_rates(std::vector<Key>& keys) {
  keys.push_back(section_at(
      {.path = "failures.sdc",
       .note = "the preset's; else none",
       .meaning = "Silent data corruption: a host computes wrong results until it is found; every "
                  "checkpoint saved meanwhile is corrupt.",
       .example = "{job_rate: 0.1/d, detection: {mean: 6h}, repeats: 0.8}"},
      ORRERY_AT(run.failures.silent)));
  keys.push_back(rate_key({.path = "failures.sdc.node_rate",
                           .note = "none",
                           .meaning = "Hosts that begin to corrupt, per node and time.",
                           .example = "0.00002/d"},
                          ORRERY_AT(run.failures.silent->node_rate)));
  keys.push_back(rate_key({.path = "failures.sdc.job_rate",
                           .note = "none",
                           .meaning = "Hosts that begin to corrupt, whatever the size of the job.",
                           .example = "0.1/d"},
                          ORRERY_AT(run.failures.silent->job_rate)));
  keys.push_back(
      rate_key({.path = "failures.sdc.false_alarm_node_rate",
                .note = "none",
                .meaning = "Sound hosts that are evicted on suspicion, per node and time.",
                .example = "0.00005/d"},
               ORRERY_AT(run.failures.silent->false_alarm_node_rate)));
  keys.push_back(rate_key(
      {.path = "failures.sdc.false_alarm_job_rate",
       .note = "none",
       .meaning = "Sound hosts that are evicted on suspicion, whatever the size of the job.",
       .example = "0.05/d"},
      ORRERY_AT(run.failures.silent->false_alarm_job_rate)));
}

void add_sdc(std::vector<Key>& keys) {
  add_sdc_rates(keys);
  add_duration_keys(keys,
                    {.path = "failures.sdc.detection",
                     .fallback = "0s",
                     .meaning = "From the first wrong result until the job knows. It then goes "
                                "back to a checkpoint from before the corruption.",
                     .example = "6h"},
                    ORRERY_AT(run.failures.silent->detection));
  keys.push_back(value_key<kind::Fraction>(
      {.path = "failures.sdc.repeats",
       .fallback = "0",
       .meaning = "Probability that the host is not found at a detection, and corrupts again.",
       .example = "0.8"},
      yaml::between(0.0, 0.999), ORRERY_AT(run.failures.silent->repeats)));
  add_duration_keys(keys,
                    {.path = "failures.sdc.repeat_after",
                     .fallback = "0s",
                     .meaning = "From the end of that recovery until it corrupts again.",
                     .example = "12h"},
                    ORRERY_AT(run.failures.silent->repeat_after));
  keys.push_back(value_key<kind::Number>(
      {.path = "failures.sdc.checks",
       .fallback = "1",
       .meaning = "Step time with checks against corruption over the step time without.",
       .example = "1.0025"},
      yaml::between(1.0, kKilo), ORRERY_AT(run.failures.silent->checks)));
  keys.push_back(section_key({.path = "failures.sdc.recovery",
                              .note = "as `recovery`",
                              .meaning = "Stages that last differently after a detection.",
                              .example = "{diagnose: 8h}"}));
  add_recovery_keys(keys, "failures.sdc.recovery", "as `recovery`",
                    ORRERY_AT(run.failures.silent->recovery));
}

void add_spikes(std::vector<Key>& keys) {
  keys.push_back(section_at(
      {.path = "failures.loss_spikes",
       .note = "the preset's; else none",
       .meaning = "Spikes of the loss, while the job trains: one of rate and every_steps, and one "
                  "of rewind_steps and skip_steps.",
       .example = "{rate: 0.6/d, rewind_steps: 200}"},
      ORRERY_AT(run.failures.spikes)));
  keys.push_back(rate_key({.path = "failures.loss_spikes.rate",
                           .note = "one of two",
                           .meaning = "Spikes per time of training.",
                           .example = "0.6/d"},
                          ORRERY_AT(run.failures.spikes->rate)));
  keys.push_back(count_key({.path = "failures.loss_spikes.every_steps",
                            .note = "one of two",
                            .meaning = "Mean number of steps between two spikes.",
                            .example = "4000"},
                           {1, kMostSteps}, ORRERY_AT(run.failures.spikes->every_steps)));
  keys.push_back(count_key({.path = "failures.loss_spikes.rewind_steps",
                            .note = "one of two",
                            .meaning = "The job restarts from the newest checkpoint at least that "
                                       "many steps back.",
                            .example = "200"},
                           {0, kMostSteps}, ORRERY_AT(run.failures.spikes->rewind_steps)));
  keys.push_back(count_key({.path = "failures.loss_spikes.skip_steps",
                            .note = "one of two",
                            .meaning = "Steps done in vain; training goes on without a stop.",
                            .example = "200"},
                           {0, kMostSteps}, ORRERY_AT(run.failures.spikes->skip_steps)));
  keys.push_back(section_key({.path = "failures.loss_spikes.recovery",
                              .note = "as `recovery`",
                              .meaning = "Stages that last differently after a rewind.",
                              .example = "{diagnose: 1h}"}));
  add_recovery_keys(keys, "failures.loss_spikes.recovery", "as `recovery`",
                    ORRERY_AT(run.failures.spikes->recovery));
}

}  // namespace

void add_silent_keys(std::vector<Key>& keys) {
  add_slowdown_keys(keys,
                    {.path = "failures.stragglers",
                     .note = "the preset's; else none",
                     .meaning = "Nodes that slow the whole job down for a while.",
                     .example = "[{name: slow GPU, node_rate: 0.001/d, slowdown: 1.34, duration: "
                                "{mean: 72min}}]"},
                    false, ORRERY_AT(run.failures.stragglers));
  add_slowdown_keys(keys,
                    {.path = "failures.network",
                     .note = "the preset's; else none",
                     .meaning = "Links and switches that slow the whole job down for a while; no "
                                "node is taken out when they are removed.",
                     .example = "[{name: congestion, job_rate: 0.5/d, slowdown: 1.2, duration: "
                                "{mean: 24min}}]"},
                    true, ORRERY_AT(run.failures.network));
  add_sdc(keys);
  add_spikes(keys);
}

}  // namespace orrery::scenario
