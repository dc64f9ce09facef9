#include "sim/answer/report/files/flat_report.hpp"

#include <fmt/format.h>

#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/picture/roofline.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::report {

namespace {

std::string label_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      escaped += '\\';
    }
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// A line that starts with the scenario, then the given fields, then those of `rest`.
std::string table_line(const Evaluation& evaluation, const Json& fields, const Json& rest) {
  Json line = {{"scenario", evaluation.echo.name}};
  line.update(fields);
  line.update(rest);
  return json_line(line) + "\n";
}

Json arguments_of(const Trace& trace, const auto& part) {
  Json arguments = Json::object();
  for (const TraceArgument& argument : trace.arguments_of(part)) {
    Json& value = arguments[trace.name(argument.key)];
    if (argument.is_word) {
      value = trace.name(static_cast<NameId>(argument.value));
    } else {
      value = argument.value;
    }
  }
  return arguments;
}

// One row for each node that a failure hits; one without a node where it hits none.
Table failure_table(const Evaluation& evaluation) {
  using enum run::FailureScope;
  Table table = table_of(
      {"at_s", "cause", "category", "scope", "unit", "node", "leaves", "replaced_by", "back_s"});
  const auto number = [](std::int64_t value) { return Cell(static_cast<double>(value)); };
  const auto seconds_of = [](SimTime time) { return Cell(in_seconds(to_seconds(time))); };
  for (const Failure& failure : failures_of(evaluation)) {
    std::vector<Cell> row = {seconds_of(failure.at)};
    std::int64_t unit = 0;  // nodes of a rack, switch, power domain
    if (failure.cause >= 0) {
      const auto& cause = evaluation.plan->causes[static_cast<std::size_t>(failure.cause)];
      row.insert(row.end(), {cause.name, std::string(to_string(cause.category)),
                             std::string(to_string(cause.scope))});
      const bool shared =
          cause.scope == rack || cause.scope == network_switch || cause.scope == power_domain;
      unit = shared ? cause.hit_nodes : 0;
    }
    if (failure.nodes.empty()) {
      table.rows.push_back(row);
    }
    for (const run::NodeHit& hit : failure.nodes) {
      auto& with = table.rows.emplace_back(row);
      with.resize(4);
      with.insert(with.end(),
                  {unit > 0 ? number(hit.node / unit) : Cell(), number(hit.node),
                   number(hit.leaves ? 1 : 0), hit.successor >= 0 ? number(hit.successor) : Cell(),
                   hit.back < kForever ? seconds_of(hit.back) : Cell()});
    }
  }
  return table;
}

}  // namespace

std::string failures_csv(const Evaluation& evaluation) { return to_csv(failure_table(evaluation)); }

std::string failures_lines(const Evaluation& evaluation) {
  std::string lines;
  Json rows = rows_json(failure_table(evaluation));
  for (Json& row : rows) {
    for (auto& [key, value] : row.items()) {
      if (value.is_number() && !key.ends_with("_s")) {
        value = static_cast<std::int64_t>(value.get<double>());
      }
    }
    lines += table_line(evaluation, Json::object(), row);
  }
  return lines;
}

std::string metrics_prometheus(const Evaluation& evaluation) {
  const std::string scenario = fmt::format("scenario=\"{}\"", label_text(evaluation.echo.name));
  std::string text;
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    const auto line = [&](std::string_view more, double number) {
      text += fmt::format("orrery_{}{{{}{}}} {}\n", metric.json_key, scenario, more, number);
    };
    text += fmt::format("# HELP orrery_{} {}\n# TYPE orrery_{} gauge\n", metric.json_key,
                        metric.meaning, metric.json_key);
    line("", value->value);
    if (value->trials) {
      for (const double quantile : {kLowQuantile, kMedian, kHighQuantile}) {
        line(fmt::format(",quantile=\"{}\"", quantile), value->trials->quantile(quantile));
      }
    }
    if (const auto band = metric_band(evaluation, metric.id)) {
      line(",band=\"low\"", band->low);
      line(",band=\"high\"", band->high);
    }
  }
  return text;
}

std::string metrics_lines(const Evaluation& evaluation) {
  std::string lines;
  const Json json = json_of(evaluation);
  for (const auto& [name, metric] : json["metrics"].items()) {
    lines += table_line(evaluation, {{"metric", name}}, metric);
  }
  return lines;
}

std::string ledger_lines(const Evaluation& evaluation) {
  std::string lines;
  const Json json = json_of(evaluation);
  for (const char* ledger : {"step", "run"}) {
    for (const Json& row : json[std::string(ledger) + "_ledger"]) {
      lines += table_line(evaluation, {{"ledger", ledger}}, row);
    }
  }
  return lines;
}

std::string memory_lines(const Evaluation& evaluation) {
  std::string lines;
  const Json json = json_of(evaluation);
  for (const Json& stage : json["memory"]) {
    lines += table_line(evaluation, Json::object(), stage);
  }
  return lines;
}

std::string to_json_lines(const Trace& trace) {
  std::vector<std::string> paths;
  for (TrackId i = 0; i < trace.tracks.size(); ++i) {
    paths.push_back(trace.path_of(i));
  }
  std::string lines;
  for (const TraceSlice& slice : trace.slices) {
    lines += json_line({{"type", "slice"},
                        {"track", paths[slice.track]},
                        {"name", trace.name(slice.name)},
                        {"category", trace.name(slice.category)},
                        {"begin_ns", slice.begin.ns},
                        {"duration_ns", (slice.end - slice.begin).ns},
                        {"arguments", arguments_of(trace, slice)}}) +
             "\n";
  }
  for (const TraceMark& mark : trace.marks) {
    Json line = {{"type", "mark"},
                 {"track", paths[mark.track]},
                 {"name", trace.name(mark.name)},
                 {"at_ns", mark.at.ns}};
    if (mark.arguments > 0) {
      line["arguments"] = arguments_of(trace, mark);
    }
    lines += json_line(line) + "\n";
  }
  for (const TraceSample& sample : trace.samples) {
    lines += json_line({{"type", "sample"},
                        {"track", paths[sample.counter]},
                        {"unit", trace.tracks[sample.counter].unit},
                        {"at_ns", sample.at.ns},
                        {"value", sample.value}}) +
             "\n";
  }
  for (const TraceFlow& flow : trace.flows) {
    lines += json_line({{"type", "flow"},
                        {"name", trace.name(flow.name)},
                        {"slices", trace.slices_of(flow)}}) +
             "\n";
  }
  return lines;
}

std::string metrics_csv(const Evaluation& evaluation) {
  Table table = table_of(
      {"metric", "value", "p10", "p50", "p90", "ci95_low", "ci95_high", "band_low", "band_high"});
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    auto& row =
        table.rows.emplace_back(std::vector<Cell>{std::string(metric.json_key), value->value});
    if (value->trials) {
      const run::Interval interval = value->trials->ci95_of_quantile(kMedian);
      row.insert(row.end(),
                 {value->trials->quantile(kLowQuantile), value->trials->quantile(kMedian),
                  value->trials->quantile(kHighQuantile), interval.low, interval.high});
    }
    row.resize(table.columns.size() - 2);
    const auto band = metric_band(evaluation, metric.id);
    row.push_back(band ? Cell(band->low) : Cell());
    row.push_back(band ? Cell(band->high) : Cell());
  }
  return to_csv(table);
}

std::string ledger_csv(const Evaluation& evaluation) {
  Table table = table_of({"ledger", "category", "gpu_s", "share", "usd"});
  const auto add = [&table](const char* name, const std::vector<LedgerRow>& rows) {
    for (const LedgerRow& row : rows) {
      table.rows.push_back({name, std::string(row.category), in_seconds(row.gpu_time), row.share,
                            row.dollars ? Cell(in_dollars(*row.dollars)) : Cell()});
    }
  };
  add("step", step_ledger_rows(evaluation));
  add("run", run_ledger_rows(evaluation));
  return to_csv(table);
}

std::string roofline_csv(const Evaluation& evaluation) {
  const Roofline all = roofline(evaluation);
  Table table = table_of(
      {"operation", "flop_per_byte", "flop_per_s", "roof_flop_per_s", "roof", "time_s", "share"});
  for (const RooflinePoint& point : all.points) {
    if (point.limit.empty()) {
      continue;
    }
    table.rows.push_back({point.name, point.intensity, in_flop_per_second(point.achieved),
                          in_flop_per_second(point.roof), point.limit,
                          in_seconds(to_seconds(point.time)), point.share});
  }
  return to_csv(table);
}

std::string memory_csv(const Evaluation& evaluation) {
  Table table = table_of({"stage", "peak_bytes", "limit_bytes"});
  for (const MemoryTerm& term : memory_terms({})) {
    table.columns.push_back({std::string(term.name) + "_bytes"});
  }
  for (const step::StageMemory& stage : evaluation.step.memory) {
    auto& row = table.rows.emplace_back(std::vector<Cell>{
        static_cast<double>(table.rows.size()), in_bytes(stage.peak()), in_bytes(stage.limit)});
    for (const MemoryTerm& term : memory_terms(stage)) {
      row.emplace_back(in_bytes(term.value));
    }
  }
  return to_csv(table);
}

}  // namespace orrery::report
