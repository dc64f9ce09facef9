#pragma once

// Recorded traces in the window: the measured step beside the simulated one on one time axis, and
// the categories of both.
//
// Loading happens on a worker thread with progress, and can be cancelled. What is wrong with a file
// is a sentence in the page; nothing that is open is disturbed.

#include <QWidget>
#include <map>

#include "gui/models/config_import.hpp"
#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/tables/comparison.hpp"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTabWidget;
class QVBoxLayout;

namespace orrery::gui {

class TimelineView;

class TracePage : public QWidget {
  Q_OBJECT

 public:
  explicit TracePage(QStringList paths, QWidget* parent = nullptr);
  ~TracePage() override;

  // Scenarios that the trace can be set beside; `preferred` is chosen unless the user chose.
  void set_candidates(std::vector<Candidate> candidates, const QString& preferred);

  void cancel() { task_.cancel(); }

  [[nodiscard]] QString title() const;

  [[nodiscard]] const QStringList& paths() const { return paths_; }

  [[nodiscard]] bool loading() const { return task_.running(); }

  // Null until there is one.
  [[nodiscard]] const TraceAnswerPtr& answer() const { return answer_; }

  // The sentence in the page: the verdict, or what went wrong.
  [[nodiscard]] QString sentence() const;

  [[nodiscard]] TimelineView& timeline() { return *timeline_; }

 signals:
  void running_changed(bool running);

 private:
  [[nodiscard]] const Candidate* chosen() const;  // to be set beside it; null: nothing
  void load();
  void take_files(const TraceFilesPtr& files);
  void ask();
  void take_answer(const TraceAnswerPtr& answer);
  void show_view();
  void fail(const QString& sentence);

  QStringList paths_;
  LatestTask task_;
  TraceFilesPtr files_;
  TraceAnswerPtr answer_;
  std::vector<Candidate> candidates_;
  QString title_beside_;  // of the scenario that the user chose; empty: none
  bool user_chose_ = false;
  OutcomePtr asked_;  // what the newest question was about
  QStackedWidget* pages_;
  QWidget* waiting_;
  QProgressBar* progress_;
  QLabel* waiting_text_;
  QPushButton* stop_;
  QPushButton* again_;
  QComboBox* beside_;
  QComboBox* steps_;
  QComboBox* view_;
  QLabel* verdict_;
  TimelineView* timeline_;
  QTabWidget* tables_;
};

// Configuration files of other stacks on their way to a scenario: which files, what they say, what
// is still to be stated, and the text that comes of it.
//
// Reading is done on a worker thread, again after every change. "Open as a scenario" works also
// while keys are missing: they appear in the text without a value, and the document's problems name
// them.

class ImportPage : public QWidget {
  Q_OBJECT

 public:
  explicit ImportPage(QWidget* parent = nullptr);
  ~ImportPage() override;

  void add_files(const QStringList& paths);  // those that are not there yet
  void remove_file(int index);
  void set_format(int index, std::optional<import_config::ConfigFormat> format);

  // An empty value takes it back.
  void state(const QString& key, const QString& value);

  [[nodiscard]] QString title() const;
  [[nodiscard]] QStringList paths() const;

  [[nodiscard]] bool loading() const { return task_.running(); }

  // Null until there is one.
  [[nodiscard]] const ImportAnswerPtr& answer() const { return answer_; }

  [[nodiscard]] QString sentence() const;
  [[nodiscard]] QLineEdit* editor_of(const QString& key) const;  // null: not offered

  [[nodiscard]] QPushButton& open_button() { return *open_; }

  [[nodiscard]] QTabWidget& tables() { return *tables_; }

 signals:
  void title_changed();
  void open_wanted(const QString& text, const QString& title);
  void close_wanted();

 private:
  struct Editor {
    QWidget* field = nullptr;  // a list of names, or the line itself
    QLineEdit* line = nullptr;
  };

  QWidget* build_left();

  [[nodiscard]] bool openable() const { return answer_ && !answer_->result.scenario.empty(); }

  void ask();
  void take(const ImportAnswerPtr& answer);
  void fill_files();
  void fill_keys();
  void show_answer();
  void add_editor(const ImportKey& key);

  LatestTask task_;
  ImportQuestion question_;
  ImportAnswerPtr answer_;
  std::map<QString, Editor> editors_;  // by key
  QLabel* verdict_;
  QVBoxLayout* files_;
  QFormLayout* keys_;
  QTabWidget* tables_;
  QPlainTextEdit* text_;
  QPlainTextEdit* report_;
  QPushButton* open_;
};

// Asks for the files of one training; empty: none.
[[nodiscard]] QStringList ask_for_configurations(QWidget* parent);

}  // namespace orrery::gui
