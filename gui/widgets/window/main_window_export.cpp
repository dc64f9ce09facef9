// What an answer is written to for others: traces, and one page.

#include <QFileInfo>
#include <QStatusBar>
#include <filesystem>
#include <memory>

#include "gui/models/tables/text.hpp"
#include "gui/report/report_page.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "sim/answer/report/export/chrome_trace.hpp"
#include "sim/answer/report/export/operation_trace.hpp"
#include "sim/answer/report/export/perfetto_trace.hpp"
#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/export/step_trace.hpp"
#include "sim/answer/report/export/trace_choice.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

constexpr int kShown = 8000;  // ms

QString stem_of(const DocumentPage& page) { return QFileInfo(page.title()).completeBaseName(); }

// Null, with a message to the user, while there is none.
OutcomePtr answer_to_save(const MainWindow& window) {
  const OutcomePtr answered = window.current_page()->answered();
  if (!answered) {
    window.tell("There is no answer to save yet.");
  }
  return answered;
}

// As many as `orrery export` writes unless told otherwise: a timeline in a browser stays quick.
constexpr std::size_t kMostSlices = 200'000;

report::Trace trace_of(const report::Evaluation& evaluation, std::string_view part) {
  return part == "run"          ? report::run_trace(evaluation)
         : part == "operations" ? report::operation_trace(evaluation)
                                : report::step_trace(evaluation);
}

// As `orrery export` writes it, by the ending: .json or Perfetto's own. Throws Error.
QString write_trace_file(const report::Evaluation& evaluation, std::string_view part,
                         const QString& path) {
  const report::ChosenTrace chosen =
      report::choose_trace(trace_of(evaluation, part), {}, kMostSlices);
  const bool chrome = QFileInfo(path).suffix().toLower() == "json";
  write_file_atomically(
      std::filesystem::path(path.toStdString()),
      chrome ? report::to_chrome_trace(chosen.trace) : report::to_perfetto_trace(chosen.trace));
  const auto count = [](std::size_t number) {
    return qt(format_integer(static_cast<std::int64_t>(number)));
  };
  QString sentence =
      QString("%1: %2 slices of the %3")
          .arg(QFileInfo(path).fileName(), count(chosen.trace.slices.size()), qt(part));
  if (chosen.merged > 0) {
    sentence +=
        QString(", %1 short ones drawn as one with their neighbours").arg(count(chosen.merged));
  }
  return sentence + ".";
}

}  // namespace

// Of the level that the timeline shows.
void MainWindow::export_trace() {
  const OutcomePtr answered = current_page()->answered();
  const timeline::View& view = timeline_->view();
  if (!answered || view.empty()) {
    tell("There is no timeline to export: the scenario has no answer, or it states its step time.");
    return;
  }
  const std::string part = view.levels()[view.level()].name;
  save_with_dialog(this, "Export the trace of the " + qt(part),
                   QString("%1-%2.pftrace").arg(stem_of(*current_page()), qt(part)),
                   "Perfetto (*.pftrace);;Chrome trace events (*.json)",
                   [this, answered, part](const QString& path) -> QString {
                     write_trace(answered, part, path);
                     return {};
                   });
}

void MainWindow::write_trace(const OutcomePtr& answered, const std::string& part,
                             const QString& path) {
  statusBar()->showMessage("Writing " + QFileInfo(path).fileName() + "...");
  exporting_.start([this, answered, part, path](const std::stop_token&, const LatestTask::Report&) {
    const QString sentence = write_trace_file(*answered->evaluation, part, path);
    return LatestTask::Delivery([this, sentence] { statusBar()->showMessage(sentence, kShown); });
  });
}

void MainWindow::save_answer(bool slides) {
  const OutcomePtr answered = answer_to_save(*this);
  if (!answered) {
    return;
  }
  const QString stem = stem_of(*current_page());
  save_with_dialog(
      this, slides ? "Save slides" : "Save answer", slides ? stem + "-slides.pdf" : stem + ".json",
      slides ? "PDF (*.pdf)" : "JSON (*.json)", [&answered, slides](const QString& path) {
        const report::Evaluation& evaluation = *answered->evaluation;
        return write_or_say(path, slides ? slides_pdf(evaluation)
                                         : QByteArray::fromStdString(report::to_json(evaluation)));
      });
}

// Gathered on a worker thread, since it runs the scenario again; painted on this one.
void MainWindow::save_report() {
  const OutcomePtr answered = answer_to_save(*this);
  if (!answered) {
    return;
  }
  save_with_dialog(this, "Save report", stem_of(*current_page()) + ".pdf",
                   "PDF (*.pdf);;HTML (*.html);;SVG drawing (*.svg)",
                   [this, answered](const QString& path) -> QString {
                     const QString ending = QFileInfo(path).suffix().toLower();
                     if (ending != "pdf" && ending != "html" && ending != "svg") {
                       return path + ": reports are saved as pdf, html or svg.";
                     }
                     write_page(answered, path);
                     return {};
                   });
}

void MainWindow::write_page(const OutcomePtr& answered, const QString& path) {
  statusBar()->showMessage("Writing " + QFileInfo(path).fileName() + "...");
  exporting_.start([this, answered, path](const std::stop_token&, const LatestTask::Report&) {
    auto content = std::make_shared<const ReportContent>(report_content(answered));
    return LatestTask::Delivery([this, content, path] {
      try {
        write_report(*content, path);
        statusBar()->showMessage(QFileInfo(path).fileName() + ": written.", kShown);
      } catch (const Error& error) {
        statusBar()->clearMessage();
        tell(QString::fromUtf8(error.what()));
      }
    });
  });
}

}  // namespace orrery::gui
