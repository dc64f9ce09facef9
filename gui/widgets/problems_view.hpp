#pragma once

// Table of the scenario's problems, with a button for each change that the selected problem
// suggests.

#include <QWidget>
#include <string>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "sim/scenario/rules/fixes.hpp"

class QHBoxLayout;
class QLabel;

namespace orrery::gui {

class AnswerTable;

class ProblemsView : public QWidget {
  Q_OBJECT

 public:
  explicit ProblemsView(QWidget* parent = nullptr);

  void set_outcome(const OutcomePtr& outcome);

  [[nodiscard]] AnswerTable& table() { return *table_; }

  [[nodiscard]] const std::vector<Diagnostic>& listed() const { return listed_; }

  // Errors of the environment included.
  [[nodiscard]] int count() const { return static_cast<int>(listed_.size()) + failures_; }

  // Of the problem that is chosen.
  [[nodiscard]] const std::vector<scenario::Fix>& fixes() const { return fixes_; }

 signals:
  void line_wanted(int line, int column);
  // `text` is the one that the change belongs to.
  void fix_wanted(const std::string& text, const orrery::scenario::Fix& fix);

 private:
  void show_fixes(int row);

  OutcomePtr outcome_;
  std::vector<Diagnostic> listed_;
  int failures_ = 0;
  std::vector<scenario::Fix> fixes_;
  AnswerTable* table_;
  QWidget* bar_;
  QLabel* bar_label_;
  QHBoxLayout* buttons_;
};

}  // namespace orrery::gui
