#include <fmt/core.h>

#include <map>

#include "tests/unit/scenario/key_effect.hpp"

namespace orrery::scenario {

namespace {

using Pairs = ScenarioText::Pairs;

// What an item of each list must state.
const std::map<std::string, std::string>& items() {
  static const std::map<std::string, std::string> needed = {
      {"failures.causes", "name: x"},
      {"failures.correlated", "name: x, rate: 1/d"},
      {"failures.stragglers", "name: x, slowdown: 1.5, duration: 1h"},
      {"failures.network", "name: x, slowdown: 1.5, duration: 1h"}};
  return needed;
}

// One more key in the only item of `list`.
Effect in_item(const std::string& list, const std::string& key, const std::string& value,
               const std::string& changed, const std::string& item) {
  return {fmt::format("{}[].{}", list, key),
          fmt::format("[{{{}, {}}}]", item, value),
          fmt::format("{}[0].{}", list, changed),
          {{list, fmt::format("[{{{}}}]", item)}},
          list};
}

void add_cause(std::vector<Effect>& effects, const std::string& list) {
  const std::string& item = items().at(list);
  // A life takes the place of the rate that a correlated cause needs.
  const auto with_life = [&](const std::string& key, const std::string& law,
                             const std::string& to) {
    effects.push_back({fmt::format("{}[].{}", list, key),
                       fmt::format("[{{name: x, life: {}}}]", law),
                       fmt::format("{}[0].life = {}", list, to),
                       {{list, "[{name: x, life: 7d}]"}},
                       list});
  };
  effects.push_back({list + "[].name",
                     list == "failures.causes" ? "[{name: y}]" : "[{name: y, rate: 1/d}]",
                     list + "[0].name = y",
                     {{list, fmt::format("[{{{}}}]", item)}},
                     list});
  effects.push_back(in_item(list, "category", "category: gpu", "category = #0", item));
  effects.push_back(in_item(list, "scope", "scope: rack", "scope = #2", item));
  effects.push_back(in_item(list, "symptom", "symptom: hang", "symptom = #1", item));
  effects.push_back(in_item(list, "takes_nodes", "takes_nodes: 2", "takes_nodes = 2", item));
  effects.push_back({list + "[].rate",
                     "[{name: x, rate: 0.5/d}]",
                     list + "[0].life = exponential 172800 s",
                     {{list, "[{name: x, rate: 1/d}]"}},
                     list});
  effects.push_back({list + "[].age",
                     "[{name: x, life: {mean: 1d, shape: 1}, age: new}]",
                     list + "[0].age.kind = #1",
                     {{list, "[{name: x, life: {mean: 1d, shape: 1}}]"}},
                     list});
  effects.push_back({list + "[].age",
                     "[{name: x, life: {mean: 1d, shape: 1}, age: 2h}]",
                     fmt::format("{0}[0].age.kind = #2; {0}[0].age = 7200 s", list),
                     {{list, "[{name: x, life: {mean: 1d, shape: 1}}]"}},
                     list});
  with_life("life", "2d", "exponential 172800 s");
  with_life("life.mean", "{mean: 2d}", "exponential 172800 s");
  with_life("life.shape", "{mean: 1d, shape: 1}", "weibull 1 86400 s");
  with_life("life.median", "{median: 1d, sigma: 1.2}", "lognormal 86400 s 1.2");
  with_life("life.sigma", "{mean: 1d, sigma: 2}", "lognormal 11692.96847 s 2");
  with_life("life.times", "{times: [1d, 2d]}", "times 86400 s 172800 s");
}

void add_slowdown(std::vector<Effect>& effects, const std::string& list) {
  const std::string& item = items().at(list);
  effects.push_back({list + "[].name",
                     "[{name: y, slowdown: 1.5, duration: 1h}]",
                     list + "[0].name = y",
                     {{list, fmt::format("[{{{}}}]", item)}},
                     list});
  effects.push_back({list + "[].slowdown",
                     "[{name: x, slowdown: 1.34, duration: 1h}]",
                     list + "[0].slowdown = 1.34",
                     {{list, fmt::format("[{{{}}}]", item)}},
                     list});
  effects.push_back(in_item(list, "node_rate", "node_rate: 1/d", "node_rate = 1 /d", item));
  effects.push_back(in_item(list, "job_rate", "job_rate: 1/d", "job_rate = 1 /d", item));
  effects.push_back(in_item(list, "spread", "spread: 0.5", "spread = 0.5", item));
  effects.push_back(in_item(list, "evict_after", "evict_after: 1h", "evict_after = 3600 s", item));
}

void add_hazards(std::vector<Effect>& effects) {
  static const Pairs burn_in = {{"failures.burn_in.factor", "8"},
                                {"failures.burn_in.decay", "30d"}};
  static const Pairs heat = {{"failures.diurnal.amplitude", "0.5"}};
  static const Pairs lemons = {{"failures.lemons.fraction", "0.1"},
                               {"failures.lemons.factor", "5"}};
  static const Pairs episode = {{"failures.episodes", "[{begin: 1d, end: 2d, factor: 3}]"}};
  static const std::string flat = "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ";
  const std::vector<Effect> hazards = {
      {"failures.domains.rack", "4", "domains.rack = 4"},
      {"failures.domains.switch", "16", "domains.switch = 16"},
      {"failures.domains.power_domain", "64", "domains.power_domain = 64"},
      {"failures.burn_in.factor", "3", "burn_in.factor = 3", burn_in},
      {"failures.burn_in.decay", "3d", "burn_in.decay = 259200 s", burn_in},
      {"failures.burn_in.age", "1d", "burn_in.age = 86400 s", burn_in},
      {"failures.diurnal", "[" + flat + flat.substr(0, flat.size() - 2) + "]",
       "by_hour = 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "},
      {"failures.diurnal.amplitude", "1",
       "by_hour = 2 1.966 1.866 1.707 1.5 1.259 1 0.7412 0.5 0.2929 0.134 0.03407 0 0.03407 0.134 "
       "0.2929 0.5 0.7412 1 1.259 1.5 1.707 1.866 1.966 ",
       heat},
      {"failures.diurnal.peak_hour", "12",
       "by_hour = 0.5 0.517 0.567 0.6464 0.75 0.8706 1 1.129 1.25 1.354 1.433 1.483 1.5 1.483 "
       "1.433 1.354 1.25 1.129 1 0.8706 0.75 0.6464 0.567 0.517 ",
       heat},
      {"failures.episodes[].begin", "[{begin: 1h, end: 2d, factor: 3}]",
       "episodes[0].begin = 3600 s", episode, "failures.episodes"},
      {"failures.episodes[].end", "[{begin: 1d, end: 3d, factor: 3}]", "episodes[0].end = 259200 s",
       episode, "failures.episodes"},
      {"failures.episodes[].factor", "[{begin: 1d, end: 2d, factor: 4}]", "episodes[0].factor = 4",
       episode, "failures.episodes"},
      {"failures.lemons.fraction", "0.02", "lemons.fraction = 0.02", lemons},
      {"failures.lemons.factor", "10", "lemons.factor = 10", lemons},
      {"failures.lemons.remove_after", "3", "lemons.remove_after = 3", lemons},
      {"failures.log", "failures.csv", "failures.log = failures.csv"}};
  effects.insert(effects.end(), hazards.begin(), hazards.end());
}

void add_silent(std::vector<Effect>& effects) {
  static const Pairs sdc = failure_context("failures.sdc");
  static const Pairs spikes = failure_context("failures.loss_spikes");
  static const Pairs rule = failure_context("failures.loss_spikes.rule.");
  const std::vector<Effect> silent = {
      {"failures.sdc.node_rate", "1/d", "sdc.node_rate = 1 /d", sdc},
      {"failures.sdc.job_rate", "2/d", "sdc.job_rate = 2 /d", sdc},
      {"failures.sdc.repeats", "0.8", "sdc.repeats = 0.8", sdc},
      {"failures.sdc.checks", "1.1", "sdc.checks = 1.1", sdc},
      {"failures.sdc.false_alarm_node_rate", "1/d", "sdc.false_alarm_node_rate = 1 /d", sdc},
      {"failures.sdc.false_alarm_job_rate", "1/d", "sdc.false_alarm_job_rate = 1 /d", sdc},
      {"failures.loss_spikes.rate", "2/d", "spikes.rate = 2 /d", spikes},
      {"failures.loss_spikes.every_steps", "99", "spikes.every_steps = 99", spikes},
      {"failures.loss_spikes.rewind_steps", "99", "spikes.rewind_steps = 99", spikes},
      {"failures.loss_spikes.skip_steps", "99", "spikes.skip_steps = 99", spikes},
      {"failures.loss_spikes.rule.sigma", "6", "spikes.rule.sigma = 6", rule},
      {"failures.loss_spikes.rule.series", "2", "spikes.rule.series = 2", rule},
      {"failures.loss_spikes.rule.degrees_of_freedom", "5", "spikes.rule.degrees_of_freedom = 5",
       rule}};
  effects.insert(effects.end(), silent.begin(), silent.end());
}

void add_fault(std::vector<Effect>& effects) {
  const std::string list = "failures.network";
  const auto add = [&](const std::string& key, const std::string& fault, const std::string& to) {
    effects.push_back({fmt::format("{}[].fault.{}", list, key),
                       fmt::format("[{{name: x, duration: 1h, fault: {}}}]", fault),
                       fmt::format("{}[0].fault.{}", list, to),
                       {{list, "[{name: x, duration: 1h, fault: {share: 0.5}}]"}},
                       list});
  };
  add("nics", "{nics: 2, share: 0.5}", "nics = 2");
  add("tier", "{tier: leaf, share: 0.5}", "tier = leaf");
  add("uplinks", "{uplinks: 2, share: 0.5}", "uplinks = 2");
  add("share", "{share: 0.25}", "share = 0.25");
}

}  // namespace

const std::vector<Effect>& cause_effects() {
  static const std::vector<Effect> effects = [] {
    std::vector<Effect> all;
    add_cause(all, "failures.causes");
    add_cause(all, "failures.correlated");
    add_slowdown(all, "failures.stragglers");
    add_slowdown(all, "failures.network");
    add_fault(all);
    add_hazards(all);
    add_silent(all);
    return all;
  }();
  return effects;
}

std::optional<std::string> failure_item(const std::string& list) {
  const auto found = items().find(list);
  return found == items().end() ? std::nullopt : std::optional(found->second);
}

ScenarioText::Pairs failure_context(const std::string& path) {
  if (path.starts_with("failures.sdc")) {
    return {{"failures.sdc.job_rate", "1/d"}};
  }
  if (path.starts_with("failures.loss_spikes.rule.")) {
    return {{"failures.loss_spikes.skip_steps", "5"}, {"failures.loss_spikes.rule.sigma", "4"}};
  }
  if (path.starts_with("failures.loss_spikes")) {
    return {{"failures.loss_spikes.rate", "1/d"}, {"failures.loss_spikes.skip_steps", "5"}};
  }
  return {};
}

}  // namespace orrery::scenario
