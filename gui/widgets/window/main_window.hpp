#pragma once

// The window of orrery-gui: documents as tabs in the middle, their answer in docks around them.
//
// Geometry, docks, theme and recent files are kept in QSettings.

#include <QByteArray>
#include <QMainWindow>
#include <QObject>
#include <QSettings>
#include <QTabBar>
#include <QTabWidget>
#include <functional>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/tables/comparison.hpp"
#include "gui/widgets/window/theme.hpp"

class QAction;
class QActionGroup;
class QDockWidget;
class QLabel;
class QMainWindow;
class QPlainTextEdit;
class QProgressBar;
class QToolBar;

namespace orrery::gui {

// Distributes the room of the window over its docks, at any size.
//
// The answer above keeps its share of the height, timeline and charts beside the text theirs of the
// width when the window grows or shrinks, which QMainWindow leaves to its centre; a small window,
// where docks are at their minimum, does not change the shares. Dragging a border does.

// The pages of the window; their tabs stand in a bar of their own, above the docks as well.

class DocumentTabs : public QTabWidget {
  Q_OBJECT

 public:
  explicit DocumentTabs(QWidget* parent = nullptr);

  [[nodiscard]] QTabBar* bar() { return bar_; }

  // Holds the bar, for a window to place.
  [[nodiscard]] QToolBar* tool_bar();

  [[nodiscard]] QSize minimumSizeHint() const override;
  void setTabText(int index, const QString& text);
  void setTabToolTip(int index, const QString& text);

 protected:
  void tabInserted(int index) override;
  void tabRemoved(int index) override;

 private:
  QTabBar* bar_;
};

class DockLayout : public QObject {
  Q_OBJECT

 public:
  // Takes the docks as they stand now for the first layout.
  explicit DockLayout(QMainWindow* window);

  void reset();
  void restore(const QByteArray& state);  // resets where the state cannot be read
  void apply_soon();                      // what is shown has changed

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Shares {
    double answer = 0.0;     // of the height: knobs, verdict, cards; 0: what they need
    double timeline = 0.46;  // of the width; the text has what is left
    double charts = 0.27;
  };

  void keep(bool all);
  void apply();
  void yield_status_bar();

  QMainWindow* window_;
  QDockWidget* answer_;
  QDockWidget* charts_;
  QDockWidget* timeline_;
  QByteArray first_;
  bool of_last_time_ = true;  // the state to restore has sizes that a user left
  Shares shares_;
};

class ChartsPanel;
class CompareView;
class DashboardView;
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

  // Takes it; with the answer to its text where there is one.
  DocumentPage* add_page(ScenarioDocument* document, const OutcomePtr& answered = nullptr);
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
  template <typename Page, typename Is>
  Page* bring_up(const Is& is) {
    for (Page* page : pages_of<Page>()) {
      if (is(*page)) {
        tabs_->setCurrentWidget(page);
        return page;
      }
    }
    return nullptr;
  }

  // The page whose document is that already, else a new one; null, with a message, on a problem.
  using OpenAlready = std::function<bool(const ScenarioDocument& document)>;
  DocumentPage* open_as(QString (ScenarioDocument::*open)(const QString&), const QString& path,
                        const OpenAlready& is_open);

  // main_window_menus.cpp
  QAction* add_for_documents(QMenu* menu, const QString& text, const QKeySequence& keys,
                             const std::function<void()>& act);
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

  // main_window_files.cpp
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
