// Questions about dates: how likely is an end by a date.

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::sweep {

// How far is the training at every date? Quantiles over the trials, for a fan chart.

namespace {

using report::Dimension;

constexpr std::size_t kDates = 61;  // 60 equal parts of the longest trial
constexpr std::array<int, 7> kPercentiles = {5, 10, 25, 50, 75, 90, 95};

// Steps done and kept so far, by date and trial.
using Progress = std::vector<std::vector<double>>;

std::vector<SimTime> dates_until(double wall) {
  std::vector<SimTime> dates;
  for (std::size_t i = 0; i < kDates; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kDates - 1);
    dates.push_back(run::bounded_time(seconds(wall * share)));
  }
  return dates;
}

Progress progress_of(const Asking& asking, const run::RunPlan& plan,
                     const std::vector<SimTime>& dates) {
  const std::int64_t trials = plan.simulation.trials;
  std::vector<std::vector<double>> by_trial(static_cast<std::size_t>(trials));
  constexpr std::int64_t kTrialsPerChunk = 16;
  const bool complete = parallel_for(
      trials,
      {.threads = asking.question.threads, .grain = kTrialsPerChunk, .stop = asking.question.stop},
      [&](std::int64_t begin, std::int64_t end) {
        run::RunSimulator simulator(plan);
        for (std::int64_t trial = begin; trial < end; ++trial) {
          std::vector<double>& steps = by_trial[static_cast<std::size_t>(trial)];
          const run::RunResult result = simulator.run({.trial = static_cast<std::uint32_t>(trial),
                                                       .samples = dates,
                                                       .progress = &steps,
                                                       .stop = asking.question.stop});
          steps.resize(dates.size(), static_cast<double>(result.steps_done));  // after its end
        }
      });
  if (!complete || asking.question.stop.stop_requested()) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
  Progress by_date(dates.size());
  for (std::size_t i = 0; i < dates.size(); ++i) {
    for (const std::vector<double>& trial : by_trial) {
      by_date[i].push_back(trial[i]);
    }
  }
  return by_date;
}

// Tokens of a number of steps that need not be whole.
Tokens tokens_after(const run::RunPlan& plan, double steps) {
  const double whole = std::floor(steps);
  const Tokens below = run::tokens_of_steps(plan.phases, static_cast<std::int64_t>(whole));
  const Tokens above = run::tokens_of_steps(plan.phases, static_cast<std::int64_t>(whole) + 1);
  return below + (above - below) * (steps - whole);
}

// The metric that the date or time of --by is compared with; nothing after an error.
std::optional<std::string> metric_for(const Asking& asking, bool has_start) {
  const std::optional<std::string>& by = asking.question.by;
  if (!by) {
    no_answer(asking, {}, "--by states no date or time");
    return std::nullopt;
  }
  if (yaml::parse_time(*by).value) {
    return "finish_time";
  }
  const auto date = yaml::parse_date_time(*by);
  if (!date.value) {
    no_answer(asking, {},
              fmt::format("--by: {} ({}, or a time such as 60d)", date.message, date.allowed));
    return std::nullopt;
  }
  if (!has_start) {
    no_answer(asking, "training.start", "a date needs the date of the start");
    return std::nullopt;
  }
  return "finish_date";
}

// With the error of the predicted step, which trials do not hold.
std::optional<double> chance_with_error(const Asking& asking, const std::string& metric) {
  Diagnostics told;
  const Sweep& sweep = asking.question.sweep;
  const auto scenario = sweep.base.with({}, told);
  evaluate::EvaluateOptions options;
  options.threads = asking.question.threads;
  options.trials = sweep.trials;
  options.seed = sweep.seed;
  options.search = sweep.search;
  options.stop = asking.question.stop;
  const auto evaluation = scenario ? evaluate::evaluate(*scenario, options, told) : std::nullopt;
  const report::MetricInfo* info = report::find_metric(metric);
  if (!evaluation || info == nullptr) {
    return std::nullopt;
  }
  const auto date = yaml::parse_date_time(*asking.question.by);
  const auto time = yaml::parse_time(*asking.question.by);
  const double by =
      time.value ? in_seconds(*time.value) : static_cast<double>(date.value->unix_seconds);
  return report::share_at_most(*evaluation, info->id, by);
}

}  // namespace

std::optional<Answer> progress_fan(const Asking& asking) {
  const auto base = evaluate_base(asking);
  if (!base) {
    return std::nullopt;
  }
  const run::RunPlan& plan = *base->plan;
  const std::vector<SimTime> dates = dates_until(base->run->wall.greatest());
  const Progress progress = progress_of(asking, plan, dates);
  const auto* date = base->metrics.find(report::MetricId::finish_date);
  const double start = date != nullptr ? date->value - base->run->wall.mean() : 0.0;
  Answer answer = begin_answer(asking);
  answer.facts = {{"trials", static_cast<double>(plan.simulation.trials)},
                  {"last_end_s", in_seconds(to_seconds(dates.back()))}};
  answer.sentences.push_back(
      fmt::format("Tokens trained and kept, as quantiles over {} trials.", plan.simulation.trials));
  answer.columns = {{"time_s", "after", Dimension::time}};
  if (date != nullptr) {
    answer.columns.push_back({"date_unix_s", "date", Dimension::date});
  }
  for (const int percentile : kPercentiles) {
    answer.columns.push_back(
        {fmt::format("tokens_p{}", percentile), fmt::format("p{}", percentile), Dimension::count});
  }
  for (std::size_t i = 0; i < dates.size(); ++i) {
    const double after = in_seconds(to_seconds(dates[i]));
    std::vector<report::Cell> line = {after};
    if (date != nullptr) {
      line.emplace_back(std::round(start + after));
    }
    std::vector<double> tokens;
    for (const double steps : progress[i]) {
      tokens.push_back(in_tokens(tokens_after(plan, steps)));
    }
    const run::Distribution spread(std::move(tokens));
    for (const int percentile : kPercentiles) {
      line.emplace_back(spread.quantile(percentile / kPercent));
    }
    answer.rows.push_back(std::move(line));
  }
  return answer;
}

std::optional<Answer> done_by(const Asking& asking) {
  const auto base = evaluate_base(asking);
  if (!base) {
    return std::nullopt;
  }
  if (!base->plan->target_steps) {
    no_answer(asking, "training.duration",
              "the run lasts as long as is stated; state training.tokens or training.steps");
    return std::nullopt;
  }
  const bool has_start = base->metrics.find(report::MetricId::finish_date) != nullptr;
  const auto metric = metric_for(asking, has_start);
  if (!metric) {
    return std::nullopt;
  }
  const std::string chance = fmt::format("probability({} <= {})", *metric, *asking.question.by);
  const std::string shown = has_start ? "finish_date" : "finish_time";
  std::vector<std::string> operands = {chance, chance + " low", chance + " high"};
  for (const int percentile : kPercentiles) {
    operands.push_back(fmt::format("p{}({})", percentile, shown));
  }
  const auto rows = evaluate_rows(asking, asking.question.sweep.axes, operands);
  if (!rows) {
    return std::nullopt;
  }
  Answer answer = begin_answer(asking);
  for (const Axis& axis : rows->sweep.axes) {
    answer.columns.push_back({axis.key.path, axis.key.path, std::nullopt});
  }
  answer.columns.push_back(
      {"probability", fmt::format("by {}", *asking.question.by), Dimension::fraction});
  answer.columns.push_back({"probability_ci95_low", "95 % from", Dimension::fraction});
  answer.columns.push_back({"probability_ci95_high", "to", Dimension::fraction});
  const Dimension dimension = has_start ? Dimension::date : Dimension::time;
  constexpr std::size_t kFirst = 3;
  for (std::size_t i = kFirst; i < operands.size(); ++i) {
    answer.columns.push_back(
        {rows->sweep.columns[i].name, fmt::format("p{}", kPercentiles[i - kFirst]), dimension});
  }
  for (std::size_t point = 0; point < rows->results.size(); ++point) {
    std::vector<report::Cell> line(rows->sweep.points[point].begin(),
                                   rows->sweep.points[point].end());
    for (const Column& column : rows->sweep.columns) {
      line.push_back(rows->cell(point, column.name));
    }
    answer.rows.push_back(std::move(line));
  }
  if (const auto probability = rows->at(0, chance); probability && rows->results.size() == 1) {
    answer.facts = {{"probability", *probability}};
    std::string sentence = fmt::format("It is done by {} in {} of the trials, by chance alone",
                                       *asking.question.by, format_percent(*probability));
    if (const auto all = chance_with_error(asking, *metric)) {
      answer.facts.push_back({"probability_with_step_error", *all});
      sentence += fmt::format("; with the error of the predicted step, in {} of the cases",
                              format_percent(*all));
    }
    answer.sentences.push_back(sentence + ".");
  }
  return answer;
}

}  // namespace orrery::sweep
