#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/time_axis.hpp"

namespace orrery::gui {

namespace {

using timeline::Category;
using timeline::LaidRow;
using timeline::Mark;
using timeline::MarkKind;
using timeline::Rgb;
using timeline::Row;
using timeline::RowKind;
using timeline::Store;

constexpr double kRoomOfALine = 12.0;  // of marks across the rows: denser ones hide them

Rgb color_of(MarkKind kind, const timeline::Palette& palette) {
  return kind == MarkKind::failure      ? palette.of(Category::lost)
         : kind == MarkKind::checkpoint ? palette.of(Category::checkpoint)
         : kind == MarkKind::restart    ? palette.of(Category::scheduling)
                                        : palette.faint_text;
}

// Of a store whose clock is `origin` behind.
std::span<const Mark> marks_within(const Store& store, timeline::TimeRange range,
                                   std::int64_t origin) {
  const std::span<const Mark> marks = store.marks();
  const auto before = [](const Mark& mark, std::int64_t time) { return mark.time < time; };
  const auto first = std::lower_bound(marks.begin(), marks.end(), range.begin - origin, before);
  const auto last = std::lower_bound(first, marks.end(), range.end - origin, before);
  return {first, last};
}

}  // namespace

TimelinePainter::TimelinePainter(const TimelineView& widget, QPainter& painter)
    : widget_(widget),
      view_(widget.view_),
      palette_(widget.palette_),
      at_(widget.regions_),
      painter_(painter) {
  QFont font = widget.font();
  font.setPointSizeF(std::max(font.pointSizeF() * 0.92, 7.0));
  painter_.setFont(font);
  if (!view_.empty()) {
    axis_ = view_.axis();
    copies_ = view_.copies(axis_);
  }
}

QColor TimelinePainter::color(Rgb rgb, int alpha) const {
  QColor out = QColor::fromRgb(rgb);
  out.setAlpha(alpha);
  return out;
}

void TimelinePainter::write(const QRectF& place, Qt::Alignment side, const QString& words,
                            Rgb ink) {
  painter_.setPen(color(ink));
  painter_.drawText(
      place, static_cast<int>(side.toInt()),
      painter_.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(place.width())));
}

double TimelinePainter::x_of(std::int64_t time) const {
  return at_.rows.left() + axis_.position(time);
}

void TimelinePainter::paint() {
  painter_.fillRect(widget_.rect(), color(palette_.panel));
  if (view_.empty()) {
    write(widget_.rect(), Qt::AlignCenter, "Nothing to show yet", palette_.faint_text);
    return;
  }
  painter_.drawImage(at_.rows.topLeft(), widget_.raster_);
  painter_.setClipRect(at_.rows);
  paint_grid();
  paint_copies();
  paint_labels();
  paint_flows();
  paint_selection();
  paint_area();
  painter_.setClipping(false);
  paint_header();
  paint_minimap();
  paint_axis();
  paint_marks();
  paint_names();
  paint_legend();
  paint_ruler();
  paint_statistics();
  paint_hover();
}

std::vector<QRect> TimelinePainter::level_tabs(const TimelineView& widget) {
  std::vector<QRect> tabs;
  const QFontMetrics metrics(widget.font());
  int x = widget.regions_.header.left() + 8;
  const std::vector<std::string> path = widget.view_.path();
  for (std::size_t i = 0; i < widget.view_.levels().size(); ++i) {
    const std::string& text = i < path.size() ? path[i] : widget.view_.levels()[i].name;
    const int width = metrics.horizontalAdvance(qt(text)) + 20;
    tabs.emplace_back(x, widget.regions_.header.top() + 3, width,
                      widget.regions_.header.height() - 6);
    x += width + 16;
  }
  // The longest gives way where the search field begins, and to what is lit.
  constexpr int kLit = 250;
  const int over = x - 8 - widget.regions_.search.left() + (widget.lit_here() != 0 ? kLit : 0);
  if (over > 0 && !tabs.empty()) {
    const auto longest = std::ranges::max_element(
        tabs, [](const QRect& a, const QRect& b) { return a.width() < b.width(); });
    constexpr int kLeast = 52;
    const int less = std::min(over, std::max(longest->width() - kLeast, 0));
    longest->setWidth(longest->width() - less);
    for (auto after = longest + 1; after != tabs.end(); ++after) {
      after->translate(-less, 0);
    }
  }
  return tabs;
}

void TimelinePainter::paint_header() {
  painter_.save();
  painter_.setFont(widget_.font());
  const std::vector<QRect> tabs = level_tabs(widget_);
  const std::vector<std::string> path = view_.path();
  for (std::size_t i = 0; i < tabs.size(); ++i) {
    const bool shown = i == view_.level();
    const std::string& text = i < path.size() ? path[i] : view_.levels()[i].name;
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(color(shown ? palette_.selection : palette_.line));
    painter_.setBrush(color(shown ? palette_.background : palette_.panel));
    painter_.drawRoundedRect(QRectF(tabs[i]).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    write(tabs[i].adjusted(4, 0, -4, 0), Qt::AlignCenter, qt(text),
          i <= view_.level() ? palette_.text : palette_.faint_text);
    if (i > 0) {
      painter_.drawText(QRect(tabs[i - 1].right(), tabs[i].top(), 18, tabs[i].height()),
                        Qt::AlignCenter, "›");
    }
  }
  const int from = tabs.back().right() + 14;
  const QRect rest(from, at_.header.top(), at_.search.left() - from - 8, at_.header.height());
  // A pass of a step hides what communication it waits for: that is drawn within operations.
  const bool more = (widget_.lit_.categories & ~view_.store().categories() &
                     view_.levels().back().store->categories()) != 0;
  const QString note =
      widget_.lit_here() == 0
          ? qt(view_.levels()[view_.level()].note)
          : QString("lit: %1 (%2)").arg(widget_.lit_.name, more ? "3: all" : "N: next");
  write(rest, Qt::AlignVCenter | Qt::AlignRight, note, palette_.faint_text);
  painter_.restore();
}

void TimelinePainter::paint_minimap() {
  painter_.drawImage(at_.minimap.topLeft(), widget_.minimap_);
  const timeline::TimeRange all = view_.occurrence(view_.overview()).range;
  const double scale = static_cast<double>(at_.minimap.width()) / static_cast<double>(all.length());
  const auto place = [&](std::int64_t time) {
    return std::clamp(at_.minimap.left() + static_cast<double>(time - all.begin) * scale,
                      static_cast<double>(at_.minimap.left()),
                      static_cast<double>(at_.minimap.right()));
  };
  const double left = place(view_.window().begin);
  const double right = std::max(place(view_.window().end), left + 3.0);
  const QRectF window(left, at_.minimap.top(), right - left, at_.minimap.height());
  const QColor shade = color(palette_.background, 150);
  painter_.fillRect(
      QRectF(at_.minimap.left(), window.top(), left - at_.minimap.left(), window.height()), shade);
  painter_.fillRect(QRectF(right, window.top(), at_.minimap.right() + 1 - right, window.height()),
                    shade);
  painter_.setPen(QPen(color(palette_.selection), 1.5));
  painter_.setBrush(Qt::NoBrush);
  painter_.drawRect(window.adjusted(0.5, 0.5, -0.5, -0.5));
  painter_.setPen(color(palette_.faint_text));
  painter_.drawText(QRect(0, at_.minimap.top(), at_.minimap.left() - 8, at_.minimap.height()),
                    Qt::AlignVCenter | Qt::AlignRight,
                    "whole " + qt(view_.levels()[view_.overview()].unit));
}

namespace {

constexpr int kLabelWidth = 110;

TimeTicks ticks_for(const timeline::View& view, int width) {
  const timeline::Level& run = view.levels().front();
  const int most = std::max(width / kLabelWidth, 2);
  return view.level() == 0 ? ticks_of(view.window().begin, view.window().end,
                                      run.store->range().begin, most, run.unix_start)
                           : ticks_of(view.window().begin, view.window().end, view.origin(), most);
}

}  // namespace

void TimelinePainter::paint_axis() {
  const TimeTicks ticks = ticks_for(view_, at_.axis.width());
  painter_.setClipRect(at_.axis);
  for (const TimeTick& tick : ticks.ticks) {
    const double x = x_of(tick.time);
    painter_.setPen(color(palette_.faint_text));
    painter_.drawLine(QPointF(x, at_.axis.bottom() - 5), QPointF(x, at_.axis.bottom()));
    const double end = x + 4 + painter_.fontMetrics().horizontalAdvance(qt(tick.label));
    if (end > at_.axis.right()) {
      continue;
    }
    painter_.setPen(color(palette_.text));
    painter_.drawText(QRectF(x + 4, at_.axis.top(), kLabelWidth, at_.axis.height() - 2),
                      Qt::AlignVCenter | Qt::AlignLeft, qt(tick.label));
  }
  painter_.setClipping(false);
  const QString base = ticks.base.empty()
                           ? "time of the " + qt(view_.levels()[view_.overview()].unit)
                           : qt(ticks.base);
  painter_.setPen(color(palette_.faint_text));
  const QRect left(4, at_.axis.top(), at_.axis.left() - 12, at_.axis.height() - 2);
  painter_.drawText(left, Qt::AlignVCenter | Qt::AlignRight,
                    painter_.fontMetrics().elidedText(base, Qt::ElideLeft, left.width()));
}

void TimelinePainter::paint_grid() {
  painter_.setPen(color(palette_.line, 70));
  for (const TimeTick& tick : ticks_for(view_, at_.axis.width()).ticks) {
    const double x = std::floor(x_of(tick.time)) + 0.5;
    painter_.drawLine(QPointF(x, at_.rows.top()), QPointF(x, at_.rows.bottom()));
  }
}

// Marks of all levels down to the one that is shown; those of one kind have a line of their own, so
// that none hides another. Every column that has a mark is drawn.
void TimelinePainter::paint_marks() {
  if (at_.marks.height() > 0) {
    painter_.fillRect(at_.marks, color(palette_.background));
    painter_.setPen(color(palette_.faint_text));
    painter_.drawText(QRect(0, at_.marks.top(), at_.marks.left() - 8, at_.marks.height()),
                      Qt::AlignVCenter | Qt::AlignRight, "events");
  }
  const int columns = at_.marks.width();
  const double lane =
      std::max(at_.marks.height() - 2, 0) / static_cast<double>(timeline::kMarkKinds);
  for (std::size_t level = 0; level <= view_.level(); ++level) {
    const Store& store = *view_.levels()[level].store;
    const std::int64_t origin = level == 0 ? 0 : view_.occurrence(level).range.begin;
    std::array<std::vector<bool>, timeline::kMarkKinds> used;
    used.fill(std::vector<bool>(static_cast<std::size_t>(columns), false));
    double failures = 0.0;
    for (const Mark& mark : marks_within(store, view_.window(), origin)) {
      const auto column = static_cast<std::size_t>(axis_.at(mark.time + origin));
      used[static_cast<std::size_t>(mark.kind)][column] = true;
      failures += mark.kind == MarkKind::failure ? 1.0 : 0.0;
    }
    for (std::size_t kind = 0; kind < used.size(); ++kind) {
      const QColor ink = color(color_of(static_cast<MarkKind>(kind), palette_));
      const double y = at_.marks.top() + 1 + lane * static_cast<double>(kind);
      for (std::size_t x = 0; x < used[kind].size(); ++x) {
        if (!used[kind][x]) {
          continue;
        }
        const double left = at_.marks.left() + static_cast<double>(x);
        painter_.fillRect(QRectF(left - 0.5, y, 2.0, lane), ink);
        if (kind == 0 && failures * kRoomOfALine < columns) {
          painter_.fillRect(QRectF(left, at_.rows.top(), 1.0, at_.rows.height()),
                            color(palette_.of(Category::lost), 90));
        }
      }
    }
  }
}

QStringList TimelinePainter::marks_near(const TimelineView& widget, int column) {
  constexpr int kReach = 3;
  constexpr int kMost = 6;
  QStringList lines;
  const timeline::View& view = widget.view_;
  const std::int64_t from = view.time_at(column - kReach);
  const std::int64_t to = view.time_at(column + kReach + 1);
  int more = 0;
  for (std::size_t level = 0; level <= view.level(); ++level) {
    const Store& store = *view.levels()[level].store;
    const std::int64_t origin = level == 0 ? 0 : view.occurrence(level).range.begin;
    const std::optional<std::int64_t> start = view.levels()[level].unix_start;
    for (const Mark& mark : marks_within(store, {from, to}, origin)) {
      if (lines.size() == kMost) {
        ++more;
        continue;
      }
      const QString name = qt(store.names()[mark.name]);
      const QString what = qt(timeline::to_string(mark.kind));
      lines << QString("%1 at %2")
                   .arg(name == what || mark.kind == MarkKind::other
                            ? name
                            : QString("%1: %2").arg(what, name),
                        qt(moment_text(mark.time, start)));
    }
  }
  if (more > 0) {
    lines << QString("and %1 more").arg(more);
  }
  return lines;
}

std::vector<TimelinePainter::LaidLine> TimelinePainter::visible_rows() const {
  std::vector<LaidLine> lines;
  const timeline::RowLayout& rows = view_.rows();
  const auto add = [&](const LaidRow& row, bool pinned) {
    const double top = at_.rows.top() + rows.top_of(row, pinned);
    if (top < at_.rows.bottom() && top + rows.height_of(row) > at_.rows.top()) {
      lines.push_back({&row, top, pinned});
    }
  };
  const auto first = static_cast<std::uint32_t>(rows.scroll() / rows.row_height());
  for (std::size_t i = rows.index_of_unit(first); i < rows.scrolled().size(); ++i) {
    if (rows.top_of(rows.scrolled()[i], false) > at_.rows.height()) {
      break;
    }
    add(rows.scrolled()[i], false);
  }
  for (const LaidRow& row : rows.pinned()) {
    add(row, true);
  }
  return lines;
}

void TimelinePainter::paint_names() {
  painter_.save();
  painter_.setClipRect(at_.names);
  if (view_.rows().row_height() < kLegibleHeight) {
    paint_some_names();
  } else {
    for (const LaidLine& line : visible_rows()) {
      paint_name(line);
    }
  }
  painter_.restore();
  painter_.setPen(color(palette_.line));
  const double x = at_.names.right() + 0.5;
  painter_.drawLine(QPointF(x, at_.minimap.top()), QPointF(x, at_.names.bottom()));
  const double pinned = view_.rows().pinned_height();
  if (pinned > 0.0) {
    painter_.setPen(QPen(color(palette_.faint_text), 2.0));
    painter_.drawLine(QPointF(0, at_.rows.top() + pinned),
                      QPointF(at_.rows.right(), at_.rows.top() + pinned));
  }
}

// Rows lower than their names: those of the outermost groups, and between them what has room.
void TimelinePainter::paint_some_names() {
  const double line = painter_.fontMetrics().height();
  const std::vector<LaidLine> lines = visible_rows();
  const auto is_head = [this](const LaidLine& laid) {
    return row_depth(view_.store(), laid.row->place()) == 0;
  };
  double free_from = at_.names.top();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool head = is_head(lines[i]);
    const double top = std::max(std::min(lines[i].top, at_.names.bottom() - line),
                                static_cast<double>(at_.names.top()));
    if (top < free_from && !head) {
      continue;
    }
    // Not where the next head would stand on it.
    bool covered = false;
    for (std::size_t k = i + 1; !head && k < lines.size() && lines[k].top < top + line; ++k) {
      covered = covered || is_head(lines[k]);
    }
    if (covered || top < free_from) {
      continue;
    }
    const timeline::RowPlace place = lines[i].row->place();
    const double x = 8.0 + 12.0 * row_depth(view_.store(), place);
    QFont font = painter_.font();
    font.setBold(head);
    painter_.setFont(font);
    write(QRectF(x, top - 1.0, at_.names.right() - x - 4.0, line), Qt::AlignVCenter | Qt::AlignLeft,
          qt(row_name(view_.store(), place)), head ? palette_.text : palette_.faint_text);
    free_from = top + line;
  }
}

void TimelinePainter::paint_name(const LaidLine& line) {
  const Row& row = view_.store().rows()[line.row->row];
  const double height = view_.rows().height_of(*line.row);
  const QRectF box(0, line.top, at_.names.width(), height);
  painter_.save();
  const QRectF below_pins = QRectF(at_.names).adjusted(0, view_.rows().pinned_height(), 0, 0);
  painter_.setClipRect(line.pinned ? box : box.intersected(below_pins), Qt::IntersectClip);
  const timeline::RowPlace place = line.row->place();
  const bool own = place.part == timeline::RowPart::own;
  const bool group = row.kind == RowKind::group;
  const bool hovered = widget_.hover_.place() == place;
  painter_.fillRect(box, color(hovered ? palette_.line : palette_.panel));
  constexpr double kIndent = 12.0;
  double x = 8.0 + kIndent * row_depth(view_.store(), place);
  if (group) {
    painter_.setRenderHint(QPainter::Antialiasing);
    QPainterPath arrow;
    const double middle = line.top + view_.rows().row_height() / 2.0;
    if (line.row->collapsed) {
      arrow.addPolygon(QPolygonF({{x, middle - 4}, {x + 5, middle}, {x, middle + 4}}));
    } else {
      arrow.addPolygon(QPolygonF({{x - 1, middle - 3}, {x + 7, middle - 3}, {x + 3, middle + 3}}));
    }
    painter_.fillPath(arrow, color(palette_.faint_text));
  }
  x += kIndent;
  QFont font = painter_.font();
  font.setBold(group && own);
  painter_.setFont(font);
  const bool with_pin = (hovered && own) || line.pinned;
  const double room = at_.names.right() - (with_pin ? kPinWidth : 4) - x;
  QString name = qt(row_name(view_.store(), place));
  const double half = view_.rows().row_height();
  const auto write_line = [&](double top, double tall, Rgb ink) {
    write(QRectF(x, top, room, tall), Qt::AlignVCenter | Qt::AlignLeft, name, ink);
  };
  if (row.kind == RowKind::counter) {
    const timeline::Counter& counter = view_.store().counters()[row.counter];
    write_line(line.top, half, palette_.text);
    const double most = counter.extremes().greatest;
    name =
        qt(counter.limit() > 0.0 ? counter.text(most) + ", limit " + counter.text(counter.limit())
                                 : "up to " + counter.text(most));
    write_line(line.top + half, half, palette_.faint_text);
  } else {
    write_line(line.top, std::min(height, 2.0 * half), palette_.text);
  }
  if (with_pin) {
    const QPointF pin(at_.names.right() - kPinWidth / 2.0,
                      line.top + view_.rows().row_height() / 2.0);
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(QPen(color(palette_.text), 1.4));
    painter_.setBrush(line.pinned ? QBrush(color(palette_.text)) : QBrush(Qt::NoBrush));
    painter_.drawEllipse(pin + QPointF(0, -2), 3.0, 3.0);
    painter_.drawLine(pin + QPointF(0, 1.5), pin + QPointF(0, 6));
  }
  painter_.restore();
}

}  // namespace orrery::gui
