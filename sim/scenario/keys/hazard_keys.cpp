// Keys of `failures` that change how often the causes strike: domains, burn-in, heat, episodes,
// lemons; and the log that replaces them all.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "sim/scenario/keys/cause_keys.hpp"
#include "sim/scenario/table/limits.hpp"

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

}  // namespace orrery::scenario
