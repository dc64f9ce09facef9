#include "sim/answer/trace/step_windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/answer/trace/contains.hpp"

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
  const bool launches = std::any_of(activities.begin(), activities.end(),
                                    [](const GpuActivity* one) { return one->launch.has_value(); });
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

}  // namespace orrery::trace
