#include "sim/answer/trace/measured_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/answer/trace/event_reader.hpp"

namespace orrery::trace {

namespace {

constexpr std::string_view kProfilerStep = "ProfilerStep#";

using Activities = std::vector<const GpuActivity*>;

Activities activities_of(const GpuTrace& trace, std::uint32_t device) {
  Activities found;
  for (const GpuActivity& activity : trace.activities) {
    if (activity.device == device) {
      found.push_back(&activity);
    }
  }
  return found;
}

std::int64_t last_end(const Activities& activities) {
  std::int64_t end = activities.front()->span.end;
  for (const GpuActivity* activity : activities) {
    end = std::max(end, activity->span.end);
  }
  return end;
}

// Marks of the steps: those of the host where there are any, each name once.
std::vector<const Annotation*> step_marks(const GpuTrace& trace, const StepSearch& search) {
  std::vector<const Annotation*> host;
  std::vector<const Annotation*> gpu;
  for (const Annotation& mark : trace.marks) {
    const bool wanted =
        search.marker ? contains(mark.name, *search.marker) : mark.name.starts_with(kProfilerStep);
    if (wanted) {
      (mark.on_gpu ? gpu : host).push_back(&mark);
    }
  }
  return host.empty() ? gpu : host;
}

struct MarkedWork {
  std::optional<std::int64_t> begin;
  std::int64_t end = 0;
};

// What the host launched within a mark; without any launch in the trace, what ran within it.
MarkedWork work_of(const Annotation& mark, const Activities& activities, bool launches) {
  MarkedWork work;
  for (const GpuActivity* activity : activities) {
    const std::int64_t when =
        launches && !mark.on_gpu ? activity->launch.value_or(INT64_MIN) : activity->span.begin;
    if (when >= mark.span.begin && when < mark.span.end) {
      work.begin = std::min(work.begin.value_or(activity->span.begin), activity->span.begin);
      work.end = std::max(work.end, activity->span.end);
    }
  }
  return work;
}

std::vector<StepWindow> windows_of_marks(const std::vector<const Annotation*>& marks,
                                         const Activities& activities) {
  const bool launches = std::ranges::any_of(
      activities, [](const GpuActivity* one) { return one->launch.has_value(); });
  std::vector<StepWindow> windows;
  for (const Annotation* mark : marks) {
    const MarkedWork work = work_of(*mark, activities, launches);
    if (!work.begin || (!windows.empty() && *work.begin <= windows.back().span.begin)) {
      continue;
    }
    if (!windows.empty()) {
      windows.back().span.end = *work.begin;
    }
    const std::int64_t end = std::max(work.end, *work.begin + mark->span.length());
    windows.push_back({mark->name, {*work.begin, end}});
  }
  return windows;
}

std::vector<StepWindow> windows_between(const std::vector<std::int64_t>& bounds) {
  std::vector<StepWindow> windows;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (bounds[i] < bounds[i + 1]) {
      windows.push_back({fmt::format("step {}", i + 1), {bounds[i], bounds[i + 1]}});
    }
  }
  return windows;
}

std::vector<StepWindow> windows_of_kernels(const GpuTrace& trace, const Activities& activities,
                                           std::string_view marker) {
  std::vector<std::int64_t> bounds;
  for (const GpuActivity* activity : activities) {
    if (contains(trace.kernel_of(*activity).name, marker)) {
      bounds.push_back(activity->span.begin);
    }
  }
  if (!bounds.empty()) {
    bounds.push_back(last_end(activities));
  }
  return windows_between(bounds);
}

// Ends of the bursts of optimizer kernels.
std::vector<std::int64_t> ends_of_updates(const GpuTrace& trace, const Activities& activities) {
  std::vector<Span> updates;
  for (const GpuActivity* activity : activities) {
    if (trace.kernel_of(*activity).kind.work == Work::optimizer) {
      updates.push_back(activity->span);
    }
  }
  const SpanSet set = SpanSet::of(std::move(updates));
  const std::vector<Span>& spans = set.spans();
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    longest = std::max(longest, spans[i].begin - spans[i - 1].end);
  }
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const bool ends_burst =
        i + 1 == spans.size() || spans[i + 1].begin - spans[i].end > longest / 2;
    if (ends_burst) {
      ends.push_back(spans[i].end);
    }
  }
  return ends;
}

using step::StepCategory;

// Longer gaps are not the launch of a kernel that is ready.
constexpr std::int64_t kShortGap = 10'000;  // ns

constexpr std::array<Work, 5> kCompute = {Work::gemm, Work::attention, Work::experts, Work::memory,
                                          Work::unknown};

std::size_t at(Work work) { return static_cast<std::size_t>(work); }

std::size_t at(StepCategory category) { return static_cast<std::size_t>(category); }

std::size_t at(Axis axis) { return static_cast<std::size_t>(axis); }

// Waiting for the last peer: of a pipeline it is bubble, as in the predicted ledger.
StepCategory waiting_category(Axis axis) {
  return axis == Axis::pipeline ? StepCategory::bubble : StepCategory::idle;
}

}  // namespace

FoundSteps find_steps(const GpuTrace& trace, std::uint32_t device, const StepSearch& search) {
  const Activities activities = activities_of(trace, device);
  if (activities.empty()) {
    return {};
  }
  if (!search.whole) {
    FoundSteps found{windows_of_marks(step_marks(trace, search), activities), FoundBy::marks};
    if (!found.windows.empty()) {
      return found;
    }
    if (search.marker) {
      return {windows_of_kernels(trace, activities, *search.marker), FoundBy::kernels};
    }
    found = {windows_between(ends_of_updates(trace, activities)), FoundBy::optimizer};
    if (!found.windows.empty()) {
      return found;
    }
  }
  return {{{"the whole trace", {activities.front()->span.begin, last_end(activities)}}},
          FoundBy::whole};
}

StepCategory exposed_category(Axis axis) {
  constexpr std::array<StepCategory, kAxes> kCategories = {
      StepCategory::exposed_tensor, StepCategory::exposed_context, StepCategory::exposed_expert,
      StepCategory::exposed_pipeline, StepCategory::exposed_data};
  return kCategories[at(axis)];
}

StepMeter::StepMeter(const GpuTrace& trace, std::uint32_t device,
                     const std::vector<Communication>& communication)
    : trace_(&trace) {
  for (const GpuActivity& activity : trace.activities) {
    if (activity.device == device) {
      activities_.push_back(&activity);
    }
  }
  sort_activities(communication);
}

void StepMeter::sort_activities(const std::vector<Communication>& communication) {
  std::array<std::vector<Span>, kWorks> work;
  std::array<std::vector<Span>, kAxes> transfer;
  std::array<std::vector<Span>, kAxes> waiting;
  std::map<std::pair<Axis, Operation>, std::vector<Span>> operations;
  for (const GpuActivity* activity : activities_) {
    const Work kind = trace_->kernel_of(*activity).kind.work;
    if (kind != Work::communication) {
      work[at(kind)].push_back(activity->span);
      continue;
    }
    const Communication& one =
        communication[static_cast<std::size_t>(activity - trace_->activities.data())];
    const std::int64_t begins = activity->span.begin + one.waiting;
    waiting[at(one.axis)].push_back({activity->span.begin, begins});
    transfer[at(one.axis)].push_back({begins, activity->span.end});
    operations[{one.axis, activity->operation}].push_back(activity->span);
  }
  const auto book = [this](SpanSet set) {
    set = set.without(busy_);
    busy_ = busy_.unite(set);
    return set;
  };
  for (const Work kind : kCompute) {
    work_[at(kind)] = book(SpanSet::of(std::move(work[at(kind)])));
  }
  booked_[at(StepCategory::compute)] = busy_;
  work_[at(Work::optimizer)] = book(SpanSet::of(std::move(work[at(Work::optimizer)])));
  booked_[at(StepCategory::optimizer)] = work_[at(Work::optimizer)];
  hiding_ = busy_;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    booked_[at(exposed_category(static_cast<Axis>(axis)))] =
        book(SpanSet::of(std::move(transfer[axis])));
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    SpanSet& set = booked_[at(waiting_category(static_cast<Axis>(axis)))];
    set = set.unite(book(SpanSet::of(std::move(waiting[axis]))));
  }
  booked_[at(StepCategory::offload)] = book(SpanSet::of(std::move(work[at(Work::copy)])));
  for (auto& [key, spans] : operations) {
    OperationSpans all{key.second, key.first, {}, {}};
    for (const Span& span : spans) {
      all.begins.push_back(span.begin);
    }
    all.busy = SpanSet::of(std::move(spans));
    operations_.push_back(std::move(all));
  }
}

void StepMeter::book_gaps(Span window, MeasuredStep& step) const {
  const SpanSet gaps = SpanSet::of({window}).without(busy_.within(window));
  auto next = activities_.begin();
  for (const Span& gap : gaps.spans()) {
    next = std::partition_point(next, activities_.end(), [&gap](const GpuActivity* activity) {
      return activity->span.begin < gap.end;
    });
    StepCategory category = StepCategory::idle;
    const bool late = next != activities_.end() && (*next)->launch.value_or(gap.begin) > gap.begin;
    if (late) {
      const SpanSet loading = trace_->loading.within(gap);
      step.ledger.book(StepCategory::data_stall, 1, {loading.length()});
      step.ledger.book(StepCategory::launch_gap, 1, {gap.length() - loading.length()});
      continue;
    }
    if (next != activities_.end() && gap.length() <= kShortGap) {
      category = StepCategory::launch_gap;
    }
    step.ledger.book(category, 1, {gap.length()});
  }
}

MeasuredStep StepMeter::measure(const StepWindow& window) const {
  MeasuredStep step{window.name, window.span, {}, {}, {}};
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    const std::int64_t length = booked_[c].within(window.span).length();
    step.ledger.book(static_cast<StepCategory>(c), 1, {length});
  }
  book_gaps(window.span, step);
  for (std::size_t w = 0; w < kWorks; ++w) {
    step.work[w] = work_[w].within(window.span).length();
  }
  for (const OperationSpans& one : operations_) {
    const SpanSet busy = one.busy.within(window.span);
    const auto first = std::lower_bound(one.begins.begin(), one.begins.end(), window.span.begin);
    const auto last = std::lower_bound(first, one.begins.end(), window.span.end);
    if (busy.length() > 0) {
      step.operations.push_back({one.operation, one.axis, last - first, busy.length(),
                                 busy.common(hiding_.within(window.span)).length()});
    }
  }
  return step;
}

}  // namespace orrery::trace
