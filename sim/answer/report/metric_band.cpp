#include "sim/answer/report/metric_band.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace orrery::report {

namespace {

bool moves(Follows follows, bool window) {
  switch (follows) {
    case Follows::step:
    case Follows::speed:
      return true;
    case Follows::duration:
      return !window;
    case Follows::progress:
      return window;
    case Follows::nothing:
      break;
  }
  return false;
}

double laplace(double x) { return x < 0.0 ? std::exp(x) / 2.0 : 1.0 - std::exp(-x) / 2.0; }

// The share of the cases below a value: `logs` of the trials, `spread` of the step.
double share_below(const std::vector<double>& logs, double spread, double log) {
  double sum = 0.0;
  for (const double one : logs) {
    sum += laplace((log - one) / spread);
  }
  return sum / static_cast<double>(logs.size());
}

// The value below which a share of the cases lie.
double quantile_of(const std::vector<double>& logs, double spread, double share) {
  constexpr double kFar = 40.0;  // spreads: exp(-40) of the cases lie beyond
  constexpr int kHalvings = 60;
  double low = logs.front() - kFar * spread;
  double high = logs.back() + kFar * spread;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2.0;
    (share_below(logs, spread, middle) < share ? low : high) = middle;
  }
  return std::exp((low + high) / 2.0);
}

// Logarithms of the value in the trials, ascending; of many trials their quantiles.
std::vector<double> logs_of(const MetricValue& metric) {
  if (!metric.trials) {
    return {std::log(metric.value)};
  }
  constexpr int kPoints = 200;
  std::vector<double> logs;
  for (int i = 0; i < kPoints; ++i) {
    logs.push_back(std::log(metric.trials->quantile((i + 0.5) / kPoints)));
  }
  return logs;
}

constexpr double kTail = (1.0 - StepBand::kLevel) / 2.0;

// b of the step's error that the metric has; nothing without.
std::optional<double> spread_of(const Evaluation& evaluation, MetricId id) {
  const MetricValue* metric = evaluation.metrics.find(id);
  if (!evaluation.band || !(evaluation.band->high > evaluation.band->low) || metric == nullptr ||
      !follows_step(evaluation, id) || !(metric->value > 0.0)) {
    return std::nullopt;
  }
  if (metric->trials && !(metric->trials->least() > 0.0)) {
    return std::nullopt;  // a count that is 0 in some trials has no relative band
  }
  return std::log(evaluation.band->high / evaluation.band->low) / (-2.0 * std::log(2.0 * kTail));
}

}  // namespace

bool follows_step(const Evaluation& evaluation, MetricId id) {
  return moves(info(id).follows, evaluation.plan && !evaluation.plan->target_steps);
}

bool is_within_error(double first, double other, double error) {
  const double least = std::min(first, other);
  return first != other && error > 0.0 && least > 0.0 &&
         !told_apart(std::max(first, other) / least - 1.0, error);
}

std::optional<MetricBand> metric_band(const Evaluation& evaluation, MetricId id) {
  if (id == MetricId::finish_date) {
    const MetricValue* date = evaluation.metrics.find(id);
    const MetricValue* time = evaluation.metrics.find(MetricId::finish_time);
    auto band = date == nullptr ? std::nullopt : metric_band(evaluation, MetricId::finish_time);
    if (band) {
      band->low += date->value - time->value;
      band->high += date->value - time->value;
    }
    return band;
  }
  const auto spread = spread_of(evaluation, id);
  if (!spread) {
    return std::nullopt;
  }
  const std::vector<double> logs = logs_of(*evaluation.metrics.find(id));
  return MetricBand{quantile_of(logs, *spread, kTail), quantile_of(logs, *spread, 1.0 - kTail)};
}

std::optional<double> share_at_most(const Evaluation& evaluation, MetricId id, double bound) {
  const MetricValue* metric = evaluation.metrics.find(id);
  if (id == MetricId::finish_date && metric != nullptr) {
    const MetricValue* time = evaluation.metrics.find(MetricId::finish_time);
    return share_at_most(evaluation, MetricId::finish_time, bound - metric->value + time->value);
  }
  const auto spread = spread_of(evaluation, id);
  if (!spread) {
    return std::nullopt;
  }
  return bound > 0.0 ? share_below(logs_of(*metric), *spread, std::log(bound)) : 0.0;
}

}  // namespace orrery::report
