// Keys of `failures` that change how often the causes strike: domains, burn-in, heat, episodes,
// lemons; and the log that replaces them all.

#include <fmt/core.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "sim/scenario/keys/cause_keys.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

namespace kind = yaml::kind;

const yaml::Range<double> kFactor = yaml::between(0.0, kMega);

void add_domains(std::vector<Key>& keys) {
  struct Domain {
    std::string_view name;
    std::string_view meaning;
    std::string_view example;
    std::optional<std::int64_t> run::FailureDomains::*field;
  };

  keys.push_back(section_key({.path = "failures.domains",
                              .note = "needed by causes of these scopes",
                              .meaning = "Nodes that fail together.",
                              .example = "{rack: 4, switch: 16, power_domain: 64}"}));
  for (const Domain& domain :
       {Domain{"rack", "Nodes of one rack.", "4", &run::FailureDomains::rack},
        Domain{"switch", "Nodes behind one switch.", "16", &run::FailureDomains::network_switch},
        Domain{"power_domain", "Nodes on one feed.", "64", &run::FailureDomains::power_domain}}) {
    keys.push_back(count_key(
        {.path = fmt::format("failures.domains.{}", domain.name),
         .note = "none",
         .meaning = std::string(domain.meaning),
         .example = std::string(domain.example)},
        {1, 1'000'000}, [field = domain.field](Draft & draft) -> auto& {
          return draft.run.failures.domains.*field;
        }));
  }
}

void add_burn_in(std::vector<Key>& keys) {
  keys.push_back(
      section_at({.path = "failures.burn_in",
                  .note = "the preset's; else none",
                  .meaning = "New machines fail more often: hazards of hardware are multiplied by "
                             "1 + (factor - 1) exp(-t / decay).",
                  .example = "{factor: 8, decay: 30d}"},
                 ORRERY_AT(run.failures.burn_in)));
  keys.push_back(value_key<kind::Number>({.path = "failures.burn_in.factor",
                                          .meaning = "Multiplier on the first day of the fleet.",
                                          .example = "8",
                                          .required = true},
                                         {0.0, kMega, true},
                                         ORRERY_AT(run.failures.burn_in->factor)));
  keys.push_back(value_key<kind::Time>({.path = "failures.burn_in.decay",
                                        .meaning = "Time in which the excess falls to 1/e.",
                                        .example = "30d",
                                        .required = true},
                                       {hours(1.0), days(25'000.0), false},
                                       ORRERY_AT(run.failures.burn_in->decay)));
  keys.push_back(value_key<kind::Time>({.path = "failures.burn_in.age",
                                        .fallback = "0s",
                                        .meaning = "Age of the fleet when the run starts.",
                                        .example = "60d"},
                                       kSpan, ORRERY_AT(run.failures.burn_in->age)));
}

void read_by_hour(const yaml::Value& value, const std::string& path, Reading& reading) {
  constexpr std::string_view kAllowed = "24 numbers, or {amplitude, peak_hour}";
  if (value.kind != yaml::Value::Kind::sequence || value.items.size() != kHoursPerDay) {
    yaml::report(reading.diagnostics, value.where, path,
                 value.kind == yaml::Value::Kind::sequence
                     ? fmt::format("has {} numbers", value.items.size())
                     : std::string("is no list"),
                 kAllowed);
    return;
  }
  std::vector<double> by_hour;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const auto factor = yaml::read_value<kind::Number>(
        value.items[i], fmt::format("{}[{}]", path, i), reading.diagnostics, kFactor);
    if (!factor) {
      return;
    }
    by_hour.push_back(*factor);
  }
  reading.draft.run.failures.by_hour = std::move(by_hour);
}

// A cosine with its peak in the middle of `peak_hour`, and a mean of 1.
void finish_diurnal(const yaml::Value&, const std::string&, Reading& reading) {
  std::vector<double>& by_hour = reading.draft.run.failures.by_hour;
  by_hour.clear();
  constexpr auto kHours = static_cast<double>(kHoursPerDay);
  for (std::size_t hour = 0; hour < kHoursPerDay; ++hour) {
    const double angle =
        2.0 * std::numbers::pi * (static_cast<double>(hour) - reading.draft.diurnal_peak) / kHours;
    by_hour.push_back(1.0 + reading.draft.diurnal_amplitude * std::cos(angle));
  }
}

void add_diurnal(std::vector<Key>& keys) {
  Key diurnal = key_of({.path = "failures.diurnal",
                        .note = "the same all day",
                        .meaning = "Multiplier of the hazards of hardware in each hour of the day "
                                   "(UTC, counted from training.start; without it the run starts "
                                   "at 00:00): 24 numbers, or a cosine.",
                        .example = "{amplitude: 0.5, peak_hour: 15}"});
  Form numbers = form_of<kind::Number>(kFactor);
  numbers.list = true;
  diurnal.forms = {numbers};
  diurnal.mapping = true;
  diurnal.read = read_by_hour;
  diurnal.print = [](Draft& draft) -> std::optional<std::string> {
    const std::vector<double>& by_hour = draft.run.failures.by_hour;
    return by_hour.empty() ? std::nullopt
                           : std::optional(fmt::format("[{}]", fmt::join(by_hour, ", ")));
  };
  diurnal.begin = [](const yaml::Value&, Reading& reading) {
    reading.draft.diurnal_amplitude = 0.0;
    reading.draft.diurnal_peak = 0.0;
  };
  diurnal.end = finish_diurnal;
  keys.push_back(std::move(diurnal));
  keys.push_back(value_key<kind::Fraction>(
      {.path = "failures.diurnal.amplitude",
       .meaning = "Greatest excess over the mean.",
       .example = "0.5",
       .required = true},
      yaml::between(0.0, 1.0),
      [](Draft& draft, const double& value) { draft.diurnal_amplitude = value; }));
  keys.push_back(value_key<kind::Number>(
      {.path = "failures.diurnal.peak_hour",
       .fallback = "0",
       .meaning = "Hour of the day (UTC) with the most failures.",
       .example = "15"},
      yaml::between(0.0, 23.0),
      [](Draft& draft, const double& value) { draft.diurnal_peak = value; }));
}

void add_episodes(std::vector<Key>& keys) {
  keys.push_back(
      list_key({.path = "failures.episodes",
                .note = "none",
                .meaning = "Spans of time in which the hazards of hardware are multiplied: a hot "
                           "week, a bad batch of cables; one after the other.",
                .example = "[{begin: 20d, end: 27d, factor: 3}]"},
               ORRERY_AT(run.failures.episodes)));
  keys.push_back(value_key<kind::Time>({.path = "failures.episodes[].begin",
                                        .meaning = "Since the start of the run.",
                                        .example = "20d",
                                        .required = true},
                                       kSpan, ORRERY_AT(run.failures.episodes.back().begin)));
  keys.push_back(value_key<kind::Time>({.path = "failures.episodes[].end",
                                        .meaning = "Since the start of the run.",
                                        .example = "27d",
                                        .required = true},
                                       kPositiveSpan, ORRERY_AT(run.failures.episodes.back().end)));
  keys.push_back(value_key<kind::Number>({.path = "failures.episodes[].factor",
                                          .meaning = "Multiplier.",
                                          .example = "3",
                                          .required = true},
                                         kFactor, ORRERY_AT(run.failures.episodes.back().factor)));
}

void add_lemons(std::vector<Key>& keys) {
  keys.push_back(section_at(
      {.path = "failures.lemons",
       .note = "the preset's; else none",
       .meaning = "Nodes that fail more often than the others, by exponential causes of scope gpu "
                  "or node; the stated rates are those of a good node.",
       .example = "{fraction: 0.02, factor: 10, remove_after: 3}"},
      ORRERY_AT(run.failures.lemons)));
  keys.push_back(
      value_key<kind::Fraction>({.path = "failures.lemons.fraction",
                                 .meaning = "Probability that a node, in use or spare, is one.",
                                 .example = "0.02",
                                 .required = true},
                                yaml::between(0.0, 1.0), ORRERY_AT(run.failures.lemons->fraction)));
  keys.push_back(value_key<kind::Number>({.path = "failures.lemons.factor",
                                          .meaning = "Its hazard over that of a good node.",
                                          .example = "10",
                                          .required = true},
                                         kFactor, ORRERY_AT(run.failures.lemons->factor)));
  keys.push_back(count_key({.path = "failures.lemons.remove_after",
                            .note = "never",
                            .meaning = "Failures after which a node is taken out for good.",
                            .example = "3"},
                           {1, 1'000'000}, ORRERY_AT(run.failures.lemons->remove_after)));
}

}  // namespace

void add_hazard_keys(std::vector<Key>& keys) {
  add_domains(keys);
  add_burn_in(keys);
  add_diurnal(keys);
  add_episodes(keys);
  add_lemons(keys);
  keys.push_back(
      text_key({.path = "failures.log",
                .note = "failures are random",
                .meaning = "CSV file of the failures of a run that is over; they are replayed "
                           "in place of random ones. Columns: time, time_s, time_h, time_d or "
                           "timestamp; cause; nodes; outage, outage_s, outage_min or outage_h. "
                           "Relative to the scenario.",
                .example = "failures.csv"},
               ORRERY_AT(run.failures.log)));
}

// Keys of what goes wrong without a crash: `failures.stragglers`, `network`, `sdc`, `loss_spikes`.

namespace {

using run::SlowdownSpec;

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
