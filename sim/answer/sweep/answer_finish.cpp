// Questions about dates: how likely is an end by a date.

#include <fmt/core.h>

#include <array>
#include <variant>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::sweep {

namespace {

using report::Dimension;

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
  constexpr std::array<int, 7> kPercentiles = {5, 10, 25, 50, 75, 90, 95};
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
