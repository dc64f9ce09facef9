// A scenario with `measured:`, a mapping from metrics to what was measured. The block is taken out
// before the scenario is evaluated, so it cannot reach a prediction.

#include <fmt/core.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/run/hours_spec.hpp"
#include "sim/scenario/load.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

constexpr std::string_view kBlock = "measured";

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
    case report::Dimension::mass:
    case report::Dimension::price:
      if (const auto value = yaml::parse_count(text).value) {
        return static_cast<double>(*value);
      }
      return yaml::parse_number(text).value;
  }
  return std::nullopt;
}

// GPU time of training alone, in hours, as published hours of such a kind count it.
std::optional<double> productive_hours(const report::Evaluation& evaluation) {
  return evaluation.run
             ? std::optional(in_hours(evaluation.run->mean_gpu_time(run::RunCategory::productive)))
             : std::nullopt;
}

// Published hours that hold training alone.
bool without_losses(run::HoursKind kind) {
  return kind == run::HoursKind::productive || kind == run::HoursKind::throughput_derived;
}

// What lies between a published duration and ours, and what published hours can tell.
void add_notes(const scenario::MeasuredText& measured, const report::Evaluation& evaluation,
               ValidationRow& row) {
  const bool hours_asked = measured.metric == "gpu_hours";
  if (hours_asked && without_losses(measured.kind)) {
    row.notes.push_back(fmt::format("{} hours, beside training alone", to_string(measured.kind)));
    return;
  }
  if ((hours_asked || measured.metric == "finish_time") && row.measured > row.predicted) {
    row.notes.push_back(fmt::format("{:.1f} % of the published time is itemised nowhere",
                                    100.0 * (row.measured - row.predicted) / row.measured));
  }
  const auto productive = productive_hours(evaluation);
  if (!hours_asked || !productive) {
    return;
  }
  const auto goodput =
      run::goodput_from_hours(measured.kind, hours(*productive), hours(row.measured));
  if (const double* share = std::get_if<double>(&goodput)) {
    row.notes.push_back(fmt::format("goodput {:.3g} by the published hours", *share));
  }
}

ValidationRow row_of(const std::string& name, const scenario::MeasuredText& entry,
                     const report::Evaluation& evaluation, Diagnostics& diagnostics) {
  ValidationRow row{.id = fmt::format("{}/{}", name, entry.metric), .group = name};
  const report::MetricInfo* metric = report::find_metric(entry.metric);
  if (metric == nullptr) {
    diagnostics.error(entry.metric_where, fmt::format("{}.{}", kBlock, entry.metric),
                      "is no metric", "orrery list metrics shows all");
    return row;
  }
  row.quantity = metric->name;
  row.unit = metric->json_key;
  const auto measured = value_of(*metric, entry.text);
  if (!measured) {
    diagnostics.error(entry.where, fmt::format("{}.{}", kBlock, entry.metric),
                      "is no value of this metric");
    return row;
  }
  row.measured = *measured;
  const report::MetricValue* value = evaluation.metrics.find(metric->id);
  if (value == nullptr) {
    row.skipped = "the scenario does not have this metric";
    return row;
  }
  row.predicted = value->value;
  if (entry.metric == "gpu_hours" && without_losses(entry.kind)) {
    row.predicted = productive_hours(evaluation).value_or(row.predicted);
  }
  row.trust = report::trust_of(evaluation.step);
  if (const auto band = report::metric_band(evaluation, metric->id)) {
    const double part = row.predicted / value->value;  // hours of training alone are a part
    row.band = report::StepBand{.novelty = evaluation.band->novelty,
                                .error = evaluation.band->error,
                                .low = band->low * part,
                                .high = band->high * part};
  }
  add_notes(entry, evaluation, row);
  return row;
}

}  // namespace

std::vector<ValidationRow> scenario_rows(const DataSet& data) {
  const yaml::Value* block = DataRow(data.document).find(kBlock);
  if (block == nullptr || block->kind != yaml::Value::Kind::mapping) {
    data.diagnostics.error(data.document.where, kBlock, "is missing",
                           "a mapping from metrics to what was measured");
    return {};
  }
  const std::string text = read_file(data.path, std::numeric_limits<std::uint32_t>::max());
  auto scenario = scenario::load_text(text, data.path.string(), data.diagnostics, data.search);
  if (!scenario) {
    return {};
  }
  const std::vector<scenario::MeasuredText> measured = std::move(scenario->measured);
  scenario->measured.clear();  // no evaluation can look at it
  evaluate::EvaluateOptions options;
  options.threads = data.threads;
  options.search = data.search;
  const auto evaluation = evaluate::evaluate(*scenario, options, data.diagnostics);
  if (!evaluation) {
    return {};
  }
  std::vector<ValidationRow> rows;
  for (const scenario::MeasuredText& entry : measured) {
    rows.push_back(row_of(scenario->name, entry, *evaluation, data.diagnostics));
  }
  return rows;
}

}  // namespace orrery::validate
