// Files that are no scenarios, on pages of their own: traces, saved answers, and configuration
// files of other stacks on their way to a scenario.

#include <QFileDialog>
#include <QFileInfo>
#include <QLocale>
#include <QStatusBar>
#include <QTabWidget>
#include <QToolBar>
#include <filesystem>
#include <memory>
#include <vector>

#include "gui/models/config_import.hpp"
#include "gui/models/scenario_document.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/report/report_page.hpp"
#include "gui/widgets/compare_view.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/trace_page.hpp"
#include "gui/widgets/pages/welcome_page.hpp"
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
#include "sim/answer/trace/event_reader.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

// How a file begins; empty when it cannot be read, which opening it as a scenario reports.
std::string head_of(const QString& path) {
  constexpr qint64 kLooked = 4096;
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.read(kLooked).toStdString() : std::string();
}

bool is_trace(const QString& path) {
  try {
    // Perfetto's own format has a sentence of its own in the place of a timeline.
    return path.endsWith(".pftrace") || trace::is_trace_file(path.toStdString());
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

QWidget* MainWindow::open_path(const QString& path) {
  if (report::is_saved_evaluation(head_of(path))) {
    return open_saved(path);
  }
  if (is_trace(path)) {
    return open_traces({path});
  }
  switch (text_kind_of(path)) {
    case TextKind::configuration:
      return import_files({path});
    case TextKind::unknown:
      tell(unknown_sentence(path));
      return nullptr;
    case TextKind::scenario:
      break;
  }
  return open_file(path);
}

void MainWindow::open_paths(const QStringList& paths) {
  QStringList configurations;
  for (const QString& path : paths) {
    const bool other = report::is_saved_evaluation(head_of(path)) || is_trace(path);
    const bool alone = other || text_kind_of(path) != TextKind::configuration;
    alone ? void(open_path(path)) : configurations.append(path);
  }
  if (!configurations.isEmpty()) {
    import_files(configurations);
  }
}

TracePage* MainWindow::open_traces(const QStringList& paths) {
  QStringList absolute;
  for (const QString& path : paths) {
    absolute << QFileInfo(path).absoluteFilePath();
  }
  if (absolute.isEmpty()) {
    return nullptr;
  }
  const auto is = [&absolute](const TracePage& page) { return page.paths() == absolute; };
  if (auto* page = bring_up<TracePage>(is)) {
    return page;
  }
  const DocumentPage* front = current_page();
  const std::vector<DocumentPage*> open = pages();
  const DocumentPage* beside = front != nullptr ? front : open.empty() ? nullptr : open.back();
  auto* page = new TracePage(absolute, this);
  page->setProperty("beside", beside != nullptr ? beside->title() : QString());
  connect(page, &TracePage::running_changed, this, [this] { update_actions(); });
  const int index = tabs_->addTab(page, page->title());
  tabs_->setTabToolTip(index, absolute.join("\n"));
  tabs_->setCurrentWidget(page);
  update_traces();
  return page;
}

SavedPage* MainWindow::open_saved(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  const auto is = [&absolute](const SavedPage& page) { return page.path() == absolute; };
  if (auto* page = bring_up<SavedPage>(is)) {
    return page;
  }
  SavedFile file = read_saved_file(absolute);
  if (!file.problem.isEmpty()) {
    tell(file.problem);
    return nullptr;
  }
  SavedPage* first = nullptr;
  for (report::Figures& answer : file.answers) {
    QString title = QFileInfo(absolute).fileName();
    if (file.answers.size() > 1) {
      title += ": " + QFileInfo(qt(answer.file)).fileName();
    }
    auto* page = new SavedPage(absolute, title,
                               std::make_shared<const report::Figures>(std::move(answer)), this);
    const int index = tabs_->addTab(page, title);
    tabs_->setTabToolTip(index, absolute);
    first = first == nullptr ? page : first;
  }
  tabs_->setCurrentWidget(first);
  update_comparison();
  return first;
}

void MainWindow::ask_for_traces() {
  open_traces(QFileDialog::getOpenFileNames(
      this, "Open the traces of one job, a file for each rank", {},
      "Traces (*.json *.json.gz *.pt.trace.json *.gz);;All files (*)"));
}

void MainWindow::ask_for_saved() {
  for (const QString& path : QFileDialog::getOpenFileNames(
           this, "Open saved answers", {}, "Saved answers (*.json);;All files (*)")) {
    open_saved(path);
  }
}

std::vector<Candidate> MainWindow::candidates() const {
  std::vector<Candidate> all;
  for (const DocumentPage* page : pages()) {
    all.push_back({page->title(), page->answered(), {}});
  }
  return all;
}

void MainWindow::update_traces() {
  for (TracePage* page : pages_of<TracePage>()) {
    page->set_candidates(candidates(), page->property("beside").toString());
  }
}

DocumentPage* MainWindow::open_plan(DocumentPage* from, const QString& text, const QString& title,
                                    bool compare) {
  DocumentPage* page = add_page(from->document().derive(text, title, nullptr));
  if (compare) {
    show_compare();
    compare_->show_only({from->title(), page->title()});
  }
  return page;
}

void MainWindow::close_tab(int index) {
  QWidget* widget = tabs_->widget(index);
  if (auto* page = qobject_cast<DocumentPage*>(widget)) {
    close_page(page);
    return;
  }
  if (widget == nullptr) {
    return;
  }
  tabs_->removeTab(index);
  if (widget != welcome_ && widget != compare_) {
    widget->disconnect(this);
    widget->deleteLater();
    update_comparison();
  }
  if (tabs_->count() == 0) {
    tabs_->addTab(welcome_, "Welcome");
  }
}

ImportPage* MainWindow::import_files(const QStringList& paths) {
  auto* page = qobject_cast<ImportPage*>(tabs_->currentWidget());
  if (page == nullptr) {
    page = new ImportPage(this);
    connect(page, &ImportPage::title_changed, this, [this, page] {
      tabs_->setTabText(tabs_->indexOf(page), page->title());
      tabs_->setTabToolTip(tabs_->indexOf(page), page->paths().join("\n"));
      update_title();
    });
    connect(page, &ImportPage::close_wanted, this,
            [this, page] { close_tab(tabs_->indexOf(page)); });
    connect(page, &ImportPage::open_wanted, this,
            [this, page](const QString& text, const QString& title) {
              open_imported(page, text, title);
            });
    tabs_->setCurrentIndex(tabs_->addTab(page, page->title()));
  }
  page->add_files(paths);
  page->setFocus();
  return page;
}

void MainWindow::ask_for_import() {
  const QStringList paths = ask_for_configurations(this);
  if (!paths.isEmpty()) {
    import_files(paths);
  }
}

// A document that no file holds yet: closing it asks.
void MainWindow::open_imported(ImportPage* page, const QString& text, const QString& title) {
  auto* document = new ScenarioDocument;
  document->start_new(text, title);
  document->text_document()->setModified(true);
  close_tab(tabs_->indexOf(page));
  add_page(document);
}

// What an answer is written to for others: traces, and one page.

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
  exporting_.run(
      [=](const auto&...) { return write_trace_file(*answered->evaluation, part, path); },
      [this](const QString& sentence) { statusBar()->showMessage(sentence, kShown); });
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
        return write_or_say(
            path, slides ? slides_pdf(evaluation).toStdString() : report::to_json(evaluation));
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
        tell(qt(error.what()));
      }
    });
  });
}

// The bar that offers lost texts.

namespace {

QString sentence_of(const std::vector<LostText>& lost) {
  const QString when = QLocale().toString(lost.back().written, "d MMM hh:mm");
  return lost.size() == 1 ? QString("Changes of %1 (%2) were not saved when Orrery ended.")
                                .arg(lost.front().state.title, when)
                          : QString("%1 scenarios (last %2) were not saved when Orrery ended.")
                                .arg(lost.size())
                                .arg(when);
}

}  // namespace

QToolBar* offer_lost_texts(MainWindow& window) {
  const std::vector<LostText> lost = Recovery::of_program()->take_lost();
  if (lost.empty()) {
    Recovery::of_program()->drop_lost();  // folders without a text
    return nullptr;
  }
  auto* bar = new QToolBar("Recovery", &window);
  bar->setObjectName("Recovery");
  bar->setMovable(false);
  auto* sentence = new QLabel(sentence_of(lost), bar);
  sentence->setMargin(6);
  auto* restore = button(bar, "&Restore", [&window, bar, lost] {
    for (const LostText& one : lost) {
      auto* document = new ScenarioDocument;
      document->restore(one.state);
      window.add_page(document);  // which keeps a copy of its own before the lost one goes
    }
    Recovery::of_program()->drop_lost();
    bar->deleteLater();
  });
  auto* discard = button(bar, "&Discard", [bar] {
    Recovery::of_program()->drop_lost();
    bar->deleteLater();
  });
  for (QWidget* widget : std::initializer_list<QWidget*>{sentence, restore, discard}) {
    bar->addWidget(widget);
  }
  window.addToolBar(bar);
  return bar;
}

}  // namespace orrery::gui
