#include "gui/timeline/row_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text/format.hpp"

namespace orrery::timeline {

RowId row_shown(const Store& store, const LaidRow& laid) {
  const Row& row = store.rows()[laid.row];
  if (row.kind == RowKind::slices) {
    return laid.row;
  }
  const RowId first = laid.row + 1;
  const bool led = row.kind == RowKind::group && laid.collapsed && row.led &&
                   laid.part == RowPart::own && first < row.end;
  return led && store.rows()[first].kind == RowKind::slices ? first : kNoRow;
}

std::string row_name(const Store& store, const RowPlace& place) {
  switch (place.part) {
    case RowPart::ranks:
      return fmt::format(
          "{} ranks", format_integer(static_cast<std::int64_t>(store.ranks_of(place.row).size())));
    case RowPart::rank:
      return fmt::format("rank {}", store.ranks_of(place.row)[place.rank]);
    case RowPart::own:
    case RowPart::of_rank:
      break;
  }
  return store.rows()[place.row].name;
}

std::uint32_t row_depth(const Store& store, const RowPlace& place) {
  const std::uint32_t own = store.rows()[place.row].depth;
  return place.part == RowPart::own ? own : place.part == RowPart::ranks ? own + 1 : own + 2;
}

RowPlace place_of_rank(const Store& store, std::int32_t rank) {
  RowPlace mean;
  for (RowId row = 0; row < store.rows().size(); ++row) {
    const std::span<const std::int32_t> ranks = store.ranks_of(row);
    const auto it = std::ranges::find(ranks, rank);
    if (it == ranks.end()) {
      continue;
    }
    if (store.rows()[row].mean) {
      mean = {row};
      continue;
    }
    const auto place = static_cast<std::uint32_t>(it - ranks.begin());
    return ranks.size() == 1 ? RowPlace{row} : RowPlace{row, RowPart::rank, place};
  }
  return mean;
}

RowLayout::RowLayout(std::shared_ptr<const Store> store) : store_(std::move(store)) {
  for (const Row& row : store_->rows()) {
    collapsed_.push_back(row.closed);
  }
  rebuild();
}

bool RowLayout::is_collapsed(RowId row) const { return row < collapsed_.size() && collapsed_[row]; }

bool RowLayout::is_pinned(RowId row) const { return std::ranges::find(pins_, row) != pins_.end(); }

void RowLayout::set_collapsed(RowId row, bool collapsed) {
  if (row < collapsed_.size() && store_->rows()[row].kind == RowKind::group) {
    collapsed_[row] = collapsed;
    rebuild();
  }
}

void RowLayout::toggle(const RowPlace& place) {
  if (place.row >= collapsed_.size()) {
    return;
  }
  switch (place.part) {
    case RowPart::own:
      set_collapsed(place.row, !is_collapsed(place.row));
      return;
    case RowPart::ranks:
      if (open_ranks_.erase(place.row) == 0) {
        open_ranks_[place.row];
      }
      break;
    case RowPart::rank:
      if (std::set<std::uint32_t>& open = open_ranks_[place.row]; open.erase(place.rank) == 0) {
        open.insert(place.rank);
      }
      break;
    case RowPart::of_rank:
      return;
  }
  rebuild();
}

void RowLayout::set_pinned(RowId row, bool pinned) {
  if (row >= collapsed_.size() || is_pinned(row) == pinned) {
    return;
  }
  if (pinned) {
    pins_.push_back(row);
  } else {
    std::erase(pins_, row);
  }
  rebuild();
}

void RowLayout::set_view_height(double pixels) {
  view_height_ = std::max(pixels, 0.0);
  clamp_scroll();
}

void RowLayout::set_readable_height() {
  const double units = total_units(scrolled_) + total_units(pinned_);
  const double fitting = units == 0.0 ? kUsualHeight : view_height_ / units;
  // Low rows with every few named are better than a scroll bar, as long as they can be told apart.
  const double least = fitting < kLowHeight ? kReadableHeight : kLowHeight;
  set_row_height(std::clamp(fitting, least, kGenerousHeight));
}

void RowLayout::set_row_height(double pixels) {
  row_height_ = std::clamp(pixels, kLeastHeight, kMostHeight);
  clamp_scroll();
}

void RowLayout::zoom_rows(double y, double factor) {
  const double below_pins = y - pinned_height();
  const double units = (scroll_ + below_pins) / row_height_;
  set_row_height(row_height_ * factor);
  set_scroll(units * row_height_ - (y - pinned_height()));
}

void RowLayout::fit_all() {
  const double units = total_units(scrolled_) + total_units(pinned_);
  set_row_height(units == 0.0 ? kUsualHeight : std::min(view_height_ / units, kGenerousHeight));
  set_scroll(0.0);
}

void RowLayout::magnify(double factor) {
  row_height_ *= factor;
  view_height_ *= factor;
  scroll_ *= factor;
}

void RowLayout::scroll_by(double pixels) { set_scroll(scroll_ + pixels); }

void RowLayout::set_scroll(double pixels) {
  scroll_ = pixels;
  clamp_scroll();
}

void RowLayout::reveal(const RowPlace& place) {
  if (place.row >= collapsed_.size() || (place.part == RowPart::own && is_pinned(place.row))) {
    return;
  }
  const bool of_group = place.part != RowPart::own;
  RowPlace shown = place;
  for (RowId up = of_group ? place.row : store_->rows()[place.row].parent; up != kNoRow;
       up = store_->rows()[up].parent) {
    if (!of_group && collapsed_[up] &&
        row_shown(*store_, {.row = up, .collapsed = true}) == shown.row) {
      shown = {up};  // it is seen without being opened
      continue;
    }
    collapsed_[up] = false;
  }
  if (of_group) {
    open_ranks_[place.row].insert(place.rank);
  }
  rebuild();
  const auto it = std::ranges::find_if(
      scrolled_, [&shown](const LaidRow& laid) { return laid.place() == shown; });
  if (it == scrolled_.end()) {
    return;
  }
  const double top = it->first_unit * row_height_;
  const double bottom = top + height_of(*it);
  const double visible = view_height_ - pinned_height();
  if (top < scroll_) {
    set_scroll(top);
  } else if (bottom > scroll_ + visible) {
    set_scroll(of_group ? top - visible / 4.0 : bottom - visible);  // what it opens is seen
  }
}

double RowLayout::pinned_height() const { return row_height_ * total_units(pinned_); }

double RowLayout::total_height() const { return row_height_ * total_units(scrolled_); }

double RowLayout::largest_scroll() const {
  return std::max(total_height() + pinned_height() - view_height_, 0.0);
}

double RowLayout::top_of(const LaidRow& row, bool pinned) const {
  const double top = row.first_unit * row_height_;
  return pinned ? top : top - scroll_ + pinned_height();
}

std::optional<RowLayout::Hit> RowLayout::at(double y) const {
  const bool pinned = y < pinned_height();
  const std::vector<LaidRow>& rows = pinned ? pinned_ : scrolled_;
  const double units = (pinned ? y : y - pinned_height() + scroll_) / row_height_;
  if (y < 0.0 || units < 0.0 || units >= total_units(rows)) {
    return std::nullopt;
  }
  const auto unit = static_cast<std::uint32_t>(units);
  const auto after = std::ranges::upper_bound(rows, unit, {}, &LaidRow::first_unit);
  const LaidRow& row = *std::prev(after);
  return Hit{&row, pinned, unit - row.first_unit};
}

std::size_t RowLayout::index_of_unit(std::uint32_t unit) const {
  const auto after = std::ranges::upper_bound(scrolled_, unit, {}, &LaidRow::first_unit);
  return after == scrolled_.begin() ? 0 : static_cast<std::size_t>(after - scrolled_.begin()) - 1;
}

std::vector<RowId> RowLayout::between(RowId a, RowId b) const {
  std::vector<RowId> order;
  for (const std::vector<LaidRow>* rows : {&pinned_, &scrolled_}) {
    for (const LaidRow& laid : *rows) {
      order.push_back(laid.row);
    }
  }
  const auto first = std::ranges::find(order, a);
  const auto last = std::ranges::find(order, b);
  if (first == order.end() || last == order.end()) {
    return {};
  }
  const auto [low, high] = std::minmax(first, last);
  return {low, high + 1};
}

std::uint32_t RowLayout::units_of(RowId row) const {
  const Row& data = store_->rows()[row];
  if (data.kind == RowKind::group) {
    return 1;
  }
  return data.kind == RowKind::counter ? 2 : std::max(data.tracks, 1U);
}

std::uint32_t RowLayout::total_units(const std::vector<LaidRow>& rows) {
  return rows.empty() ? 0 : rows.back().first_unit + rows.back().units;
}

void RowLayout::append(std::vector<LaidRow>& rows, const RowPlace& place, bool collapsed) const {
  const bool head = place.part == RowPart::ranks || place.part == RowPart::rank;
  const std::uint32_t units = head ? 1 : units_of(place.row);
  const std::uint32_t first = total_units(rows);
  rows.push_back({place.row, first, units, collapsed, place.part, place.rank});
}

// Below the rows of their group.
void RowLayout::append_ranks(RowId group) {
  const auto shown = open_ranks_.find(group);
  append(scrolled_, {group, RowPart::ranks}, shown == open_ranks_.end());
  if (shown == open_ranks_.end()) {
    return;
  }
  const auto count = static_cast<std::uint32_t>(store_->ranks_of(group).size());
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const bool open = shown->second.contains(rank);
    append(scrolled_, {group, RowPart::rank, rank}, !open);
    for (RowId row = group + 1; open && row < store_->rows()[group].end; ++row) {
      if (store_->rows()[row].kind != RowKind::group) {
        append(scrolled_, {row, RowPart::of_rank, rank}, false);
      }
    }
  }
}

void RowLayout::rebuild() {
  pinned_.clear();
  scrolled_.clear();
  for (const RowId row : pins_) {
    append(pinned_, {row}, store_->rows()[row].kind == RowKind::group);
  }
  std::vector<RowId> with_ranks;  // whose rows are being laid
  const auto count = static_cast<RowId>(store_->rows().size());
  const auto end_groups = [&](RowId row) {
    while (!with_ranks.empty() && store_->rows()[with_ranks.back()].end <= row) {
      append_ranks(with_ranks.back());
      with_ranks.pop_back();
    }
  };
  for (RowId row = 0; row < count;) {
    end_groups(row);
    const bool closed = collapsed_[row];
    if (!is_pinned(row)) {
      append(scrolled_, {row}, closed);
    }
    if (!closed && !store_->rows()[row].mean && store_->ranks_of(row).size() > 1) {
      with_ranks.push_back(row);
    }
    row = closed ? store_->rows()[row].end : row + 1;
  }
  end_groups(count);
  clamp_scroll();
}

void RowLayout::clamp_scroll() { scroll_ = std::clamp(scroll_, 0.0, largest_scroll()); }

}  // namespace orrery::timeline
