// Keys of `failures` that change how often the causes strike: domains, burn-in, heat, episodes,
// lemons; and the log that replaces them all.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "sim/scenario/keys/cause_keys.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

namespace {

namespace kind = yaml::kind;

const yaml::Range<double> kFactor = yaml::between(0.0, kMega);

void add_domains(Rows& keys) {
  struct Domain {
    std::string_view name;
    std::string_view meaning;
    std::string_view example;
    std::optional<std::int64_t> run::FailureDomains::*field;
  };

  keys.section("failures.domains", "Nodes that fail together.",
               "{rack: 4, switch: 16, power_domain: 64}",
               {.note = "needed by causes of these scopes"});
  for (const Domain& domain :
       {Domain{"rack", "Nodes of one rack.", "4", &run::FailureDomains::rack},
        Domain{"switch", "Nodes behind one switch.", "16", &run::FailureDomains::network_switch},
        Domain{"power_domain", "Nodes on one feed.", "64", &run::FailureDomains::power_domain}}) {
    keys.count(fmt::format("failures.domains.{}", domain.name), domain.meaning, domain.example,
               {1, 1'000'000}, member_of(ORRERY_AT(run.failures.domains), domain.field),
               {.note = "none"});
  }
}

void add_burn_in(Rows& keys) {
  keys.part("failures.burn_in",
            "New machines fail more often: hazards of hardware are multiplied by 1 + (factor - 1) "
            "exp(-t / decay).",
            "{factor: 8, decay: 30d}", ORRERY_AT(run.failures.burn_in),
            {.note = "the preset's; else none"});
  keys.value<kind::Number>("failures.burn_in.factor", "Multiplier on the first day of the fleet.",
                           "8", {0.0, kMega, true}, ORRERY_AT(run.failures.burn_in->factor),
                           {.required = true});
  keys.value<kind::Time>("failures.burn_in.decay", "Time in which the excess falls to 1/e.", "30d",
                         {hours(1.0), days(25'000.0), false},
                         ORRERY_AT(run.failures.burn_in->decay), {.required = true});
  keys.value<kind::Time>("failures.burn_in.age", "Age of the fleet when the run starts.", "60d",
                         kSpan, ORRERY_AT(run.failures.burn_in->age), {.fallback = "0s"});
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

void add_diurnal(Rows& keys) {
  Key& diurnal =
      keys.add("failures.diurnal",
               "Multiplier of the hazards of hardware in each hour of the day (UTC, counted from "
               "training.start; without it the run starts at 00:00): 24 numbers, or a cosine.",
               "{amplitude: 0.5, peak_hour: 15}", {.note = "the same all day"});
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
  keys.value<kind::Fraction>(
      "failures.diurnal.amplitude", "Greatest excess over the mean.", "0.5",
      yaml::between(0.0, 1.0),
      [](Draft& draft, const double& value) { draft.diurnal_amplitude = value; },
      {.required = true});
  keys.value<kind::Number>(
      "failures.diurnal.peak_hour", "Hour of the day (UTC) with the most failures.", "15",
      yaml::between(0.0, 23.0),
      [](Draft& draft, const double& value) { draft.diurnal_peak = value; }, {.fallback = "0"});
}

void add_episodes(Rows& keys) {
  keys.list("failures.episodes",
            "Spans of time in which the hazards of hardware are multiplied: a hot week, a bad "
            "batch of cables; one after the other.",
            "[{begin: 20d, end: 27d, factor: 3}]", ORRERY_AT(run.failures.episodes),
            {.note = "none"});
  keys.value<kind::Time>("failures.episodes[].begin", "Since the start of the run.", "20d", kSpan,
                         ORRERY_AT(run.failures.episodes.back().begin), {.required = true});
  keys.value<kind::Time>("failures.episodes[].end", "Since the start of the run.", "27d",
                         kPositiveSpan, ORRERY_AT(run.failures.episodes.back().end),
                         {.required = true});
  keys.value<kind::Number>("failures.episodes[].factor", "Multiplier.", "3", kFactor,
                           ORRERY_AT(run.failures.episodes.back().factor), {.required = true});
}

void add_lemons(Rows& keys) {
  keys.part("failures.lemons",
            "Nodes that fail more often than the others, by exponential causes of scope gpu or "
            "node; the stated rates are those of a good node.",
            "{fraction: 0.02, factor: 10, remove_after: 3}", ORRERY_AT(run.failures.lemons),
            {.note = "the preset's; else none"});
  keys.value<kind::Fraction>(
      "failures.lemons.fraction", "Probability that a node, in use or spare, is one.", "0.02",
      yaml::between(0.0, 1.0), ORRERY_AT(run.failures.lemons->fraction), {.required = true});
  keys.value<kind::Number>("failures.lemons.factor", "Its hazard over that of a good node.", "10",
                           kFactor, ORRERY_AT(run.failures.lemons->factor), {.required = true});
  keys.count("failures.lemons.remove_after", "Failures after which a node is taken out for good.",
             "3", {1, 1'000'000}, ORRERY_AT(run.failures.lemons->remove_after), {.note = "never"});
}

}  // namespace

void add_hazard_keys(Rows& keys) {
  add_domains(keys);
  add_burn_in(keys);
  add_diurnal(keys);
  add_episodes(keys);
  add_lemons(keys);
  keys.text("failures.log",
            "CSV file of the failures of a run that is over; they are replayed in place of random "
            "ones. Columns: time, time_s, time_h, time_d or timestamp; cause; nodes; outage, "
            "outage_s, outage_min or outage_h. Relative to the scenario.",
            "failures.csv", ORRERY_AT(run.failures.log), {.note = "failures are random"});
}

// Keys of what goes wrong without a crash: `failures.stragglers`, `network`, `sdc`, `loss_spikes`.

namespace {

using run::SlowdownSpec;

// Links that are slow, in place of how slow they make the step.
void add_fault_keys(Rows& keys, const std::string& path,
                    const std::function<SlowdownSpec&(Draft&)>& last) {
  keys.part(path,
            "Links that run at a share of their rate: each time those of another node or switch. "
            "How much longer steps then take comes from replays of the step's flows with the fault "
            "at up to sixteen places.",
            "{nics: 1, share: 0.5}", member_of(last, &SlowdownSpec::fault),
            {.note = "none; then slowdown must be stated"});
  keys.count(path + ".nics", "NICs of one node that are slow.", "1",
             {1, 1000}, [last](Draft & draft) -> auto& { return last(draft).fault->nics; },
             {.note = "all NICs of the node; not used with tier"});
  keys.text(path + ".tier",
            "Level of the switch whose uplinks are slow, by its name in cluster.network.tiers.",
            "leaf", [last](Draft & draft) -> auto& { return last(draft).fault->tier; },
            {.note = "none: the NICs of a node"});
  keys.count(path + ".uplinks", "Uplinks of the switch that are slow: one cable, or some.", "1",
             {1, 1'000'000}, [last](Draft & draft) -> auto& { return last(draft).fault->uplinks; },
             {.note = "all uplinks of the switch"});
  keys.value<kind::Number>(
      path + ".share", "Share of its rate that a link still has.", "0.5", yaml::between(0.001, 1.0),
      [last](Draft & draft) -> auto& { return last(draft).fault->share; }, {.required = true});
}

// A slowdown is found and the node or link replaced, or it ends by itself.
void add_slowdown_keys(Rows& keys, const std::string& list_path, std::string_view meaning,
                       std::string_view example, bool faults,
                       const std::function<std::vector<SlowdownSpec>&(Draft&)>& list) {
  const std::string path = list_path + "[]";
  const auto last = [list](Draft& draft) -> SlowdownSpec& { return list(draft).back(); };
  keys.list(list_path, meaning, example, list, {.note = "the preset's; else none"});
  keys.text(path + ".name", "What reports call it.", "slow GPU",
            member_of(last, &SlowdownSpec::name), {.required = true});
  keys.value<kind::EventRate>(
      path + ".node_rate", "How often it begins, per node of the job and time.", "0.001/d", {},
      member_of(last, &SlowdownSpec::node_rate), {.note = "one of node_rate and job_rate"});
  keys.value<kind::EventRate>(
      path + ".job_rate", "How often it begins, whatever the size of the job.", "0.5/d", {},
      member_of(last, &SlowdownSpec::job_rate), {.note = "one of node_rate and job_rate"});
  keys.value<kind::Number>(
      path + ".slowdown",
      "Step time while it lasts over the step time without it (the median). Of several at once the "
      "greatest counts.",
      "1.34", yaml::between(1.0, kKilo),
      [last](Draft & draft) -> auto& { return last(draft).slowdown.median; },
      {.note = faults ? "what the links of fault make it" : "", .required = !faults});
  keys.value<kind::Number>(path + ".spread", "Standard deviation of the logarithm of slowdown - 1.",
                           "0.5", yaml::between(0.0, 10.0),
                           [last](Draft & draft) -> auto& { return last(draft).slowdown.sigma; },
                           {.fallback = "0"});
  if (faults) {
    add_fault_keys(keys, path + ".fault", last);
  }
  keys.duration(path + ".duration", "Until it ends by itself.", "72min",
                member_of(last, &SlowdownSpec::duration), {.required = true});
  keys.value<kind::Time>(path + ".evict_after",
                         "Found and removed through a restart after that long.", "10min", kSpan,
                         member_of(last, &SlowdownSpec::evict_after), {.note = "never"});
  keys.section(path + ".recovery", "Stages of that restart that last differently.", "{detect: 0s}",
               {.note = "as `recovery`"});
  keys.recovery(path + ".recovery", "as `recovery`", member_of(last, &SlowdownSpec::recovery));
}

void add_sdc_rates(Rows& keys) {
  keys.part("failures.sdc",
            "Silent data corruption: a host computes wrong results until it is found; every "
            "checkpoint saved meanwhile is corrupt.",
            "{job_rate: 0.1/d, detection: {mean: 6h}, repeats: 0.8}",
            ORRERY_AT(run.failures.silent), {.note = "the preset's; else none"});
  keys.value<kind::EventRate>("failures.sdc.node_rate",
                              "Hosts that begin to corrupt, per node and time.", "0.00002/d", {},
                              ORRERY_AT(run.failures.silent->node_rate), {.note = "none"});
  keys.value<kind::EventRate>("failures.sdc.job_rate",
                              "Hosts that begin to corrupt, whatever the size of the job.", "0.1/d",
                              {}, ORRERY_AT(run.failures.silent->job_rate), {.note = "none"});
  keys.value<kind::EventRate>(
      "failures.sdc.false_alarm_node_rate",
      "Sound hosts that are evicted on suspicion, per node and time.", "0.00005/d", {},
      ORRERY_AT(run.failures.silent->false_alarm_node_rate), {.note = "none"});
  keys.value<kind::EventRate>(
      "failures.sdc.false_alarm_job_rate",
      "Sound hosts that are evicted on suspicion, whatever the size of the job.", "0.05/d", {},
      ORRERY_AT(run.failures.silent->false_alarm_job_rate), {.note = "none"});
}

void add_sdc(Rows& keys) {
  add_sdc_rates(keys);
  keys.duration("failures.sdc.detection",
                "From the first wrong result until the job knows. It then goes back to a "
                "checkpoint from before the corruption.",
                "6h", ORRERY_AT(run.failures.silent->detection), {.fallback = "0s"});
  keys.value<kind::Fraction>(
      "failures.sdc.repeats",
      "Probability that the host is not found at a detection, and corrupts again.", "0.8",
      yaml::between(0.0, 0.999), ORRERY_AT(run.failures.silent->repeats), {.fallback = "0"});
  keys.duration("failures.sdc.repeat_after",
                "From the end of that recovery until it corrupts again.", "12h",
                ORRERY_AT(run.failures.silent->repeat_after), {.fallback = "0s"});
  keys.value<kind::Number>("failures.sdc.checks",
                           "Step time with checks against corruption over the step time without.",
                           "1.0025", yaml::between(1.0, kKilo),
                           ORRERY_AT(run.failures.silent->checks), {.fallback = "1"});
  keys.section("failures.sdc.recovery", "Stages that last differently after a detection.",
               "{diagnose: 8h}", {.note = "as `recovery`"});
  keys.recovery("failures.sdc.recovery", "as `recovery`", ORRERY_AT(run.failures.silent->recovery));
}

void add_spike_rule(Rows& keys) {
  keys.part("failures.loss_spikes.rule",
            "What calls a step a spike: whatever lies so many standard deviations above the mean. "
            "Its false alarms have the consequence of a spike.",
            "{sigma: 4, series: 2}", ORRERY_AT(run.failures.spikes->rule),
            {.note = "none: no false alarms"});
  keys.value<kind::Number>(
      "failures.loss_spikes.rule.sigma", "Threshold, in standard deviations above the mean.", "4",
      yaml::between(0.1, 40.0), ORRERY_AT(run.failures.spikes->rule->sigma), {.required = true});
  keys.count("failures.loss_spikes.rule.series",
             "Independent series that are watched: the loss and the gradient norm are two, the "
             "losses of ranks as many as there are ranks.",
             "2", {1, 1'000'000}, ORRERY_AT(run.failures.spikes->rule->series), {.fallback = "1"});
  keys.value<kind::Number>("failures.loss_spikes.rule.degrees_of_freedom",
                           "Noise of a step as Student's t: the fewer, the heavier its tails.", "5",
                           yaml::between(2.1, kKilo),
                           ORRERY_AT(run.failures.spikes->rule->degrees_of_freedom),
                           {.note = "Gaussian noise"});
}

void add_spikes(Rows& keys) {
  keys.part(
      "failures.loss_spikes",
      "Spikes of the loss, while the job trains: one of rate and every_steps, or the rule that "
      "finds them, or both; and one of rewind_steps and skip_steps.",
      "{rate: 0.6/d, rewind_steps: 200}", ORRERY_AT(run.failures.spikes),
      {.note = "the preset's; else none"});
  keys.value<kind::EventRate>("failures.loss_spikes.rate", "Spikes per time of training.", "0.6/d",
                              {}, ORRERY_AT(run.failures.spikes->rate),
                              {.note = "none, or every_steps"});
  keys.count("failures.loss_spikes.every_steps", "Mean number of steps between two spikes.", "4000",
             {1, kMostSteps}, ORRERY_AT(run.failures.spikes->every_steps),
             {.note = "none, or rate"});
  add_spike_rule(keys);
  keys.count("failures.loss_spikes.rewind_steps",
             "The job restarts from the newest checkpoint at least that many steps back.", "200",
             {0, kMostSteps}, ORRERY_AT(run.failures.spikes->rewind_steps), {.note = "one of two"});
  keys.count("failures.loss_spikes.skip_steps",
             "Steps done in vain; training goes on without a stop.", "200", {0, kMostSteps},
             ORRERY_AT(run.failures.spikes->skip_steps), {.note = "one of two"});
  keys.section("failures.loss_spikes.recovery", "Stages that last differently after a rewind.",
               "{diagnose: 1h}", {.note = "as `recovery`"});
  keys.recovery("failures.loss_spikes.recovery", "as `recovery`",
                ORRERY_AT(run.failures.spikes->recovery));
}

}  // namespace

void add_silent_keys(Rows& keys) {
  add_slowdown_keys(
      keys, "failures.stragglers", "Nodes that slow the whole job down for a while.",
      "[{name: slow GPU, node_rate: 0.001/d, slowdown: 1.34, duration: {mean: 72min}}]", false,
      ORRERY_AT(run.failures.stragglers));
  add_slowdown_keys(keys, "failures.network",
                    "Links and switches that slow the whole job down for a while; no node is taken "
                    "out when they are removed.",
                    "[{name: congestion, job_rate: 0.5/d, slowdown: 1.2, duration: {mean: 24min}}]",
                    true, ORRERY_AT(run.failures.network));
  add_sdc(keys);
  add_spikes(keys);
}

}  // namespace orrery::scenario
