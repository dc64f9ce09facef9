#include "sim/report/difference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/base/format.hpp"
#include "sim/base/percent.hpp"
#include "sim/report/ledger_rows.hpp"

namespace orrery::report {

namespace {

void compare_with_first(DifferenceRow& row) {
  const std::optional<double> first = row.values.front().value;
  for (std::size_t i = 1; i < row.values.size(); ++i) {
    Compared& cell = row.values[i];
    if (!first || !cell.value) {
      continue;
    }
    cell.change = *cell.value - *first;
    if (*first != 0.0 && row.dimension != Dimension::date) {
      cell.relative = *cell.change / std::abs(*first);
    }
  }
}

void add_metrics(std::span<const ComparedAnswer> answers, std::vector<DifferenceRow>& rows) {
  for (const MetricInfo& metric : metric_registry()) {
    DifferenceRow row{"metric", metric.name, metric.dimension, {}};
    bool any = false;
    for (const ComparedAnswer& answer : answers) {
      const std::optional<double>& value = answer.metrics[static_cast<std::size_t>(metric.id)];
      row.values.push_back({value, {}, {}});
      any = any || value.has_value();
    }
    if (any) {
      compare_with_first(row);
      rows.push_back(std::move(row));
    }
  }
}

using LedgerOf = std::vector<ComparedLedgerRow> ComparedAnswer::*;

void add_ledger(std::string_view group,
                std::span<const ComparedAnswer> answers,
                LedgerOf ledger_of,
                std::vector<DifferenceRow>& rows) {
  std::size_t categories = 0;
  for (const ComparedAnswer& answer : answers) {
    categories = std::max(categories, (answer.*ledger_of).size());
  }
  for (std::size_t i = 0; i < categories; ++i) {
    DifferenceRow row{group, {}, Dimension::fraction, {}};
    bool any = false;
    for (const ComparedAnswer& answer : answers) {
      const std::vector<ComparedLedgerRow>& ledger = answer.*ledger_of;
      const bool there = i < ledger.size();
      row.name = there ? ledger[i].label : row.name;
      row.values.push_back({there ? std::optional(ledger[i].share) : std::nullopt, {}, {}});
      any = any || (there && ledger[i].share > 0.0);
    }
    if (any) {
      compare_with_first(row);
      rows.push_back(std::move(row));
    }
  }
}

std::vector<ComparedLedgerRow> compared_rows(const std::vector<LedgerRow>& rows) {
  std::vector<ComparedLedgerRow> out;
  for (const LedgerRow& row : rows) {
    out.push_back({row.label, row.share, row.gpu_time});
  }
  return out;
}

// A row for each category, also for those that the file does not name.
template <typename Category>
std::vector<ComparedLedgerRow> compared_rows(const std::vector<SavedLedgerRow>& rows) {
  std::vector<ComparedLedgerRow> out;
  if (rows.empty()) {
    return out;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(Category::count_); ++i) {
    out.push_back({label_of(static_cast<Category>(i))});
  }
  for (const SavedLedgerRow& row : rows) {
    out[row.category].share = row.share;
    out[row.category].gpu_time = row.gpu_time;
  }
  return out;
}

}  // namespace

ComparedAnswer compared(const Evaluation& evaluation) {
  ComparedAnswer answer;
  for (const MetricInfo& metric : metric_registry()) {
    if (const MetricValue* value = evaluation.metrics.find(metric.id)) {
      answer.metrics[static_cast<std::size_t>(metric.id)] = value->value;
    }
  }
  answer.step_ledger = compared_rows(step_ledger_rows(evaluation));
  answer.run_ledger = compared_rows(run_ledger_rows(evaluation));
  answer.step_time = to_seconds(evaluation.step.step_time);
  return answer;
}

ComparedAnswer compared(const SavedEvaluation& saved) {
  ComparedAnswer answer;
  for (const SavedMetric& metric : saved.metrics) {
    answer.metrics[static_cast<std::size_t>(metric.id)] = metric.value;
  }
  answer.step_ledger = compared_rows<step::StepCategory>(saved.step_ledger);
  answer.run_ledger = compared_rows<run::RunCategory>(saved.run_ledger);
  if (const SavedMetric* step = saved.find(MetricId::step_time)) {
    answer.step_time = seconds(step->value);
  }
  return answer;
}

std::vector<DifferenceRow> differences(std::span<const ComparedAnswer> answers) {
  std::vector<DifferenceRow> rows;
  add_metrics(answers, rows);
  add_ledger("step ledger", answers, &ComparedAnswer::step_ledger, rows);
  add_ledger("run ledger", answers, &ComparedAnswer::run_ledger, rows);
  return rows;
}

std::vector<DifferenceRow> differences(std::span<const Evaluation* const> evaluations) {
  std::vector<ComparedAnswer> answers;
  for (const Evaluation* evaluation : evaluations) {
    answers.push_back(compared(*evaluation));
  }
  return differences(answers);
}

std::string format_change(Dimension dimension, double change) {
  if (change == 0.0) {
    return "no change";
  }
  const std::string sign = change > 0.0 ? "+" : "-";
  const double size = std::abs(change);
  switch (dimension) {
    case Dimension::fraction: {
      constexpr double kShown = 0.005;  // points: less would read 0.00
      const double points = size * kPercent;
      return points < kShown ? "less than 0.01 points"
                             : fmt::format("{}{:.2f} points", sign, points);
    }
    case Dimension::date:
      return sign + format_time(seconds(size));
    default:
      return sign + format_value(dimension, size);
  }
}

}  // namespace orrery::report
