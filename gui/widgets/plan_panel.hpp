#pragma once

// Panel for the plan of a scenario, its best layouts: the options of the search on the left, the
// result on the right.
//
// The search runs on a worker thread with progress; Stop keeps the best so far. The scenario is
// only read: a plan is opened as a scenario of its own.

#include <QWidget>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/jobs/plan_job.hpp"

class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;

namespace orrery::gui {

class PlanOptionsView;
class PlanResultView;
class ScenarioDocument;

class PlanPanel : public QWidget {
  Q_OBJECT

 public:
  explicit PlanPanel(ScenarioDocument* document, QWidget* parent = nullptr);

  // The answer to the scenario as it stands, which is seen until there is a plan.
  void set_present(const OutcomePtr& answered);

  void start();
  void keep_best();
  void drop();  // of a page that closes

  [[nodiscard]] bool running() const;

  // Null before the first plan.
  [[nodiscard]] const PlanPtr& outcome() const { return outcome_; }

  // What stands above the result, or in its place: progress, problems, notes.
  [[nodiscard]] QString sentence() const;

  [[nodiscard]] PlanOptionsView& options() { return *options_; }

  [[nodiscard]] PlanResultView& result() { return *result_; }

 signals:
  void running_changed(bool running);
  void progressed(qint64 done, qint64 all);
  void sentence_said(const QString& text);

  // A new scenario, beside this one where `compare`.
  void scenario_wanted(const QString& text, const QString& title, bool compare);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* build_asking();
  QWidget* build_empty();
  void connect_jobs();
  void take(const PlanPtr& outcome);
  void take_file(const PlanFileRequest& request, const PlanFile& file);
  void say(const QString& sentence);
  void show_running(bool running);
  void refresh();
  [[nodiscard]] QString title_of(const plan::Proposal& proposal) const;

  ScenarioDocument* document_;
  PlanJob job_;
  LatestTask file_job_;
  bool compare_ = false;  // what the file is wanted for
  PlanPtr outcome_;
  QString present_;
  PlanOptionsView* options_;
  PlanResultView* result_;
  QStackedWidget* pages_;
  QLabel* empty_text_;
  QPushButton* empty_start_;
  QLabel* bar_;
  QPushButton* start_;
  QPushButton* stop_;
  QProgressBar* progress_;
  QLabel* pace_;
};

}  // namespace orrery::gui
