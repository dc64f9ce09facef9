// What a selection in the timeline says of itself, and what a loss lights there.

#include <QDockWidget>
#include <algorithm>

#include "gui/models/plots/hues.hpp"
#include "gui/models/tables/text.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/details_view.hpp"
#include "gui/widgets/tables_panel.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/main_window.hpp"

namespace orrery::gui {

namespace {

using timeline::kNoRow;
using timeline::RowId;
using timeline::Store;

// The groups of the outermost rows are the pipeline devices in order.
std::int64_t device_of(const Store& store, RowId row) {
  while (store.rows()[row].parent != kNoRow) {
    row = store.rows()[row].parent;
  }
  std::int64_t device = 0;
  for (RowId before = 0; before < row; before = store.rows()[before].end) {
    ++device;
  }
  return device;
}

// Where a device computes: the first row of its group.
RowId compute_row(const Store& store, std::int64_t device) {
  RowId row = 0;
  for (; device > 0 && row < store.rows().size(); --device) {
    row = store.rows()[row].end;
  }
  return row + 1;
}

// That of the device on which something begins to work at this moment; else where it computes.
RowId row_of_task(const Store& store, std::int64_t device, std::int64_t begin) {
  const RowId compute = compute_row(store, device);
  for (RowId row = compute; row < store.rows()[compute - 1].end; ++row) {
    const timeline::Row& data = store.rows()[row];
    if (data.kind != timeline::RowKind::slices || data.tracks == 0) {
      continue;
    }
    const std::uint32_t place = store.first_ending_after(data.first_track, begin);
    const auto slices = store.slices_of(data.first_track);
    if (place < slices.size() && slices[place].begin() == begin &&
        !is_wait(slices[place].category())) {
      return row;
    }
  }
  return compute;
}

bool shows_run(const timeline::View& view) {
  return view.levels()[view.level()].name == "run";
}

report::Details details_of_area(const timeline::View& view, const report::Evaluation& evaluation) {
  const timeline::Area area = *view.local_area();
  const report::TimeWindow window{{area.range.begin}, {area.range.end}};
  if (shows_run(view)) {
    return details_of_run(evaluation, window);
  }
  std::vector<std::int64_t> devices;
  for (const RowId row : area.rows) {
    devices.push_back(device_of(view.store(), row));
  }
  const auto [first, last] = std::minmax_element(devices.begin(), devices.end());
  return devices.empty() ? report::Details{} : details_of_window(evaluation, window, *first, *last);
}

// Tasks and gaps of the step have details; of what runs within a task the timeline itself knows
// more.
report::Details details_of_slice(const timeline::View& view,
                                 const report::Evaluation& evaluation,
                                 QStringList& notes) {
  const Store& store = view.store();
  const timeline::Slice& slice = store.slices()[*view.selected()];
  if (shows_run(view)) {
    return details_of_run(evaluation, SimTime{slice.begin()});
  }
  const RowId row = store.tracks()[store.track_of(*view.selected())].row;
  const std::int64_t device = device_of(store, row);
  const bool inside = row != compute_row(store, device) ||
                      (view.levels()[view.level()].unit.empty() &&
                       report::task_at(evaluation.step, device, SimTime{slice.begin()}));
  report::Details details;
  if (evaluation.step.operation_timeline) {
    details = details_of_step(evaluation, device, SimTime{slice.begin()});
  }
  if (!inside) {
    return details;
  }
  timeline::Hit hit;
  hit.row = row;
  hit.slice = view.selected();
  hit.origin = view.origin();
  for (const std::string& line : view.describe(hit)) {
    notes << qt(line);
  }
  details.place = "in " + details.title + ", " + details.place;
  details.title = notes.takeFirst().toStdString();
  details.parts.clear();
  return details;
}

}  // namespace

void MainWindow::connect_losses() {
  const auto light = [this](int hue, const QString& name) {
    timeline_dock_->raise();
    timeline_->light(lit_by(hue), name);
  };
  connect(dashboard_, &DashboardView::loss_chosen, this, light);
  connect(charts_, &ChartsPanel::loss_chosen, this, light);
  connect(tables_, &TablesPanel::loss_chosen, this, light);
  connect(timeline_, &TimelineView::selection_changed, this, &MainWindow::show_details);
  connect(timeline_, &TimelineView::selection_entered, details_, &DetailsView::go);
  connect(details_, &DetailsView::task_wanted, this, [this](qint64 device, qint64 begin) {
    const timeline::View& view = timeline_->view();
    if (!view.empty() && !shows_run(view)) {
      timeline_->choose_at(row_of_task(view.store(), device, begin), begin);
      timeline_->setFocus();
    }
  });
}

void MainWindow::show_details() {
  const timeline::View& view = timeline_->view();
  const bool any =
      docks_shown_ && shown_.outcome && !view.empty() && (view.area() || view.selected());
  if (any && !details_dock_->isVisible()) {
    details_dock_->show();
    // Half of the column, whichever panel has the other.
    resizeDocks({findChild<QDockWidget*>("Charts"), details_dock_}, {1, 1}, Qt::Vertical);
  }
  details_dock_->setVisible(any);
  if (any) {
    const report::Evaluation& evaluation = *shown_.outcome->evaluation;
    QStringList notes;
    const report::Details details =
        view.area() ? details_of_area(view, evaluation) : details_of_slice(view, evaluation, notes);
    details_->show_details(details, notes);
  }
}

}  // namespace orrery::gui
