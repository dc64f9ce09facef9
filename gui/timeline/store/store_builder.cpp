#include "gui/timeline/store/store_builder.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "sim/base/check.hpp"

namespace orrery::timeline {

namespace {

constexpr std::int64_t kLongestShort = std::numeric_limits<std::uint32_t>::max();
constexpr double kSortingShare = 0.3;  // of the time to build

std::uint64_t key_of(PendingSlice slice) {
  constexpr unsigned kRowShift = 32;
  return static_cast<std::uint64_t>(slice.row) << kRowShift | slice.index;
}

}  // namespace

RowId StoreBuilder::add_row(std::string_view name, RowKind kind, RowId parent) {
  const auto id = static_cast<RowId>(rows_.size());
  rows_.emplace_back();
  rows_.back().row.name = name;
  rows_.back().row.kind = kind;
  ORRERY_CHECK(parent == kNoRow || parent < id, "row {} has no parent {}", name, parent);
  (parent == kNoRow ? roots_ : rows_[parent].children).push_back(id);
  return id;
}

void StoreBuilder::lead(RowId group) {
  close(group);
  rows_[group].row.led = true;
}

RowId StoreBuilder::counter(std::string_view name, std::string_view unit,
                            std::vector<Sample> samples, RowId parent, double limit) {
  const RowId id = add_row(name, RowKind::counter, parent);
  rows_[id].row.counter = static_cast<std::uint32_t>(counters_.size());
  counters_.emplace_back(std::string(name), std::string(unit), std::move(samples), limit);
  return id;
}

void StoreBuilder::set_ranks(RowId group, std::vector<std::int32_t> ranks, bool mean) {
  ranks_.push_back(std::move(ranks));
  rows_[group].row.ranks = static_cast<std::uint32_t>(ranks_.size());
  rows_[group].row.mean = mean;
}

// Long slices before the short ones that begin with them: a caller before what it calls.
bool StoreBuilder::earlier(const Slice& a, const Slice& b) const {
  return a.begin() != b.begin() ? a.begin() < b.begin() : end_of(a) > end_of(b);
}

void StoreBuilder::sort_slices() {
  const auto in_order = [this](const Slice& a, const Slice& b) { return earlier(a, b); };
  for (PendingRow& row : rows_) {
    if (!std::ranges::is_sorted(row.slices, in_order)) {
      std::ranges::stable_sort(row.slices, in_order);
    }
  }
}

std::optional<PendingSlice> StoreBuilder::innermost_at(RowId row, std::int64_t time) const {
  constexpr std::ptrdiff_t kDeepest = 256;
  const std::vector<Slice>& slices = rows_[row].slices;
  const auto after = std::ranges::upper_bound(slices, time, {}, &Slice::begin);
  for (auto it = after; it != slices.begin() && after - it < kDeepest;) {
    --it;
    if (time < end_of(*it)) {
      return PendingSlice{row, static_cast<std::uint32_t>(it - slices.begin())};
    }
  }
  return std::nullopt;
}

void StoreBuilder::order_rows(std::vector<RowId>& rows) {
  std::ranges::stable_sort(rows,
                           [this](RowId a, RowId b) { return rows_[a].order < rows_[b].order; });
}

NameId StoreBuilder::name(std::string_view text, std::string_view note) {
  if (names_.size() == kMostNames - 1) {
    text = "(more names)";
    note = {};
  }
  std::string key(text);
  if (!note.empty()) {
    key.append(1, '\0').append(note);
  }
  const auto [it, is_new] = name_ids_.try_emplace(std::move(key), NameId{0});
  if (is_new) {
    it->second = static_cast<NameId>(names_.size());
    names_.emplace_back(text);
    if (!note.empty()) {
      notes_.resize(names_.size());
      notes_.back() = note;
    }
  }
  return it->second;
}

PendingSlice StoreBuilder::add(RowId row, const NewSlice& slice) {
  std::vector<Slice>& slices = rows_[row].slices;
  const auto index = static_cast<std::uint32_t>(slices.size());
  if (slice.end < slice.begin) {
    ++refused_.negative;
    return {kNoRow, 0};
  }
  if (count_ >= std::numeric_limits<std::uint32_t>::max() - 1) {
    ++refused_.too_many;
    return {kNoRow, 0};
  }
  std::int64_t duration = std::max<std::int64_t>(slice.end - slice.begin, 1);
  std::uint8_t flags = slice.abnormal ? kAbnormal : 0;
  if (slice.end == slice.begin) {
    flags = static_cast<std::uint8_t>(flags | kInstant);
  }
  if (duration > kLongestShort) {
    flags = static_cast<std::uint8_t>(flags | kLong);
    long_durations_.push_back(duration);
    duration = static_cast<std::int64_t>(long_durations_.size()) - 1;
  }
  slices.emplace_back(slice.begin, static_cast<std::uint32_t>(duration), slice.name, slice.category,
                      flags);
  categories_ |= std::uint64_t{1} << static_cast<unsigned>(slice.category);
  categories_ |= slice.abnormal ? std::uint64_t{1} << kCategories : std::uint64_t{0};
  ++count_;
  return {row, index};
}

void StoreBuilder::mark(std::int64_t time, MarkKind kind, std::string_view text) {
  marks_.push_back({time, name(text), kind});
}

void StoreBuilder::flow(PendingSlice from, PendingSlice to, FlowKind kind) {
  if (from.row == kNoRow || to.row == kNoRow) {
    ++refused_.bad_flows;
    return;
  }
  rows_[from.row].has_flows = true;
  rows_[to.row].has_flows = true;
  flows_.push_back({from, to, kind});
}

std::int64_t StoreBuilder::end_of(const Slice& slice) const {
  return SliceTable{{}, long_durations_, {}, {}}.end_of(slice);
}

// Depth first, without recursion into slices of rows that come later.
void StoreBuilder::place_tree(RowId pending, RowId parent, std::uint32_t depth, Store& store) {
  const auto id = static_cast<RowId>(store.rows_.size());
  store.rows_.push_back(std::move(rows_[pending].row));
  pending_of_row_.push_back(pending);
  store.rows_[id].parent = parent;
  store.rows_[id].depth = depth;
  order_rows(rows_[pending].children);
  for (const RowId child : rows_[pending].children) {
    place_tree(child, id, depth + 1, store);
  }
  store.rows_[id].end = static_cast<RowId>(store.rows_.size());
}

// First-fit: a slice goes to the first lane that is free when it begins.
void StoreBuilder::append_lanes(std::span<const Slice> slices, std::span<const std::uint32_t> order,
                                PendingRow& pending, RowId row, Store& store) {
  std::vector<std::int64_t> free_at;
  std::vector<std::vector<std::uint32_t>> lanes;
  for (const std::uint32_t i : order) {
    std::size_t lane = 0;
    while (lane < lanes.size() && free_at[lane] > slices[i].begin()) {
      ++lane;
    }
    if (lane == kMostLanes) {
      ++refused_.crowded;
      continue;
    }
    if (lane == lanes.size()) {
      lanes.emplace_back();
      free_at.push_back(0);
    }
    lanes[lane].push_back(i);
    free_at[lane] = end_of(slices[i]);
  }
  for (const std::vector<std::uint32_t>& lane : lanes) {
    const auto first = static_cast<std::uint32_t>(store.slices_.size());
    store.tracks_.push_back({first, static_cast<std::uint32_t>(lane.size()), row});
    for (const std::uint32_t i : lane) {
      if (pending.has_flows) {
        placed_[key_of({pending_of_row_[row], i})] = static_cast<SliceId>(store.slices_.size());
      }
      store.slices_.push_back(slices[i]);
    }
  }
}

void StoreBuilder::place_slices(PendingRow& pending, RowId row, Store& store) {
  std::vector<Slice>& slices = pending.slices;
  const auto in_order = [this](const Slice& a, const Slice& b) { return earlier(a, b); };
  const bool needs_order = pending.has_flows;
  if (!needs_order && !std::ranges::is_sorted(slices, in_order)) {
    std::ranges::stable_sort(slices, in_order);
  }
  bool overlap = needs_order;
  for (std::size_t i = 1; i < slices.size() && !overlap; ++i) {
    overlap = end_of(slices[i - 1]) > slices[i].begin();
  }
  if (!overlap) {
    const auto first = static_cast<std::uint32_t>(store.slices_.size());
    store.tracks_.push_back({first, static_cast<std::uint32_t>(slices.size()), row});
    store.slices_.insert(store.slices_.end(), slices.begin(), slices.end());
  } else {
    std::vector<std::uint32_t> order(slices.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(
        order, [&](std::uint32_t a, std::uint32_t b) { return in_order(slices[a], slices[b]); });
    append_lanes(slices, order, pending, row, store);
  }
  std::vector<Slice>().swap(slices);
}

void StoreBuilder::place_flows(Store& store) {
  for (const PendingFlow& flow : flows_) {
    const auto from = placed_.find(key_of(flow.from));
    const auto to = placed_.find(key_of(flow.to));
    if (from == placed_.end() || to == placed_.end()) {
      ++refused_.bad_flows;
      continue;
    }
    store.flows_.push_back({from->second, to->second, flow.kind});
  }
  std::ranges::sort(store.flows_, [](const Flow& a, const Flow& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
}

void StoreBuilder::find_range(Store& store) const {
  TimeRange range{std::numeric_limits<std::int64_t>::max(),
                  std::numeric_limits<std::int64_t>::min()};
  const auto include = [&range](std::int64_t begin, std::int64_t end) {
    range.begin = std::min(range.begin, begin);
    range.end = std::max(range.end, end);
  };
  for (const Track& track : store.tracks_) {
    if (track.count > 0) {
      include(store.slices_[track.first].begin(),
              end_of(store.slices_[track.first + track.count - 1]));
    }
  }
  for (const Counter& counter : store.counters_) {
    if (!counter.samples().empty()) {
      include(counter.samples().front().time, counter.samples().back().time + 1);
    }
  }
  for (const Mark& mark : store.marks_) {
    include(mark.time, mark.time + 1);
  }
  store.range_ = range.begin < range.end ? range : TimeRange{0, 1};
}

namespace {

// A frame reads a few slices of every track: with pages of 4 KiB each is also a miss of the TLB.
void ask_for_huge_pages(void* first, std::size_t bytes) {
  constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21U;
  const auto begin = (reinterpret_cast<std::uintptr_t>(first) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(first) + bytes) & ~(kHugePage - 1);
  if (begin < end) {
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish: may fail
  }
}

}  // namespace

std::shared_ptr<const Store> StoreBuilder::build(std::stop_token stop, const Progress& progress) {
  auto store = std::make_shared<Store>();
  store->rows_.reserve(rows_.size());
  order_rows(roots_);
  for (const RowId root : roots_) {
    place_tree(root, kNoRow, 0, *store);
  }
  store->slices_.reserve(count_);
  ask_for_huge_pages(store->slices_.data(), count_ * sizeof(Slice));
  for (RowId row = 0; row < store->rows_.size(); ++row) {
    if (stop.stop_requested()) {
      return nullptr;
    }
    store->rows_[row].first_track = static_cast<TrackId>(store->tracks_.size());
    if (store->rows_[row].kind == RowKind::slices) {
      place_slices(rows_[pending_of_row_[row]], row, *store);
    }
    constexpr RowId kReportEvery = 64;
    if (progress && row % kReportEvery == 0) {
      progress(kSortingShare * static_cast<double>(row) / static_cast<double>(rows_.size()));
    }
  }
  for (RowId row = 0; row < store->rows_.size(); ++row) {
    const RowId end = store->rows_[row].end;
    const auto last = end < store->rows_.size() ? store->rows_[end].first_track
                                                : static_cast<TrackId>(store->tracks_.size());
    store->rows_[row].tracks = last - store->rows_[row].first_track;
  }
  place_flows(*store);
  std::ranges::stable_sort(marks_, {}, &Mark::time);
  store->marks_ = std::move(marks_);
  store->counters_ = std::move(counters_);
  store->ranks_ = std::move(ranks_);
  store->long_durations_ = long_durations_;
  store->names_ = std::move(names_);
  store->notes_ = std::move(notes_);
  store->categories_ = categories_;
  find_range(*store);
  const Progress rest = progress ? Progress([&progress](double share) {
    progress(kSortingShare + (1.0 - kSortingShare) * share);
  })
                                 : Progress();
  store->pyramid_ = Pyramid::build(store->table(), stop, rest);
  return stop.stop_requested() ? nullptr : store;
}

}  // namespace orrery::timeline
