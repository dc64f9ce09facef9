// Rows of whole-runs/1: its checks (whole_run_checks.cpp), the figures that follow from what each
// run states, and printed hours against tokens and steady rate.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/run/published_hours.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/validate/rows/case_tolerance.hpp"
#include "sim/validate/whole_runs/whole_run_check.hpp"
#include "sim/validate/whole_runs/whole_runs.hpp"

namespace orrery::validate {

namespace {

constexpr double kDerivedTolerance = 1e-3;     // derived figures are printed to about four digits
constexpr double kThroughputTolerance = 5e-3;  // of hours that are tokens / rate

struct Derived {
  std::string_view name;
  std::string_view unit;
  double value;
};

// What follows from parameters, tokens, hours and device of one run.
std::vector<Derived> figures_of(const PublishedRun& run, const yaml::Value& document) {
  std::vector<Derived> figures;
  const auto flops = run.flops();
  const auto trained = run.number("model.tokens");
  // The tokens are those of pre-training.
  const auto part = run.number("device_hours_by_phase.pretraining");
  const auto printed = part ? part : run.number("device_hours");
  if (!flops) {
    return figures;
  }
  figures.push_back({"flops_6ND", "FLOP", in_flop(*flops)});
  if (!printed || *printed <= 0.0) {
    return figures;
  }
  const FlopPerSecond rate = *flops / hours(*printed);
  figures.push_back({"avg_tflops_per_device_6ND", "TFLOP/s", in_teraflop_per_second(rate)});
  figures.push_back({"avg_tokens_per_s_per_device",
                     "token/s",
                     in_tokens_per_second(tokens(*trained) / hours(*printed))});
  if (const auto peak = published_peak(document, run.text("hardware.device"))) {
    figures.push_back({"whole_run_mfu_6ND_vs_16bit_peak", "1", rate / *peak});
    if (const auto steady = run.number("steady.mfu")) {
      figures.push_back({"whole_run_over_steady_mfu", "1", rate / *peak / *steady});
    }
  }
  if (const auto steady = run.number("steady.tokens_per_s_per_device")) {
    figures.push_back({"whole_run_over_steady_throughput",
                       "1",
                       tokens(*trained) / hours(*printed) / tokens_per_second(*steady)});
  }
  return figures;
}

// The derived figures that the file prints, beside ours.
std::vector<ValidationRow> derived_rows(const PublishedRun& run, const yaml::Value& document) {
  std::vector<ValidationRow> rows;
  const DataRow derived = run.row().row("derived");
  for (const Derived& figure : figures_of(run, document)) {
    const auto printed = derived.number(figure.name);
    if (!printed) {
      continue;
    }
    ValidationRow row{.id = fmt::format("{}/{}", run.id(), figure.name),
                      .group = std::string(figure.name),
                      .quantity = "derived figure",
                      .unit = std::string(figure.unit),
                      .predicted = figure.value,
                      .measured = *printed,
                      .secondary = true};
    row.within = std::abs(row.relative_error()) <= kDerivedTolerance ||
                 std::abs(row.predicted - row.measured) <= rounding_of(derived.text(figure.name));
    rows.push_back(std::move(row));
  }
  return rows;
}

// A printed range such as "600-750 (figure)".
std::optional<std::pair<double, double>> range_of(const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t end = std::min(text.find_first_not_of("0123456789.", dash + 1), text.size());
  const auto low = yaml_number(text.substr(0, dash));
  const auto high = yaml_number(text.substr(dash + 1, end - dash - 1));
  return low && high && *low > 0.0 ? std::optional(std::pair(*low, *high)) : std::nullopt;
}

bool agrees(const ValidationRow& row) {
  return std::abs(row.relative_error()) <= kThroughputTolerance;
}

}  // namespace

std::vector<ValidationRow> throughput_rows(const PublishedRun& run) {
  ValidationRow hours_row{.id = run.id() + "/hours",
                          .group = "hours = tokens / rate",
                          .quantity = "value",
                          .unit = "h",
                          .measured = run.number("device_hours").value_or(0.0)};
  // Hours by phase: the rate is that of pre-training.
  if (const auto part = run.number("device_hours_by_phase.pretraining")) {
    hours_row.measured = *part;
  }
  const auto trained = run.number("model.tokens");
  if (const auto rate = run.steady_rate(); rate && trained) {
    hours_row.predicted = in_hours(tokens(*trained) / *rate);
    hours_row.within = agrees(hours_row);
  } else if (const auto band = range_of(run.text("steady.tokens_per_s_per_device"));
             band && trained) {
    const auto at = [&](double tokens_each) {
      return in_hours(tokens(*trained) / tokens_per_second(tokens_each));
    };
    hours_row.predicted = at(0.5 * (band->first + band->second));
    hours_row.within =
        hours_row.measured >= at(band->second) && hours_row.measured <= at(band->first);
    hours_row.notes = {
        fmt::format("the printed band of {} to {} tokens/s per device; the middle "
                    "of it",
                    band->first,
                    band->second)};
  } else {
    hours_row.skipped = "the run states no steady rate";
  }
  // The negative test: none of these hours tells a goodput.
  const run::HoursKind kind = hours_kind(run.row().text("device_hours_kind"));
  const auto goodput = run::goodput_from_hours(kind, hours(1.0), hours(1.0));
  ValidationRow refusal{.id = run.id() + "/goodput refused",
                        .group = "goodput from derived hours",
                        .quantity = "match",
                        .unit = "1",
                        .match = std::holds_alternative<std::string>(goodput),
                        .within = std::holds_alternative<std::string>(goodput)};
  if (*refusal.match) {
    refusal.notes = {std::get<std::string>(goodput)};
  } else {
    refusal.mismatches = {"the hours are taken for billed ones"};
  }
  return {hours_row, refusal};
}

std::vector<ValidationRow> run_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const DataRow& entry : data_rows(data.document, "runs")) {
    std::vector<ValidationRow> derived = derived_rows(PublishedRun(entry), data.document);
    std::move(derived.begin(), derived.end(), std::back_inserter(rows));
  }
  return rows;
}

std::vector<ValidationRow> fact_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const DataRow& fact : data_rows(data.document, "reliability_facts")) {
    const DataRow check = fact.row("check");
    const auto nodes = check.number("nodes");
    if (!nodes) {
      continue;
    }
    for (const DataRow& result : data_rows(check.value(), "results")) {
      const auto printed = result.number("ettr");
      const auto rate = result.number("r_f_per_1000");
      const auto write = result.number("w_s");
      if (!printed || !rate || !write || *rate <= 0.0 || *write <= 0.0) {
        continue;
      }
      const PerSecond node_rate = per_day(*rate / kKilo);
      const Seconds save = seconds(*write);
      const Seconds interval = run::young_interval({save, run::job_mtbf(*nodes, node_rate)});
      ValidationRow row{.id = fmt::format("{}/{}", fact.text("id"), rows.size()),
                        .group = "ETTR",
                        .quantity = "value",
                        .unit = "1",
                        .measured = *printed};
      row.predicted = run::expected_ettr({.nodes = *nodes,
                                          .node_rate = node_rate,
                                          .restart = seconds(result.number("u0_s").value_or(0.0)),
                                          .interval = interval,
                                          .write = save});
      row.within = std::abs(row.predicted - row.measured) <= rounding_of(result.text("ettr"));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<ValidationRow> whole_run_rows(const DataSet& data) {
  std::vector<ValidationRow> rows = check_rows(data);
  for (auto* more : {&fact_rows, &run_rows}) {
    std::vector<ValidationRow> part = (*more)(data);
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace orrery::validate
