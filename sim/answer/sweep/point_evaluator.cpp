#include "sim/answer/sweep/point_evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/evaluate/inputs/named_files.hpp"
#include "sim/answer/report/metric_band.hpp"

namespace orrery::sweep {

namespace {

// Points come in an order that keeps equal steps together, so few steps are alive at once: as many
// as there are threads, with a margin.
constexpr std::size_t kMostSteps = 256;

evaluate::EvaluateOptions options_of(const Sweep& sweep, int threads, const std::stop_token& stop) {
  evaluate::EvaluateOptions options;
  options.threads = threads;
  options.trials = sweep.trials;
  options.seed = sweep.seed;
  options.levers = false;
  options.band = std::ranges::any_of(sweep.columns, &Column::with_error);
  options.search = sweep.search;
  options.stop = stop;
  return options;
}

// The place is told where it is in a file that is not the scenario: a profile.
std::string place_of(const Diagnostic& problem, const Sweep& sweep) {
  const std::string& file = problem.where.file;
  const bool known = std::ranges::any_of(
      sweep.axes, [&file](const Axis& axis) { return axis.where.file == file; });
  return known || file.empty() || file == sweep.base.file()
             ? std::string()
             : fmt::format("{}:{}: ", file, problem.where.line);
}

std::string first_error(const Diagnostics& diagnostics, const Sweep& sweep) {
  for (const Diagnostic& problem : diagnostics.all()) {
    if (problem.severity == Severity::error) {
      return fmt::format("{}{}{}{}{}", place_of(problem, sweep), problem.key,
                         problem.key.empty() ? "" : ": ", problem.message,
                         problem.allowed.empty() ? "" : fmt::format(" ({})", problem.allowed));
    }
  }
  return "it cannot be evaluated";
}

double part_of(const report::Estimate& figure, Part part) {
  switch (part) {
    case Part::value:
      break;
    case Part::ci95_low:
      return figure.ci95.low;
    case Part::ci95_high:
      return figure.ci95.high;
  }
  return figure.value;
}

}  // namespace

// A step that is evaluated by the first who needs it.
struct PointEvaluator::KeptStep {
  std::once_flag once;
  std::shared_ptr<const evaluate::StepAnswer> step;
  Diagnostics problems;
};

PointEvaluator::PointEvaluator(const Sweep& sweep) : sweep_(sweep) {}

PointEvaluator::~PointEvaluator() = default;

std::string PointEvaluator::step_of(std::size_t point) const {
  std::string name;
  for (const scenario::KeyValue& change : sweep_.changes(point)) {
    const std::string_view key = change.key;
    if (!is_run_section(key.substr(0, key.find('.')))) {
      name += fmt::format("{}: {}\n", change.key, change.value);
    }
  }
  return name;
}

std::shared_ptr<PointEvaluator::KeptStep> PointEvaluator::kept_step(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<KeptStep>& kept = kept_[name];
  if (!kept) {
    kept = std::make_shared<KeptStep>();
    oldest_.push_back(name);
  }
  const std::shared_ptr<KeptStep> result = kept;
  if (oldest_.size() > kMostSteps) {
    kept_.erase(oldest_.front());
    oldest_.erase(oldest_.begin());
  }
  return result;
}

std::shared_ptr<step::StepSimulator> PointEvaluator::take_simulator() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    return evaluate::make_simulator();
  }
  auto simulator = std::move(idle_.back());
  idle_.pop_back();
  return simulator;
}

void PointEvaluator::give_back(std::shared_ptr<step::StepSimulator> simulator) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(simulator));
}

std::vector<std::size_t> PointEvaluator::good_order(std::vector<std::size_t> points) const {
  std::map<std::string, std::vector<std::size_t>> by_step;
  std::vector<std::string> steps;
  for (const std::size_t point : points) {
    std::vector<std::size_t>& same = by_step[step_of(point)];
    if (same.empty()) {
      steps.push_back(step_of(point));
    }
    same.push_back(point);
  }
  points.clear();
  for (const std::string& step : steps) {
    const std::vector<std::size_t>& same = by_step[step];
    points.insert(points.end(), same.begin(), same.end());
  }
  return points;
}

std::optional<report::Evaluation> PointEvaluator::evaluation(std::size_t point, int threads,
                                                             const std::stop_token& stop,
                                                             Diagnostics& diagnostics,
                                                             const Progress& progress) {
  const auto scenario = sweep_.base.with(sweep_.changes(point), diagnostics);
  return scenario ? answer_to(*scenario, point, threads, stop, diagnostics, progress)
                  : std::nullopt;
}

std::optional<report::Evaluation> PointEvaluator::answer_to(const scenario::Scenario& scenario,
                                                            std::size_t point, int threads,
                                                            const std::stop_token& stop,
                                                            Diagnostics& diagnostics,
                                                            const Progress& progress) {
  evaluate::EvaluateOptions options = options_of(sweep_, threads, stop);
  options.progress = progress;
  const std::shared_ptr<KeptStep> kept = kept_step(step_of(point));
  std::call_once(kept->once, [&] {
    options.simulator = take_simulator();
    kept->step = evaluate::evaluate_step(scenario, options, kept->problems);
    give_back(std::move(options.simulator));
  });
  diagnostics.add(kept->problems);
  return kept->step ? evaluate::evaluate_run(scenario, *kept->step, options, diagnostics)
                    : std::nullopt;
}

PointResult PointEvaluator::result(std::size_t point, int threads, const std::stop_token& stop) {
  Diagnostics diagnostics;
  const auto scenario = sweep_.base.with(sweep_.changes(point), diagnostics);
  PointResult result;
  if (scenario) {
    result.files = evaluate::named_files(*scenario);  // before they are read
  }
  const auto answer = scenario ? answer_to(*scenario, point, threads, stop, diagnostics, {})
                               : std::optional<report::Evaluation>();
  if (!answer) {
    result.status = Status::invalid;
    result.reason = first_error(diagnostics, sweep_);
    return result;
  }
  if (answer->run && answer->run->finished < answer->run->trials) {
    result.status = Status::gave_up;
    result.reason = fmt::format(
        "{} of {} trials: {}", answer->run->trials - answer->run->finished, answer->run->trials,
        run::to_string(answer->run->gave_up.value_or(run::StopReason::horizon)));
  }
  if (!answer->feasible) {
    result.status = Status::does_not_fit;
    result.reason = answer->reasons.empty() ? "memory" : answer->reasons.front();
  }
  for (const Column& column : sweep_.columns) {
    const report::Operand& operand = column.operand;
    const auto figure = report::estimate(operand, answer->metrics);
    auto value = figure ? std::optional(part_of(*figure, column.part)) : std::nullopt;
    if (column.with_error) {
      const auto all = report::share_at_most(*answer, operand.metric, operand.inner_bound);
      value = all ? all : value;
    }
    result.cells.push_back(value && std::isfinite(*value) ? value : std::nullopt);
  }
  return result;
}

}  // namespace orrery::sweep
