#include "gui/timeline/row_layout.hpp"

#include <algorithm>
#include <utility>

namespace orrery::timeline {

RowLayout::RowLayout(std::shared_ptr<const Store> store)
    : store_(std::move(store)), collapsed_(store_->rows().size(), false) {
  rebuild();
}

bool RowLayout::is_collapsed(RowId row) const {
  return row < collapsed_.size() && collapsed_[row];
}

bool RowLayout::is_pinned(RowId row) const {
  return std::find(pins_.begin(), pins_.end(), row) != pins_.end();
}

void RowLayout::set_collapsed(RowId row, bool collapsed) {
  if (row < collapsed_.size() && store_->rows()[row].kind == RowKind::group) {
    collapsed_[row] = collapsed;
    rebuild();
  }
}

void RowLayout::set_all_collapsed(bool collapsed) {
  for (RowId row = 0; row < collapsed_.size(); ++row) {
    collapsed_[row] = collapsed && store_->rows()[row].kind == RowKind::group;
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
  set_row_height(std::clamp(fitting, kUsualHeight, kGenerousHeight));
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
  set_row_height(units == 0.0 ? kUsualHeight : std::min(view_height_ / units, kUsualHeight));
  set_scroll(0.0);
}

void RowLayout::scroll_by(double pixels) {
  set_scroll(scroll_ + pixels);
}

void RowLayout::set_scroll(double pixels) {
  scroll_ = pixels;
  clamp_scroll();
}

void RowLayout::reveal(RowId row) {
  if (row >= collapsed_.size() || is_pinned(row)) {
    return;
  }
  bool changed = false;
  for (RowId up = store_->rows()[row].parent; up != kNoRow; up = store_->rows()[up].parent) {
    changed = changed || collapsed_[up];
    collapsed_[up] = false;
  }
  if (changed) {
    rebuild();
  }
  const auto it = std::find_if(
      scrolled_.begin(), scrolled_.end(), [row](const LaidRow& laid) { return laid.row == row; });
  if (it == scrolled_.end()) {
    return;
  }
  const double top = it->first_unit * row_height_;
  const double bottom = top + height_of(*it);
  const double visible = view_height_ - pinned_height();
  if (top < scroll_) {
    set_scroll(top);
  } else if (bottom > scroll_ + visible) {
    set_scroll(bottom - visible);
  }
}

double RowLayout::pinned_height() const {
  return row_height_ * total_units(pinned_);
}

double RowLayout::total_height() const {
  return row_height_ * total_units(scrolled_);
}

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
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), unit, [](std::uint32_t u, const LaidRow& row) {
        return u < row.first_unit;
      });
  const LaidRow& row = *std::prev(after);
  return Hit{&row, pinned, unit - row.first_unit};
}

std::size_t RowLayout::index_of_unit(std::uint32_t unit) const {
  const auto after = std::upper_bound(
      scrolled_.begin(), scrolled_.end(), unit, [](std::uint32_t u, const LaidRow& row) {
        return u < row.first_unit;
      });
  return after == scrolled_.begin() ? 0 : static_cast<std::size_t>(after - scrolled_.begin()) - 1;
}

std::vector<RowId> RowLayout::between(RowId a, RowId b) const {
  std::vector<RowId> order;
  for (const std::vector<LaidRow>* rows : {&pinned_, &scrolled_}) {
    for (const LaidRow& laid : *rows) {
      order.push_back(laid.row);
    }
  }
  const auto first = std::find(order.begin(), order.end(), a);
  const auto last = std::find(order.begin(), order.end(), b);
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

void RowLayout::rebuild() {
  pinned_.clear();
  scrolled_.clear();
  const auto append = [this](std::vector<LaidRow>& rows, RowId row, bool collapsed) {
    const std::uint32_t units = units_of(row);
    const std::uint32_t first = total_units(rows);
    rows.push_back({row, first, units, collapsed});
  };
  for (const RowId row : pins_) {
    append(pinned_, row, store_->rows()[row].kind == RowKind::group);
  }
  const auto count = static_cast<RowId>(store_->rows().size());
  for (RowId row = 0; row < count;) {
    const bool closed = collapsed_[row];
    if (!is_pinned(row)) {
      append(scrolled_, row, closed);
    }
    row = closed ? store_->rows()[row].end : row + 1;
  }
  clamp_scroll();
}

void RowLayout::clamp_scroll() {
  scroll_ = std::clamp(scroll_, 0.0, largest_scroll());
}

}  // namespace orrery::timeline
