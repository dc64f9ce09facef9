#include "gui/widgets/tables_panel.hpp"

#include <cmath>
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

void TablesPanel::go_to_worst_event() {
  AnswerTable* events = find(kEvents);
  if (events != nullptr && !events->table().rows.empty()) {
    setCurrentWidget(events);
    emit events->row_chosen(0);
  }
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
      if (tables[i].title == kEvents) {
        connect(view, &AnswerTable::row_chosen, this, [this, view](int row) {
          const auto& cells = view->table().rows[static_cast<std::size_t>(row)];
          emit event_wanted(std::llround(cells[0].order.value_or(0.0)),
                            std::llround(cells[3].order.value_or(0.0) * 1e9));
        });
      }
      connect(view, &AnswerTable::row_marked, this, [this, view](int row) {
        const auto& cells = view->table().rows[static_cast<std::size_t>(row)];
        if (cells.back().hue >= 0) {
          emit loss_chosen(cells.back().hue, cells.front().text);
        }
      });
      insertTab(static_cast<int>(i), view, tables[i].title);
    }
    view->set(std::move(tables[i]));
  }
}

}  // namespace orrery::gui
