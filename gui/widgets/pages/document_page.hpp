#pragma once

// One open scenario: its text, its form and its plan as tabs, its answer, and where that stood when
// the scenario was opened.
//
// A pause in typing starts an evaluation on a worker thread. The text in memory is the truth: a
// file that changes or vanishes meanwhile is reported in a bar above the text, never taken
// silently.

#include <QTimer>
#include <QWidget>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/scenario_document.hpp"

class QLabel;
class QLineEdit;
class QTabWidget;

namespace orrery::gui {

class CodeEditor;
class FormView;
class PlanPanel;

class DocumentPage : public QWidget {
  Q_OBJECT

 public:
  // Takes the document.
  explicit DocumentPage(ScenarioDocument* document, QWidget* parent = nullptr);

  void evaluate();
  void take(const OutcomePtr& outcome);  // an answer to the text, as it is shown from now on
  void show_trial(std::optional<double> place);  // 0: the slowest; none: the next
  void set_live(bool live);                      // evaluate when typing pauses
  void cancel();                                 // the plan keeps the best so far
  void drop();                                   // of a page that closes
  void set_baseline();                           // what is shown now
  void swap_baseline();                          // its text, and what is shown now as the baseline
  void find();
  void show_line(int line, int column);
  void show_form(bool form);

  void show_plan();

  [[nodiscard]] bool form_shown() const;
  [[nodiscard]] bool plan_shown() const;
  [[nodiscard]] bool planning() const;
  [[nodiscard]] bool evaluating() const;  // or will in a moment

  [[nodiscard]] bool running() const { return job_.running() || planning(); }

  [[nodiscard]] ScenarioDocument& document() { return *document_; }

  [[nodiscard]] QString title() const { return document_->title(); }

  [[nodiscard]] CodeEditor& editor() { return *editor_; }

  [[nodiscard]] FormView& form() { return *form_; }

  [[nodiscard]] PlanPanel& plan() { return *plan_; }

  // The newest one with an evaluation; null before the first.
  [[nodiscard]] const OutcomePtr& answered() const { return answered_; }

  // The newest one, with its problems.
  [[nodiscard]] const OutcomePtr& outcome() const { return outcome_; }

  [[nodiscard]] const OutcomePtr& baseline() const { return baseline_; }

  // The answer is that of an older text.
  [[nodiscard]] bool stale() const { return !answered_ || answered_->text != document_->utf8(); }

 signals:
  void outcome_changed();
  void title_changed();
  void text_changed();
  void running_changed(bool running);
  void progressed(qint64 done, qint64 all);
  void sentence(const QString& text);
  void side_changed();
  void scenario_wanted(const QString& text, const QString& title, bool compare);

 private:
  void build_find_bar(QWidget* bar);
  void build_disk_bar(QWidget* bar);
  void find_next(bool backward);

  ScenarioDocument* document_;
  EvaluationJob job_;
  QTimer pause_;
  bool live_ = true;
  std::uint32_t trial_ = 0;
  std::optional<double> trial_place_;
  OutcomePtr outcome_;
  OutcomePtr answered_;
  OutcomePtr baseline_;
  QTabWidget* sides_;
  CodeEditor* editor_;
  FormView* form_;
  PlanPanel* plan_;
  QWidget* plan_side_;  // holds it
  QWidget* find_bar_;
  QLineEdit* find_text_;
  QWidget* disk_bar_;
  QLabel* disk_text_;
};

}  // namespace orrery::gui
