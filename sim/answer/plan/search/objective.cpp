#include "sim/answer/plan/search/objective.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::plan {

namespace {

using report::Dimension;
using report::MetricId;

// kWh of one GPU second of held nodes: the metric's own mean over the mean of what was held.
double kilowatts_per_gpu(const report::Evaluation& evaluation) {
  const report::MetricValue* energy = evaluation.metrics.find(MetricId::energy);
  const double held = evaluation.run->held.mean();
  return energy != nullptr && held > 0.0 ? energy->value / held : 0.0;
}

}  // namespace

Dimension dimension_of(Objective objective) {
  switch (objective) {
    case Objective::step_time:
    case Objective::finish_time:
      return Dimension::time;
    case Objective::cost:
    case Objective::cost_per_token:
      return Dimension::dollars;
    case Objective::fewest_gpus:
      return Dimension::count;
    case Objective::energy:
      return Dimension::energy;
  }
  return Dimension::count;
}

std::optional<MetricId> metric_of(const report::Evaluation& evaluation, Objective objective) {
  switch (objective) {
    case Objective::step_time:
      return MetricId::step_time;
    case Objective::finish_time:
      return MetricId::finish_time;
    case Objective::cost:
      return MetricId::cost;
    case Objective::cost_per_token:
      return MetricId::cost_per_million_tokens;
    case Objective::energy:
      return evaluation.metrics.find(MetricId::site_energy) != nullptr ? MetricId::site_energy
                                                                       : MetricId::energy;
    case Objective::fewest_gpus:
      break;
  }
  return std::nullopt;
}

std::optional<double> objective_value(const report::Evaluation& evaluation, Objective objective) {
  if (objective == Objective::fewest_gpus) {
    return static_cast<double>(evaluation.step.gpus);
  }
  const auto metric = metric_of(evaluation, objective);
  const report::MetricValue* value = metric ? evaluation.metrics.find(*metric) : nullptr;
  return value != nullptr ? std::optional(value->value) : std::nullopt;
}

std::vector<double> objective_trials(const report::Evaluation& evaluation,
                                     const TrialValues& trials, Objective objective) {
  switch (objective) {
    case Objective::finish_time:
      return trials.wall;
    case Objective::cost:
      return trials.cost;
    case Objective::cost_per_token: {
      std::vector<double> values(trials.cost.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = trials.tokens[i] > 0.0 ? trials.cost[i] / trials.tokens[i] * kMega : 0.0;
      }
      return values;
    }
    case Objective::energy: {
      if (evaluation.metrics.find(MetricId::site_energy) != nullptr) {
        return trials.energy;
      }
      const double rate = kilowatts_per_gpu(evaluation);
      std::vector<double> values = trials.held;
      std::transform(values.begin(), values.end(), values.begin(),
                     [rate](double held) { return held * rate; });
      return values;
    }
    case Objective::step_time:
    case Objective::fewest_gpus:
      break;
  }
  return {objective_value(evaluation, objective).value_or(0.0)};
}

std::string_view best_words(Objective objective) {
  switch (objective) {
    case Objective::step_time:
      return "the shortest step";
    case Objective::finish_time:
      return "the earliest finish";
    case Objective::cost:
      return "the lowest cost";
    case Objective::cost_per_token:
      return "the lowest cost per token";
    case Objective::fewest_gpus:
      return "the fewest GPUs";
    case Objective::energy:
      return "the least energy";
  }
  return {};
}

}  // namespace orrery::plan
