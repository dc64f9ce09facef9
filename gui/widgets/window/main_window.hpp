#pragma once

// The window of orrery-gui: documents as tabs in the middle, their answer in docks around them.
//
// dock     | shows, for the document in front
// ---------|--------------------------------------------------------------------------------------
// Answer   | the knobs, and the dashboard with what changed against the baseline
// Charts   | ledgers, memory, spreads, progress by date, checkpoint interval, sensitivity
// Tables   | metrics, ledgers, memory by stage, causes, levers, expectations, trust
// Report   | the page that `orrery run` prints
// Timeline | run, step and operations of one trial, drawn to scale
// Details  | what is selected in the timeline; there while something is
// Problems | what the reader and the evaluation object to; choosing a line goes there
//
// Geometry, docks, theme and recent files are kept in QSettings.

#include <QMainWindow>
#include <QSettings>
#include <functional>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/jobs/latest_task.hpp"
#include "gui/models/tables/comparison.hpp"
#include "gui/widgets/window/document_tabs.hpp"
#include "gui/widgets/window/theme.hpp"

class QAction;
class QActionGroup;
class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QToolBar;

namespace orrery::gui {

class ChartsPanel;
class CompareView;
class DashboardView;
class DockLayout;
class DocumentPage;
class ImportPage;
class KnobStrip;
class ProblemsView;
class ScenarioDocument;
class SavedPage;
class TablesPanel;
class TimelineView;
class TracePage;
class WelcomePage;

enum class UnsavedChoice { save, discard, cancel };

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  // Nullptr, with a message to the user, when the file cannot be opened. A file that is open
  // already comes to the front.
  DocumentPage* open_file(const QString& path);
  DocumentPage* open_example(const QString& path);

  // Whatever the file is, by its content: a scenario, a trace, a saved answer or a configuration of
  // another stack. Null, with a message to the user, when it cannot be opened.
  QWidget* open_path(const QString& path);

  // All of them; configuration files of other stacks come together on one page.
  void open_paths(const QStringList& paths);

  // Configuration files on their way to a scenario; on the page in front where that is one.
  ImportPage* import_files(const QStringList& paths);

  // The traces of the ranks of one job, on one page; problems are sentences in the page.
  TracePage* open_traces(const QStringList& paths);

  // A page for each answer that the file holds; the first one.
  SavedPage* open_saved(const QString& path);
  DocumentPage* add_page(ScenarioDocument* document);  // takes it
  DocumentPage* new_document();
  DocumentPage* duplicate_document();
  bool save(DocumentPage* page);
  bool save_as(DocumentPage* page);
  bool close_page(DocumentPage* page);

  [[nodiscard]] DocumentPage* current_page() const;
  [[nodiscard]] std::vector<DocumentPage*> pages() const;

  [[nodiscard]] DashboardView& dashboard() { return *dashboard_; }

  [[nodiscard]] ChartsPanel& charts() { return *charts_; }

  [[nodiscard]] TablesPanel& tables() { return *tables_; }

  [[nodiscard]] TimelineView& timeline() { return *timeline_; }

  [[nodiscard]] ProblemsView& problems() { return *problems_; }

  [[nodiscard]] CompareView& compare() { return *compare_; }

  [[nodiscard]] WelcomePage& welcome() { return *welcome_; }

  template <typename Page>
  [[nodiscard]] std::vector<Page*> pages_of() const {
    std::vector<Page*> all;
    for (int i = 0; i < tabs_->count(); ++i) {
      if (auto* page = qobject_cast<Page*>(tabs_->widget(i))) {
        all.push_back(page);
      }
    }
    return all;
  }

  // For others to read, in the background: what was written, or why not, is said.
  void write_trace(const OutcomePtr& answered, const std::string& part, const QString& path);
  void write_page(const OutcomePtr& answered, const QString& path);

  void show_compare();

  // A scenario that a plan of this page gave, beside it where `compare`.
  DocumentPage* open_plan(DocumentPage* from, const QString& text, const QString& title,
                          bool compare);
  void close_tab(int index);
  void set_theme(Theme theme);

  // Asked before a changed document is closed, and when something goes wrong; dialogs unless
  // replaced.
  std::function<UnsavedChoice(const QString& title)> ask_unsaved;
  std::function<void(const QString& sentence)> tell;

 protected:
  void closeEvent(QCloseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  // main_window_menus.cpp
  void build_menus();
  void build_file_menu();
  void build_edit_menu();
  void build_run_menu();
  void build_view_menu();
  void build_help_menu();
  void fill_recent_menu();

  // main_window_files.cpp
  void ask_for_traces();
  void ask_for_saved();
  [[nodiscard]] std::vector<Candidate> candidates() const;
  void update_traces();
  void ask_for_import();
  void open_imported(ImportPage* page, const QString& text, const QString& title);

  // main_window_export.cpp
  void export_trace();
  void save_report();
  void save_answer(bool slides);  // as JSON, or as slides

  // main_window_layout.cpp
  void build_docks();
  void build_status_bar();
  void show_docks(bool shown);
  void restore_layout();

  void show_page();
  void show_problems(const DocumentPage* page);
  void update_title();
  void update_tab(DocumentPage* page);
  void update_actions();
  void update_comparison();
  bool may_close(DocumentPage* page);

  QSettings settings_;
  DocumentTabs* tabs_;
  WelcomePage* welcome_;
  CompareView* compare_;
  KnobStrip* knobs_;
  DashboardView* dashboard_;
  ChartsPanel* charts_;
  TablesPanel* tables_;
  TimelineView* timeline_;
  QPlainTextEdit* report_;
  ProblemsView* problems_;
  QDockWidget* timeline_dock_ = nullptr;
  QDockWidget* problems_dock_ = nullptr;
  QLabel* state_;
  QProgressBar* progress_;
  QMenu* recent_menu_ = nullptr;
  QActionGroup* themes_ = nullptr;
  QAction* live_ = nullptr;
  QAction* cancel_ = nullptr;
  std::vector<QAction*> for_documents_;
  LatestTask exporting_;

  struct Shown {
    OutcomePtr outcome;
    OutcomePtr baseline;
    const DocumentPage* page = nullptr;  // whose levels the timeline has
  };

  Shown shown_;
  DockLayout* dock_layout_ = nullptr;
  QByteArray layout_;  // of the docks, while they are hidden
  bool docks_shown_ = false;
  bool flipped_ = false;  // the baseline is shown in place of the answer
};

// A bar that restores or discards the unsaved scenarios of a program that was killed; null where
// there are none. Until one of both is chosen they stay on disk and are offered again.
QToolBar* offer_lost_texts(MainWindow& window);

}  // namespace orrery::gui
