// Files that are no scenarios, on pages of their own: traces, saved answers, and configuration
// files of other stacks on their way to a scenario.

#include <QFileDialog>
#include <QFileInfo>
#include <QTabWidget>

#include "gui/models/config_import.hpp"
#include "gui/models/saved_answer.hpp"
#include "gui/models/scenario_document.hpp"
#include "gui/widgets/compare_view.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/import_page.hpp"
#include "gui/widgets/pages/saved_page.hpp"
#include "gui/widgets/pages/trace_page.hpp"
#include "gui/widgets/pages/welcome_page.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "sim/answer/trace/event_reader.hpp"
#include "sim/base/error.hpp"

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
    if (!other && text_kind_of(path) == TextKind::configuration) {
      configurations << path;
    } else {
      open_path(path);
    }
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
  for (TracePage* page : pages_of<TracePage>()) {
    if (page->paths() == absolute) {
      tabs_->setCurrentWidget(page);
      return page;
    }
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
  for (SavedPage* page : pages_of<SavedPage>()) {
    if (page->path() == absolute) {
      tabs_->setCurrentWidget(page);
      return page;
    }
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
      title += ": " + QFileInfo(QString::fromStdString(answer.file)).fileName();
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

}  // namespace orrery::gui
