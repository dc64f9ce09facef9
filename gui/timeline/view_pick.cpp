// What is under the cursor, and what is next to it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/timeline/time_text.hpp"
#include "gui/timeline/view.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::timeline {

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
      origins_[level_] = hit.origin;
      shown_[level_] = {{here->range.begin + outer, here->range.end + outer}, here->number};
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

bool View::select_next() { return step_selection(true); }

bool View::select_previous() { return step_selection(false); }

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
    lines.push_back(value ? fmt::format("{}: {} {}", counter.name(),
                                        format_number(*value, {.significant = 4, .trim = true}),
                                        counter.unit())
                          : counter.name());
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
