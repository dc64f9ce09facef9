#include "gui/widgets/timeline/timeline_view.hpp"

#include <QEvent>
#include <QHelpEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <bit>
#include <cmath>

#include "gui/widgets/window/theme.hpp"

namespace orrery::gui {

namespace {

constexpr int kHeaderHeight = 28;
constexpr int kMinimapHeight = 22;
constexpr int kAxisHeight = 24;
constexpr int kMarksHeight = 18;
constexpr int kLegendHeight = 24;
constexpr int kLeastNamesWidth = 136;
constexpr int kMostNamesWidth = 230;

}  // namespace

TimelineView::TimelineView(QWidget* parent)
    : QWidget(parent),
      palette_(timeline::light_palette()),
      scroll_bar_(new QScrollBar(this)),
      search_(new TimelineSearch(this)) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName("Timeline");
  setAccessibleDescription(
      "W and S zoom, A and D move, comma and period select the previous and next slice");
  scroll_bar_->setAccessibleName("Rows");
  connect(scroll_bar_, &QScrollBar::valueChanged, this, [this](int value) {
    if (!view_.empty() && std::lround(view_.rows().scroll()) != value) {
      view_.rows().set_scroll(value);
      changed();
    }
  });
  connect(search_, &QLineEdit::returnPressed, this, [this] { find_next(search_->text()); });
  connect(search_, &TimelineSearch::finished, this, &TimelineView::search_finished);
  connect(search_, &TimelineSearch::left, this, [this] { setFocus(Qt::OtherFocusReason); });
  connect(search_, &TimelineSearch::found, this, [this](const timeline::Finding& finding) {
    view_.go_to_level(finding.level);
    choose(finding.slice);
  });
  dress();
  layout_regions();
}

namespace {

// The same thing of another answer: of the slices of its row, kind and name the one that is as far
// from the first.
std::optional<timeline::SliceId> again(const timeline::View& now, const timeline::View& before,
                                       timeline::SliceId slice) {
  const timeline::Store& old = before.store();
  const timeline::Store& store = now.store();
  const timeline::Slice& wanted = old.slices()[slice];
  const timeline::RowId row = old.tracks()[old.track_of(slice)].row;
  if (row >= store.rows().size() || store.rows()[row].name != old.rows()[row].name) {
    return std::nullopt;
  }
  const auto alike = [&](const timeline::Store& of) {
    std::vector<timeline::SliceId> found;
    const timeline::TrackId first = of.rows()[row].first_track;
    for (timeline::TrackId track = first; track < first + of.rows()[row].tracks; ++track) {
      timeline::SliceId id = of.tracks()[track].first;
      for (const timeline::Slice& other : of.slices_of(track)) {
        if (other.category() == wanted.category() && of.name_of(other) == old.name_of(wanted)) {
          found.push_back(id);
        }
        ++id;
      }
    }
    return found;
  };
  const std::vector<timeline::SliceId> there = alike(old);
  const std::vector<timeline::SliceId> here = alike(store);
  const auto place =
      static_cast<std::size_t>(std::lower_bound(there.begin(), there.end(), slice) - there.begin());
  return here.empty() ? std::nullopt : std::optional(here[std::min(place, here.size() - 1)]);
}

}  // namespace

void TimelineView::set_levels(timeline::Levels levels, bool keep_place) {
  const timeline::View before = std::move(view_);
  search_->cancel();
  statistics_.reset();
  hover_ = {};
  hover_lines_.clear();
  drag_ = Drag::none;
  view_ = timeline::View(std::move(levels));
  shown_level_ = 0;
  lit_ = keep_place ? lit_ : Lit();
  dress();
  layout_regions();
  view_.frame_all();
  view_.set_readable_rows();
  row_height_ = RowHeight::readable;
  if (keep_place && !before.empty() && !view_.empty()) {
    return_to(before);
  }
  changed();
}

// The level and the moment within the step that were looked at, of the step that is nearest now.
void TimelineView::return_to(const timeline::View& before) {
  const std::size_t level = before.level();
  const timeline::TimeRange old = before.window();
  const timeline::TimeRange whole = view_.occurrence(0).range;
  if (level >= view_.levels().size() || view_.levels()[level].name != before.levels()[level].name) {
    return;
  }
  timeline::TimeRange window = view_.window();
  if (level > 0) {
    view_.set_window(old);
    view_.go_to_level(level);
    // All of a step stays all; of a shorter one as much: else it would be seen from outside.
    const timeline::TimeRange was = before.occurrence(level).range;
    const double ratio = static_cast<double>(view_.occurrence(level).range.length()) /
                         static_cast<double>(was.length());
    const bool all = old.begin <= was.begin && old.end >= was.end;
    const auto moved = [&](std::int64_t time) {
      return view_.origin() + std::llround((all ? ratio : std::min(1.0, ratio)) *
                                           static_cast<double>(time - before.origin()));
    };
    window = {moved(old.begin), moved(old.end)};
  } else if (old != before.occurrence(0).range && old.begin >= whole.begin &&
             old.end <= whole.end) {
    window = old;
  }
  view_.set_window(window);
  view_.rows().set_scroll(before.rows().scroll());
  if (before.selected() && view_.level() == level) {
    if (const auto slice = again(view_, before, *before.selected())) {
      view_.select_slice(*slice);
      view_.set_window(window);
    }
  }
}

void TimelineView::add_level(timeline::Level level) {
  if (view_.empty()) {
    return;
  }
  const std::size_t added = view_.levels().size();
  view_.add_level(std::move(level));
  layout_regions();
  view_.set_readable_rows(added);
  changed();
}

void TimelineView::dress() {
  palette_ =
      dimmed(is_dark(palette()) ? timeline::dark_palette() : timeline::light_palette(), lit_here());
  minimap_ = {};
}

timeline::CategorySet TimelineView::lit_here() const {
  return view_.empty() ? 0 : lit_.categories & view_.store().categories();
}

void TimelineView::light(timeline::CategorySet categories, const QString& name) {
  const bool again = categories == lit_.categories && name == lit_.name;
  const timeline::Levels& levels = view_.levels();
  const auto has = [categories](const timeline::Level& level) {
    return (level.store->categories() & categories) != 0;
  };
  const auto found = std::ranges::find_if(levels, has);
  lit_ = {again || found == levels.end() ? 0 : categories, name};
  dress();
  if (lit_.categories != 0 && !has(levels[view_.level()])) {
    view_.go_to_level(static_cast<std::size_t>(found - levels.begin()));
  }
  changed();
}

void TimelineView::choose(std::optional<timeline::SliceId> slice) {
  if (slice) {
    view_.select_slice(*slice);
  }
  report_selection();
}

QSize TimelineView::sizeHint() const { return {1200, 600}; }

QSize TimelineView::minimumSizeHint() const { return {kLeastNamesWidth + 180, 150}; }

void TimelineView::layout_regions() {
  const int bar = scroll_bar_->sizeHint().width();
  const int names = std::clamp(width() / 4, kLeastNamesWidth, kMostNamesWidth);
  const int right = std::max(width() - bar, names + 1);
  const int columns = right - names;
  int y = 0;
  const auto strip = [&](int height) {
    const QRect rect(names, y, columns, height);
    y += height;
    return rect;
  };
  regions_.header = QRect(0, 0, width(), kHeaderHeight);
  y = kHeaderHeight;
  constexpr int kLower = 360;  // where rows have less than two fifths of the lowest windows
  regions_.minimap = strip(height() > kLower ? kMinimapHeight : kMinimapHeight / 2);
  regions_.axis = strip(kAxisHeight);
  const bool events = !view_.empty() && !view_.store().marks().empty();
  regions_.marks = strip(events ? kMarksHeight : 0);
  // As many lines as the names may take, of which the lowest windows have one, or one for waits.
  constexpr int kLow = 320;
  constexpr int kTall = 480;
  constexpr int kEntry = 125;
  const timeline::CategorySet kinds = view_.empty() ? 0 : view_.store().categories();
  const bool waits = (kinds & timeline::kWaits) != 0;
  const int most = height() > kTall ? 3 : height() > (waits ? kLow : kLower) ? 2 : 1;
  const int lines = std::clamp(std::popcount(kinds) * kEntry / std::max(width(), 1) + 1, 1, most);
  const int legend = lines > 1 ? lines * kLegendLine : kLegendHeight;
  regions_.rows = strip(std::max(height() - y - legend, 1));
  regions_.names = QRect(0, regions_.rows.top(), names, regions_.rows.height());
  regions_.legend = QRect(0, y, width(), legend);
  scroll_bar_->setGeometry(right, regions_.rows.top(), bar, regions_.rows.height());
  view_.resize(columns, regions_.rows.height());
  place_search();
}

void TimelineView::update_scroll_bar() {
  if (view_.empty()) {
    scroll_bar_->setRange(0, 0);
    return;
  }
  const QSignalBlocker blocker(scroll_bar_);
  scroll_bar_->setRange(0, static_cast<int>(std::lround(view_.rows().largest_scroll())));
  scroll_bar_->setPageStep(regions_.rows.height());
  scroll_bar_->setSingleStep(static_cast<int>(std::max(view_.rows().row_height(), 1.0)));
  scroll_bar_->setValue(static_cast<int>(std::lround(view_.rows().scroll())));
}

void TimelineView::changed() {
  raster_stale_ = true;
  update_scroll_bar();
  if (cursor_) {
    hover_at(*cursor_);
  }
  if (!view_.empty() && view_.level() != shown_level_) {
    shown_level_ = view_.level();
    dress();
    statistics_.reset();
    fit_regions();
    if (!view_.selected()) {
      Q_EMIT selection_changed();  // a slice is one of its level
    }
  }
  update();
}

void TimelineView::view_changed() { changed(); }

// After a change of size or level, which has events and an overview of its own.
void TimelineView::fit_regions() {
  layout_regions();
  if (row_height_ == RowHeight::readable) {
    view_.set_readable_rows();
  } else if (row_height_ == RowHeight::all_fit && !view_.empty()) {
    view_.rows().fit_all();
  }
  minimap_ = {};
}

void TimelineView::resizeEvent(QResizeEvent* /*event*/) {
  fit_regions();
  changed();
}

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) {
    dress();
    changed();
  }
  QWidget::changeEvent(event);
}

// In the pixels of the screen, of which a point may have several.
void TimelineView::make_images() {
  const double ratio = devicePixelRatioF();
  const auto pixels = [ratio](const QSize& points) { return (QSizeF(points) * ratio).toSize(); };
  const auto prepare = [&](QImage& image, const QSize& points) {
    if (image.size() == pixels(points)) {
      return false;
    }
    image = QImage(pixels(points), QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    return true;
  };
  if (prepare(raster_, regions_.rows.size()) || raster_stale_) {
    if (raster_.size() == regions_.rows.size()) {
      timeline::paint_rows(view_, palette_, raster_);
    } else {
      timeline::paint_rows(view_.magnified(ratio, raster_.width()), palette_, raster_);
    }
    raster_stale_ = false;
  }
  if (prepare(minimap_, regions_.minimap.size())) {
    timeline::paint_minimap(view_, palette_, minimap_);
  }
}

void TimelineView::paintEvent(QPaintEvent* /*event*/) {
  if (!view_.empty()) {
    make_images();
  }
  QPainter painter(this);
  TimelinePainter(*this, painter).paint();
}

bool TimelineView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (regions_.names.contains(help->pos()) && !view_.empty()) {
      const timeline::Hit hit = view_.pick(0.0, row_y_of(help->pos()));
      if (hit.row != timeline::kNoRow) {
        QToolTip::showText(help->globalPos(), qt(row_name(view_.store(), hit.place())));
      }
      return true;
    }
  }
  return QWidget::event(event);
}

double TimelineView::column_of(QPoint position) const {
  return position.x() - regions_.rows.left() + 0.5;
}

double TimelineView::row_y_of(QPoint position) const {
  return position.y() - regions_.rows.top() + 0.5;
}

double TimelineView::zoom_column() const {
  const bool inside = cursor_ && cursor_->x() >= regions_.rows.left();
  return inside ? column_of(*cursor_) : regions_.rows.width() / 2.0;
}

void TimelineView::zoom(double factor) {
  view_.zoom_at(zoom_column(), factor);
  changed();
}

void TimelineView::step_slice(bool forward) {
  view_.step_selection(forward);
  report_selection();
}

void TimelineView::clear_selection() {
  view_.clear_selection();
  light(0, {});
  statistics_.reset();
  report_selection();
}

void TimelineView::go_to_level(int level) {
  view_.go_to_level(static_cast<std::size_t>(level));
  changed();
}

void TimelineView::toggle_fit_rows() {
  if (view_.empty()) {
    return;
  }
  timeline::RowLayout& rows = view_.rows();
  if (row_height_ != RowHeight::all_fit) {
    row_height_ = RowHeight::all_fit;
    rows.fit_all();
  } else {
    row_height_ = RowHeight::readable;
    rows.set_readable_height();
  }
  changed();
}

void TimelineView::report_selection() {
  changed();
  Q_EMIT selection_changed();
}

}  // namespace orrery::gui
