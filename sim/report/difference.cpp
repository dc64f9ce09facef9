#include "sim/report/difference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/base/format.hpp"
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

void add_metrics(std::span<const Evaluation* const> evaluations, std::vector<DifferenceRow>& rows) {
  for (const MetricInfo& metric : metric_registry()) {
    DifferenceRow row{"metric", metric.name, metric.dimension, {}};
    bool any = false;
    for (const Evaluation* evaluation : evaluations) {
      const MetricValue* value = evaluation->metrics.find(metric.id);
      row.values.push_back({value != nullptr ? std::optional(value->value) : std::nullopt, {}, {}});
      any = any || value != nullptr;
    }
    if (any) {
      compare_with_first(row);
      rows.push_back(std::move(row));
    }
  }
}

void add_ledger(std::string_view group,
                const std::vector<std::vector<LedgerRow>>& ledgers,
                std::vector<DifferenceRow>& rows) {
  std::size_t categories = 0;
  for (const auto& ledger : ledgers) {
    categories = std::max(categories, ledger.size());
  }
  for (std::size_t i = 0; i < categories; ++i) {
    DifferenceRow row{group, {}, Dimension::fraction, {}};
    bool any = false;
    for (const auto& ledger : ledgers) {
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

}  // namespace

std::vector<DifferenceRow> differences(std::span<const Evaluation* const> evaluations) {
  std::vector<DifferenceRow> rows;
  if (evaluations.empty()) {
    return rows;
  }
  std::vector<std::vector<LedgerRow>> steps;
  std::vector<std::vector<LedgerRow>> runs;
  for (const Evaluation* evaluation : evaluations) {
    steps.push_back(step_ledger_rows(*evaluation));
    runs.push_back(run_ledger_rows(*evaluation));
  }
  add_metrics(evaluations, rows);
  add_ledger("step ledger", steps, rows);
  add_ledger("run ledger", runs, rows);
  return rows;
}

std::string format_change(Dimension dimension, double change) {
  if (change == 0.0) {
    return "no change";
  }
  const std::string sign = change > 0.0 ? "+" : "-";
  const double size = std::abs(change);
  switch (dimension) {
    case Dimension::fraction: {
      constexpr double kPercent = 100.0;
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
