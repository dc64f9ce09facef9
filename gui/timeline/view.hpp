#pragma once

// State of the timeline view without a widget: what is visible, and what a key or a click changes.
//
//   window      = [begin, end) on the clock of level 0 (absolute time)
//   local time  = absolute time - origin of the level that is shown
//
// Zooming in beyond the longest window of the next level (one training step of the run; as many
// operations as can be distinguished) goes down to it, zooming out beyond 1.3 times that goes up
// again, so the picture never flips back and forth.
// The window is at least one nanosecond per column wide and overlaps the timeline by some columns.

#include <optional>
#include <string>
#include <vector>

#include "gui/timeline/finding.hpp"
#include "gui/timeline/row_layout.hpp"
#include "gui/timeline/store/store.hpp"
#include "gui/timeline/store/summary.hpp"

namespace orrery::timeline {

// One drawn copy of the level's timeline: the columns that it covers and its place in time.
struct Copy {
  Occurrence occurrence;  // on the absolute clock
  PixelAxis axis;         // on the clock of the store
};

struct Hit {
  RowId row = kNoRow;
  RowPart part = RowPart::own;
  std::uint32_t rank = 0;  // of a line of a rank: its place among those of the group
  std::optional<SliceId> slice;
  std::optional<std::uint32_t> mark;  // index into marks()
  std::int64_t origin = 0;            // of the copy that was hit, absolute
  std::int64_t time = 0;              // absolute

  [[nodiscard]] RowPlace place() const { return {row, part, rank}; }
};

struct SelectedArea {
  TimeRange range;  // absolute
  std::vector<RowId> rows;
};

class View {
 public:
  // Nothing to show.
  View() = default;
  explicit View(Levels levels);

  // One more level within the innermost; what is looked at stays. The view is not empty.
  void add_level(Level level);

  [[nodiscard]] bool empty() const { return levels_.empty(); }

  [[nodiscard]] const Levels& levels() const { return levels_; }

  [[nodiscard]] std::size_t level() const { return level_; }

  [[nodiscard]] const Store& store() const { return *levels_[level_].store; }

  [[nodiscard]] RowLayout& rows() { return layouts_[level_]; }

  [[nodiscard]] const RowLayout& rows() const { return layouts_[level_]; }

  [[nodiscard]] TimeRange window() const { return window_; }

  [[nodiscard]] std::int64_t origin() const { return origins_[level_]; }

  // The occurrence that is shown of a level, absolute; of level 0 its whole range.
  [[nodiscard]] Occurrence occurrence(std::size_t level) const;

  // The level of which the overview shows all: what is shown, or the step of its operations.
  [[nodiscard]] std::size_t overview() const;

  // "run > step 1,234 at 3.2 d", one part per level that is above or shown.
  [[nodiscard]] std::vector<std::string> path() const;

  void resize(int columns, double rows_height);

  // The same picture, `factor` times as fine and `columns` wide.
  [[nodiscard]] View magnified(double factor, int columns) const;

  // Rows of all levels, from this one on, at a height at which their names can be read.
  void set_readable_rows(std::size_t first = 0);

  [[nodiscard]] int columns() const { return columns_; }

  [[nodiscard]] PixelAxis axis() const { return {window_, columns_}; }

  // The timeline of the level in the window: itself, and its neighbours where it repeats.
  [[nodiscard]] std::vector<Copy> copies(const PixelAxis& axis) const;

  void zoom_at(double column, double factor);  // factor < 1: closer
  void pan(double columns);
  void set_window(TimeRange window);  // follows the zoom
  void frame_all();                   // all of level 0
  void frame_level();                 // all of the level that is shown
  void frame_selection();             // the area, else the slice, else the level

  // Shows a level at the middle of the window, whole; holds it until the next zoom.
  void go_to_level(std::size_t level);

  [[nodiscard]] Hit pick(double column, double y) const;

  [[nodiscard]] std::optional<SliceId> selected() const { return selected_; }

  void select(const Hit& hit);
  void select_slice(SliceId slice);  // of the level that is shown; brings it into view
  void clear_selection();
  bool step_selection(bool forward);  // on the track of the selected slice

  [[nodiscard]] const std::optional<SelectedArea>& area() const { return area_; }

  void set_area(std::optional<SelectedArea> area) { area_ = std::move(area); }

  // The area on the clock of the store that is shown.
  [[nodiscard]] std::optional<Area> local_area() const;

  [[nodiscard]] const std::optional<TimeRange>& ruler() const { return ruler_; }

  void set_ruler(std::optional<TimeRange> ruler) { ruler_ = ruler; }

  [[nodiscard]] std::int64_t time_at(double column) const;

  // Lines of text about what is under the cursor; empty when nothing is.
  [[nodiscard]] std::vector<std::string> describe(const Hit& hit) const;

 private:
  void follow_zoom(std::int64_t anchor);
  void enter(std::size_t level, const Occurrence& occurrence);  // on the clock of the one above
  void keep_in_range();
  void adopt_occurrence();
  [[nodiscard]] TimeRange whole() const;
  [[nodiscard]] TimeRange level_range(std::size_t level) const;

  Levels levels_;
  std::vector<RowLayout> layouts_;
  std::vector<std::int64_t> origins_;
  std::vector<Occurrence> shown_;  // absolute
  std::size_t level_ = 0;
  TimeRange window_{0, 1};
  int columns_ = 1;
  std::optional<SliceId> selected_;
  std::optional<SelectedArea> area_;
  std::optional<TimeRange> ruler_;
};

}  // namespace orrery::timeline
