// A scenario with `measured:`, a mapping from metrics to what was measured. The block is taken out
// before the scenario is read, so it cannot reach the evaluation.

#include <fmt/core.h>

#include <limits>
#include <string>
#include <string_view>

#include "sim/base/file.hpp"
#include "sim/evaluate/evaluate.hpp"
#include "sim/report/metrics.hpp"
#include "sim/scenario/load.hpp"
#include "sim/validate/data_row.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/yaml/scalar.hpp"

namespace orrery::validate {

namespace {

constexpr std::string_view kBlock = "measured";

// Blanks the lines of the block; the others keep their numbers.
std::string without_block(const std::string& text, const yaml::Value& document) {
  int first = 0;
  int next = std::numeric_limits<int>::max();
  for (const yaml::Entry& entry : document.entries) {
    if (entry.key == kBlock) {
      first = entry.key_where.line;
    } else if (first > 0 && entry.key_where.line < next) {
      next = entry.key_where.line;
    }
  }
  std::string kept;
  int line = 1;
  for (const char c : text) {
    const bool blank = line >= first && line < next;
    line += c == '\n' ? 1 : 0;
    if (!blank || c == '\n') {
      kept += c;
    }
  }
  return kept;
}

// A metric's value in its base unit.
std::optional<double> value_of(const report::MetricInfo& metric, const std::string& text) {
  switch (metric.dimension) {
    case report::Dimension::time:
      if (const auto value = yaml::parse_time(text).value) {
        return in_seconds(*value);
      }
      return std::nullopt;
    case report::Dimension::bytes:
      if (const auto value = yaml::parse_bytes(text).value) {
        return in_bytes(*value);
      }
      return std::nullopt;
    case report::Dimension::dollars:
      if (const auto value = yaml::parse_money(text).value) {
        return in_dollars(*value);
      }
      return std::nullopt;
    case report::Dimension::fraction:
      return yaml::parse_fraction(text).value;
    case report::Dimension::flop_rate:
      if (const auto value = yaml::parse_flop_rate(text).value) {
        return in_flop_per_second(*value);
      }
      return std::nullopt;
    case report::Dimension::date:
      if (const auto value = yaml::parse_date_time(text).value) {
        return static_cast<double>(value->unix_seconds);
      }
      return std::nullopt;
    case report::Dimension::count:
    case report::Dimension::tokens_per_second:
    case report::Dimension::energy:
      return yaml::parse_number(text).value;
  }
  return std::nullopt;
}

ValidationRow row_of(const std::string& name,
                     const yaml::Entry& entry,
                     const report::Evaluation& evaluation,
                     Diagnostics& diagnostics) {
  ValidationRow row{.id = fmt::format("{}/{}", name, entry.key), .group = name};
  const report::MetricInfo* metric = report::find_metric(entry.key);
  if (metric == nullptr) {
    diagnostics.error(entry.key_where,
                      fmt::format("{}.{}", kBlock, entry.key),
                      "is no metric",
                      "orrery list metrics shows all");
    return row;
  }
  row.quantity = metric->name;
  row.unit = metric->json_key;
  const auto measured = value_of(*metric, entry.value.text);
  if (!measured) {
    diagnostics.error(
        entry.value.where, fmt::format("{}.{}", kBlock, entry.key), "is no value of this metric");
    return row;
  }
  row.measured = *measured;
  const report::MetricValue* value = evaluation.metrics.find(metric->id);
  if (value == nullptr) {
    row.skipped = "the scenario does not have this metric";
    return row;
  }
  row.predicted = value->value;
  row.trust = report::trust_of(evaluation.step);
  return row;
}

}  // namespace

std::vector<ValidationRow> scenario_rows(const DataSet& data) {
  const yaml::Value* block = DataRow(data.document).find(kBlock);
  if (block == nullptr || block->kind != yaml::Value::Kind::mapping) {
    data.diagnostics.error(
        data.document.where, kBlock, "is missing", "a mapping from metrics to what was measured");
    return {};
  }
  const std::string text = read_file(data.path, std::numeric_limits<std::uint32_t>::max());
  const auto scenario =
      scenario::load_text(without_block(text, data.document), data.path.string(), data.diagnostics);
  if (!scenario) {
    return {};
  }
  evaluate::EvaluateOptions options;
  options.threads = data.threads;
  options.levers = false;
  options.search = data.search;
  const auto evaluation = evaluate::evaluate(*scenario, options, data.diagnostics);
  if (!evaluation) {
    return {};
  }
  std::vector<ValidationRow> rows;
  for (const yaml::Entry& entry : block->entries) {
    rows.push_back(row_of(scenario->name, entry, *evaluation, data.diagnostics));
  }
  return rows;
}

}  // namespace orrery::validate
