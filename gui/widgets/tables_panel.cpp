#include "gui/widgets/tables_panel.hpp"

#include <cmath>

#include "gui/models/tables/answer_tables.hpp"
#include "gui/widgets/table_view.hpp"

namespace orrery::gui {

TablesPanel::TablesPanel(QWidget* parent) : QTabWidget(parent) {
  setDocumentMode(true);
  setAccessibleName("Tables");
}

AnswerTable* TablesPanel::find(const QString& title) const {
  return findChild<AnswerTable*>(title);
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
  const bool any = outcome && outcome->evaluation;
  for (AnswerTable* view :
       show_tables(*this, any ? all_tables(*outcome->evaluation) : std::vector<Table>{})) {
    if (view->objectName() == kEvents) {
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
  }
}

}  // namespace orrery::gui
