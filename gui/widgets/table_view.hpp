#pragma once

// View of a table of models/table.hpp: sortable, with tones and bars. Ctrl+C copies the selection,
// the menu saves all of it as CSV.

#include <QSortFilterProxyModel>
#include <QTableView>
#include <functional>

#include "gui/models/tables/table.hpp"

class QTabWidget;

namespace orrery::gui {

class AnswerTable : public QTableView {
  Q_OBJECT

 public:
  explicit AnswerTable(const QString& name, QWidget* parent = nullptr);

  void set(Table table);
  void mark_row(int row);  // of the table; -1: none
  void copy_selection() const;
  [[nodiscard]] QString save_csv(const QString& path) const;  // a sentence, empty: saved

  [[nodiscard]] const Table& table() const { return model_.table(); }

 signals:
  void row_chosen(int row);  // of the table, by Return or a double click
  void row_marked(int row);  // the cursor went there

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void fit_columns();

  TableModel model_;
  QSortFilterProxyModel sorted_;
};

// A tab for each table, by its title; tabs that stay keep what is selected in them. The new ones.
std::vector<AnswerTable*> show_tables(QTabWidget& tabs, std::vector<Table> tables);

// A sentence, empty: written.
[[nodiscard]] QString write_or_say(const QString& path, const QByteArray& bytes);

// Asks for a file name and saves; problems are shown.
void save_with_dialog(QWidget* parent, const QString& what, const QString& name,
                      const QString& filters,
                      const std::function<QString(const QString& path)>& save);

}  // namespace orrery::gui
