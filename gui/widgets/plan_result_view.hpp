#pragma once

// The result of a plan: the best one, a scatter plot of the trade-off, and tables of the ranking,
// the trade-off, what nearly fits and how firm it is.
//
// A row or a point that is chosen is chosen in all of them, and described beside the scatter; a
// double click, Return or the buttons open it as a scenario.

#include <QWidget>
#include <array>
#include <optional>

#include "gui/models/jobs/plan_job.hpp"
#include "gui/models/plots/plan_plot.hpp"
#include "gui/models/tables/plan_tables.hpp"

class QComboBox;
class QLabel;
class QPushButton;
class QTabWidget;
class QTextBrowser;

namespace orrery::gui {

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

  [[nodiscard]] ChartView& chart() { return *chart_; }

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

}  // namespace orrery::gui
