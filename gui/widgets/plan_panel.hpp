#pragma once

// Panel for the plan of a scenario, its best layouts: the options of the search on the left, the
// result on the right.
//
// The search runs on a worker thread with progress; Stop keeps the best so far. The scenario is
// only read: a plan is opened as a scenario of its own.

#include <QScrollArea>
#include <QWidget>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/jobs/plan_job.hpp"
#include "gui/models/tables/plan_tables.hpp"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTabWidget;
class QTextBrowser;

namespace orrery::gui {

// The result of a plan: the best one, a scatter plot of the trade-off, and tables of the ranking,
// the trade-off, what nearly fits and how firm it is.
//
// A row or a point that is chosen is chosen in all of them, and described beside the scatter; a
// double click, Return or the buttons open it as a scenario.

class AnswerTable;
class ChartView;

class PlanResultView : public QWidget {
  Q_OBJECT

 public:
  enum Part : std::size_t { ranking, trade_off, nearly, firm, parts };

  explicit PlanResultView(QWidget* parent = nullptr);

  void show_plan(const PlanPtr& outcome);
  void choose(const plan::Proposal& proposal);
  void set_opening(bool opening);  // while a scenario is written
  void focus_ranking();

  [[nodiscard]] const std::optional<plan::Proposal>& chosen() const { return chosen_; }

  [[nodiscard]] AnswerTable& table(Part part) { return *tables_[part].view; }

  [[nodiscard]] QComboBox& fronts() { return *fronts_; }

 public slots:
  void save_chart();
  void save_plan();

 signals:
  void open_wanted(const orrery::plan::Proposal& proposal, bool compare);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Shown {
    AnswerTable* view = nullptr;
    QLabel* caption = nullptr;
    PlanTable data;
  };

  QWidget* build_chart();
  QWidget* build_details();
  void build_tables();
  void show_front();
  void fill(Part part, PlanTable filled, const QString& caption);
  void mark_chosen();
  void choose_row(Part part, int row);
  void choose_point(PlotPoint point);
  void open(bool compare);
  [[nodiscard]] const plan::Front* front() const;
  [[nodiscard]] const plan::FrontPoint* front_point(PlotPoint point) const;

  PlanPtr outcome_;
  std::vector<plan::Front> offered_;  // to be drawn
  std::optional<plan::Proposal> chosen_;
  bool choosing_ = false;
  QLabel* title_;
  QLabel* lines_;
  QComboBox* fronts_;
  ChartView* chart_;
  QTextBrowser* details_;
  QPushButton* open_;
  QPushButton* compare_;
  QTabWidget* tabs_;
  std::array<Shown, parts> tables_;
};

// The options of a plan: the keys of `plan:` as a form whose entries apply to this plan only.

class PlanOptionsView : public QScrollArea {
  Q_OBJECT

 public:
  explicit PlanOptionsView(QWidget* parent = nullptr);

  // What holds where nothing is typed is that of this text.
  void set_text(const std::string& text);

  [[nodiscard]] PlanChoices choices() const;

  // Two figures for the trade-off; empty: as they fit.
  [[nodiscard]] std::vector<std::string> pareto() const;

  // As a user would type or choose it. False where there is no such key.
  bool choose(const std::string& key, const QString& value);

 signals:
  void plan_wanted();  // Return in a field

 private:
  void build(const std::vector<PlanOption>& options);
  void add_group(const QString& title);
  void add_trade_off();
  void refresh(const PlanOption& option);

  QWidget* page_ = nullptr;
  QFormLayout* form_ = nullptr;
  std::vector<PlanOption> options_;
  std::map<std::string, QLineEdit*> lines_;
  std::map<std::string, QComboBox*> boxes_;
  QComboBox* trade_x_ = nullptr;
  QComboBox* trade_y_ = nullptr;
};

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
  QLabel* bar_;
  QPushButton* start_;
  QPushButton* stop_;
  QProgressBar* progress_;
  QLabel* pace_;
};

}  // namespace orrery::gui
