#pragma once

// Panel with a list of an answer's charts and the selected one. Charts that need many more runs are
// computed on a worker thread when they are selected.

#include <QTabWidget>
#include <QWidget>
#include <map>
#include <string>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/plots/plot.hpp"

class QComboBox;
class QLabel;
class QProgressBar;

namespace orrery::gui {

class ChartView;

// Asks for the file and the format.
void save_chart_with_dialog(QWidget* parent, ChartView& chart);

class ChartsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ChartsPanel(QWidget* parent = nullptr);

  void set_outcome(const OutcomePtr& outcome);
  void choose(const QString& chart);

  void cancel() { job_.cancel(); }

  [[nodiscard]] QStringList names() const;

  // Of flame views; empty where the chart is not about a stage.
  [[nodiscard]] QComboBox& stages() { return *stage_; }

 signals:
  void loss_chosen(int hue, const QString& name);  // a bar in the colour of a loss
  void rank_wanted(qint64 rank);
  void event_wanted(qint64 begin, qint64 length);  // a stop of the run, in nanoseconds

 public slots:
  void save_chart();

 private:
  void fill_list();
  void show_chosen();
  void offer_stages(const QString& chart);
  void show_answer(const AnswerPtr& outcome);
  void say(const QString& sentence);

  OutcomePtr outcome_;
  std::vector<Plot> plots_;
  std::map<std::string, Plot> answered_;
  LatestTask job_;
  QComboBox* list_;
  ChartView* chart_;
  QComboBox* stage_;
  int chosen_stage_ = 0;  // place in the list of stages; 0: all, or the busiest
  QLabel* status_;
  QProgressBar* progress_;
};

// The tables of an answer, a tab for each; the tabs are kept while the answer changes.

class AnswerTable;

class TablesPanel : public QTabWidget {
  Q_OBJECT

 public:
  explicit TablesPanel(QWidget* parent = nullptr);

  void set_outcome(const OutcomePtr& outcome);
  [[nodiscard]] AnswerTable* find(const QString& title) const;

 signals:
  // Of the trial that the timeline draws: from the begin of a stop until training went on.
  void event_wanted(qint64 begin_ns, qint64 length_ns);
  void loss_chosen(int hue, const QString& name);  // the cursor went to a row of a ledger

 public slots:
  void go_to_worst_event();

 private:
  OutcomePtr outcome_;
};

}  // namespace orrery::gui
