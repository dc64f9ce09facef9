// What an answer is written to for others: traces, and one page.

#include <QFileInfo>
#include <QStatusBar>
#include <memory>

#include "gui/models/jobs/export_trace.hpp"
#include "gui/models/tables/text.hpp"
#include "gui/report/report_page.hpp"
#include "gui/report/slides.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "sim/base/error.hpp"
#include "sim/report/files/json_report.hpp"

namespace orrery::gui {

namespace {

constexpr int kShown = 8000;  // ms

QString stem_of(const DocumentPage& page) {
  return QFileInfo(page.title()).completeBaseName();
}

// Null, with a message to the user, while there is none.
OutcomePtr answer_to_save(const MainWindow& window) {
  const OutcomePtr answered = window.current_page()->answered();
  if (!answered) {
    window.tell("There is no answer to save yet.");
  }
  return answered;
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
  save_with_dialog(this,
                   "Export the trace of the " + qt(part),
                   QString("%1-%2.pftrace").arg(stem_of(*current_page()), qt(part)),
                   "Perfetto (*.pftrace);;Chrome trace events (*.json)",
                   [this, answered, part](const QString& path) -> QString {
                     write_trace(answered, part, path);
                     return {};
                   });
}

void MainWindow::write_trace(const OutcomePtr& answered,
                             const std::string& part,
                             const QString& path) {
  statusBar()->showMessage("Writing " + QFileInfo(path).fileName() + "...");
  exporting_.start([this, answered, part, path](const std::stop_token&, const LatestTask::Report&) {
    const QString sentence = gui::export_trace(*answered->evaluation, part, path);
    return LatestTask::Delivery([this, sentence] { statusBar()->showMessage(sentence, kShown); });
  });
}

void MainWindow::save_answer(bool slides) {
  const OutcomePtr answered = answer_to_save(*this);
  if (!answered) {
    return;
  }
  const QString stem = stem_of(*current_page());
  save_with_dialog(this,
                   slides ? "Save slides" : "Save answer",
                   slides ? stem + "-slides.pdf" : stem + ".json",
                   slides ? "PDF (*.pdf)" : "JSON (*.json)",
                   [&answered, slides](const QString& path) {
                     const report::Evaluation& evaluation = *answered->evaluation;
                     return write_or_say(
                         path,
                         slides ? slides_pdf(evaluation)
                                : QByteArray::fromStdString(report::to_json(evaluation)));
                   });
}

// Gathered on a worker thread, since it runs the scenario again; painted on this one.
void MainWindow::save_report() {
  const OutcomePtr answered = answer_to_save(*this);
  if (!answered) {
    return;
  }
  save_with_dialog(this,
                   "Save report",
                   stem_of(*current_page()) + ".pdf",
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
