#include "gui/timeline/side_by_side.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "gui/timeline/kernel_category.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::timeline {

namespace {

// One store on its way into another.
class StoreCopy {
 public:
  StoreCopy(const StoreSide& side, StoreBuilder& builder)
      : side_(side),
        store_(*side.store),
        builder_(builder),
        rows_(store_.rows().size(), kNoRow),
        names_(store_.names().size()) {}

  void run() {
    top_ = builder_.group(side_.name);
    has_flows_ = !store_.flows().empty();
    groups_ = std::count_if(store_.rows().begin(), store_.rows().end(), [](const Row& row) {
      return row.kind == RowKind::group && row.parent == kNoRow;
    });
    for (RowId row = 0; row < store_.rows().size(); ++row) {
      copy_row(row);
    }
    for (const Mark& mark : store_.marks()) {
      if (mark.time >= side_.window.begin && mark.time <= side_.window.end) {
        builder_.mark(mark.time - side_.window.begin, mark.kind,
                      side_.name + ": " + store_.names()[mark.name]);
      }
    }
    for (const Flow& flow : store_.flows()) {
      const auto from = places_.find(flow.from);
      const auto to = places_.find(flow.to);
      if (from != places_.end() && to != places_.end()) {
        builder_.flow(from->second, to->second, flow.kind);
      }
    }
  }

 private:
  static constexpr std::ptrdiff_t kFewGroups = 2;

  // Groups come into being with their first row that has something to show.
  RowId parent_of(const Row& row) {
    if (row.parent == kNoRow) {
      return top_;
    }
    RowId& made = rows_[row.parent];
    if (made == kNoRow) {
      const Row& parent = store_.rows()[row.parent];
      made = builder_.group(parent.name, parent_of(parent));
      if (parent.led) {
        builder_.lead(made);
      } else if (groups_ > kFewGroups) {
        builder_.close(made);  // so that more sides are on the screen
      }
      if (const auto ranks = store_.ranks_of(row.parent); !ranks.empty()) {
        builder_.set_ranks(made, {ranks.begin(), ranks.end()}, parent.mean);
      }
    }
    return made;
  }

  // With what there is to say about it, which may differ from side to side.
  NameId name_of(const Slice& slice) {
    std::optional<NameId>& made = names_[slice.name()];
    if (!made) {
      made = builder_.name(store_.name_of(slice), store_.note_of(slice));
    }
    return *made;
  }

  void copy_row(RowId id) {
    const Row& row = store_.rows()[id];
    if (row.kind == RowKind::counter) {
      copy_counter(row);
    } else if (row.kind == RowKind::slices) {
      for (TrackId track = row.first_track; track < row.first_track + row.tracks; ++track) {
        copy_track(row, id, track);
      }
    }
  }

  void copy_counter(const Row& row) {
    const Counter& counter = store_.counters()[row.counter];
    std::vector<Sample> samples;
    for (const Sample& sample : counter.samples()) {
      const std::int64_t time = std::max(sample.time, side_.window.begin) - side_.window.begin;
      if (sample.time > side_.window.end) {
        break;
      }
      if (!samples.empty() && samples.back().time == time) {
        samples.back().value = sample.value;
      } else {
        samples.push_back({time, sample.value});
      }
    }
    if (!samples.empty()) {
      builder_.counter(row.name, counter.unit(), std::move(samples), parent_of(row));
    }
  }

  void copy_track(const Row& row, RowId id, TrackId track) {
    const auto slices = store_.slices_of(track);
    const SliceId first = store_.tracks()[track].first;
    for (std::uint32_t i = store_.first_ending_after(track, side_.window.begin);
         i < slices.size() && slices[i].begin() < side_.window.end; ++i) {
      const Slice& slice = slices[i];
      if (rows_[id] == kNoRow) {
        rows_[id] = builder_.row(row.name, parent_of(row));
      }
      const std::int64_t begin = std::max(slice.begin(), side_.window.begin);
      const std::int64_t end =
          std::min(slice.begin() + store_.duration_of(slice), side_.window.end);
      const PendingSlice place = builder_.add(
          rows_[id], {begin - side_.window.begin, std::max(begin, end) - side_.window.begin,
                      name_of(slice), slice.category(), slice.is(kAbnormal)});
      if (has_flows_) {
        places_.emplace(first + i, place);
      }
    }
  }

  const StoreSide& side_;
  const Store& store_;
  StoreBuilder& builder_;
  std::vector<RowId> rows_;
  std::vector<std::optional<NameId>> names_;
  std::unordered_map<SliceId, PendingSlice> places_;
  RowId top_ = kNoRow;
  bool has_flows_ = false;
  std::ptrdiff_t groups_ = 0;  // of the side, at the top
};

constexpr std::size_t kCopies = trace::kAxes + 1;

// Rows of a measured rank: compute, the axes, copies.
std::size_t lane_of(trace::Work work, trace::Axis axis) {
  return work == trace::Work::communication ? 1 + static_cast<std::size_t>(axis)
         : work == trace::Work::copy        ? kCopies
                                            : 0;
}

}  // namespace

void SideBySide::add(const StoreSide& side) { StoreCopy(side, builder_).run(); }

void SideBySide::add(const MeasuredSide& side, trace::AxisFinder& axes) {
  const RowId top = builder_.group(side.name);
  std::array<RowId, kCopies + 1> rows{};
  std::array<std::vector<NewSlice>, kCopies + 1> slices;
  static const trace::CommunicationGroup kUnnamed;
  for (const trace::GpuActivity& activity : side.trace->activities) {
    const bool inside = activity.device == side.device && activity.span.begin < side.window.end &&
                        activity.span.end > side.window.begin;
    if (!inside) {
      continue;
    }
    const trace::KernelName& kernel = side.trace->kernel_of(activity);
    const trace::CommunicationGroup& group =
        activity.group == trace::kNoGroup ? kUnnamed : side.trace->groups[activity.group];
    const bool talks = kernel.kind.work == trace::Work::communication;
    const trace::Axis axis = talks ? axes.answer(activity.operation, group).axis : trace::Axis{};
    slices[lane_of(kernel.kind.work, axis)].push_back(
        {std::max(activity.span.begin, side.window.begin) - side.window.begin,
         std::min(activity.span.end, side.window.end) - side.window.begin,
         builder_.name(kernel.name),
         talks ? category_of(axis, activity.operation) : category_of(kernel.kind.work)});
  }
  for (std::size_t lane = 0; lane < slices.size(); ++lane) {
    if (slices[lane].empty()) {
      continue;
    }
    rows[lane] = builder_.row(lane == kCopies ? "copies" : step::kOperationStreamNames[lane], top);
    for (const NewSlice& slice : slices[lane]) {
      builder_.add(rows[lane], slice);
    }
  }
}

std::shared_ptr<const Store> SideBySide::build(std::stop_token stop) {
  return builder_.build(std::move(stop));
}

}  // namespace orrery::timeline
