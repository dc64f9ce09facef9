#include "gui/timeline/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/text/format.hpp"
#include "sim/base/text/time_axis.hpp"

namespace orrery::timeline {

namespace {

constexpr double kOut = 1.3;      // occurrences in the window at which it goes up a level
constexpr double kMargin = 0.05;  // of the range, beyond both ends
constexpr std::size_t kMostCopies = 4;

TimeRange around(std::int64_t middle, std::int64_t length) {
  return {middle - length / 2, middle - length / 2 + length};
}

}  // namespace

View::View(Levels levels) {
  for (Level& level : levels) {
    add_level(std::move(level));
  }
  if (!empty()) {
    window_ = whole();
  }
}

void View::add_level(Level level) {
  layouts_.emplace_back(level.store);
  origins_.push_back(0);
  shown_.push_back({level.store->range(), 0});
  levels_.push_back(std::move(level));
}

TimeRange View::whole() const { return levels_.front().store->range(); }

TimeRange View::level_range(std::size_t level) const {
  const TimeRange range = levels_[level].store->range();
  return level == 0 ? range : shown_[level].range;
}

Occurrence View::occurrence(std::size_t level) const { return shown_[level]; }

std::size_t View::overview() const {
  std::size_t level = level_;
  while (level > 0 && levels_[level].unit.empty()) {
    --level;
  }
  return level;
}

std::vector<std::string> View::path() const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i <= level_ && i < levels_.size(); ++i) {
    if (i == 0 || levels_[i].unit.empty()) {
      parts.push_back(levels_[i].name);
    } else {
      parts.push_back(fmt::format(
          "{} {} at {}", levels_[i].unit, format_integer(shown_[i].number),
          moment_text(shown_[i].range.begin - whole().begin, levels_.front().unix_start)));
    }
  }
  return parts;
}

void View::resize(int columns, double rows_height) {
  columns_ = std::max(columns, 1);
  for (RowLayout& layout : layouts_) {
    layout.set_view_height(rows_height);
  }
  keep_in_range();
}

View View::magnified(double factor, int columns) const {
  View fine = *this;
  fine.columns_ = std::max(columns, 1);
  fine.rows().magnify(factor);
  return fine;
}

void View::set_readable_rows(std::size_t first) {
  for (std::size_t i = first; i < layouts_.size(); ++i) {
    layouts_[i].set_readable_height();
  }
}

std::vector<Copy> View::copies(const PixelAxis& axis) const {
  std::vector<Copy> copies;
  if (empty()) {
    return copies;
  }
  const TimeRange own = levels_[level_].store->range();
  if (level_ == 0) {
    copies.push_back({{own, 0}, PixelAxis(axis, 0, own)});
  } else {
    const std::int64_t outer = origins_[level_ - 1];
    const TimeRange local{window_.begin - outer, window_.end - outer};
    for (Occurrence occurrence : levels_[level_].repetition.within(local, kMostCopies)) {
      occurrence.range.begin += outer;
      occurrence.range.end += outer;
      const TimeRange part{0, occurrence.range.length()};
      copies.push_back({occurrence, PixelAxis(axis, occurrence.range.begin, part)});
    }
  }
  std::erase_if(copies, [](const Copy& copy) { return copy.axis.width() <= 0; });
  return copies;
}

std::int64_t View::time_at(double column) const {
  const double share = column / static_cast<double>(columns_);
  const double offset = share * static_cast<double>(window_.length());
  return window_.begin + static_cast<std::int64_t>(std::llround(offset));
}

void View::zoom_at(double column, double factor) {
  if (empty()) {
    return;
  }
  const std::int64_t anchor = time_at(column);
  const double length = static_cast<double>(window_.length()) * factor;
  const double most = static_cast<double>(whole().length()) * (1.0 + 2.0 * kMargin);
  const double least = static_cast<double>(columns_);
  const double wanted = std::clamp(length, least, std::max(least, most));
  const double before = wanted * column / static_cast<double>(columns_);
  window_.begin = anchor - static_cast<std::int64_t>(std::llround(before));
  window_.end = window_.begin + static_cast<std::int64_t>(std::llround(wanted));
  keep_in_range();
  follow_zoom(anchor);
}

void View::pan(double columns) {
  const double pixel = static_cast<double>(window_.length()) / static_cast<double>(columns_);
  const auto shift = static_cast<std::int64_t>(std::llround(columns * pixel));
  window_.begin += shift;
  window_.end += shift;
  keep_in_range();
  adopt_occurrence();
}

void View::set_window(TimeRange window) {
  if (empty() || window.length() <= 0) {
    return;
  }
  window_ = window;
  keep_in_range();
  follow_zoom(window_.begin + window_.length() / 2);
}

void View::frame_all() {
  if (!empty()) {
    set_window(whole());
  }
}

void View::frame_level() {
  if (!empty()) {
    window_ = level_range(level_);
    keep_in_range();
  }
}

void View::frame_selection() {
  if (area_) {
    set_window(area_->range);
  } else if (selected_) {
    const Slice& slice = store().slices()[*selected_];
    const std::int64_t begin = slice.begin() + origin();
    const std::int64_t end = store().end_of(slice) + origin();
    const std::int64_t margin = std::max<std::int64_t>((end - begin) / 4, 1);
    set_window({begin - margin, end + margin});
  } else {
    frame_level();
  }
}

void View::go_to_level(std::size_t level) {
  if (level >= levels_.size() || level == level_) {
    return;
  }
  selected_.reset();
  while (level_ < level) {
    const std::int64_t middle = window_.begin + window_.length() / 2 - origins_[level_];
    const std::optional<Occurrence> next = levels_[level_ + 1].repetition.nearest(middle);
    if (!next) {
      return;
    }
    const std::int64_t outer = origins_[level_];
    enter(++level_, *next);
    const std::int64_t most = longest_window(levels_[level_]);
    const TimeRange all = shown_[level_].range;
    window_ =
        most < all.length()
            ? around(std::clamp(middle + outer, all.begin + most / 2, all.end - most / 2), most)
            : all;
  }
  if (level_ > level) {
    const std::int64_t middle = window_.begin + window_.length() / 2;
    // As much of the outer level as is needed to see the inner one within it.
    const std::int64_t length = shown_[level + 1].range.length() * 20;
    level_ = level;
    const TimeRange own = level_range(level);
    window_ = length < own.length() ? around(middle, length) : own;
  }
  keep_in_range();
}

void View::follow_zoom(std::int64_t anchor) {
  while (level_ > 0) {
    const auto length = static_cast<double>(longest_window(levels_[level_]));
    if (static_cast<double>(window_.length()) <= kOut * length) {
      break;
    }
    --level_;
    selected_.reset();
  }
  adopt_occurrence();
  while (level_ + 1 < levels_.size()) {
    const Repetition& inner = levels_[level_ + 1].repetition;
    const std::optional<Occurrence> next = inner.at(anchor - origins_[level_]);
    if (!next || window_.length() > longest_window(levels_[level_ + 1])) {
      break;
    }
    selected_.reset();
    enter(++level_, *next);
  }
}

void View::enter(std::size_t level, const Occurrence& occurrence) {
  const std::int64_t outer = origins_[level - 1];
  origins_[level] = outer + occurrence.range.begin;
  shown_[level] = {{origins_[level], outer + occurrence.range.end}, occurrence.number};
}

// Moves on to the neighbour when the window has left the occurrence that was shown.
void View::adopt_occurrence() {
  for (std::size_t i = 1; i <= level_ && i < levels_.size(); ++i) {
    const std::int64_t outer = origins_[i - 1];
    const std::int64_t middle = window_.begin + window_.length() / 2 - outer;
    const std::optional<Occurrence> here = levels_[i].repetition.at(middle);
    if (here && here->range.begin + outer != origins_[i]) {
      enter(i, *here);
    }
  }
}

void View::keep_in_range() {
  if (empty()) {
    return;
  }
  const TimeRange all = whole();
  const auto margin =
      static_cast<std::int64_t>(kMargin * static_cast<double>(all.length())) + columns_;
  std::int64_t length = std::max<std::int64_t>(window_.length(), columns_);
  length = std::min(length, all.length() + 2 * margin);
  // Room to frame what lies at an end.
  const std::int64_t beyond = std::max(length / 4, margin);
  const std::int64_t first = all.begin - beyond;
  const std::int64_t last = std::max(all.end + beyond - length, first);
  window_.begin = std::clamp(window_.begin, first, last);
  window_.end = window_.begin + length;
}

namespace {

constexpr double kGrab = 3.0;  // columns around the cursor in which small slices are found

// The slice at a moment; else, of those that touch [begin, end), the abnormal or longest one.
std::optional<SliceId> slice_near(const Store& store, TrackId track, std::int64_t time,
                                  TimeRange reach) {
  const std::span<const Slice> slices = store.slices_of(track);
  const std::uint32_t first = store.first_ending_after(track, reach.begin);
  std::optional<SliceId> best;
  constexpr std::uint32_t kMostLookedAt = 100'000;
  for (std::uint32_t i = first;
       i < slices.size() && i < first + kMostLookedAt && slices[i].begin() < reach.end; ++i) {
    const SliceId id = store.tracks()[track].first + i;
    const bool under = slices[i].begin() <= time && time < store.end_of(slices[i]);
    const bool wide = store.end_of(slices[i]) - slices[i].begin() >= reach.length();
    if (under && wide) {
      return id;
    }
    const auto better = [&store](const Slice& a, const Slice& b) {
      return a.is(kAbnormal) != b.is(kAbnormal)
                 ? a.is(kAbnormal)
                 : store.end_of(a) - a.begin() > store.end_of(b) - b.begin();
    };
    if (!best || better(slices[i], store.slices()[*best])) {
      best = id;
    }
  }
  return best;
}

}  // namespace

Hit View::pick(double column, double y) const {
  Hit hit;
  if (empty()) {
    return hit;
  }
  hit.time = time_at(column);
  hit.origin = origin();
  const std::optional<RowLayout::Hit> row = rows().at(y);
  if (!row) {
    return hit;
  }
  hit.row = row->row->row;
  hit.part = row->row->part;
  hit.rank = row->row->rank;
  const RowId shown = row_shown(store(), *row->row);
  if (level_ > 0) {
    const std::int64_t outer = origins_[level_ - 1];
    const std::optional<Occurrence> here = levels_[level_].repetition.at(hit.time - outer);
    if (!here) {
      return hit;
    }
    hit.origin = here->range.begin + outer;
  }
  if (shown == kNoRow || store().rows()[shown].tracks == 0) {
    return hit;
  }
  const Row& data = store().rows()[shown];
  const double pixel = static_cast<double>(window_.length()) / static_cast<double>(columns_);
  const auto reach = static_cast<std::int64_t>(std::ceil(kGrab * pixel));
  const std::int64_t local = hit.time - hit.origin;
  const TrackId track = data.first_track + std::min(row->unit, data.tracks - 1);
  hit.slice = slice_near(store(), track, local, {local - reach, local + reach + 1});
  return hit;
}

void View::select(const Hit& hit) {
  if (!hit.slice) {
    selected_.reset();
    return;
  }
  selected_ = hit.slice;
  if (level_ > 0 && hit.origin != origin()) {
    const std::int64_t outer = origins_[level_ - 1];
    if (const auto here = levels_[level_].repetition.at(hit.origin - outer)) {
      enter(level_, *here);
    }
  }
}

void View::select_slice(SliceId slice) {
  selected_ = slice;
  const Slice& data = store().slices()[slice];
  const std::int64_t begin = data.begin() + origin();
  const std::int64_t end = store().end_of(data) + origin();
  if (end <= window_.begin || begin >= window_.end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    const std::int64_t length = window_.length();
    window_ = {middle - length / 2, middle - length / 2 + length};
    keep_in_range();
  }
  rows().reveal({store().tracks()[store().track_of(slice)].row});
}

void View::clear_selection() {
  selected_.reset();
  area_.reset();
  ruler_.reset();
}

bool View::step_selection(bool forward) {
  if (empty() || store().slices().empty()) {
    return false;
  }
  if (!selected_) {
    // The first slice in the window on the first row that has one.
    for (TrackId track = 0; track < store().tracks().size(); ++track) {
      const std::uint32_t i = store().first_ending_after(track, window_.begin - origin());
      if (i < store().tracks()[track].count) {
        select_slice(store().tracks()[track].first + i);
        return true;
      }
    }
    return false;
  }
  const Track& track = store().tracks()[store().track_of(*selected_)];
  const SliceId last = track.first + track.count - 1;
  if (forward ? *selected_ == last : *selected_ == track.first) {
    return false;
  }
  select_slice(forward ? *selected_ + 1 : *selected_ - 1);
  return true;
}

std::optional<Area> View::local_area() const {
  if (!area_ || empty()) {
    return std::nullopt;
  }
  return Area{{area_->range.begin - origin(), area_->range.end - origin()}, area_->rows};
}

std::vector<std::string> View::describe(const Hit& hit) const {
  std::vector<std::string> lines;
  if (empty() || hit.row == kNoRow) {
    return lines;
  }
  const Row& row = store().rows()[hit.row];
  std::string where = row_name(store(), hit.place());
  if (hit.part == RowPart::of_rank) {
    where = fmt::format("{} / {}", row_name(store(), {row.parent, RowPart::rank, hit.rank}), where);
  }
  const bool inside = hit.part == RowPart::ranks || hit.part == RowPart::rank;
  for (RowId up = inside ? hit.row : row.parent; up != kNoRow; up = store().rows()[up].parent) {
    where = fmt::format("{} / {}", store().rows()[up].name, where);
  }
  if (row.kind == RowKind::counter) {
    const Counter& counter = store().counters()[row.counter];
    const std::optional<double> value = counter.value_at(hit.time - hit.origin);
    lines.push_back(counter.name() + (value ? ": " + counter.text(*value) : ""));
  } else if (hit.slice) {
    const Slice& slice = store().slices()[*hit.slice];
    lines.push_back(store().name_of(slice));
    const std::string kind =
        fmt::format("{}{}", to_string(slice.category()), slice.is(kAbnormal) ? ", abnormal" : "");
    if (kind != lines.back()) {
      lines.push_back(kind);
    }
    lines.push_back(fmt::format("takes {}", duration_text(store().duration_of(slice))));
    lines.push_back("from " + (level_ == 0 ? moment_text(slice.begin() - whole().begin,
                                                         levels_.front().unix_start)
                                           : duration_text(slice.begin())));
    for (std::string_view note = store().note_of(slice); !note.empty();) {
      const std::size_t end = std::min(note.find('\n'), note.size());
      lines.emplace_back(note.substr(0, end));
      note.remove_prefix(std::min(end + 1, note.size()));
    }
  }
  lines.push_back(where);
  return lines;
}

}  // namespace orrery::timeline
