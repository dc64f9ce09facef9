#include "gui/widgets/window/main_window.hpp"

#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <algorithm>
#include <memory>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/compare_view.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/form_view.hpp"
#include "gui/widgets/knob_strip.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/trace_page.hpp"
#include "gui/widgets/pages/welcome_page.hpp"
#include "gui/widgets/plan_panel.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/details_drawer.hpp"
#include "sim/answer/report/text/text_report.hpp"

namespace orrery::gui {

namespace {

constexpr auto kScenarioFilter = "Scenarios (*.yaml *.yml);;All files (*)";

// Whole, so that it answers at once: what is to be different is changed, not looked up.
constexpr auto kNewScenario = R"(format: orrery/1
name: my run
model: {preset: llama3-70b}
cluster: {gpu: h100-sxm-80gb, nodes: 64, network: {preset: infiniband-400g}}
layout: {tensor: 8, sequence_parallel: true, pipeline: 4, data: 16, sharding: zero1, schedule: 1f1b}
batch: {global: 1024, micro: 1}
recompute: selective
training: {tokens: 1T, start: 2027-01-01T00:00Z}
failures: {preset: llama3-2024}
checkpoint: {interval: auto, mode: async, storage: {write: 100GB/s, read: 100GB/s}}
capacity: {spares: 2}
prices: {gpu_hour: $2.50/h}
simulation: {trials: 100}
)";

UnsavedChoice ask_with_dialog(QWidget* parent, const QString& title) {
  const auto answer = QMessageBox::warning(
      parent, "Unsaved changes", QString("%1 has changes that are not saved.").arg(title),
      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
  return answer == QMessageBox::Save      ? UnsavedChoice::save
         : answer == QMessageBox::Discard ? UnsavedChoice::discard
                                          : UnsavedChoice::cancel;
}

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
  ask_unsaved = [this](const QString& title) { return ask_with_dialog(this, title); };
  tell = [this](const QString& sentence) { QMessageBox::warning(this, "Orrery", sentence); };
  apply_theme(theme_of(settings_.value("theme").toString()));  // before the first icon
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  tabs_ = new DocumentTabs(this);
  setCentralWidget(tabs_);
  welcome_ = new WelcomePage(this);
  compare_ = new CompareView(this);
  compare_->hide();
  tabs_->addTab(welcome_, "Welcome");
  build_docks();
  build_status_bar();
  build_menus();

  connect(&exporting_, &LatestTask::failed, this, [this](const QString& sentence) {
    statusBar()->clearMessage();
    tell(sentence);
  });
  connect(welcome_, &WelcomePage::example_chosen, this, &MainWindow::open_example);
  connect(welcome_, &WelcomePage::file_chosen, this, &MainWindow::open_path);
  connect(welcome_, &WelcomePage::new_wanted, this, &MainWindow::new_document);
  connect(welcome_, &WelcomePage::import_wanted, this, &MainWindow::ask_for_import);
  connect(welcome_, &WelcomePage::compare_wanted, this, &MainWindow::show_compare);
  connect(welcome_, &WelcomePage::open_wanted, this, [this] {
    open_paths(QFileDialog::getOpenFileNames(this, "Open scenarios", {}, kScenarioFilter));
  });
  connect(tabs_, &QTabWidget::currentChanged, this, [this] {
    flipped_ = false;
    show_page();
  });
  connect(tabs_, &QTabWidget::tabCloseRequested, this, &MainWindow::close_tab);
  welcome_->set_recent(recent_files(settings_));
  restore_layout();
  show_page();
  welcome_->setFocus();
}

MainWindow::~MainWindow() {
  // Pages tell the window about their end; it must not listen any more.
  tabs_->disconnect(this);
  exporting_.disconnect(this);
}

DocumentPage* MainWindow::current_page() const {
  return qobject_cast<DocumentPage*>(tabs_->currentWidget());
}

std::vector<DocumentPage*> MainWindow::pages() const { return pages_of<DocumentPage>(); }

DocumentPage* MainWindow::open_as(QString (ScenarioDocument::*open)(const QString&),
                                  const QString& path, const OpenAlready& is_open) {
  const auto is = [&is_open](DocumentPage& page) { return is_open(page.document()); };
  if (auto* page = bring_up<DocumentPage>(is)) {
    return page;
  }
  auto document = std::make_unique<ScenarioDocument>();
  const QString problem = (document.get()->*open)(path);
  if (!problem.isEmpty()) {
    tell(problem);
    return nullptr;
  }
  return add_page(document.release());
}

DocumentPage* MainWindow::open_file(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  DocumentPage* page = open_as(&ScenarioDocument::open, absolute,
                               [&](const auto& document) { return document.path() == absolute; });
  if (page != nullptr) {
    add_recent_file(settings_, absolute);
    welcome_->set_recent(recent_files(settings_));
  }
  return page;
}

DocumentPage* MainWindow::open_example(const QString& path) {
  return open_as(&ScenarioDocument::open_example, path, [&](const auto& document) {
    const DocumentState state = document.state();
    return state.origin == path && state.path.isEmpty() && !document.modified();
  });
}

DocumentPage* MainWindow::new_document() {
  auto* document = new ScenarioDocument;
  QString title = "new scenario";
  const auto taken = [&title](DocumentPage* page) { return page->document().title() == title; };
  const std::vector<DocumentPage*> open = pages();
  for (int number = 2; std::ranges::any_of(open, taken); ++number) {
    title = QString("new scenario %1").arg(number);
  }
  document->start_new(kNewScenario, title);
  return add_page(document);
}

DocumentPage* MainWindow::duplicate_document() {
  DocumentPage* page = current_page();
  return page == nullptr ? nullptr
                         : add_page(page->document().duplicate(nullptr),
                                    page->stale() ? nullptr : page->answered());
}

DocumentPage* MainWindow::add_page(ScenarioDocument* document, const OutcomePtr& answered) {
  auto* page = new DocumentPage(document, this);
  connect(page, &DocumentPage::title_changed, this, [this, page] { update_tab(page); });
  connect(page, &DocumentPage::outcome_changed, this, [this, page] {
    if (page == current_page()) {
      flipped_ = false;
      show_page();
    }
    update_comparison();
  });
  connect(page, &DocumentPage::running_changed, this, [this] { update_actions(); });
  connect(page, &DocumentPage::progressed, this, [this, page](qint64 done, qint64 all) {
    if (page == current_page()) {
      show_progress(*progress_, done, all);
    }
  });
  connect(page, &DocumentPage::sentence, this, [this](const QString& text) {
    constexpr int kShown = 8000;
    statusBar()->showMessage(text, kShown);
  });
  connect(page, &DocumentPage::side_changed, this, &MainWindow::show_page);
  connect(page, &DocumentPage::scenario_wanted, this,
          [this, page](const QString& text, const QString& title, bool compare) {
            open_plan(page, text, title, compare);
          });
  page->set_live(live_->isChecked());
  tabs_->addTab(page, document->title());
  update_tab(page);
  tabs_->setCurrentWidget(page);
  page->setFocus();
  answered ? page->take(answered) : page->evaluate();
  return page;
}

bool MainWindow::save(DocumentPage* page) {
  if (page->document().path().isEmpty()) {
    return save_as(page);
  }
  const QString problem = page->document().save();
  if (!problem.isEmpty()) {
    tell(problem);
  }
  return problem.isEmpty();
}

bool MainWindow::save_as(DocumentPage* page) {
  QString path = QFileDialog::getSaveFileName(this, "Save scenario", page->document().title(),
                                              kScenarioFilter);
  if (path.isEmpty()) {
    return false;
  }
  if (QFileInfo(path).suffix().isEmpty()) {
    path += ".yaml";
  }
  const QString problem = page->document().save_as(path);
  if (!problem.isEmpty()) {
    tell(problem);
    return false;
  }
  add_recent_file(settings_, path);
  welcome_->set_recent(recent_files(settings_));
  return true;
}

bool MainWindow::may_close(DocumentPage* page) {
  if (!page->document().modified()) {
    return true;
  }
  const UnsavedChoice choice = ask_unsaved(page->document().title());
  return choice == UnsavedChoice::save ? save(page) : choice == UnsavedChoice::discard;
}

bool MainWindow::close_page(DocumentPage* page) {
  if (!may_close(page)) {
    return false;
  }
  page->drop();
  page->disconnect(this);
  tabs_->removeTab(tabs_->indexOf(page));
  page->deleteLater();
  show_page();
  if (tabs_->count() == 0) {
    tabs_->addTab(welcome_, "Welcome");
  }
  update_comparison();
  return true;
}

void MainWindow::show_page() {
  DocumentPage* page = current_page();
  const bool docks = page != nullptr && !page->plan_shown();
  show_docks(docks);
  update_title();
  update_actions();
  show_problems(docks ? page : nullptr);
  if (!docks) {
    return;
  }
  OutcomePtr answered = page->answered();
  OutcomePtr baseline = page->baseline();
  if (flipped_) {
    std::swap(answered, baseline);
  }
  if (answered != shown_.outcome || baseline != shown_.baseline) {
    shown_.outcome = answered;
    shown_.baseline = baseline;
    charts_->set_outcome(answered);
    tables_->set_outcome(answered);
    timeline_->set_levels(answered ? answered->levels : timeline::Levels(), page == shown_.page);
    shown_.page = page;
    findChild<DetailsDrawer*>()->set_outcome(answered);
    if (answered) {
      const bool changed = baseline != answered;
      Dashboard board =
          gui::dashboard(*answered->evaluation, changed ? baseline->evaluation.get() : nullptr,
                         changed ? change_error(*baseline, *answered) : std::nullopt);
      board.subtitle.prepend(flipped_ ? "A, as pinned; B goes back. " : "");
      dashboard_->show_answer(board);
      report_->setPlainText(qt(report::to_text(*answered->evaluation, {})));
    }
  }
  if (!answered) {
    const bool wrong = page->outcome() != nullptr && !page->running();
    dashboard_->show_answer({.subtitle = wrong ? "There is no answer." : "Evaluating..."});
    report_->clear();
  }
  knobs_->set_document(&page->document(), page->answered(), page->baseline());
  const bool stale = answered && page->stale();
  const bool none = page->outcome() != nullptr && !page->outcome()->evaluation;
  const bool left = stale && !none && !page->evaluating();
  const bool wrong = stale && (none || left);
  dashboard_->set_stale(wrong, left ? "The text has changed since this answer: F5 answers it."
                               : none && !page->running() ? problems_->summary()
                                                          : QString());
  dock_layout_->apply_soon();  // a line below the knobs comes and goes
  for (QWidget* panel : std::initializer_list<QWidget*>{charts_, tables_, report_, timeline_}) {
    set_veiled(panel, wrong);
  }
}

// Told by the tab alone: whoever types keeps what is in front.
void MainWindow::show_problems(const DocumentPage* page) {
  const OutcomePtr outcome = page != nullptr ? page->outcome() : nullptr;
  const bool had = problems_->count() > 0;
  problems_->set_outcome(outcome);
  const int count = problems_->count();
  if (had && count == 0) {
    timeline_dock_->raise();  // nothing hides the answer any more
  }
  problems_dock_->setWindowTitle(count == 0 ? QString("Problems")
                                            : QString("Problems (%1)").arg(count));
  const QColor color = count == 0 ? QColor() : tone_color(Tone::bad, palette());
  for (QTabBar* bar : findChildren<QTabBar*>(Qt::FindDirectChildrenOnly)) {
    for (int i = 0; i < bar->count(); ++i) {
      bar->setTabTextColor(i, bar->tabText(i) == problems_dock_->windowTitle() ? color : QColor());
    }
  }
}

void MainWindow::update_tab(DocumentPage* page) {
  const int index = tabs_->indexOf(page);
  const ScenarioDocument& document = page->document();
  tabs_->setTabText(index, document.title() + (document.modified() ? " *" : ""));
  tabs_->setTabToolTip(index,
                       document.path().isEmpty() ? QString("not saved yet") : document.path());
  update_title();
  update_comparison();
}

void MainWindow::update_title() {
  DocumentPage* page = current_page();
  if (page == nullptr) {
    const bool other = tabs_->currentWidget() != nullptr && tabs_->currentWidget() != welcome_;
    setWindowTitle(other ? tabs_->tabText(tabs_->currentIndex()) + " - Orrery" : "Orrery");
    setWindowModified(false);
    return;
  }
  setWindowTitle(page->document().title() + "[*] - Orrery");
  setWindowModified(page->document().modified());
}

void MainWindow::update_actions() {
  const DocumentPage* page = current_page();
  const bool running = page != nullptr && page->running();
  for (QAction* action : for_documents_) {
    action->setEnabled(page != nullptr);
  }
  const auto* trace = qobject_cast<TracePage*>(tabs_->currentWidget());
  cancel_->setEnabled(running || (trace != nullptr && trace->loading()));
  progress_->setVisible(running);
  if (!running) {
    progress_->setRange(0, 0);
  }
  QString state;
  if (running) {
    state = page->planning() ? "Planning..." : "Evaluating...";
  } else if (page != nullptr && page->outcome()) {
    state = page->outcome()->evaluation ? "Ready" : "The scenario has problems";
  }
  state_->setText(state);
}

void MainWindow::show_compare() {
  if (tabs_->indexOf(compare_) < 0) {
    tabs_->addTab(compare_, "Compare");
  }
  update_comparison();
  tabs_->setCurrentWidget(compare_);
}

void MainWindow::update_comparison() {
  update_traces();
  if (tabs_->indexOf(compare_) < 0) {
    return;
  }
  std::vector<Candidate> all = candidates();
  if (all.size() == 1) {
    const OutcomePtr& baseline = pages().front()->baseline();
    if (baseline && baseline != all.front().outcome) {
      all.insert(all.begin(), {all.front().title + " (baseline)", baseline, {}});
    }
  }
  for (const SavedPage* page : pages_of<SavedPage>()) {
    all.push_back({page->title(), {}, page->saved()});
  }
  compare_->set_candidates(std::move(all));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  for (DocumentPage* page : pages()) {
    if (page->document().modified()) {
      tabs_->setCurrentWidget(page);
    }
    if (!may_close(page)) {
      event->ignore();
      return;
    }
  }
  settings_.setValue("geometry", saveGeometry());
  settings_.setValue("layout", docks_shown_ ? saveState() : layout_);
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    paths << url.toLocalFile();
  }
  open_paths(paths);
}

}  // namespace orrery::gui
