#include "gui/models/tables/answer_tables.hpp"

#include <QFileInfo>
#include <QStringList>
#include <algorithm>
#include <functional>
#include <utility>

#include "gui/models/plots/plot.hpp"
#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;

Cell plain(std::string_view text) { return {qt(text)}; }

Cell money(const std::optional<Dollars>& cost) {
  return cost ? number(Dimension::dollars, in_dollars(*cost)) : Cell{};
}

Table causes_table(const report::Evaluation& evaluation) {
  Table table{"Causes of failure", {"cause", "events", "GPU-hours", "dollars"}, {}};
  for (const report::CauseRow& cause : cause_rows(evaluation)) {
    table.rows.push_back({plain(cause.cause), number(Dimension::count, cause.events),
                          number(Dimension::count, in_hours(cause.gpu_time)),
                          money(cause.dollars)});
  }
  return table;
}

Table trust_table(const report::Evaluation& evaluation) {
  Table table{"Trust", {"the step time rests on", "share", ""}, {}};
  const report::Trust trust = report::trust_of(evaluation.step);
  const auto add = [&table](const QString& kind, double share) {
    if (share > 0.0) {
      table.rows.push_back({{.text = kind}, number(Dimension::fraction, share), {.bar = share}});
    }
  };
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    add(qt(kSourceKindNames[i]) + " coefficients", trust.share[i]);
  }
  add("coefficients used beyond their range", trust.extrapolated);
  return table;
}

Table step_table(const report::Figures& answer) {
  const auto step =
      std::ranges::find(answer.metrics, report::MetricId::step_time, &report::MetricFigures::id);
  return ledger_table("One step", answer.step_ledger,
                      step == answer.metrics.end() ? 0.0 : step->value);
}

}  // namespace

Table metrics_table(const report::Figures& answer) {
  Table table{"Metrics", {"metric", "value", "P10", "P90", "mean", "meaning"}, {}};
  for (const report::MetricFigures& metric : answer.metrics) {
    const report::MetricInfo& info = report::info(metric.id);
    const auto known = [&info](const std::optional<double>& value) {
      return value ? number(info.dimension, *value) : Cell{};
    };
    table.rows.push_back({{.text = spoken(info.name), .tip = qt(info.name)},
                          known(metric.p50 ? metric.p50 : metric.value),
                          known(metric.p10),
                          known(metric.p90),
                          metric.p50 ? known(metric.value) : Cell{},
                          {.text = qt(info.meaning), .tone = Tone::faint}});
  }
  return table;
}

Table ledger_table(const QString& title, const std::vector<report::LedgerRow>& rows,
                   double length) {
  Table table{title,
              {"where the time goes", "share", length > 0.0 ? "a GPU" : "GPU-hours", "dollars", ""},
              {}};
  Seconds all;
  std::optional<Dollars> cost;
  for (const report::LedgerRow& row : rows) {
    if (row.gpu_time <= Seconds{}) {
      continue;
    }
    all += row.gpu_time;
    cost = row.dollars ? cost.value_or(Dollars{}) + *row.dollars : cost;
    table.rows.push_back({{.text = qt(row.label), .tip = qt(row.category)},
                          number(Dimension::fraction, row.share),
                          length > 0.0 ? number(Dimension::time, row.share * length)
                                       : number(Dimension::count, in_hours(row.gpu_time)),
                          money(row.dollars),
                          {.bar = row.share, .hue = ledger_hue(row.category)}});
  }
  if (!table.rows.empty()) {
    table.rows.push_back(
        {{.text = "all", .tone = Tone::strong},
         {.text = "100.0%", .order = 1.0, .dimension = Dimension::fraction},
         length > 0.0 ? number(Dimension::time, length) : number(Dimension::count, in_hours(all)),
         money(cost)});
    add_rounding(table, table.rows.size() - 1);
  }
  return table;
}

Table memory_table(const report::Figures& answer) {
  Table table{"Memory", {"stage"}, {}};
  for (std::size_t stage = 0; stage < answer.memory.size(); ++stage) {
    const report::StageFigures& memory = answer.memory[stage];
    std::vector<Cell> row = {{.text = QString::number(stage), .order = static_cast<double>(stage)}};
    for (const auto& [name, value] : memory.terms) {
      if (stage == 0) {
        table.heads.push_back(qt(name));
      }
      row.push_back(number(Dimension::bytes, in_bytes(value)));
    }
    row.resize(table.heads.size());
    Cell peak = number(Dimension::bytes, in_bytes(memory.peak));
    peak.tone = memory.peak > memory.limit ? Tone::bad : Tone::strong;
    row.push_back(std::move(peak));
    row.push_back(number(Dimension::bytes, in_bytes(memory.limit)));
    table.rows.push_back(std::move(row));
  }
  table.heads.insert(table.heads.end(), {"peak", "limit"});
  return table;
}

Table levers_table(const report::Figures& answer) {
  Table table{"Levers", {"change", "end", "cost for the same work"}, {}};
  const auto change = [](Dimension dimension, double value) {
    return Cell{.text = change_shown(dimension, value), .order = value};
  };
  for (const report::LeverFigures& lever : answer.levers) {
    table.rows.push_back(
        {plain(lever.change), change(Dimension::time, in_seconds(lever.finish_delta)),
         lever.cost_delta ? change(Dimension::dollars, in_dollars(*lever.cost_delta)) : Cell{}});
  }
  return table;
}

Table expectations_table(const report::Figures& answer) {
  Table table{"Expectations", {"verdict", "expectation", "detail"}, {}};
  for (const report::ExpectationFigures& one : answer.expectations) {
    const Tone tone = one.verdict == "pass"   ? Tone::good
                      : one.verdict == "fail" ? Tone::bad
                                              : Tone::warning;
    table.rows.push_back(
        {{.text = qt(one.verdict), .tone = tone}, plain(one.text), plain(one.detail)});
  }
  return table;
}

Table events_table(const report::Evaluation& evaluation) {
  Table table{kEvents, {"when", "cost", "what", "together", "stopped", "lost work", "nodes"}, {}};
  if (!evaluation.plan) {
    return table;
  }
  std::vector<report::Stop> stops = stops_of(evaluation);
  std::ranges::stable_sort(stops, std::greater{}, &report::Stop::together);
  const std::optional<std::int64_t> start = report::unix_start(evaluation);
  const std::optional<DollarsPerSecond> rate = report::cost_per_second(evaluation);
  for (const report::Stop& stop : stops) {
    const double begin = in_seconds(to_seconds(stop.begin));
    const double together = in_seconds(to_seconds(stop.together()));
    const auto length = [](SimTime span) {
      return number(Dimension::time, in_seconds(to_seconds(span)));
    };
    const QString when = start ? shown(Dimension::date, static_cast<double>(*start) + begin)
                               : shown(Dimension::time, begin);
    table.rows.push_back({{.text = when, .order = static_cast<double>(stop.begin.ns)},
                          money(rate ? std::optional(*rate * seconds(together)) : std::nullopt),
                          plain(stop.what),
                          number(Dimension::time, together),
                          length(stop.stopped),
                          length(stop.lost),
                          plain(report::nodes_text(stop.nodes))});
  }
  return table;
}

std::vector<Table> filled(std::vector<Table> tables) {
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

std::vector<Table> all_tables(const report::Evaluation& evaluation) {
  report::Figures answer = report::figures_of(evaluation);
  answer.step_ledger.resize(evaluation.step.given ? 0 : answer.step_ledger.size());
  return filled({metrics_table(answer), step_table(answer),
                 ledger_table("The run", answer.run_ledger), memory_table(answer),
                 events_table(evaluation), causes_table(evaluation), levers_table(answer),
                 expectations_table(answer), trust_table(evaluation)});
}

Table problems_table(const Diagnostics& diagnostics, const QString& failure,
                     QString (*place)(const SourceLocation& where)) {
  Table table{"Problems", {"", place ? "where" : "line", "key", "problem", "allowed"}, {}};
  if (!failure.isEmpty()) {
    table.rows.push_back({{.text = "error", .tone = Tone::bad}, {}, {}, {.text = failure}, {}});
  }
  for (const Diagnostic& problem : diagnostics.all()) {
    const bool error = problem.severity == Severity::error;
    const int line = problem.where.line;
    table.rows.push_back({{.text = error                                   ? "error"
                                   : problem.severity == Severity::warning ? "warning"
                                                                           : "note",
                           .tone = error ? Tone::bad : Tone::warning},
                          place ? Cell{.text = place(problem.where)}
                                : Cell{.text = line > 0 ? QString::number(line) : QString(),
                                       .order = static_cast<double>(line)},
                          plain(problem.key),
                          {.text = qt(problem.message), .tip = qt(to_string(problem))},
                          plain(problem.allowed)});
  }
  return table;
}

namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;

// What it says, and why it does not fit.
Table messages_table(const report::Figures& saved) {
  Table table = problems_table(saved.messages, {});
  table.title = "Messages";
  for (const std::string& reason : saved.reasons) {
    table.rows.insert(
        table.rows.begin(),
        {{.text = "does not fit", .tone = Tone::bad}, {}, {}, {.text = qt(reason)}, {}});
  }
  return table;
}

}  // namespace

SavedFile read_saved_file(const QString& path) {
  SavedFile file;
  try {
    report::SavedReading reading =
        report::read_saved_evaluations(read_file(path.toStdString(), kMostBytes));
    file.answers = std::move(reading.evaluations);
    if (!reading.problem.empty()) {
      file.answers.clear();
      file.problem = QFileInfo(path).fileName() + ": " + qt(reading.problem);
    }
  } catch (const Error& error) {
    file.problem = qt(error.what());
  }
  return file;
}

QString saved_sentence(const report::Figures& saved) {
  QStringList parts;
  parts << (saved.feasible ? "It can be done" : "It cannot be done");
  for (const report::MetricId id : {report::MetricId::step_time, report::MetricId::mfu,
                                    report::MetricId::finish_date, report::MetricId::cost}) {
    if (const report::MetricFigures* metric = saved.find(id)) {
      const report::MetricInfo& info = report::info(id);
      parts << spoken(info.name) + " " + shown(info.dimension, metric->p50.value_or(metric->value));
    }
  }
  return QString("A saved answer to %1, read only: %2.")
      .arg(saved.name.empty() ? QString("a scenario without a name") : qt(saved.name),
           parts.join(", "));
}

std::vector<Table> saved_tables(const report::Figures& saved) {
  return filled({metrics_table(saved), step_table(saved), ledger_table("The run", saved.run_ledger),
                 memory_table(saved), levers_table(saved), expectations_table(saved),
                 messages_table(saved)});
}

}  // namespace orrery::gui
