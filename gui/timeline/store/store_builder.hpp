#pragma once

// Builds a store: rows, slices, counters, marks and flows in any order, then build().
// Overlapping slices of a row get lanes, the first that is free; build() can be cancelled.
//
// Assumption: fewer than 2^32 slices and 2^22 names. What was refused is counted, never hidden.

#include <memory>
#include <stop_token>
#include <string_view>
#include <unordered_map>

#include "gui/timeline/store/store.hpp"

namespace orrery::timeline {

// Names a slice while the store is being built.
struct PendingSlice {
  RowId row = 0;
  std::uint32_t index = 0;
};

struct NewSlice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  NameId name = 0;
  Category category = Category::other;
  bool abnormal = false;
};

// What could not be shown.
struct Refused {
  std::uint64_t negative = 0;   // slices that end before they begin
  std::uint64_t crowded = 0;    // slices that overlap with kMostLanes others
  std::uint64_t too_many = 0;   // beyond 2^32 - 1 slices
  std::uint64_t bad_flows = 0;  // ends of flows that are not slices
};

inline constexpr std::uint32_t kMostLanes = 256;

class StoreBuilder {
 public:
  // `parent` was made by this builder; rows of one parent keep the order in which they are made.
  RowId group(std::string_view name, RowId parent = kNoRow) {
    return add_row(name, RowKind::group, parent);
  }

  RowId row(std::string_view name, RowId parent = kNoRow) {
    return add_row(name, RowKind::slices, parent);
  }

  // The group begins on one line.
  void close(RowId group) { rows_[group].row.closed = true; }

  // The group begins on one line, which then is its first row, whole; what is below it is left out.
  void lead(RowId group);
  RowId counter(std::string_view name, std::string_view unit, std::vector<Sample> samples,
                RowId parent = kNoRow, double limit = 0.0);

  void rename(RowId row, std::string_view name) { rows_[row].row.name = name; }

  // Rows of one parent stand in ascending order of this, then in the order they were made.
  void set_order(RowId row, std::int64_t order) { rows_[row].order = order; }

  // The ranks that a group stands for: all alike, they share its rows, else it shows their mean.
  void set_ranks(RowId group, std::vector<std::int32_t> ranks, bool mean = false);

  // Sorts the slices of all rows by time. What add() returned before no longer holds.
  void sort_slices();

  // The innermost slice of a row at a moment, after sort_slices().
  [[nodiscard]] std::optional<PendingSlice> innermost_at(RowId row, std::int64_t time) const;

  // The same number for the same text with the same note, lines about its slices. Beyond 2^22
  // different names: all further ones are one.
  NameId name(std::string_view text, std::string_view note = {});

  PendingSlice add(RowId row, const NewSlice& slice);
  void mark(std::int64_t time, MarkKind kind, std::string_view name);
  void flow(PendingSlice from, PendingSlice to, FlowKind kind);

  [[nodiscard]] std::uint64_t slices() const { return count_; }

  // Nothing after a stop request. The builder is used up.
  [[nodiscard]] std::shared_ptr<const Store> build(std::stop_token stop = {},
                                                   const Progress& progress = {});

  [[nodiscard]] const Refused& refused() const { return refused_; }

 private:
  struct PendingRow {
    Row row;
    std::vector<Slice> slices;
    bool has_flows = false;
    std::int64_t order = 0;
    std::vector<RowId> children;
  };

  struct PendingFlow {
    PendingSlice from;
    PendingSlice to;
    FlowKind kind = FlowKind::message;
  };

  RowId add_row(std::string_view name, RowKind kind, RowId parent);
  void order_rows(std::vector<RowId>& rows);
  [[nodiscard]] bool earlier(const Slice& a, const Slice& b) const;
  void place_tree(RowId pending, RowId parent, std::uint32_t depth, Store& store);
  void place_slices(PendingRow& pending, RowId row, Store& store);
  void append_lanes(std::span<const Slice> slices, std::span<const std::uint32_t> order,
                    PendingRow& pending, RowId row, Store& store);
  void place_flows(Store& store);
  [[nodiscard]] std::int64_t end_of(const Slice& slice) const;
  void find_range(Store& store) const;

  std::vector<PendingRow> rows_;
  std::vector<RowId> roots_;
  std::vector<std::vector<std::int32_t>> ranks_;
  std::vector<std::int64_t> long_durations_;
  std::vector<Counter> counters_;
  std::vector<Mark> marks_;
  std::vector<PendingFlow> flows_;
  std::vector<std::string> names_;
  std::vector<std::string> notes_;
  std::unordered_map<std::string, NameId> name_ids_;
  std::unordered_map<std::uint64_t, SliceId> placed_;  // (row, index) of rows with flows
  std::vector<RowId> pending_of_row_;
  std::uint64_t count_ = 0;
  std::uint64_t categories_ = 0;
  Refused refused_;
};

}  // namespace orrery::timeline
