#include "sim/answer/evaluate/compare/compare_calibrations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/base/percent.hpp"
#include "sim/base/quantile.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/document.hpp"

namespace orrery::evaluate {

namespace {

using hardware::CalibrationProfile;
using hardware::CalibrationSample;

constexpr std::size_t kCasesShown = 10;

std::string group_of(const CalibrationSample& sample) {
  std::string name(kernels::to_string(sample.call.operation));
  if (sample.call.role != kernels::Role::none) {
    name += fmt::format(" {}", kernels::to_string(sample.call.role));
  }
  name += fmt::format(" {}", kernels::to_string(sample.call.precision));
  if (!sample.implementation.empty()) {
    name += fmt::format(" ({})", sample.implementation);
  }
  return sample.burst ? name + ", burst" : name;
}

std::string name_of(const CalibrationSample& sample) {
  return kernels::to_text(sample.call) + (sample.burst ? ", burst" : "");
}

std::string key_of(const CalibrationSample& sample) {
  return name_of(sample) + " by " + sample.implementation;
}

std::map<std::string, const CalibrationSample*> by_key(const CalibrationProfile& profile) {
  std::map<std::string, const CalibrationSample*> found;
  for (const CalibrationSample& sample : profile.samples) {
    found[key_of(sample)] = &sample;
  }
  return found;
}

// `cases` are sorted: the slowest of each group comes first.
std::vector<GroupRatio> groups_of(const std::vector<CaseRatio>& cases) {
  std::map<std::string, std::vector<double>> ratios;
  std::map<std::string, std::string> worst;
  for (const CaseRatio& one : cases) {
    ratios[one.group].push_back(one.ratio);
    worst.try_emplace(one.group, one.name);
  }
  std::vector<GroupRatio> groups;
  for (const auto& [name, values] : ratios) {
    groups.push_back({.name = name,
                      .cases = values.size(),
                      .median = median_of(values),
                      .worst = values.front(),
                      .worst_case = worst.at(name)});
  }
  std::ranges::stable_sort(groups, std::ranges::greater{}, &GroupRatio::median);
  return groups;
}

std::vector<DerivedChange> derived_changes(const CalibrationProfile& first,
                                           const CalibrationProfile& second) {
  std::vector<DerivedChange> changes;
  for (const std::string_view name : hardware::derived_names()) {
    const auto a = first.find_derived(name);
    const auto b = second.find_derived(name);
    if (a != b) {
      changes.push_back({std::string(name), a, b});
    }
  }
  return changes;
}

std::set<std::string> unsupported_in(const CalibrationProfile& profile) {
  std::set<std::string> names;
  for (const hardware::UnsupportedCase& one : profile.unsupported) {
    names.insert(kernels::to_text(one.call));
  }
  return names;
}

// Measured by one, refused by the library of the other.
std::vector<std::string> refused_by(const CalibrationProfile& refusing,
                                    const CalibrationProfile& measuring) {
  const std::set<std::string> refused = unsupported_in(refusing);
  std::set<std::string> names;
  for (const CalibrationSample& sample : measuring.samples) {
    if (std::string text = kernels::to_text(sample.call); refused.contains(text)) {
      names.insert(std::move(text));
    }
  }
  return {names.begin(), names.end()};
}

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : std::string("-");
}

std::string list_text(std::string_view title, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("  {}\n", name);
  }
  return text.empty() ? text : fmt::format("{}\n{}", title, text);
}

void flatten(const yaml::Value& value, const std::string& path,
             std::map<std::string, std::string>& keys) {
  switch (value.kind) {
    case yaml::Value::Kind::mapping:
      for (const yaml::Entry& entry : value.entries) {
        flatten(entry.value, path.empty() ? entry.key : path + "." + entry.key, keys);
      }
      break;
    case yaml::Value::Kind::sequence:
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        flatten(value.items[i], fmt::format("{}[{}]", path, i), keys);
      }
      break;
    case yaml::Value::Kind::scalar:
    case yaml::Value::Kind::null:
      keys[path] = value.text;
      break;
  }
}

}  // namespace

CalibrationComparison compare(const CalibrationProfile& first, const CalibrationProfile& second) {
  CalibrationComparison result;
  result.changed = hardware::changed_fields(first.fingerprint, second.fingerprint, false);
  const auto a = by_key(first);
  const auto b = by_key(second);
  for (const auto& [key, sample] : a) {
    const auto other = b.find(key);
    if (other == b.end()) {
      ++result.only_first;
      continue;
    }
    result.cases.push_back({.name = name_of(*sample),
                            .group = group_of(*sample),
                            .first = sample->median,
                            .second = other->second->median,
                            .ratio = other->second->median / sample->median});
  }
  result.only_second = b.size() - result.cases.size();
  std::ranges::stable_sort(result.cases, std::ranges::greater{}, &CaseRatio::ratio);
  result.groups = groups_of(result.cases);
  result.derived = derived_changes(first, second);
  result.no_longer_supported = refused_by(second, first);
  result.newly_supported = refused_by(first, second);
  return result;
}

std::string comparison_text(const CalibrationComparison& comparison, std::string_view first,
                            std::string_view second) {
  std::string text = fmt::format("A {}\nB {}\n", first, second);
  text += comparison.changed.empty() ? "Same machine, same versions\n" : "Changed\n";
  for (const hardware::FieldChange& change : comparison.changed) {
    text += fmt::format("  {:<32} {} -> {}\n", change.key, change.from, change.to);
  }
  text +=
      fmt::format("Time in B against A, {} cases (+: B is slower)\n  {:<40} {:>6} {:>9} {:>9}\n",
                  comparison.cases.size(), "group", "cases", "median", "worst");
  for (const GroupRatio& group : comparison.groups) {
    text += fmt::format("  {:<40} {:>6} {:>9} {:>9}  {}\n", group.name, group.cases,
                        signed_percent_cell(group.median - 1.0),
                        signed_percent_cell(group.worst - 1.0), group.worst_case);
  }
  const std::size_t shown = std::min(kCasesShown, comparison.cases.size());
  text += shown > 0 ? "Slowest cases\n" : "";
  for (std::size_t i = 0; i < shown; ++i) {
    const CaseRatio& one = comparison.cases[i];
    text += fmt::format("  {:<64} {:>9} {} -> {}\n", one.name, signed_percent_cell(one.ratio - 1.0),
                        format_time(one.first), format_time(one.second));
  }
  text += comparison.derived.empty() ? "" : "Derived figures\n";
  for (const DerivedChange& change : comparison.derived) {
    text += fmt::format("  {:<32} {} -> {}\n", change.name, value_text(change.first),
                        value_text(change.second));
  }
  text += list_text("No longer supported in B", comparison.no_longer_supported);
  text += list_text("Supported in B, not in A", comparison.newly_supported);
  return text + fmt::format("Only in A: {} cases, only in B: {}\n", comparison.only_first,
                            comparison.only_second);
}

bool is_calibration_file(const std::string& path) {
  Diagnostics unused;
  const auto root = yaml::parse_file(path, yaml::Limits{}, unused);
  return root && hardware::is_calibration(*root);
}

std::optional<std::vector<KeyChange>> changed_keys(const std::string& first,
                                                   const std::string& second,
                                                   Diagnostics& diagnostics) {
  std::map<std::string, std::string> a;
  std::map<std::string, std::string> b;
  for (const auto& [path, keys] : {std::pair(&first, &a), std::pair(&second, &b)}) {
    const auto root = yaml::parse_file(*path, yaml::Limits{}, diagnostics, *path);
    if (!root) {
      return std::nullopt;
    }
    flatten(*root, "", *keys);
  }
  std::vector<KeyChange> changes;
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    if (other == b.end()) {
      changes.push_back({key, value, std::nullopt});
    } else if (other->second != value) {
      changes.push_back({key, value, other->second});
    }
  }
  for (const auto& [key, value] : b) {
    if (!a.contains(key)) {
      changes.push_back({key, std::nullopt, value});
    }
  }
  std::ranges::sort(changes, {}, &KeyChange::key);
  return changes;
}

}  // namespace orrery::evaluate
