#include <algorithm>
#include <cmath>

#include "sim/base/quantile.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::validate {

namespace {

using Rows = std::vector<const ValidationRow*>;

Rows trusted(const Rows& rows) {
  Rows kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [](const ValidationRow* row) { return row->suspicious.empty(); });
  return kept;
}

// Rows of one group; groups of different formats and quantities are different groups.
struct GroupRows {
  const ValidationRow* first = nullptr;
  Rows rows;
};

bool same_group(const ValidationRow& a, const ValidationRow& b) {
  return a.group == b.group && a.quantity == b.quantity && a.format == b.format;
}

// In the order of appearance, those of one format together, its main quantity first.
std::vector<GroupRows> by_group(const std::vector<ValidationRow>& rows) {
  std::vector<GroupRows> groups;
  std::vector<std::string> formats;
  for (const ValidationRow& row : rows) {
    const auto found = std::ranges::find_if(
        groups, [&row](const GroupRows& group) { return same_group(*group.first, row); });
    if (found == groups.end()) {
      groups.push_back({&row, {&row}});
    } else {
      found->rows.push_back(&row);
    }
    if (std::ranges::find(formats, row.format) == formats.end()) {
      formats.push_back(row.format);
    }
  }
  const auto rank = [&formats](const GroupRows& group) {
    const auto at = std::ranges::find(formats, group.first->format);
    return std::pair(at - formats.begin(), group.first->secondary);
  };
  std::ranges::stable_sort(
      groups, [&rank](const GroupRows& a, const GroupRows& b) { return rank(a) < rank(b); });
  return groups;
}

}  // namespace

double ValidationRow::relative_error() const {
  if (match) {
    return *match ? 0.0 : 1.0;
  }
  if (measured == 0.0) {
    return predicted == 0.0 ? 0.0 : 1.0;
  }
  return (predicted - measured) / measured;
}

ToleranceCount tolerance_count(const std::vector<ValidationRow>& rows) {
  ToleranceCount count;
  for (const ValidationRow& row : rows) {
    if (row.within) {
      const bool derived = row.quantity == kDerivedFigure;
      ++(derived ? count.derived : count.stated);
      (derived ? count.derived_within : count.within) += *row.within ? 1U : 0U;
    }
  }
  return count;
}

BandCount band_count(const std::vector<ValidationRow>& rows) {
  BandCount count;
  for (const ValidationRow& row : rows) {
    if (row.band && row.kind && row.skipped.empty()) {
      ++count.steps;
      count.within += row.in_band() ? 1U : 0U;
      count.width += (row.band->high - row.band->low) / row.predicted;
    }
  }
  count.width /= static_cast<double>(std::max<std::size_t>(count.steps, 1));
  return count;
}

std::vector<evaluate::MeasuredStep> evidence_of(const Validation& validation) {
  std::vector<evaluate::MeasuredStep> steps;
  for (const ValidationRow& row : validation.rows) {
    if (row.kind && row.skipped.empty()) {
      steps.push_back({row.id, *row.kind, std::log(row.predicted / row.measured)});
    }
  }
  return steps;
}

Statistics statistics_of(const Rows& rows) {
  Statistics result;
  result.n = rows.size();
  std::vector<double> sizes;
  double sum = 0.0;
  for (const ValidationRow* row : rows) {
    if (!row->skipped.empty()) {
      ++result.skipped;
      sizes.push_back(1.0);
      continue;
    }
    const double error = row->relative_error();
    sum += error;
    sizes.push_back(std::abs(error));
    if (std::abs(error) > std::abs(result.worst)) {
      result.worst = error;
    }
  }
  if (rows.empty()) {
    return result;
  }
  if (result.skipped > 0 && std::abs(result.worst) < 1.0) {
    result.worst = 1.0;
  }
  for (const double size : sizes) {
    result.mape += size / static_cast<double>(sizes.size());
  }
  std::ranges::sort(sizes);
  constexpr double kMedian = 0.5;
  constexpr double kP90 = 0.9;
  result.median = quantile_of_sorted(sizes, kMedian);
  result.p90 = quantile_of_sorted(sizes, kP90);
  const std::size_t predicted = result.n - result.skipped;
  result.bias = predicted > 0 ? sum / static_cast<double>(predicted) : 0.0;
  return result;
}

void summarize(Validation& validation) {
  validation.groups.clear();
  Overall overall;
  Rows all;
  double groups = 0.0;
  double trusted_groups = 0.0;
  for (const GroupRows& group : by_group(validation.rows)) {
    const Rows kept = trusted(group.rows);
    validation.groups.push_back({.name = group.first->group,
                                 .quantity = group.first->quantity,
                                 .format = group.first->format,
                                 .secondary = group.first->secondary,
                                 .all = statistics_of(group.rows),
                                 .without_suspicious = statistics_of(kept)});
    if (group.first->secondary) {
      continue;
    }
    all.insert(all.end(), group.rows.begin(), group.rows.end());
    overall.mape_groups += validation.groups.back().all.mape;
    groups += 1.0;
    if (!kept.empty()) {
      overall.mape_groups_without_suspicious += validation.groups.back().without_suspicious.mape;
      trusted_groups += 1.0;
    }
  }
  overall.mape_groups = groups > 0.0 ? overall.mape_groups / groups : 0.0;
  if (trusted_groups > 0.0) {
    overall.mape_groups_without_suspicious /= trusted_groups;
  }
  overall.all = statistics_of(all);
  overall.without_suspicious = statistics_of(trusted(all));
  validation.overall = overall;
}

}  // namespace orrery::validate
