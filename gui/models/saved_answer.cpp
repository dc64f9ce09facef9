#include "gui/models/saved_answer.hpp"

#include <QFileInfo>
#include <QStringList>

#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"

namespace orrery::gui {

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
    file.problem = QString::fromUtf8(error.what());
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
  return filled({metrics_table(saved), ledger_table("One step", saved.step_ledger),
                 ledger_table("The run", saved.run_ledger), memory_table(saved),
                 levers_table(saved), expectations_table(saved), messages_table(saved)});
}

}  // namespace orrery::gui
