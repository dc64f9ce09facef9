#pragma once

// View of a table of models/table.hpp: sortable, with tones and bars. Ctrl+C copies the selection,
// the menu saves all of it as CSV.

#include <QSortFilterProxyModel>
#include <QStandardItemModel>
#include <QTableView>
#include <QWidget>
#include <functional>
#include <string>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/scenario/rules/fixes.hpp"

class QBoxLayout;
class QLabel;
class QTabWidget;

namespace orrery::gui {

class AnswerTable : public QTableView {
  Q_OBJECT

 public:
  explicit AnswerTable(const QString& name, QWidget* parent = nullptr);

  void set(Table table);
  void mark_row(int row);  // of the table; -1: none
  void copy_selection() const;

  [[nodiscard]] const Table& table() const { return table_; }

 signals:
  void row_chosen(int row);  // of the table, by Return or a double click
  void row_marked(int row);  // the cursor went there

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void fit_columns();

  Table table_;
  QStandardItemModel model_;
  QSortFilterProxyModel sorted_;
};

// A tab for each table, by its title; tabs that stay keep what is selected in them. The new ones.
std::vector<AnswerTable*> show_tables(QTabWidget& tabs, std::vector<Table> tables);

// Asks for a file name and saves; problems are shown.
void save_with_dialog(QWidget* parent, const QString& what, const QString& name,
                      const QString& filters,
                      const std::function<QString(const QString& path)>& save);

// Table of the scenario's problems, with a button for each change that the selected problem
// suggests.

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

  // The first one with links to its fixes, by number, and to all problems, -1.
  [[nodiscard]] QString summary() const;

  void take_fix(int number);

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
  QBoxLayout* buttons_;
};

}  // namespace orrery::gui
