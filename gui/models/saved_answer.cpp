#include "gui/models/saved_answer.hpp"

#include <QFileInfo>
#include <QStringList>

#include "gui/models/text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/format.hpp"
#include "sim/report/difference.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;

Cell known(Dimension dimension, const std::optional<double>& value) {
  return value ? number(dimension, *value) : Cell{};
}

Table metrics_table(const report::SavedEvaluation& saved) {
  Table table{"Metrics", {"metric", "value", "P10", "P50", "P90", "meaning"}, {}};
  for (const report::SavedMetric& metric : saved.metrics) {
    const report::MetricInfo& info = report::info(metric.id);
    table.rows.push_back({{.text = spoken(info.name), .tip = qt(info.name)},
                          known(info.dimension, metric.value),
                          known(info.dimension, metric.p10),
                          known(info.dimension, metric.p50),
                          known(info.dimension, metric.p90),
                          {.text = qt(info.meaning), .tone = Tone::faint}});
  }
  return table;
}

Table ledger_table(const QString& title, const std::vector<report::SavedLedgerRow>& rows) {
  Table table{title, {"where the time goes", "share", "GPU-hours", "dollars", ""}, {}};
  for (const report::SavedLedgerRow& row : rows) {
    if (row.gpu_time <= Seconds{}) {
      continue;
    }
    const double hours = in_hours(row.gpu_time);
    table.rows.push_back(
        {{.text = qt(row.label)},
         known(Dimension::fraction, row.share),
         {.text = qt(format_count(hours)), .order = hours},
         row.dollars ? known(Dimension::dollars, in_dollars(*row.dollars)) : Cell{},
         {.bar = row.share}});
  }
  return table;
}

Table memory_table(const report::SavedEvaluation& saved) {
  Table table{"Memory", {"stage"}, {}};
  for (std::size_t stage = 0; stage < saved.memory.size(); ++stage) {
    const report::SavedStage& memory = saved.memory[stage];
    std::vector<Cell> row = {{.text = QString::number(stage), .order = static_cast<double>(stage)}};
    for (const auto& [name, value] : memory.terms) {
      if (stage == 0) {
        table.heads.push_back(qt(name));
      }
      row.push_back(known(Dimension::bytes, in_bytes(value)));
    }
    row.resize(table.heads.size());
    Cell peak = known(Dimension::bytes, in_bytes(memory.peak));
    peak.tone = memory.peak > memory.limit ? Tone::bad : Tone::strong;
    row.push_back(std::move(peak));
    row.push_back(known(Dimension::bytes, in_bytes(memory.limit)));
    table.rows.push_back(std::move(row));
  }
  table.heads.insert(table.heads.end(), {"peak", "limit"});
  return table;
}

Table levers_table(const report::SavedEvaluation& saved) {
  Table table{"Levers", {"change", "end", "cost for the same work"}, {}};
  for (const report::SavedLever& lever : saved.levers) {
    const double end = in_seconds(lever.finish_delta);
    const double cost = lever.cost_delta ? in_dollars(*lever.cost_delta) : 0.0;
    table.rows.push_back(
        {{.text = qt(lever.change)},
         {.text = qt(report::format_change(Dimension::time, end)), .order = end},
         lever.cost_delta
             ? Cell{.text = qt(report::format_change(Dimension::dollars, cost)), .order = cost}
             : Cell{}});
  }
  return table;
}

Table expectations_table(const report::SavedEvaluation& saved) {
  Table table{"Expectations", {"verdict", "expectation", "detail"}, {}};
  for (const report::SavedExpectation& one : saved.expectations) {
    const Tone tone = one.verdict == "pass"   ? Tone::good
                      : one.verdict == "fail" ? Tone::bad
                                              : Tone::warning;
    table.rows.push_back({{.text = qt(one.verdict), .tone = tone},
                          {.text = qt(one.text)},
                          {.text = qt(one.detail)}});
  }
  return table;
}

Table messages_table(const report::SavedEvaluation& saved) {
  Table table{"Messages", {"", "line", "key", "message"}, {}};
  for (const std::string& reason : saved.reasons) {
    table.rows.push_back(
        {{.text = "does not fit", .tone = Tone::bad}, {}, {}, {.text = qt(reason)}});
  }
  for (const report::SavedMessage& one : saved.messages) {
    table.rows.push_back({{.text = qt(one.severity), .tone = Tone::warning},
                          {.text = QString::number(one.line)},
                          {.text = qt(one.key)},
                          {.text = qt(one.message), .tip = qt(one.message)}});
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
    file.problem = QString::fromUtf8(error.what());
  }
  return file;
}

QString saved_sentence(const report::SavedEvaluation& saved) {
  QStringList parts;
  parts << (saved.feasible ? "It fits" : "It does not fit");
  for (const report::MetricId id : {report::MetricId::step_time,
                                    report::MetricId::mfu,
                                    report::MetricId::finish_date,
                                    report::MetricId::cost}) {
    if (const report::SavedMetric* metric = saved.find(id)) {
      const report::MetricInfo& info = report::info(id);
      parts << spoken(info.name) + " " + shown(info.dimension, metric->p50.value_or(metric->value));
    }
  }
  return QString("A saved answer to %1, read only: %2.")
      .arg(saved.name.empty() ? QString("a scenario without a name") : qt(saved.name),
           parts.join(", "));
}

std::vector<Table> saved_tables(const report::SavedEvaluation& saved) {
  std::vector<Table> tables = {metrics_table(saved),
                               ledger_table("One step", saved.step_ledger),
                               ledger_table("The run", saved.run_ledger),
                               memory_table(saved),
                               levers_table(saved),
                               expectations_table(saved),
                               messages_table(saved)};
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace orrery::gui
