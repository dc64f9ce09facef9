// How far is the training at every date? Quantiles over the trials, for a fan chart.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/percent.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::sweep {

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

}  // namespace orrery::sweep
