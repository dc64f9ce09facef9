#include "gui/widgets/tables_panel.hpp"

#include <utility>

#include "gui/models/tables/answer_tables.hpp"
#include "gui/widgets/table_view.hpp"

namespace orrery::gui {

TablesPanel::TablesPanel(QWidget* parent) : QTabWidget(parent) {
  setDocumentMode(true);
  setAccessibleName("Tables");
}

AnswerTable* TablesPanel::find(const QString& title) const {
  for (int i = 0; i < count(); ++i) {
    if (tabText(i) == title) {
      return qobject_cast<AnswerTable*>(widget(i));
    }
  }
  return nullptr;
}

void TablesPanel::set_outcome(const OutcomePtr& outcome) {
  if (outcome == outcome_) {
    return;
  }
  outcome_ = outcome;
  std::vector<Table> tables;
  if (outcome && outcome->evaluation) {
    tables = all_tables(*outcome->evaluation);
  }
  QStringList wanted;
  for (const Table& table : tables) {
    wanted.push_back(table.title);
  }
  for (int i = count() - 1; i >= 0; --i) {
    if (!wanted.contains(tabText(i))) {
      delete widget(i);
    }
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    AnswerTable* view = find(tables[i].title);
    if (view == nullptr) {
      view = new AnswerTable(tables[i].title, this);
      insertTab(static_cast<int>(i), view, tables[i].title);
    }
    view->set(std::move(tables[i]));
  }
}

}  // namespace orrery::gui
