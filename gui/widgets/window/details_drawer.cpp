#include "gui/widgets/window/details_drawer.hpp"

#include <QEvent>
#include <QPainter>
#include <algorithm>
#include <array>

#include "gui/charts/chart_parts.hpp"
#include "gui/models/plots/plot.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/timeline/finding.hpp"
#include "gui/timeline/store/evaluation_levels.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/export/trace_words.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

constexpr std::size_t kLinksAtEnds = 3;  // of a long chain

QBrush brush_of(const report::DetailPart& part, bool waits, bool dark) {
  const auto* category = std::get_if<step::StepCategory>(&part.kind);
  const int of_part = category != nullptr
                          ? step_hue(*category)
                          : hue_of(timeline::category_of(std::get<run::RunActivity>(part.kind)));
  return fill_of(hue(static_cast<std::size_t>(of_part), dark), waits || is_wait_hue(of_part));
}

QString table_row(const QStringList& cells) {
  QString text = "<tr>";
  for (qsizetype i = 0; i < cells.size(); ++i) {
    text += QString("<td align='%1'>%2&nbsp;&nbsp;</td>").arg(i == 0 ? "left" : "right", cells[i]);
  }
  return text + "</tr>";
}

QString link(std::size_t place, const QString& words) {
  return QString("<a href='%1'>%2</a>").arg(place).arg(words.toHtmlEscaped());
}

}  // namespace

DetailsView::DetailsView(QWidget* parent) : QTextBrowser(parent) {
  setOpenLinks(false);
  setAccessibleName("Details");
  setFrameShape(QFrame::NoFrame);
  document()->setDocumentMargin(8);
  connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
    go_to(static_cast<std::size_t>(url.toString().toULongLong()));
  });
}

void DetailsView::go() { go_to(details_.chain.size() - 1); }

void DetailsView::go_to(std::size_t place) {
  if (place < details_.chain.size()) {
    const report::DetailLink wanted = details_.chain[place];
    emit task_wanted(wanted.device, wanted.time.begin.ns);
  }
}

void DetailsView::show_details(const report::Details& details, const QStringList& notes) {
  details_ = details;
  notes_ = notes;
  write();
}

void DetailsView::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    write();
  }
}

void DetailsView::resizeEvent(QResizeEvent* event) {
  QTextBrowser::resizeEvent(event);
  if (width() != written_for_) {  // scroll bars come and go with the text itself
    write();
  }
}

// Parts beside each other, one alone all over.
QString DetailsView::picture(const QString& name, const QSize& size,
                             std::span<const report::DetailPart> parts) {
  const double ratio = devicePixelRatioF();
  QPixmap picture((QSizeF(size) * ratio).toSize());
  picture.setDevicePixelRatio(ratio);
  picture.fill(palette().color(QPalette::Base));
  QPainter painter(&picture);
  double left = 0.0;
  for (const report::DetailPart& part : parts) {
    const double width = (parts.size() == 1 ? 1.0 : part.share) * size.width();
    painter.fillRect(QRectF(left, 0, width, size.height()),
                     brush_of(part, details_.waits, is_dark(palette())));
    left += width;
  }
  document()->addResource(QTextDocument::ImageResource, QUrl(name), picture);
  return QString("<img src='%1' width='%2' height='%3'>")
      .arg(name)
      .arg(size.width())
      .arg(size.height());
}

// "Go to it", and the tasks from effect to cause.
QString DetailsView::chain() const {
  const std::vector<report::DetailLink>& links = details_.chain;
  if (links.empty()) {
    return {};
  }
  QString text = QString("<p><b>Chain of causes</b><br>");
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links.size() > 2 * kLinksAtEnds + 1 && i >= kLinksAtEnds &&
        i + kLinksAtEnds < links.size()) {
      text += i == kLinksAtEnds ? QString(" ← %1 more").arg(links.size() - 2 * kLinksAtEnds)
                                : QString();
      continue;
    }
    text += (i == 0 ? "" : " ← ") + link(i, qt(links[i].name));
  }
  return text + ", which waited for nothing. " + link(links.size() - 1, "Go to it") + "</p>";
}

void DetailsView::write() {
  written_for_ = width();
  const QString faint = tone_color(Tone::faint, palette()).name();
  QString text = QString("<p><b>%1</b><br><span style='color:%2'>%3</span></p>")
                     .arg(qt(details_.title).toHtmlEscaped(), faint, qt(details_.place));
  if (!details_.parts.empty()) {
    constexpr int kMargins = 40;  // with a scroll bar
    const QSize bar(std::max(width() - kMargins, kMargins), 14);
    text += "<p>" + picture("parts", bar, details_.parts) + "</p><table>";
    for (std::size_t i = 0; i < details_.parts.size(); ++i) {
      const report::DetailPart& part = details_.parts[i];
      const QString swatch = picture(QString("part%1").arg(i), {11, 11}, std::span(&part, 1));
      text += table_row({swatch + "&nbsp;" + qt(part.label), qt(format_time(part.time)),
                         qt(format_percent(part.share))});
    }
    text += "</table>";
  }
  text += chain();
  QStringList notes = notes_;
  if (!details_.note.empty()) {
    notes.prepend(qt(details_.note));
  }
  if (!notes.isEmpty()) {
    text += "<p>" + notes.join("<br>") + "</p>";
  }
  if (!details_.worth.empty()) {
    text += "<p><b>Worth</b></p><table>";
    for (const report::DetailWorth& worth : details_.worth) {
      text += table_row({(worth.dollars.value_or(Dollars{}) < Dollars{} ? "saved by " : "") +
                             qt(worth.what).toHtmlEscaped(),
                         qt(format_time(worth.time)),
                         worth.share ? qt(format_percent(*worth.share)) : QString(),
                         worth.dollars ? qt(format_money(*worth.dollars)).remove('-') : QString()});
    }
    text += "</table>";
  }
  setHtml(text);
}

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

// What begins to work on the device at this moment, on whichever row; else what it computes then.
std::optional<timeline::SliceId> task_from(const Store& store, std::int64_t device,
                                           std::int64_t begin) {
  const RowId compute = compute_row(store, device);
  for (RowId row = compute; row < store.rows()[compute - 1].end; ++row) {
    const auto found = slice_from(store, row, begin);
    if (found && store.slices()[*found].begin() == begin &&
        !is_wait(store.slices()[*found].category())) {
      return found;
    }
  }
  return slice_from(store, compute, begin);
}

bool shows_run(const timeline::View& view) { return view.levels()[view.level()].name == "run"; }

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
  const auto [first, last] = std::ranges::minmax_element(devices);
  return devices.empty() ? report::Details{} : details_of_window(evaluation, window, *first, *last);
}

// Tasks and gaps of the step have details; of what runs within a task the timeline itself knows
// more.
report::Details details_of_slice(const timeline::View& view, const report::Evaluation& evaluation,
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
  notes << qt(view.describe(hit));
  details.place = "in " + details.title + ", " + details.place;
  details.title = notes.takeFirst().toStdString();
  details.parts.clear();
  if (!details.worth.empty()) {
    details.worth.front().what = "what it is part of, in every step";
    details.worth.insert(details.worth.begin(),
                         worth_of_step_time(evaluation, "this one, in every step",
                                            to_seconds(SimTime{store.duration_of(slice)})));
  }
  return details;
}

// The row of the run that has this lane; none: the last one.
RowId row_named(const Store& store, std::string_view name) {
  RowId row = 0;
  while (row + 1 < store.rows().size() && store.rows()[row].name != name) {
    ++row;
  }
  return row;
}

// From a stop to the training that it took, and from there to the first step of it.
void enter_stop(TimelineView& timeline, const report::Evaluation& evaluation) {
  timeline::View& view = timeline.view();
  const Store& store = view.store();
  const RowId training =
      row_named(store, report::kRunLaneNames[static_cast<std::size_t>(report::RunLane::training)]);
  const timeline::Slice& slice = store.slices()[*view.selected()];
  if (store.tracks()[store.track_of(*view.selected())].row != training) {
    const auto stops = stops_of(evaluation);
    const auto stop = stop_at(stops, SimTime{slice.begin()});
    if (stop && stops[*stop].lost > SimTime{}) {
      timeline.choose(slice_from(store, training, stops[*stop].from.ns));
      view.frame_selection();
      timeline.view_changed();
      return;
    }
  }
  view.set_window({slice.begin(), slice.begin() + 2});
  view.go_to_level(1);
  view.frame_level();
  timeline.view_changed();
}

// Whether a row of the run has the hue of something else: the timeline has no slices of it.
bool borrows_its_hue(const QString& name) {
  using run::RunCategory;
  constexpr std::array kRows = {RunCategory::degraded, RunCategory::spare_idle,
                                RunCategory::repair};
  return std::ranges::any_of(
      kRows, [&name](RunCategory row) { return qt(report::label_of(row)) == name; });
}

}  // namespace

DetailsDrawer::DetailsDrawer(MainWindow* window)
    : QDockWidget("Details", window), window_(window), details_(new DetailsView(this)) {
  setObjectName("Details");
  setWidget(details_);
  setTitleBarWidget(new QWidget(this));  // the text begins with what it is about
  window->addDockWidget(Qt::RightDockWidgetArea, this);
  window->splitDockWidget(window->findChild<QDockWidget*>("Charts"), this, Qt::Vertical);
  TimelineView& timeline = window->timeline();
  const auto light = [window, &timeline](int hue, const QString& name) {
    if (borrows_its_hue(name)) {
      return;
    }
    window->findChild<QDockWidget*>("Timeline")->raise();
    timeline.light(lit_by(hue), name);
  };
  connect(&window->dashboard(), &DashboardView::loss_chosen, this, light);
  connect(&window->dashboard(), &DashboardView::loss_chosen, &timeline,
          [&timeline] { timeline.setFocus(); });  // whose keys go on from there
  connect(&window->charts(), &ChartsPanel::loss_chosen, this, light);
  connect(&window->tables(), &TablesPanel::loss_chosen, this, light);
  connect(&timeline, &TimelineView::selection_changed, this, &DetailsDrawer::follow_selection);
  connect(&timeline, &TimelineView::selection_entered, this, [this, &timeline] {
    outcome_&& shows_run(timeline.view()) ? enter_stop(timeline, *outcome_->evaluation)
                                          : details_->go();
  });
  connect(details_, &DetailsView::task_wanted, this, [&timeline](qint64 device, qint64 begin) {
    const timeline::View& view = timeline.view();
    if (!view.empty() && !shows_run(view)) {
      timeline.choose(task_from(view.store(), device, begin));
      timeline.setFocus();
    }
  });
  const auto go_to_event = [window, &timeline](qint64 begin, qint64 length) {
    timeline::View& view = timeline.view();
    if (!view.empty()) {
      const qint64 around = std::max<qint64>(length / 2, 1);
      window->findChild<QDockWidget*>("Timeline")->raise();
      view.go_to_level(0);
      view.set_window({begin - around, begin + length + around});
      const Store& store = view.store();
      for (const report::RunLane lane :
           {report::RunLane::planned_stop, report::RunLane::recovery}) {
        const auto stop = slice_from(
            store, row_named(store, report::kRunLaneNames[static_cast<std::size_t>(lane)]), begin);
        if (stop && store.slices()[*stop].begin() == begin) {
          timeline.choose(stop);
        }
      }
      timeline.view_changed();
    }
  };
  connect(&window->tables(), &TablesPanel::event_wanted, this, go_to_event);
  connect(&window->charts(), &ChartsPanel::event_wanted, this, go_to_event);
  connect(&window->charts(), &ChartsPanel::rank_wanted, this, [window, &timeline](qint64 rank) {
    window->findChild<QDockWidget*>("Timeline")->raise();
    timeline.find_next(QString("rank %1").arg(rank));
  });
}

void DetailsDrawer::set_outcome(const OutcomePtr& outcome) {
  outcome_ = outcome;
  follow_selection();
}

void DetailsDrawer::follow_selection() {
  const timeline::View& view = window_->timeline().view();
  const bool any = outcome_ && !view.empty() && (view.area() || view.selected());
  if (any && !isVisible()) {
    show();
    // More than half of the column: what a loss is worth stands last.
    window_->resizeDocks({window_->findChild<QDockWidget*>("Charts"), this}, {4, 5}, Qt::Vertical);
  }
  setVisible(any);
  if (any) {
    QStringList notes;
    const report::Details details = view.area()
                                        ? details_of_area(view, *outcome_->evaluation)
                                        : details_of_slice(view, *outcome_->evaluation, notes);
    details_->show_details(details, notes);
  }
}

}  // namespace orrery::gui
