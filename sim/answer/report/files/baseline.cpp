#include "sim/answer/report/files/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/percent.hpp"

namespace orrery::report {

namespace {

constexpr double kRounding = 1e-9;  // base units

const MetricInfo* metric_of(std::string_view key) {
  for (const MetricInfo& metric : metric_registry()) {
    if (metric.json_key == key) {
      return &metric;
    }
  }
  return nullptr;
}

// What holds for the metric: said for the scenario, said for all, or usual.
Tolerance tolerance_of(const Baseline& baseline, const BaselineScenario& scenario,
                       std::string_view key, bool varies) {
  for (const Tolerances* stated : {&scenario.tolerances, &baseline.tolerances}) {
    const auto found = stated->find(key);
    if (found != stated->end()) {
      return found->second;
    }
  }
  const MetricInfo* metric = metric_of(key);
  if (metric != nullptr && metric->dimension == Dimension::date) {
    return {.relative = 0.0, .absolute = in_seconds(hours(1.0))};
  }
  return {.relative = varies ? baseline.statistical : baseline.exact};
}

double half_width(const std::optional<run::Interval>& interval) {
  return interval ? (interval->high - interval->low) / 2.0 : 0.0;
}

MetricChange compare(const BaselineMetric& before, const BaselineMetric& after,
                     const Tolerance& tolerance, bool decide_point) {
  MetricChange change = {.key = before.key,
                         .kind = ChangeKind::same,
                         .before = before.value,
                         .after = after.value,
                         .tolerance = tolerance};
  change.allowed =
      std::max({tolerance.absolute, tolerance.relative * std::abs(before.value), kRounding});
  change.noise = std::hypot(half_width(before.ci95), half_width(after.ci95));
  const double distance = std::abs(after.value - before.value);
  if (tolerance.any || distance <= change.allowed) {
    return change;
  }
  const bool chance = !decide_point && distance <= change.allowed + change.noise;
  change.kind = chance ? ChangeKind::chance : ChangeKind::moved;
  return change;
}

const BaselineMetric* find_baseline_metric(const std::vector<BaselineMetric>& metrics,
                                           std::string_view key) {
  const auto found =
      std::ranges::find_if(metrics, [key](const auto& metric) { return metric.key == key; });
  return found == metrics.end() ? nullptr : &*found;
}

// Six digits, more when they do not tell the two apart.
std::pair<std::string, std::string> digits(double before, double after) {
  std::pair<std::string, std::string> text(fmt::format("{:.6g}", before),
                                           fmt::format("{:.6g}", after));
  if (text.first == text.second && before != after) {
    text = {fmt::format("{}", before), fmt::format("{}", after)};
  }
  return text;
}

}  // namespace

const BaselineScenario* Baseline::find(std::string_view file) const {
  const auto found =
      std::ranges::find_if(scenarios, [file](const auto& one) { return one.file == file; });
  return found == scenarios.end() ? nullptr : &*found;
}

BaselineScenario baseline_of(const Evaluation& evaluation, std::string file) {
  BaselineScenario scenario = {.file = std::move(file),
                               .sha256 = evaluation.echo.sha256,
                               .trials = evaluation.run ? evaluation.run->trials : 0,
                               .fits = evaluation.feasible};
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr || !std::isfinite(value->value)) {
      continue;
    }
    BaselineMetric kept = {.key = std::string(metric.json_key), .value = value->value};
    if (value->trials) {
      const run::Interval interval = value->trials->ci95_of_mean();
      if (std::isfinite(interval.low) && std::isfinite(interval.high)) {
        kept.ci95 = interval;
      }
    }
    scenario.metrics.push_back(std::move(kept));
  }
  return scenario;
}

bool ScenarioChange::failed() const {
  return fits_changed ||
         std::ranges::any_of(metrics, [](const auto& change) { return change.failed(); });
}

std::size_t ScenarioChange::count(ChangeKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(metrics, [kind](const auto& change) { return change.kind == kind; }));
}

ScenarioChange compare_with(const Baseline& baseline, const BaselineScenario& now) {
  ScenarioChange change;
  change.fits = now.fits;
  const BaselineScenario* before = baseline.find(now.file);
  if (before == nullptr) {
    change.is_new = true;
    return change;
  }
  change.edited = before->sha256 != now.sha256;
  change.fits_changed = before->fits != now.fits;
  for (const BaselineMetric& metric : before->metrics) {
    const BaselineMetric* after = find_baseline_metric(now.metrics, metric.key);
    const bool varies = metric.ci95.has_value() || (after != nullptr && after->ci95.has_value());
    const Tolerance tolerance = tolerance_of(baseline, *before, metric.key, varies);
    if (after != nullptr) {
      change.metrics.push_back(compare(metric, *after, tolerance, baseline.decide_point));
    } else {
      change.metrics.push_back({.key = metric.key,
                                .kind = tolerance.any ? ChangeKind::same : ChangeKind::gone,
                                .before = metric.value,
                                .tolerance = tolerance});
    }
  }
  for (const BaselineMetric& metric : now.metrics) {
    if (find_baseline_metric(before->metrics, metric.key) == nullptr) {
      change.metrics.push_back(
          {.key = metric.key, .kind = ChangeKind::added, .after = metric.value, .tolerance = {}});
    }
  }
  return change;
}

std::string tolerance_text(const Tolerance& tolerance) {
  if (tolerance.any) {
    return "any";
  }
  const std::string relative = fmt::format("{:.6g} %", kPercent * tolerance.relative);
  const std::string absolute = fmt::format("{:.6g}", tolerance.absolute);
  if (tolerance.absolute <= 0.0) {
    return relative;
  }
  return tolerance.relative > 0.0 ? fmt::format("{} or {}", relative, absolute) : absolute;
}

std::string change_text(const MetricChange& change) {
  switch (change.kind) {
    case ChangeKind::same:
      return fmt::format("{} is as before", change.key);
    case ChangeKind::gone:
      return fmt::format("{} is gone, was {:.6g}", change.key, *change.before);
    case ChangeKind::added:
      return fmt::format("{} is new: {:.6g}", change.key, *change.after);
    case ChangeKind::chance:
    case ChangeKind::moved:
      break;
  }
  const auto [before, after] = digits(*change.before, *change.after);
  const double ratio = *change.before != 0.0 ? *change.after / *change.before - 1.0 : 0.0;
  std::string text = fmt::format("{} moved from {} to {}", change.key, before, after);
  if (*change.before != 0.0) {
    text += fmt::format(" ({:+.3g} %)", kPercent * ratio);
  }
  text += fmt::format(", tolerance {}", tolerance_text(change.tolerance));
  if (change.noise > 0.0) {
    text += fmt::format(", chance alone gives up to {:.3g}", change.noise);
  }
  return text;
}

}  // namespace orrery::report
