#pragma once

// The tables of an answer, a tab for each; the tabs are kept while the answer changes.

#include <QTabWidget>

#include "gui/models/jobs/evaluation_job.hpp"

namespace orrery::gui {

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
