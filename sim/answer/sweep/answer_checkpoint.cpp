// Questions about checkpoints: how far apart, and in which mode.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::sweep {

namespace {

using report::Dimension;

constexpr std::string_view kInterval = "checkpoint.interval";
constexpr std::string_view kIntervalFound = "checkpoint_interval_s";

// A factor of 8 to both sides of the optimum by theory, three values per factor of 2.
std::vector<std::string> intervals_around(double best) {
  constexpr int kSteps = 9;
  constexpr double kPerDoubling = 3.0;
  std::vector<std::string> values = {"auto"};
  for (int i = -kSteps; i <= kSteps; ++i) {
    values.push_back(fmt::format("{:.6g}s", best * std::exp2(i / kPerDoubling)));
  }
  return values;
}

// Index of the largest figure; nothing when no point has it.
std::optional<std::size_t> best_row(const Rows& rows, std::string_view column) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.results.size(); ++i) {
    const auto value = rows.at(i, column);
    if (value && (!best || *value > *rows.at(*best, column))) {
      best = i;
    }
  }
  return best;
}

// In the order of the intervals that came out, `auto` where it belongs. Values that round to the
// same number of steps are one row.
std::vector<std::size_t> by_interval(const Rows& rows) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.results.size(); ++i) {
    if (rows.at(i, kIntervalFound)) {
      order.push_back(i);
    }
  }
  const auto interval = [&rows](std::size_t i) { return *rows.at(i, kIntervalFound); };
  std::ranges::stable_sort(
      order, [&interval](std::size_t a, std::size_t b) { return interval(a) < interval(b); });
  order.erase(
      std::unique(order.begin(), order.end(),
                  [&interval](std::size_t a, std::size_t b) { return interval(a) == interval(b); }),
      order.end());
  return order;
}

std::string mark_of(const Rows& rows, std::size_t point, std::size_t best) {
  std::string mark = rows.sweep.points[point].front() == "auto" ? "auto" : "";
  if (point == best) {
    return mark.empty() ? "best" : "best, auto";
  }
  const bool as_good = *rows.at(point, "goodput") >= *rows.at(best, "goodput_ci95_low");
  return as_good ? (mark.empty() ? "as good" : "as good, auto") : mark;
}

void say_best(const Rows& rows, std::size_t best, Answer& answer) {
  const double interval = *rows.at(best, kIntervalFound);
  const double goodput = *rows.at(best, "goodput");
  answer.facts = {{"best_interval_s", interval}, {"best_goodput", goodput}};
  answer.sentences.push_back(
      fmt::format("Best of these: a checkpoint every {}, with a goodput of {}.",
                  format_time(seconds(interval)), format_percent(goodput)));
  double low = interval;
  double high = interval;
  for (std::size_t i = 0; i < rows.results.size(); ++i) {
    const auto value = rows.at(i, "goodput");
    if (value && *value >= *rows.at(best, "goodput_ci95_low")) {
      low = std::min(low, *rows.at(i, kIntervalFound));
      high = std::max(high, *rows.at(i, kIntervalFound));
    }
  }
  answer.facts.push_back({"as_good_from_s", low});
  answer.facts.push_back({"as_good_to_s", high});
  if (low < high) {
    answer.sentences.push_back(
        fmt::format("From {} to {} the mean lies within the 95 % interval of the best: there the "
                    "choice matters little.",
                    format_time(seconds(low)), format_time(seconds(high))));
  }
}

// The values of the user, or those around the optimum by theory; nothing after an error.
std::optional<Axis> interval_axis(const Asking& asking) {
  for (const Axis& axis : asking.question.sweep.axes) {
    if (axis.key.path == kInterval) {
      return axis;
    }
  }
  auto automatic = axis_or(asking, kInterval, {"auto"});
  const auto rows = evaluate_rows(asking, {*std::move(automatic)}, {"checkpoint_interval"});
  if (!rows) {
    return std::nullopt;
  }
  const auto best = rows->at(0, kIntervalFound);
  if (!best) {
    no_answer(asking, "checkpoint.interval", "nothing fails, so that nothing has to be saved");
    return std::nullopt;
  }
  return axis_or(asking, kInterval, intervals_around(*best));
}

}  // namespace

std::optional<Answer> best_checkpoint_interval(const Asking& asking) {
  auto axis = interval_axis(asking);
  if (!axis) {
    return std::nullopt;
  }
  const auto rows =
      evaluate_rows(asking, {*std::move(axis)},
                    {"checkpoint_interval", "goodput", "mean(goodput) low", "mean(goodput) high",
                     "finish_time", "tokens_trained", "lost_work", "cost"});
  if (!rows) {
    return std::nullopt;
  }
  const auto best = best_row(*rows, "goodput");
  if (!best) {
    no_answer(asking, "training", "the scenario asks for no run");
    return std::nullopt;
  }
  Answer answer = begin_answer(asking);
  say_best(*rows, *best, answer);
  answer.columns = {{std::string(kIntervalFound), "interval", Dimension::time},
                    {"goodput", "goodput", Dimension::fraction},
                    {"goodput_ci95_low", "95 % from", Dimension::fraction},
                    {"goodput_ci95_high", "to", Dimension::fraction}};
  add_extent_columns(*rows, answer);
  answer.columns.push_back({"lost_work_s", "lost work", Dimension::time});
  answer.columns.push_back({"cost_usd", "cost", Dimension::dollars});
  answer.columns.push_back({"mark", "", std::nullopt});
  for (const std::size_t point : by_interval(*rows)) {
    std::vector<report::Cell> line;
    for (std::size_t i = 0; i + 1 < answer.columns.size(); ++i) {
      line.push_back(rows->cell(point, answer.columns[i].name));
    }
    line.emplace_back(mark_of(*rows, point, *best));
    answer.rows.push_back(std::move(line));
  }
  return answer;
}

std::optional<Answer> sync_against_async(const Asking& asking) {
  for (const std::string_view key : {"checkpoint.stall", "checkpoint.durable"}) {
    if (states(asking, key)) {
      no_answer(asking, key,
                "is stated, so that a save costs the same in both modes; without it both are "
                "computed from the size of a checkpoint and the rates");
      return std::nullopt;
    }
  }
  auto axis = axis_of("checkpoint.mode", {"sync", "async"}, {"--answer", 0, 0}, asking.diagnostics);
  const auto rows =
      evaluate_rows(asking, {*std::move(axis)},
                    {"checkpoint_interval", "checkpoint_stall", "checkpoint_durable", "goodput",
                     "finish_time", "tokens_trained", "cost", "cost_per_million_tokens"});
  if (!rows) {
    return std::nullopt;
  }
  const auto sync = rows->at(0, "goodput");
  const auto async = rows->at(1, "goodput");
  if (!sync || !async || !rows->has(kIntervalFound)) {
    no_answer(asking, "checkpoint", "no checkpoint is taken, or there is no run");
    return std::nullopt;
  }
  Answer answer = begin_answer(asking);
  const auto gain = [&rows](std::string_view column) -> report::Cell {
    const auto before = rows->at(0, column);
    const auto after = rows->at(1, column);
    return before && after ? report::Cell(*after - *before) : report::Cell();
  };
  answer.facts = {{"goodput_gain", gain("goodput")},
                  {"finish_gain_s", gain("finish_time_s")},
                  {"tokens_gain", gain("tokens_trained")},
                  {"cost_gain_usd", gain("cost_usd")},
                  {"cost_per_million_tokens_gain_usd", gain("cost_per_million_tokens_usd")}};
  answer.sentences.push_back(fmt::format(
      "Goodput is {} with synchronous and {} with asynchronous checkpoints, each at the "
      "interval that the scenario asks for.",
      format_percent(*sync), format_percent(*async)));
  answer.columns = {{"mode", "mode", std::nullopt},
                    {std::string(kIntervalFound), "interval", Dimension::time},
                    {"checkpoint_stall_s", "stall", Dimension::time},
                    {"checkpoint_durable_s", "durable", Dimension::time},
                    {"goodput", "goodput", Dimension::fraction}};
  add_extent_columns(*rows, answer);
  answer.columns.push_back({"cost_usd", "cost", Dimension::dollars});
  answer.columns.push_back(
      {"cost_per_million_tokens_usd", "per million tokens", Dimension::dollars});
  for (std::size_t point = 0; point < rows->results.size(); ++point) {
    std::vector<report::Cell> line = {rows->sweep.points[point].front()};
    for (std::size_t i = 1; i < answer.columns.size(); ++i) {
      line.push_back(rows->cell(point, answer.columns[i].name));
    }
    answer.rows.push_back(std::move(line));
  }
  return answer;
}

}  // namespace orrery::sweep
