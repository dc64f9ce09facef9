// What lies over the rows: labels, arrows, selection, area, ruler; and the legend below.

#include <QPainterPath>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "sim/base/text/time_axis.hpp"

namespace orrery::gui {

namespace {

using timeline::Category;
using timeline::Row;
using timeline::Slice;
using timeline::Store;

constexpr double kLegibleWidth = 22.0;
constexpr int kBeside = 14;  // from the cursor to what is said of it
constexpr int kBelow = 18;

}  // namespace

void TimelinePainter::paint_labels() {
  const timeline::RowLayout& rows = view_.rows();
  if (rows.row_height() < kLegibleHeight) {
    return;
  }
  painter_.save();
  for (const LaidLine& line : visible_rows()) {
    const timeline::RowId shown = row_shown(view_.store(), *line.row);
    if (shown == timeline::kNoRow) {
      continue;
    }
    const Row& row = view_.store().rows()[shown];
    const double pins = line.pinned ? 0.0 : rows.pinned_height();
    painter_.setClipRect(QRectF(at_.rows).adjusted(0, pins, 0, 0));
    const std::uint32_t lanes = shown == line.row->row ? row.tracks : std::min(row.tracks, 1U);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const double top = line.top + rows.row_height() * lane;
      if (top > at_.rows.bottom() || top + rows.row_height() < at_.rows.top()) {
        continue;
      }
      for (const timeline::Copy& copy : copies_) {
        paint_track_labels(row.first_track + lane, copy,
                           QRectF(0, top, at_.rows.width(), rows.row_height()));
      }
    }
  }
  painter_.restore();
}

void TimelinePainter::paint_track_labels(timeline::TrackId track, const timeline::Copy& copy,
                                         QRectF lane) {
  const Store& store = view_.store();
  const timeline::TimeRange window = copy.axis.range();
  const std::span<const Slice> slices = store.slices_of(track);
  const std::uint32_t first = store.first_ending_after(track, window.begin);
  const std::uint32_t last = store.first_ending_after(track, window.end);
  // More slices than columns: hardly one is wide enough, and all would have to be looked at.
  if (last - first > static_cast<std::uint32_t>(view_.columns())) {
    return;
  }
  const QFontMetrics metrics = painter_.fontMetrics();
  const std::int64_t origin = copy.occurrence.range.begin * (view_.level() == 0 ? 0 : 1);
  for (std::uint32_t i = first; i < slices.size() && slices[i].begin() < window.end; ++i) {
    const double left = std::max(x_of(std::max(slices[i].begin(), window.begin) + origin),
                                 static_cast<double>(at_.rows.left()));
    const double right = std::min(x_of(std::min(store.end_of(slices[i]), window.end) + origin),
                                  static_cast<double>(at_.rows.right()) + 1.0);
    const double room = right - left - 6.0;
    if (room < kLegibleWidth) {
      continue;
    }
    const QString name = qt(store.name_of(slices[i]));
    // A number at the end tells slices apart; else the first word says most.
    const bool numbered = !name.isEmpty() && name.back().isDigit();
    const QString shown = metrics.elidedText(name, numbered ? Qt::ElideMiddle : Qt::ElideRight,
                                             static_cast<int>(room));
    constexpr qsizetype kLeast = 9;  // of a name: what is shorter says nothing
    if (shown.size() < std::min(kLeast, name.size())) {
      continue;
    }
    const QRectF place(left + 4.0, lane.top(), room, lane.height());
    if (timeline::is_wait(slices[i].category())) {
      // On plain ground: strokes would run through the letters.
      const double air = std::max((lane.height() - metrics.height()) / 2.0, 1.0);
      painter_.fillRect(QRectF(left + 2.0, lane.top() + air, metrics.horizontalAdvance(shown) + 4.0,
                               lane.height() - 2.0 * air),
                        color(palette_.background));
      painter_.setPen(color(palette_.text));
    } else {
      painter_.setPen(color(timeline::text_on(slices[i].is(timeline::kAbnormal)
                                                  ? palette_.abnormal
                                                  : palette_.of(slices[i].category()))));
    }
    painter_.drawText(place, Qt::AlignVCenter | Qt::AlignLeft, shown);
  }
}

// Where one repetition ends and the next begins.
void TimelinePainter::paint_copies() {
  if (view_.level() == 0) {
    return;
  }
  painter_.setPen(QPen(color(palette_.faint_text), 1.0, Qt::DashLine));
  for (const timeline::Copy& copy : copies_) {
    for (const std::int64_t time : {copy.occurrence.range.begin, copy.occurrence.range.end}) {
      const double x = std::floor(x_of(time)) + 0.5;
      painter_.drawLine(QPointF(x, at_.rows.top()), QPointF(x, at_.rows.bottom()));
    }
  }
}

std::optional<QRectF> TimelinePainter::place_of(timeline::SliceId id) const {
  const Store& store = view_.store();
  const timeline::TrackId track = store.track_of(id);
  const timeline::RowId row = store.tracks()[track].row;
  for (const LaidLine& line : visible_rows()) {
    if (line.row->part != timeline::RowPart::own || row_shown(store, *line.row) != row) {
      continue;  // arrows and marks are at the rows themselves, not at each rank that shares them
    }
    const double height = view_.rows().row_height();
    const bool own = line.row->row == row;  // else the one line of a closed group
    const double top = line.top + (own ? height * (track - store.rows()[row].first_track) : 0.0);
    const Slice& slice = store.slices()[id];
    const double left = x_of(slice.begin() + view_.origin());
    const double right = x_of(store.end_of(slice) + view_.origin());
    return QRectF(left, top, std::max(right - left, 1.0), height);
  }
  return std::nullopt;
}

// Of the selected slice, and of all slices when there are few of them.
void TimelinePainter::paint_flows() {
  constexpr std::size_t kMostFlows = 150;
  const Store& store = view_.store();
  constexpr std::size_t kManyFlows = 100'000;  // looked at only for a selected slice
  if (store.flows().empty() || (!view_.selected() && store.flows().size() > kManyFlows) ||
      view_.rows().row_height() < kLegibleHeight / 2.0) {
    return;
  }
  painter_.setRenderHint(QPainter::Antialiasing);
  std::vector<timeline::Flow> shown;
  if (view_.selected()) {
    shown = store.flows_of(*view_.selected());
  } else {
    const timeline::TimeRange window{view_.window().begin - view_.origin(),
                                     view_.window().end - view_.origin()};
    for (const timeline::Flow& flow : store.flows()) {
      const std::int64_t from = store.end_of(store.slices()[flow.from]);
      const std::int64_t to = store.slices()[flow.to].begin();
      if (to >= window.begin && from < window.end && shown.size() <= kMostFlows) {
        shown.push_back(flow);
      }
    }
  }
  if (shown.size() <= kMostFlows) {
    for (const timeline::Flow& flow : shown) {
      paint_flow(flow);
    }
  }
  painter_.setRenderHint(QPainter::Antialiasing, false);
}

void TimelinePainter::paint_flow(const timeline::Flow& flow) {
  const std::optional<QRectF> from = place_of(flow.from);
  const std::optional<QRectF> to = place_of(flow.to);
  if (!from || !to) {
    return;
  }
  const QPointF a(from->right(), from->center().y());
  const QPointF b(to->left(), to->center().y());
  QPainterPath path(a);
  const double bend = std::clamp(std::abs(b.x() - a.x()) / 2.0, 8.0, 60.0);
  path.cubicTo(a + QPointF(bend, 0), b - QPointF(bend, 0), b);
  const QColor ink = color(palette_.text, view_.selected() ? 220 : 110);
  painter_.setBrush(Qt::NoBrush);
  painter_.setPen(QPen(ink, view_.selected() ? 1.6 : 1.0));
  painter_.drawPath(path);
  constexpr double kHead = 5.0;
  painter_.setPen(Qt::NoPen);
  painter_.setBrush(ink);
  painter_.drawPolygon(
      QPolygonF({b, b + QPointF(-kHead, -kHead / 2.0), b + QPointF(-kHead, kHead / 2.0)}));
}

void TimelinePainter::paint_selection() {
  if (!view_.selected()) {
    return;
  }
  if (const std::optional<QRectF> place = place_of(*view_.selected())) {
    painter_.setBrush(Qt::NoBrush);
    painter_.setPen(QPen(color(palette_.background), 4.0));
    painter_.drawRect(place->adjusted(-1, 0, 1, -1));
    painter_.setPen(QPen(color(palette_.selection), 2.0));
    painter_.drawRect(place->adjusted(-1, 0, 1, -1));
  }
}

// Where the area lies on the screen; null where its rows are out of sight.
QRectF TimelinePainter::area_place() const {
  double top = at_.rows.bottom();
  double bottom = at_.rows.top();
  for (const LaidLine& line : visible_rows()) {
    const auto& rows = view_.area()->rows;
    if (std::ranges::find(rows, line.row->row) != rows.end()) {
      top = std::min(top, line.top);
      bottom = std::max(bottom, line.top + view_.rows().height_of(*line.row));
    }
  }
  const QPointF from(x_of(view_.area()->range.begin), top);
  return top < bottom ? QRectF(from, QPointF(x_of(view_.area()->range.end), bottom)) : QRectF();
}

void TimelinePainter::paint_area() {
  const QRectF area = view_.area() ? area_place() : QRectF();
  if (!area.isNull()) {
    painter_.fillRect(area, color(palette_.selection, 28));
    painter_.setPen(QPen(color(palette_.selection), 1.5));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(area);
  }
}

void TimelinePainter::paint_ruler() {
  const QRect whole(at_.axis.left(), at_.axis.top(), at_.axis.width(),
                    at_.rows.bottom() - at_.axis.top());
  painter_.save();
  painter_.setClipRect(whole);
  if (view_.ruler()) {
    const double left = x_of(view_.ruler()->begin);
    const double right = x_of(view_.ruler()->end);
    painter_.fillRect(QRectF(left, at_.axis.top(), right - left, at_.axis.height()),
                      color(palette_.selection, 40));
    painter_.setPen(QPen(color(palette_.selection), 1.0, Qt::DashLine));
    painter_.drawLine(QPointF(left, at_.axis.top()), QPointF(left, at_.rows.bottom()));
    painter_.drawLine(QPointF(right, at_.axis.top()), QPointF(right, at_.rows.bottom()));
    const QString text = qt(duration_text(view_.ruler()->length()));
    const double width = painter_.fontMetrics().horizontalAdvance(text) + 12;
    const double x = std::clamp((left + right - width) / 2.0, static_cast<double>(whole.left()),
                                std::max(whole.right() - width, static_cast<double>(whole.left())));
    const QRectF box(x, at_.axis.top() + 2, width, at_.axis.height() - 6);
    painter_.fillRect(box, color(palette_.selection));
    painter_.setPen(color(palette_.background));
    painter_.drawText(box, Qt::AlignCenter, text);
  }
  if (widget_.cursor_ && widget_.cursor_->x() >= whole.left()) {
    painter_.setPen(color(palette_.selection, 70));
    const double x = widget_.cursor_->x() + 0.5;
    painter_.drawLine(QPointF(x, at_.axis.top()), QPointF(x, at_.rows.bottom()));
  }
  painter_.restore();
}

// Categories that occur in the store: what works, then from a line of its own, where there is one,
// what the GPUs wait for.
void TimelinePainter::paint_legend() {
  const timeline::CategorySet used = view_.store().categories();
  int lines_left = at_.legend.height() / kLegendLine - 1;
  double x = 10.0;
  double middle =
      lines_left > 0 ? at_.legend.top() + kLegendLine / 2.0 : at_.legend.center().y() + 0.5;
  const auto base = [&] { return middle + painter_.fontMetrics().ascent() / 2.0 - 1; };
  const auto next_line = [&](int kept) {
    if (lines_left > kept) {
      --lines_left;
      x = 10.0;
      middle += kLegendLine;
    }
  };
  const auto entry = [&](timeline::Rgb ink, bool hatched, const QString& name) {
    const double width = painter_.fontMetrics().horizontalAdvance(name);
    if (x + width + 40 > at_.legend.right()) {
      next_line(!hatched && (used & timeline::kWaits) != 0 ? 2 : 0);  // waits need two
    }
    painter_.setPen(color(palette_.faint_text));
    if (x + width + 40 > at_.legend.right()) {  // the tooltip of a slice says it
      painter_.drawText(QPointF(x, base()), x < at_.legend.right() ? "…" : "");
      x = at_.legend.right();
      return;
    }
    const QRectF box(x, middle - 5, 10, 10);
    painter_.fillRect(box, hatched ? QBrush(color(ink), Qt::BDiagPattern) : QBrush(color(ink)));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(box);
    painter_.setPen(color(palette_.text));
    painter_.drawText(QPointF(x + 15, base()), name);
    x += width + 33;
  };
  static const QRegularExpression kWaitsFor("^wait(s|ing) for ");
  for (const timeline::CategorySet shown : {used & ~timeline::kWaits, used & timeline::kWaits}) {
    const bool waits = (shown & timeline::kWaits) != 0;
    if (waits) {
      const QString words = QString("waits for");
      next_line(0);
      painter_.setPen(color(palette_.faint_text));
      painter_.drawText(QPointF(x, base()), words);
      x += painter_.fontMetrics().horizontalAdvance(words) + 10;
    }
    for (std::size_t kind = 1; kind < timeline::kCategories; ++kind) {
      if ((shown >> kind & 1U) != 0) {
        const auto category = static_cast<Category>(kind);
        entry(palette_.of(category), waits, qt(timeline::to_string(category)).remove(kWaitsFor));
      }
    }
  }
  if ((used >> timeline::kCategories & 1U) != 0) {
    entry(palette_.abnormal, false, "abnormal");
  }
}

// Below a point and to its right; above `top`, that of what it is about, where there is no room.
void TimelinePainter::box_of_text(const QStringList& lines, QPoint near, std::optional<int> top) {
  const QFontMetrics metrics = painter_.fontMetrics();
  int width = 0;
  for (const QString& line : lines) {
    width = std::max(width, metrics.horizontalAdvance(line));
  }
  constexpr int kRounding = 2;  // of widths that are no whole pixels: no line is cut for them
  width = std::min(width + 16 + kRounding, widget_.width() - 8);
  const int height = static_cast<int>(lines.size()) * metrics.height() + 10;
  const int x = std::clamp(near.x() + kBeside, 4, std::max(widget_.width() - width - 4, 4));
  const bool below = near.y() + kBelow + height < widget_.height();
  const int y = below ? near.y() + kBelow : std::max(top.value_or(near.y()) - height - 8, 4);
  const QRect box(x, y, width, height);
  painter_.fillRect(box, color(palette_.panel, 245));
  painter_.setPen(color(palette_.faint_text));
  painter_.setBrush(Qt::NoBrush);
  painter_.drawRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5));
  painter_.setPen(color(palette_.text));
  int line_top = y + 5;
  for (const QString& line : lines) {
    painter_.drawText(QRect(x + 8, line_top, width - 16, metrics.height()),
                      Qt::AlignVCenter | Qt::AlignLeft,
                      metrics.elidedText(line, Qt::ElideRight, width - 16));
    line_top += metrics.height();
  }
}

void TimelinePainter::paint_hover() {
  if (widget_.cursor_ && !widget_.hover_lines_.isEmpty() && !widget_.statistics_ &&
      widget_.drag_ == TimelineView::Drag::none) {
    box_of_text(widget_.hover_lines_, *widget_.cursor_);
  }
}

void TimelinePainter::paint_statistics() {
  if (!view_.area() || !widget_.statistics_ || widget_.statistics_->count == 0) {
    return;
  }
  const timeline::AreaStatistics& all = *widget_.statistics_;
  const auto time = [](std::int64_t ns) { return qt(duration_text(ns)); };
  QStringList lines;
  lines << QString("%L1 slices in %2, together %3")
               .arg(all.count)
               .arg(time(view_.area()->range.length()), time(all.total));
  lines << QString("mean %1, min %2, max %3, p50 %4, p99 %5")
               .arg(time(std::llround(all.mean)), time(all.least), time(all.greatest),
                    time(all.p50), time(all.p99));
  constexpr std::size_t kMostNames = 3;
  for (std::size_t i = 0; i < std::min(all.by_name.size(), kMostNames); ++i) {
    const timeline::NamedStatistics& one = all.by_name[i];
    lines << QString("%1: %L2 x, %3")
                 .arg(qt(view_.store().names()[one.name]))
                 .arg(one.count)
                 .arg(time(one.total));
  }
  // Below the area or above it, so that what was selected is seen; box_of_text() chooses.
  const QRect area = area_place().toRect().intersected(at_.rows);
  box_of_text(lines, {area.left() - kBeside, area.bottom() - kBelow}, area.top());
}

}  // namespace orrery::gui
