#include "sim/answer/trace/gpu_activity.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "sim/answer/trace/event_reader.hpp"

namespace orrery::trace {

namespace {

constexpr std::int64_t kNoCorrelation = -1;

bool is_launch_category(std::string_view category) {
  return category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime";
}

bool is_annotation_category(std::string_view category) {
  return category == "user_annotation" || category == "gpu_user_annotation";
}

}  // namespace

void ActivityCollector::add(const TraceEvent& event) {
  if (event.phase == 'M') {
    add_metadata(event);
    return;
  }
  if (event.phase != 'X' || !event.time || !event.duration || *event.duration < 0) {
    return;
  }
  if (is_on_gpu(event)) {
    add_activity(event);
  } else if (is_launch_category(event.category)) {
    if (event.correlation) {
      launches_.push_back({*event.correlation, *event.time});
    }
  } else if (is_annotation_category(event.category) || event.name.starts_with("ProfilerStep#")) {
    add_annotation(event);
  }
}

// XLA and others give no category: their metadata names devices and streams.
bool ActivityCollector::is_on_gpu(const TraceEvent& event) const {
  if (!event.category.empty()) {
    return is_gpu_category(event.category);
  }
  const auto process = gpu_processes_.find(event.process);
  const auto thread = gpu_threads_.find({event.process, event.thread});
  return process != gpu_processes_.end() && thread != gpu_threads_.end();
}

void ActivityCollector::add_metadata(const TraceEvent& event) {
  if (event.name == "process_name" && contains(event.argument_name, "/device:GPU:")) {
    gpu_processes_[event.process] = true;
  } else if (event.name == "thread_name" && event.argument_name.starts_with("Stream #")) {
    gpu_threads_[{event.process, event.thread}] = true;
  }
}

std::uint32_t ActivityCollector::name_of(const std::string& name) {
  const auto [it, is_new] =
      names_.try_emplace(name, static_cast<std::uint32_t>(trace_.kernels.size()));
  if (is_new) {
    trace_.kernels.push_back({name, kind_of_kernel(name)});
  }
  return it->second;
}

std::uint32_t ActivityCollector::group_of(const TraceEvent& event) {
  CommunicationGroup group{event.group, event.group_description, event.group_ranks,
                           event.group_size};
  if (group == CommunicationGroup{}) {
    return kNoGroup;
  }
  const auto [it, is_new] =
      groups_.try_emplace(group, static_cast<std::uint32_t>(trace_.groups.size()));
  if (is_new) {
    trace_.groups.push_back(std::move(group));
  }
  return it->second;
}

std::uint32_t ActivityCollector::device_of(const TraceEvent& event) {
  const std::string device = event.device ? std::to_string(*event.device) : event.process;
  const auto [it, is_new] =
      devices_.try_emplace(device, static_cast<std::uint32_t>(trace_.devices.size()));
  if (is_new) {
    trace_.devices.push_back(device);
  }
  return it->second;
}

void ActivityCollector::add_activity(const TraceEvent& event) {
  GpuActivity activity;
  activity.span = {*event.time, *event.time + *event.duration};
  activity.name = name_of(event.name);
  activity.device = device_of(event);
  const KernelKind& kind = trace_.kernels[activity.name].kind;
  activity.operation = kind.operation;
  if (kind.work == Work::communication) {
    const Operation stated = operation_of(event.collective);
    activity.operation = stated == Operation::none ? kind.operation : stated;
    activity.group = group_of(event);
  }
  trace_.activities.push_back(activity);
  correlations_.push_back(event.correlation.value_or(kNoCorrelation));
}

void ActivityCollector::add_annotation(const TraceEvent& event) {
  const Span span{*event.time, *event.time + *event.duration};
  if (contains(event.name, "DataLoader")) {
    loading_.push_back(span);
    return;
  }
  trace_.marks.push_back({event.name, span, event.category == "gpu_user_annotation"});
}

GpuTrace ActivityCollector::finish(std::string file, TraceFacts facts) {
  trace_.file = std::move(file);
  trace_.facts = std::move(facts);
  trace_.loading = SpanSet::of(std::move(loading_));
  std::ranges::sort(launches_, [](const Launch& a, const Launch& b) {
    return std::pair(a.correlation, a.begin) < std::pair(b.correlation, b.begin);
  });
  for (std::size_t i = 0; i < trace_.activities.size(); ++i) {
    GpuActivity& activity = trace_.activities[i];
    // Traces of several processes in one file use a number more than once: the last call before.
    const std::pair key(correlations_[i], activity.span.begin);
    const auto after = std::upper_bound(
        launches_.begin(), launches_.end(), key, [](const auto& wanted, const Launch& launch) {
          return wanted < std::pair(launch.correlation, launch.begin);
        });
    if (correlations_[i] != kNoCorrelation && after != launches_.begin() &&
        std::prev(after)->correlation == correlations_[i]) {
      activity.launch = std::prev(after)->begin;
    }
  }
  launches_ = {};
  std::ranges::stable_sort(trace_.activities, [](const GpuActivity& a, const GpuActivity& b) {
    return a.span.begin < b.span.begin;
  });
  std::ranges::stable_sort(trace_.marks, [](const Annotation& a, const Annotation& b) {
    return a.span.begin < b.span.begin;
  });
  return std::move(trace_);
}

SpanSet SpanSet::of(std::vector<Span> spans) {
  std::erase_if(spans, [](const Span& span) { return span.end <= span.begin; });
  std::ranges::sort(spans, {}, &Span::begin);
  SpanSet set;
  for (const Span& span : spans) {
    if (!set.spans_.empty() && span.begin <= set.spans_.back().end) {
      set.spans_.back().end = std::max(set.spans_.back().end, span.end);
    } else {
      set.spans_.push_back(span);
    }
  }
  return set;
}

std::int64_t SpanSet::length() const {
  return std::accumulate(spans_.begin(), spans_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Span& span) { return sum + span.length(); });
}

SpanSet SpanSet::unite(const SpanSet& other) const {
  std::vector<Span> all;
  all.reserve(spans_.size() + other.spans_.size());
  all.insert(all.end(), spans_.begin(), spans_.end());
  all.insert(all.end(), other.spans_.begin(), other.spans_.end());
  return of(std::move(all));
}

SpanSet SpanSet::common(const SpanSet& other) const {
  SpanSet set;
  auto a = spans_.begin();
  auto b = other.spans_.begin();
  while (a != spans_.end() && b != other.spans_.end()) {
    const Span both{std::max(a->begin, b->begin), std::min(a->end, b->end)};
    if (both.begin < both.end) {
      set.spans_.push_back(both);
    }
    if (a->end < b->end) {
      ++a;
    } else {
      ++b;
    }
  }
  return set;
}

SpanSet SpanSet::without(const SpanSet& other) const {
  SpanSet set;
  auto b = other.spans_.begin();
  for (const Span& span : spans_) {
    std::int64_t begin = span.begin;
    while (b != other.spans_.end() && b->end <= begin) {
      ++b;
    }
    for (auto hole = b; hole != other.spans_.end() && hole->begin < span.end; ++hole) {
      if (hole->begin > begin) {
        set.spans_.push_back({begin, hole->begin});
      }
      begin = std::max(begin, hole->end);
    }
    if (begin < span.end) {
      set.spans_.push_back({begin, span.end});
    }
  }
  return set;
}

SpanSet SpanSet::within(Span window) const {
  SpanSet set;
  auto span = std::partition_point(spans_.begin(), spans_.end(), [window](const Span& candidate) {
    return candidate.end <= window.begin;
  });
  for (; span != spans_.end() && span->begin < window.end; ++span) {
    set.spans_.push_back({std::max(span->begin, window.begin), std::min(span->end, window.end)});
  }
  return set;
}

bool is_gpu_category(std::string_view category) {
  constexpr std::array<std::string_view, 6> kCategories = {"kernel", "gpu_memcpy", "gpu_memset",
                                                           "Kernel", "Memcpy",     "Memset"};
  return std::ranges::find(kCategories, category) != kCategories.end();
}

}  // namespace orrery::trace
