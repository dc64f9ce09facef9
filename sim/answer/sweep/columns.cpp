#include "sim/answer/sweep/columns.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "sim/base/check.hpp"
#include "sim/base/percent.hpp"

namespace orrery::sweep {

namespace {

using report::Operand;
using report::OperandKind;

Column column_of(const Operand& operand, std::string_view text) {
  const report::MetricInfo& metric = report::info(operand.metric);
  Column column{std::string(metric.json_key), std::string(metric.name), operand};
  switch (operand.kind) {
    case OperandKind::plain:
      break;
    case OperandKind::mean:
      column.title = report::operand_text(operand);
      break;
    case OperandKind::quantile: {
      column.name += fmt::format("_p{:.0f}", operand.quantile * kPercent);
      column.title = report::operand_text(operand);
      break;
    }
    case OperandKind::probability:
      column.name = std::string(text);
      column.title = std::string(text);
      break;
  }
  return column;
}

void add_columns(const Operand& operand, std::string_view text, std::vector<Column>& columns) {
  const auto add = [&columns, text](const Operand& one) {
    Column column = column_of(one, text);
    const bool known = std::ranges::any_of(
        columns, [&column](const Column& other) { return other.name == column.name; });
    if (!known) {
      columns.push_back(std::move(column));
    }
  };
  if (operand.kind != OperandKind::plain || !report::info(operand.metric).stochastic) {
    add(operand);
    return;
  }
  add({.kind = OperandKind::mean, .metric = operand.metric});
  for (const double quantile : {0.1, 0.5, 0.9}) {
    add({.kind = OperandKind::quantile, .metric = operand.metric, .quantile = quantile});
  }
}

}  // namespace

std::vector<Column> all_columns() {
  std::vector<Column> columns;
  for (const report::MetricInfo& metric : report::metric_registry()) {
    add_columns({.metric = metric.id}, metric.name, columns);
  }
  return columns;
}

std::optional<std::vector<Column>> parse_columns(const std::vector<std::string>& texts,
                                                 const SourceLocation& where,
                                                 Diagnostics& diagnostics) {
  std::vector<Column> columns;
  bool valid = true;
  for (const std::string& text : texts) {
    const auto parsed = report::parse_operand(text);
    if (const auto* error = std::get_if<report::ExpectError>(&parsed)) {
      diagnostics.error(where, "metrics", fmt::format("{} in `{}`", error->message, text),
                        error->allowed);
      valid = false;
      continue;
    }
    add_columns(std::get<Operand>(parsed), text, columns);
  }
  return valid ? std::optional(std::move(columns)) : std::nullopt;
}

Column column_of(std::string_view operand) {
  constexpr std::string_view kLow = " low";
  constexpr std::string_view kHigh = " high";
  Part part = Part::value;
  if (operand.ends_with(kLow)) {
    part = Part::ci95_low;
    operand.remove_suffix(kLow.size());
  } else if (operand.ends_with(kHigh)) {
    part = Part::ci95_high;
    operand.remove_suffix(kHigh.size());
  }
  const auto parsed = report::parse_operand(operand);
  const auto* right = std::get_if<Operand>(&parsed);
  ORRERY_CHECK(right != nullptr, "`{}` is no operand", operand);
  Column column = column_of(*right, operand);
  column.part = part;
  if (part != Part::value) {
    column.name += part == Part::ci95_low ? "_ci95_low" : "_ci95_high";
  }
  return column;
}

}  // namespace orrery::sweep
