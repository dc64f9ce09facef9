#pragma once

// Recorded traces in the window: the measured step beside the simulated one on one time axis, and
// the categories of both.
//
// Loading happens on a worker thread with progress, and can be cancelled. What is wrong with a file
// is a sentence in the page; nothing that is open is disturbed.

#include <QWidget>

#include "gui/models/jobs/trace_answer.hpp"
#include "gui/models/tables/comparison.hpp"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTabWidget;

namespace orrery::gui {

class TimelineView;

class TracePage : public QWidget {
  Q_OBJECT

 public:
  explicit TracePage(QStringList paths, QWidget* parent = nullptr);
  ~TracePage() override;

  // Scenarios that the trace can be set beside; `preferred` is chosen unless the user chose.
  void set_candidates(std::vector<Candidate> candidates, const QString& preferred);

  void cancel();

  [[nodiscard]] QString title() const;

  [[nodiscard]] const QStringList& paths() const { return paths_; }

  [[nodiscard]] bool loading() const;

  // Null until there is one.
  [[nodiscard]] const TraceAnswerPtr& answer() const { return answer_; }

  // The sentence in the page: the verdict, or what went wrong.
  [[nodiscard]] QString sentence() const;

  [[nodiscard]] TimelineView& timeline() { return *timeline_; }

  [[nodiscard]] QComboBox& beside() { return *beside_; }

  [[nodiscard]] QComboBox& steps() { return *steps_; }

  [[nodiscard]] QComboBox& view() { return *view_; }

 signals:
  void running_changed(bool running);

 private:
  void build_choices();
  void build_waiting(QWidget* page);
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
  QString chosen_;  // title of the scenario that the user chose; empty: none
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

}  // namespace orrery::gui
