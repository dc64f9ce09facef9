#include "sim/answer/evaluate/compare/baseline_file.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <utility>

#include "sim/base/percent.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::evaluate {

namespace {

namespace kind = yaml::kind;

using report::Baseline;
using report::BaselineMetric;
using report::BaselineScenario;
using report::MetricInfo;
using report::Tolerance;
using report::Tolerances;

constexpr std::array<yaml::Choice<bool>, 2> kDecisions = {{{"interval", false}, {"point", true}}};

// A metric by the name of its JSON key, or by that of expectations.
const MetricInfo* metric_named(std::string_view name) {
  for (const MetricInfo& metric : report::metric_registry()) {
    if (metric.json_key == name || metric.name == name) {
      return &metric;
    }
  }
  return nullptr;
}

// A double-quoted text where plain YAML would read something else.
std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    constexpr char kFirstPrintable = ' ';
    if (c >= 0 && c < kFirstPrintable) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string tolerance_yaml(const Tolerance& tolerance) {
  if (tolerance.any) {
    return "any";
  }
  const std::string relative = fmt::format("{:.12g}%", kPercent * tolerance.relative);
  return tolerance.absolute > 0.0
             ? fmt::format("{{relative: {}, absolute: {}}}", relative, tolerance.absolute)
             : relative;
}

// All digits; no minus before a zero.
std::string number_text(double value) { return fmt::format("{}", value == 0.0 ? 0.0 : value); }

std::string metric_yaml(const BaselineMetric& metric) {
  if (!metric.ci95) {
    return fmt::format("      {}: {}\n", metric.key, number_text(metric.value));
  }
  return fmt::format("      {}: {{value: {}, ci95: [{}, {}]}}\n", metric.key,
                     number_text(metric.value), number_text(metric.ci95->low),
                     number_text(metric.ci95->high));
}

std::optional<Tolerance> read_tolerance(yaml::MappingReader& from, std::string_view name) {
  const std::string path = from.path_of(name);
  const yaml::Value& value = *from.take(name);
  if (yaml::is_word(value, "any")) {
    return Tolerance{.any = true};
  }
  if (value.kind != yaml::Value::Kind::mapping) {
    const auto relative = yaml::read_value<kind::Fraction>(value, path, from.diagnostics());
    return relative ? std::optional(Tolerance{.relative = *relative}) : std::nullopt;
  }
  yaml::MappingReader both(value, from.diagnostics(), path);
  Tolerance tolerance;
  tolerance.relative = both.optional<kind::Fraction>("relative").value_or(0.0);
  tolerance.absolute = both.optional<kind::Number>("absolute", yaml::at_least(0.0)).value_or(0.0);
  both.finish();
  return tolerance;
}

// Metrics of `from` that are no key of the mapping itself.
void read_tolerances(yaml::MappingReader& from, Tolerances& tolerances) {
  for (const yaml::Entry& entry : from.value().entries) {
    const MetricInfo* metric = metric_named(entry.key);
    if (metric == nullptr) {
      continue;  // finish() names it
    }
    if (const auto tolerance = read_tolerance(from, entry.key)) {
      tolerances[std::string(metric->json_key)] = *tolerance;
    }
  }
}

std::optional<BaselineMetric> read_metric(yaml::MappingReader& from, const std::string& key) {
  const yaml::Value& value = *from.take(std::string_view(key));
  const std::string path = from.path_of(key);
  BaselineMetric metric = {.key = key};
  if (value.kind != yaml::Value::Kind::mapping) {
    const auto number = yaml::read_value<kind::Number>(value, path, from.diagnostics());
    metric.value = number.value_or(0.0);
    return number ? std::optional(metric) : std::nullopt;
  }
  yaml::MappingReader reader(value, from.diagnostics(), path);
  const auto number = reader.require<kind::Number>("value");
  const auto interval = reader.optional_list<kind::Number>("ci95");
  reader.finish();
  if (interval && (interval->size() != 2 || (*interval)[0] > (*interval)[1])) {
    reader.error("ci95", "is no interval", "[low, high]");
    return std::nullopt;
  }
  if (!number) {
    return std::nullopt;
  }
  metric.value = *number;
  if (interval) {
    metric.ci95 = run::Interval{(*interval)[0], (*interval)[1]};
  }
  return metric;
}

BaselineScenario read_scenario(yaml::MappingReader& from) {
  BaselineScenario scenario;
  scenario.file = from.require_text("file", "`../scenarios/a.yaml`").value_or("");
  scenario.sha256 = from.optional_text("sha256").value_or("");
  scenario.trials =
      from.optional<kind::Count>("trials", yaml::at_least<std::int64_t>(0)).value_or(0);
  scenario.fits = from.optional<kind::Boolean>("fits").value_or(true);
  if (auto tolerances = from.optional_mapping("tolerances")) {
    read_tolerances(*tolerances, scenario.tolerances);
    tolerances->finish();
  }
  if (auto metrics = from.require_mapping("metrics")) {
    for (const yaml::Entry& entry : metrics->value().entries) {
      if (auto metric = read_metric(*metrics, entry.key)) {
        scenario.metrics.push_back(std::move(*metric));
      }
    }
  }
  from.finish();
  return scenario;
}

// A file of another format is refused as a whole: its other keys mean something else.
bool has_format(yaml::MappingReader& reader) {
  constexpr std::string_view kMaker = "`orrery check --write-baseline FILE` makes one";
  if (!reader.valid()) {
    return false;
  }
  if (!reader.has("format")) {
    reader.error("format", "is required but missing: this is no baseline",
                 fmt::format("`format: {}`; {}", kBaselineFormat, kMaker));
    return false;
  }
  const auto format = reader.require_text("format");
  if (format && *format != kBaselineFormat) {
    reader.error("format", yaml::display(*format) + " is no baseline",
                 fmt::format("{}; {}", kBaselineFormat, kMaker));
  }
  return format == kBaselineFormat;
}

std::optional<Baseline> read_tree(const yaml::Value& root, Diagnostics& diagnostics) {
  Baseline baseline;
  yaml::MappingReader reader(root, diagnostics);
  if (!has_format(reader)) {
    return std::nullopt;
  }
  baseline.decide_point = reader.optional_choice("decide", kDecisions).value_or(false);
  if (auto tolerances = reader.optional_mapping("tolerances")) {
    baseline.exact = tolerances->optional<kind::Fraction>("exact").value_or(baseline.exact);
    baseline.statistical =
        tolerances->optional<kind::Fraction>("statistical").value_or(baseline.statistical);
    read_tolerances(*tolerances, baseline.tolerances);
    tolerances->finish();
  }
  std::set<std::string> files;
  for (yaml::MappingReader& item : reader.optional_mappings("scenarios")) {
    BaselineScenario scenario = read_scenario(item);
    if (!files.insert(scenario.file).second) {
      item.error("file", yaml::display(scenario.file) + " stands here a second time");
    }
    baseline.scenarios.push_back(std::move(scenario));
  }
  reader.finish();
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(baseline));
}

}  // namespace

std::string to_yaml(const Baseline& baseline) {
  std::string text = fmt::format(
      "format: {}\n"
      "# What each scenario answered when it was accepted. Tolerances may be edited, and\n"
      "# `orrery check --baseline FILE --update-baseline` keeps them. A metric may also have\n"
      "# {{relative: 1%, absolute: 0.002}} (the larger one counts, in the unit of its key) or "
      "any.\n"
      "decide: {}\n"
      "tolerances:\n  exact: {:.12g}%\n  statistical: {:.12g}%\n",
      kBaselineFormat, baseline.decide_point ? "point" : "interval", kPercent * baseline.exact,
      kPercent * baseline.statistical);
  for (const auto& [key, tolerance] : baseline.tolerances) {
    text += fmt::format("  {}: {}\n", key, tolerance_yaml(tolerance));
  }
  text += baseline.scenarios.empty() ? "scenarios: []\n" : "scenarios:\n";
  for (const BaselineScenario& scenario : baseline.scenarios) {
    text += fmt::format("  - file: {}\n    sha256: {}\n    trials: {}\n    fits: {}\n",
                        quoted_text(scenario.file), quoted_text(scenario.sha256), scenario.trials,
                        scenario.fits);
    if (!scenario.tolerances.empty()) {
      text += "    tolerances:\n";
      for (const auto& [key, tolerance] : scenario.tolerances) {
        text += fmt::format("      {}: {}\n", key, tolerance_yaml(tolerance));
      }
    }
    text += scenario.metrics.empty() ? "    metrics: {}\n" : "    metrics:\n";
    for (const BaselineMetric& metric : scenario.metrics) {
      text += metric_yaml(metric);
    }
  }
  return text;
}

std::optional<Baseline> read_baseline(const std::filesystem::path& path, Diagnostics& diagnostics) {
  const auto tree = yaml::parse_file(path, {}, diagnostics);
  return tree ? read_tree(*tree, diagnostics) : std::nullopt;
}

std::optional<Baseline> parse_baseline(std::string_view text, const std::string& name,
                                       Diagnostics& diagnostics) {
  const auto tree = yaml::parse(text, name, {}, diagnostics);
  return tree ? read_tree(*tree, diagnostics) : std::nullopt;
}

}  // namespace orrery::evaluate
