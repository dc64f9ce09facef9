#pragma once

// Vertical layout of the tree of rows, flattened: pinned rows first, collapsed groups closed.
//
//   y(row) = row_height * units before it - scroll
//
// A row is one unit per track high, a counter two, a group one; below one pixel rows share a line.
// Pinned rows stay in place above the others and are not shown again below. A change of what is
// collapsed or pinned costs O(rows), everything else O(log rows).
//
// Below a group that stands for several ranks is a line that expands to them, each rank a line that
// expands to the rows of the group: those of the group, which all its ranks share.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/timeline/store/store.hpp"

namespace orrery::timeline {

// Which line a row of the store stands on: its own, or one of the ranks that share it.
enum class RowPart : std::uint8_t {
  own,
  ranks,   // of a group: opens to its ranks
  rank,    // one of them: opens to the rows of the group
  of_rank  // one of these
};

struct RowPlace {
  RowId row = kNoRow;
  RowPart part = RowPart::own;
  std::uint32_t rank = 0;  // place in the ranks of the group

  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

struct LaidRow {
  RowId row = 0;
  std::uint32_t first_unit = 0;  // within its part: pinned or scrolled
  std::uint32_t units = 1;
  bool collapsed = false;  // a group that shows all its tracks on one line
  RowPart part = RowPart::own;
  std::uint32_t rank = 0;

  [[nodiscard]] RowPlace place() const { return {row, part, rank}; }
};

// The row whose slices a laid row shows: its own, the first of a closed group that is led by it;
// kNoRow where it shows those of many rows, or none.
[[nodiscard]] RowId row_shown(const Store& store, const LaidRow& laid);

// "stage 3", "1,024 ranks", "rank 17".
[[nodiscard]] std::string row_name(const Store& store, const RowPlace& place);

// How far it is indented: ranks stand within their group.
[[nodiscard]] std::uint32_t row_depth(const Store& store, const RowPlace& place);

// Of a rank that a group stands for; its group itself where it stands for no other, or where that
// shows the mean of its ranks.
[[nodiscard]] RowPlace place_of_rank(const Store& store, std::int32_t rank);

class RowLayout {
 public:
  static constexpr double kLeastHeight = 1e-4;
  static constexpr double kMostHeight = 96.0;
  static constexpr double kLowHeight = 6.0;
  static constexpr double kReadableHeight = 13.0;
  static constexpr double kUsualHeight = 18.0;
  static constexpr double kGenerousHeight = 32.0;  // when there are few rows

  RowLayout() = default;
  explicit RowLayout(std::shared_ptr<const Store> store);

  [[nodiscard]] const std::vector<LaidRow>& pinned() const { return pinned_; }

  [[nodiscard]] const std::vector<LaidRow>& scrolled() const { return scrolled_; }

  [[nodiscard]] bool is_collapsed(RowId row) const;
  [[nodiscard]] bool is_pinned(RowId row) const;
  void set_collapsed(RowId row, bool collapsed);

  // Opens or closes what stands there: a group, the ranks of a group, a rank.
  void toggle(const RowPlace& place);
  void set_pinned(RowId row, bool pinned);

  // Height of the part of the widget that shows rows.
  void set_view_height(double pixels);

  // The height at which all rows fit, as long as their names can be read.
  void set_readable_height();
  void set_row_height(double pixels);

  // Keeps what stands at `y` in place.
  void zoom_rows(double y, double factor);

  // The largest height at which all rows are visible, at most the usual one.
  void fit_all();

  // Everything so many times as large: for screens with several pixels to a point.
  void magnify(double factor);

  void scroll_by(double pixels);
  void set_scroll(double pixels);

  // Opens what is above a row, or a rank, and scrolls until it is visible.
  void reveal(const RowPlace& place);

  [[nodiscard]] double row_height() const { return row_height_; }

  [[nodiscard]] double scroll() const { return scroll_; }

  // Of the pinned rows, on the screen.
  [[nodiscard]] double pinned_height() const;

  // Of the scrolled rows, all of them.
  [[nodiscard]] double total_height() const;
  [[nodiscard]] double largest_scroll() const;

  // Top of a row on the screen; may lie outside. Pinned rows are in `pinned()`.
  [[nodiscard]] double top_of(const LaidRow& row, bool pinned) const;

  [[nodiscard]] double height_of(const LaidRow& row) const { return row_height_ * row.units; }

  struct Hit {
    const LaidRow* row = nullptr;
    bool pinned = false;
    std::uint32_t unit = 0;  // within the row: its track
  };

  [[nodiscard]] std::optional<Hit> at(double y) const;

  // Index into scrolled() of the row at a unit, and one past the last.
  [[nodiscard]] std::size_t index_of_unit(std::uint32_t unit) const;

  // Rows from one to another in the order of the screen, both included; for selections.
  [[nodiscard]] std::vector<RowId> between(RowId a, RowId b) const;

 private:
  [[nodiscard]] std::uint32_t units_of(RowId row) const;
  [[nodiscard]] static std::uint32_t total_units(const std::vector<LaidRow>& rows);
  void rebuild();
  void append(std::vector<LaidRow>& rows, const RowPlace& place, bool collapsed) const;
  void append_ranks(RowId group);
  void clamp_scroll();

  std::shared_ptr<const Store> store_;
  std::vector<bool> collapsed_;
  std::map<RowId, std::set<std::uint32_t>> open_ranks_;  // of groups whose ranks are shown
  std::vector<RowId> pins_;
  std::vector<LaidRow> pinned_;
  std::vector<LaidRow> scrolled_;
  double row_height_ = kUsualHeight;
  double scroll_ = 0.0;
  double view_height_ = 0.0;
};

}  // namespace orrery::timeline
