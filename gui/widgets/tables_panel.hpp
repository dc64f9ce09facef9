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

 private:
  OutcomePtr outcome_;
};

}  // namespace orrery::gui
