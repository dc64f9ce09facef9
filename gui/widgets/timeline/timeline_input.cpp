// Keys, wheel and mouse of the timeline: each becomes one call of timeline::View.

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "gui/timeline/finding.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

constexpr double kPanShare = 0.12;  // of the window, per key
constexpr double kWheelNotch = 120.0;
constexpr double kCloser = 0.8;   // per key or notch
constexpr int kDragDistance = 4;  // pixels before a click becomes a drag

// The time of the selection as the ruler, which stays when something else is selected.
void mark_selection(timeline::View& view) {
  std::optional<timeline::TimeRange> marked;
  if (view.area()) {
    marked = view.area()->range;
  } else if (view.selected()) {
    const timeline::Slice& slice = view.store().slices()[*view.selected()];
    marked = {slice.begin() + view.origin(), view.store().end_of(slice) + view.origin()};
  }
  view.set_ruler(marked == view.ruler() ? std::nullopt : marked);
}

}  // namespace

// What a key does to the view, which is painted again afterwards.
bool TimelineView::view_key(int key) {
  timeline::RowLayout& rows = view_.rows();
  const double pan = kPanShare * view_.columns();
  const double page = regions_.rows.height() - rows.pinned_height();
  const auto pin = [&] {
    if (hover_.row != timeline::kNoRow) {
      rows.set_pinned(hover_.row, !rows.is_pinned(hover_.row));
    }
  };
  const std::pair<std::vector<int>, std::function<void()>> keys[] = {
      {{Qt::Key_W, Qt::Key_Plus, Qt::Key_Equal}, [&] { zoom(kCloser); }},
      {{Qt::Key_S, Qt::Key_Minus}, [&] { zoom(1.0 / kCloser); }},
      {{Qt::Key_A, Qt::Key_Left}, [&] { view_.pan(-pan); }},
      {{Qt::Key_D, Qt::Key_Right}, [&] { view_.pan(pan); }},
      {{Qt::Key_F}, [&] { view_.frame_selection(); }},
      {{Qt::Key_Home}, [&] { view_.frame_all(); }},
      {{Qt::Key_M}, [&] { mark_selection(view_); }},
      {{Qt::Key_1}, [&] { view_.go_to_level(0); }},
      {{Qt::Key_2}, [&] { view_.go_to_level(1); }},
      {{Qt::Key_3}, [&] { view_.go_to_level(2); }},
      {{Qt::Key_Up}, [&] { rows.scroll_by(-rows.row_height()); }},
      {{Qt::Key_Down}, [&] { rows.scroll_by(rows.row_height()); }},
      {{Qt::Key_PageUp}, [&] { rows.scroll_by(-page); }},
      {{Qt::Key_PageDown}, [&] { rows.scroll_by(page); }},
      {{Qt::Key_Z}, [&] { toggle_fit_rows(); }},
      {{Qt::Key_P}, pin},
      {{Qt::Key_Return, Qt::Key_Enter},
       [&] { view_.selected() ? Q_EMIT selection_entered() : rows.toggle(hover_.place()); }}};
  for (const auto& [names, act] : keys) {
    if (std::ranges::find(names, key) != names.end()) {
      act();
      changed();
      return true;
    }
  }
  return false;
}

// The longest of what is lit, then shorter ones; back with Shift.
void TimelineView::choose_by_length(bool shorter) {
  const timeline::CategorySet wanted =
      lit_.categories != 0 ? lit_.categories : ~timeline::CategorySet{0};
  std::optional<timeline::SliceId> from = view_.selected();
  if (from && (set_of(view_.store().slices()[*from].category()) & wanted) == 0) {
    from.reset();
  }
  choose(next_by_length(view_.store(), wanted, from, shorter));
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  constexpr Qt::KeyboardModifiers kForeign =
      Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier;
  const int key = event->key();
  if (!view_.empty() && key == Qt::Key_Slash) {
    search_->start();
  } else if (view_.empty() || (event->modifiers() & kForeign) != Qt::NoModifier) {
    QWidget::keyPressEvent(event);
  } else if (key == Qt::Key_G) {
    search_->start("rank ");
  } else if (key == Qt::Key_Comma) {
    step_slice(false);
  } else if (key == Qt::Key_Period) {
    step_slice(true);
  } else if (key == Qt::Key_N) {
    choose_by_length((event->modifiers() & Qt::ShiftModifier) == 0);
  } else if (key == Qt::Key_Escape) {
    clear_selection();
  } else if (!view_key(key)) {
    QWidget::keyPressEvent(event);
  }
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  if (view_.empty()) {
    return;
  }
  cursor_ = event->position().toPoint();
  const QPoint delta = event->angleDelta();
  const double notches = (delta.y() != 0 ? delta.y() : delta.x()) / kWheelNotch;
  const Qt::KeyboardModifiers keys = event->modifiers();
  timeline::RowLayout& rows = view_.rows();
  if ((keys & Qt::ControlModifier) && (keys & Qt::ShiftModifier)) {
    row_height_ = RowHeight::chosen;
    rows.zoom_rows(row_y_of(*cursor_), std::pow(kCloser, -notches));
  } else if (keys & Qt::ControlModifier) {
    view_.zoom_at(zoom_column(), std::pow(kCloser, notches));
  } else if ((keys & Qt::ShiftModifier) || delta.x() != 0) {
    view_.pan(-notches * kPanShare * view_.columns());
  } else {
    // A page in about ten notches, however many rows there are.
    const double step = std::max(3.0 * rows.row_height(), regions_.rows.height() / 10.0);
    rows.scroll_by(-notches * step);
  }
  event->accept();
  changed();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  press_ = event->position().toPoint();
  last_ = press_;
  moved_ = false;
  drag_ = Drag::none;
  if (view_.empty() || event->button() == Qt::RightButton) {
    return;
  }
  if (regions_.minimap.contains(press_)) {
    drag_ = Drag::minimap;
    moved_ = true;
    mouseMoveEvent(event);
  } else if (regions_.axis.contains(press_)) {
    drag_ = Drag::ruler;
  } else if (regions_.rows.contains(press_)) {
    const bool area = (event->modifiers() & Qt::ShiftModifier) && event->button() == Qt::LeftButton;
    drag_ = area ? Drag::area : Drag::pan;
    area_row_ = view_.pick(column_of(press_), row_y_of(press_)).row;
  }
}

void TimelineView::drag_area(QPoint position) {
  const QRect& rows = regions_.rows;
  const int x = std::clamp(position.x(), rows.left(), rows.right() + 1);
  const int y = std::clamp(position.y(), rows.top(), rows.bottom());
  const std::int64_t a = view_.time_at(press_.x() - rows.left());
  const std::int64_t b = view_.time_at(x - rows.left());
  timeline::RowId row = view_.pick(column_of(press_), row_y_of({x, y})).row;
  const std::vector<timeline::LaidRow>& all = view_.rows().scrolled();
  if (row == timeline::kNoRow && !all.empty()) {
    row = all.back().row;  // below the last row
  }
  const timeline::RowId from =
      area_row_ == timeline::kNoRow && !all.empty() ? all.back().row : area_row_;
  view_.set_area(
      timeline::SelectedArea{{std::min(a, b), std::max(a, b)}, view_.rows().between(from, row)});
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint position = event->position().toPoint();
  cursor_ = position;
  if (drag_ == Drag::none) {
    hover_at(position);
    update();
    return;
  }
  moved_ = moved_ || (position - press_).manhattanLength() >= kDragDistance;
  if (!moved_) {
    return;
  }
  const QPoint by = position - last_;
  last_ = position;
  switch (drag_) {
    case Drag::pan:
      view_.pan(-by.x());
      view_.rows().scroll_by(-by.y());
      break;
    case Drag::area:
      drag_area(position);
      break;
    case Drag::ruler: {
      const std::int64_t a = view_.time_at(press_.x() - regions_.axis.left());
      const std::int64_t b = view_.time_at(position.x() - regions_.axis.left());
      view_.set_ruler(timeline::TimeRange{std::min(a, b), std::max(a, b)});
      break;
    }
    case Drag::minimap: {
      const timeline::TimeRange all = view_.occurrence(view_.overview()).range;
      const double share = static_cast<double>(position.x() - regions_.minimap.left()) /
                           static_cast<double>(regions_.minimap.width());
      const auto middle =
          all.begin + static_cast<std::int64_t>(share * static_cast<double>(all.length()));
      const std::int64_t length = view_.window().length();
      view_.set_window({middle - length / 2, middle - length / 2 + length});
      break;
    }
    case Drag::none:
      break;
  }
  changed();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = std::exchange(drag_, Drag::none);
  if (view_.empty() || event->button() == Qt::RightButton) {
    return;
  }
  if (!moved_) {
    click_at(event->position().toPoint());
  } else if (drag == Drag::area) {
    const std::optional<timeline::Area> area = view_.local_area();
    statistics_ =
        area ? std::optional(timeline::area_statistics(view_.store(), *area)) : std::nullopt;
    report_selection();
  }
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (view_.empty() || !regions_.rows.contains(event->position().toPoint())) {
    return;
  }
  const QPoint at = event->position().toPoint();
  view_.select(view_.pick(column_of(at), row_y_of(at)));
  if (view_.selected()) {
    view_.frame_selection();
  }
  report_selection();
}

void TimelineView::leaveEvent(QEvent* /*event*/) {
  cursor_.reset();
  hover_ = {};
  hover_lines_.clear();
  update();
}

void TimelineView::hover_at(QPoint position) {
  hover_ = {};
  hover_lines_.clear();
  if (!view_.empty() && regions_.rows.contains(position)) {
    hover_ = view_.pick(column_of(position), row_y_of(position));
    hover_lines_ = qt(view_.describe(hover_));
  } else if (!view_.empty() && regions_.names.contains(position)) {
    const timeline::Hit hit = view_.pick(0.0, row_y_of(position));
    hover_.row = hit.row;
    hover_.part = hit.part;
    hover_.rank = hit.rank;
  } else if (!view_.empty() && regions_.marks.contains(position)) {
    hover_lines_ = TimelinePainter::marks_near(*this, position.x() - regions_.marks.left());
  }
}

void TimelineView::click_at(QPoint position) {
  if (click_header(position) || click_names(position)) {
    return;
  }
  if (regions_.axis.contains(position)) {
    view_.set_ruler(std::nullopt);
    changed();
  } else if (regions_.rows.contains(position)) {
    view_.select(view_.pick(column_of(position), row_y_of(position)));
    report_selection();
  }
}

bool TimelineView::click_header(QPoint position) {
  const std::vector<QRect> tabs = TimelinePainter::level_tabs(*this);
  for (std::size_t i = 0; i < tabs.size(); ++i) {
    if (tabs[i].contains(position)) {
      go_to_level(static_cast<int>(i));
      return true;
    }
  }
  return false;
}

bool TimelineView::click_names(QPoint position) {
  if (!regions_.names.contains(position)) {
    return false;
  }
  const timeline::RowPlace place = view_.pick(0.0, row_y_of(position)).place();
  if (place.row != timeline::kNoRow) {
    timeline::RowLayout& rows = view_.rows();
    const bool pin = position.x() >= regions_.names.right() - TimelinePainter::kPinWidth;
    if (pin && place.part == timeline::RowPart::own) {
      rows.set_pinned(place.row, !rows.is_pinned(place.row));
    } else {
      rows.toggle(place);
    }
    changed();
  }
  return true;
}

TimelineSearch::TimelineSearch(QWidget* parent) : QLineEdit(parent) {
  setPlaceholderText("Find a name  (/)");
  setAccessibleName("Find in the timeline");
  setToolTip(
      "Part of a name: \"layer 12\", \"wgrad\", \"all_gather\"; or \"rank 17\". "
      "Enter: the next");
  setFocusPolicy(Qt::ClickFocus);  // the keys of the timeline are the timeline's
  connect(this, &QLineEdit::textEdited, this, [this] { show_outcome(true, {}); });
}

void TimelineSearch::start(const QString& words) {
  setFocus(Qt::ShortcutFocusReason);
  if (words.isEmpty()) {
    selectAll();
  } else {
    setText(words);
    show_outcome(true, {});
  }
}

void TimelineSearch::find(const timeline::Levels& levels, timeline::FindRequest request) {
  task_.run([request = std::move(request), levels](
                const auto& stop, const auto&) { return find_in_levels(levels, request, stop); },
            [this](const auto& finding) { report(finding); });
}

void TimelineSearch::report(const std::optional<timeline::Finding>& finding) {
  if (finding) {
    const auto number = [](std::uint64_t count) {
      return qt(format_integer(static_cast<std::int64_t>(count)));
    };
    show_outcome(true, QString("%1 of %2").arg(number(finding->place), number(finding->found)));
    Q_EMIT found(*finding);
  } else {
    show_outcome(false, "none");
  }
  Q_EMIT finished(finding.has_value());
}

void TimelineSearch::show_outcome(bool found, const QString& note) {
  QPalette colors = parentWidget()->palette();
  if (!found) {
    colors.setColor(QPalette::Text, tone_color(Tone::bad, colors));
  }
  setPalette(colors);
  note_ = note;
  constexpr int kGap = 12;
  setTextMargins(0, 0, note.isEmpty() ? 0 : fontMetrics().horizontalAdvance(note) + kGap, 0);
  setAccessibleDescription(note);
  update();
}

void TimelineSearch::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    Q_EMIT left();
    return;
  }
  QLineEdit::keyPressEvent(event);
}

void TimelineSearch::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  QPainter painter(this);
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(rect().adjusted(0, 0, -8, 0), Qt::AlignVCenter | Qt::AlignRight, note_);
}

// The timeline's part of it.

void TimelineView::place_search() {
  constexpr int kWidth = 240;
  const QRect header = regions_.header;
  const int width = std::min(kWidth, header.width() / 3);
  regions_.search =
      QRect(header.right() - width - 4, header.top() + 2, width, std::max(header.height() - 4, 1));
  search_->setGeometry(regions_.search);
  search_->setVisible(!view_.empty());
}

void TimelineView::find_next(const QString& text) {
  search_->cancel();
  const QStringList words = text.simplified().split(QLatin1Char(' '));
  bool is_number = false;
  const int rank = words.last().toInt(&is_number);
  if (view_.empty() || text.isEmpty()) {
    Q_EMIT search_finished(text.isEmpty());
  } else if (words.size() == 2 && words.first().toLower() == u"rank" && is_number) {
    Q_EMIT search_finished(go_to_rank(rank));
  } else {
    search_->find(view_.levels(), {text.toStdString(), view_.level(), view_.selected()});
  }
}

// Of the level that is shown, else of the next one that has rows of this rank, else of its stage.
bool TimelineView::go_to_rank(int rank) {
  const std::size_t count = view_.levels().size();
  const timeline::Row* found = nullptr;
  timeline::RowPlace place;
  std::size_t level = 0;
  for (std::size_t i = 0; i < count && (found == nullptr || found->mean); ++i) {
    const std::size_t at = (view_.level() + i) % count;
    const timeline::Store& store = *view_.levels()[at].store;
    const timeline::RowPlace here = place_of_rank(store, rank);
    if (here.row != timeline::kNoRow && (found == nullptr || !store.rows()[here.row].mean)) {
      found = &store.rows()[here.row];
      place = here;
      level = at;
    }
  }
  if (found != nullptr) {
    view_.go_to_level(level);
    view_.rows().reveal(place);
    changed();
  }
  search_->show_outcome(found != nullptr, found == nullptr ? "none"
                                          : found->mean    ? "mean of its stage"
                                                           : qt(found->name));
  return found != nullptr;
}

}  // namespace orrery::gui
