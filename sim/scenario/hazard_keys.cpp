// Keys of `failures` that change how often the causes strike: domains, burn-in, heat, episodes,
// lemons; and the log that replaces them all.

#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "sim/scenario/cause_keys.hpp"
#include "sim/scenario/limits.hpp"

namespace orrery::scenario {

namespace {

using run::BurnInSpec;
using run::EpisodeSpec;
using run::LemonSpec;
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
    keys.push_back(
        value_key<kind::Count>({.path = fmt::format("failures.domains.{}", domain.name),
                                .note = "none",
                                .meaning = std::string(domain.meaning),
                                .example = std::string(domain.example)},
                               yaml::between<std::int64_t>(1, 1'000'000),
                               [field = domain.field](Draft& draft, const std::int64_t& value) {
                                 draft.run.failures.domains.*field = value;
                               }));
  }
}

BurnInSpec& burn_in(Draft& draft) {
  return *draft.run.failures.burn_in;
}

void add_burn_in(std::vector<Key>& keys) {
  keys.push_back(
      section_key({.path = "failures.burn_in",
                   .note = "the preset's; else none",
                   .meaning = "New machines fail more often: hazards of hardware are multiplied by "
                              "1 + (factor - 1) exp(-t / decay).",
                   .example = "{factor: 8, decay: 30d}"},
                  [](Draft& draft) { draft.run.failures.burn_in.emplace(); }));
  keys.push_back(value_key<kind::Number>(
      {.path = "failures.burn_in.factor",
       .meaning = "Multiplier on the first day of the fleet.",
       .example = "8",
       .required = true},
      {0.0, kMega, true},
      [](Draft& draft, const double& value) { burn_in(draft).factor = value; }));
  keys.push_back(value_key<kind::Time>(
      {.path = "failures.burn_in.decay",
       .meaning = "Time in which the excess falls to 1/e.",
       .example = "30d",
       .required = true},
      {hours(1.0), days(25'000.0), false},
      [](Draft& draft, const Seconds& value) { burn_in(draft).decay = value; }));
  keys.push_back(value_key<kind::Time>(
      {.path = "failures.burn_in.age",
       .fallback = "0s",
       .meaning = "Age of the fleet when the run starts.",
       .example = "60d"},
      kSpan,
      [](Draft& draft, const Seconds& value) { burn_in(draft).age = value; }));
}

void read_by_hour(const yaml::Value& value, const std::string& path, Reading& reading) {
  constexpr std::string_view kAllowed = "24 numbers, or {amplitude, peak_hour}";
  if (value.kind != yaml::Value::Kind::sequence || value.items.size() != kHoursPerDay) {
    yaml::report(reading.diagnostics,
                 value.where,
                 path,
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

EpisodeSpec& last_episode(Draft& draft) {
  return draft.run.failures.episodes.back();
}

void add_episodes(std::vector<Key>& keys) {
  keys.push_back(
      list_key({.path = "failures.episodes",
                .note = "none",
                .meaning = "Spans of time in which the hazards of hardware are multiplied: a hot "
                           "week, a bad batch of cables; one after the other.",
                .example = "[{begin: 20d, end: 27d, factor: 3}]"},
               [](Draft& draft) { draft.run.failures.episodes.emplace_back(); }));
  keys.push_back(value_key<kind::Time>(
      {.path = "failures.episodes[].begin",
       .meaning = "Since the start of the run.",
       .example = "20d",
       .required = true},
      kSpan,
      [](Draft& draft, const Seconds& value) { last_episode(draft).begin = value; }));
  keys.push_back(value_key<kind::Time>(
      {.path = "failures.episodes[].end",
       .meaning = "Since the start of the run.",
       .example = "27d",
       .required = true},
      kPositiveSpan,
      [](Draft& draft, const Seconds& value) { last_episode(draft).end = value; }));
  keys.push_back(value_key<kind::Number>(
      {.path = "failures.episodes[].factor",
       .meaning = "Multiplier.",
       .example = "3",
       .required = true},
      kFactor,
      [](Draft& draft, const double& value) { last_episode(draft).factor = value; }));
}

LemonSpec& lemons(Draft& draft) {
  return *draft.run.failures.lemons;
}

void add_lemons(std::vector<Key>& keys) {
  keys.push_back(section_key(
      {.path = "failures.lemons",
       .note = "the preset's; else none",
       .meaning = "Nodes that fail more often than the others, by exponential causes of scope gpu "
                  "or node; the stated rates are those of a good node.",
       .example = "{fraction: 0.02, factor: 10, remove_after: 3}"},
      [](Draft& draft) { draft.run.failures.lemons.emplace(); }));
  keys.push_back(value_key<kind::Fraction>(
      {.path = "failures.lemons.fraction",
       .meaning = "Probability that a node, in use or spare, is one.",
       .example = "0.02",
       .required = true},
      yaml::between(0.0, 1.0),
      [](Draft& draft, const double& value) { lemons(draft).fraction = value; }));
  keys.push_back(value_key<kind::Number>(
      {.path = "failures.lemons.factor",
       .meaning = "Its hazard over that of a good node.",
       .example = "10",
       .required = true},
      kFactor,
      [](Draft& draft, const double& value) { lemons(draft).factor = value; }));
  keys.push_back(value_key<kind::Count>(
      {.path = "failures.lemons.remove_after",
       .note = "never",
       .meaning = "Failures after which a node is taken out for good.",
       .example = "3"},
      yaml::between<std::int64_t>(1, 1'000'000),
      [](Draft& draft, const std::int64_t& value) { lemons(draft).remove_after = value; }));
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
               [](Draft& draft, const std::string& value) { draft.run.failures.log = value; }));
}

}  // namespace orrery::scenario
