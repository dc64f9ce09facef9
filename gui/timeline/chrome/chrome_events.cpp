#include "gui/timeline/chrome/chrome_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "gui/timeline/kernel_category.hpp"
#include "gui/timeline/store/evaluation_levels.hpp"
#include "sim/answer/report/export/trace_words.hpp"
#include "sim/answer/trace/gpu_activity.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::timeline {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Category category_of_kernel(const trace::KernelKind& kind, const TraceEvent& event) {
  if (kind.work != trace::Work::communication) {
    return category_of(kind.work);
  }
  const trace::Operation stated = trace::operation_of(event.collective);
  const trace::Operation operation = stated == trace::Operation::none ? kind.operation : stated;
  if (operation == trace::Operation::other && event.group_description.empty()) {
    return Category::collective;
  }
  const trace::CommunicationGroup group{event.group, event.group_description, {}, event.group_size};
  return category_of(trace::axis_of(operation, group, {}, {}).axis, operation);
}

// Of what is no work of a GPU: tasks and activities as `orrery export` names them, else by words
// that frameworks use.
Category category_of_span(const TraceEvent& event) {
  static constexpr std::array<std::string_view, 5> kOnHost = {
      "cuda_runtime", "cuda_driver", "cpu_op", "python_function", "overhead"};
  static constexpr std::array<std::pair<std::string_view, Category>, 5> kWords = {
      {{"optimizer", Category::optimizer},
       {"checkpoint", Category::checkpoint},
       {"backward", Category::backward},
       {"forward", Category::forward},
       {"nccl", Category::collective}}};
  if (std::find(kOnHost.begin(), kOnHost.end(), event.category) != kOnHost.end()) {
    return Category::host;
  }
  if (const auto task = report::task_named(event.name)) {
    return category_of(*task);
  }
  if (const auto activity = report::activity_named(event.name)) {
    return category_of(*activity);
  }
  for (const auto& [word, category] : kWords) {
    if (contains(event.name, word)) {
      return category;
    }
  }
  return Category::other;
}

}  // namespace

Category TraceEvents::category_of_event(const TraceEvent& event, NameId name) {
  if (!trace::is_gpu_category(event.category)) {
    return category_of_span(event);
  }
  if (event.category != "kernel" && event.category != "Kernel") {
    return Category::copy;  // gpu_memcpy, gpu_memset
  }
  // A trace has many kernels and few names.
  if (kinds_.size() <= name) {
    kinds_.resize(name + std::size_t{1});
  }
  if (!kinds_[name]) {
    kinds_[name] = trace::kind_of_kernel(event.name);
  }
  return category_of_kernel(*kinds_[name], event);
}

RowId TraceEvents::process_row(const std::string& process) {
  const auto [it, is_new] = processes_.try_emplace(process, kNoRow);
  if (is_new) {
    it->second = builder_.group(process.empty() ? "trace" : fmt::format("process {}", process));
  }
  return it->second;
}

TraceEvents::Thread& TraceEvents::thread_of(const std::string& process, const std::string& thread) {
  Thread& found = threads_[{process, thread}];
  if (found.row == kNoRow) {
    found.row = builder_.row(thread.empty() ? "events" : fmt::format("thread {}", thread),
                             process_row(process));
  }
  return found;
}

std::int64_t TraceEvents::from_start(std::int64_t time) {
  if (!start_) {
    start_ = time;
  }
  return time - *start_;
}

void TraceEvents::add(const TraceEvent& event) {
  if (event.phase == 'M') {
    add_metadata(event);
    return;
  }
  if (!event.time) {
    ++without_time_;
    return;
  }
  const std::int64_t time = from_start(*event.time);
  last_ = std::max(last_, time);
  switch (event.phase) {
    case 'X':
      add_slice(event);
      break;
    case 'B':
    case 'E':
      add_begin_or_end(event);
      break;
    case 'i':
    case 'I':
    case 'R':
      marks_.push_back({time, event.name, event.process, event.thread});
      break;
    case 'C':
      add_counter(event);
      break;
    case 's':
    case 't':
    case 'f':
      flows_[event.category + '\n' + event.id].push_back(
          {thread_of(event.process, event.thread).row, time, event.phase});
      break;
    default:
      ++unknown_;
  }
}

void TraceEvents::add_metadata(const TraceEvent& event) {
  if (event.name == "process_name") {
    process_names_[event.process] = event.argument_name;
  } else if (event.name == "thread_name") {
    thread_names_[{event.process, event.thread}] = event.argument_name;
  } else if (event.name == "process_labels") {
    process_labels_[event.process] = event.argument_name;
  } else if (event.name == "process_sort_index" && event.argument_order) {
    process_orders_[event.process] = *event.argument_order;
  } else if (event.name == "thread_sort_index" && event.argument_order) {
    thread_orders_[{event.process, event.thread}] = *event.argument_order;
  }
}

void TraceEvents::add_slice(const TraceEvent& event) {
  const std::int64_t begin = from_start(*event.time);
  const std::int64_t end = begin + event.duration.value_or(0);
  last_ = std::max(last_, end);
  const NameId name = builder_.name(event.name);
  builder_.add(thread_of(event.process, event.thread).row,
               {begin, end, name, category_of_event(event, name)});
}

void TraceEvents::add_begin_or_end(const TraceEvent& event) {
  Thread& thread = thread_of(event.process, event.thread);
  const std::int64_t time = from_start(*event.time);
  if (event.phase == 'B') {
    const NameId name = builder_.name(event.name);
    thread.open.push_back({time, time, name, category_of_event(event, name)});
  } else if (thread.open.empty()) {
    ++unmatched_ends_;
  } else {
    thread.open.back().end = time;
    builder_.add(thread.row, thread.open.back());
    thread.open.pop_back();
  }
}

void TraceEvents::add_counter(const TraceEvent& event) {
  const std::int64_t time = from_start(*event.time);
  for (const auto& [argument, value] : event.numbers) {
    const std::string name =
        event.numbers.size() == 1 ? event.name : fmt::format("{} {}", event.name, argument);
    counters_[{event.process, name}].push_back({time, value});
  }
}

void TraceEvents::finish_counters() {
  for (auto& [key, samples] : counters_) {
    const RowId row = builder_.counter(key.second, "", std::move(samples), process_row(key.first));
    builder_.set_order(row, std::numeric_limits<std::int64_t>::max());
  }
}

void TraceEvents::finish_flows() {
  builder_.sort_slices();
  for (auto& [key, points] : flows_) {
    std::stable_sort(points.begin(), points.end(),
                     [](const FlowPoint& a, const FlowPoint& b) { return a.time < b.time; });
    std::optional<PendingSlice> from;
    for (const FlowPoint& point : points) {
      const std::optional<PendingSlice> here = builder_.innermost_at(point.row, point.time);
      if (here && from && point.phase != 's') {
        builder_.flow(*from, *here, FlowKind::other);
      }
      from = here;
    }
  }
}

void TraceEvents::finish_marks() {
  for (const PendingMark& mark : marks_) {
    const auto thread = thread_names_.find({mark.process, mark.thread});
    const bool failed = thread != thread_names_.end() && thread->second == "failures";
    const MarkKind kind = failed                              ? MarkKind::failure
                          : contains(mark.name, "checkpoint") ? MarkKind::checkpoint
                          : contains(mark.name, "restart")    ? MarkKind::restart
                                                              : MarkKind::other;
    builder_.mark(mark.time, kind, mark.name);
  }
}

StoreBuilder& TraceEvents::finish() {
  for (auto& [key, thread] : threads_) {
    for (NewSlice& slice : thread.open) {
      slice.end = last_;
      builder_.add(thread.row, slice);
      ++open_ends_;
    }
    thread.open.clear();
    if (const auto order = thread_orders_.find(key); order != thread_orders_.end()) {
      builder_.set_order(thread.row, order->second);
    }
    const auto name = thread_names_.find(key);
    if (name != thread_names_.end() && !name->second.empty()) {
      builder_.rename(thread.row, name->second);
    }
  }
  finish_counters();
  for (const auto& [process, row] : processes_) {
    if (const auto order = process_orders_.find(process); order != process_orders_.end()) {
      builder_.set_order(row, order->second);
    }
    const auto name = process_names_.find(process);
    const auto label = process_labels_.find(process);
    if (name != process_names_.end() && !name->second.empty()) {
      const bool labelled = label != process_labels_.end() && !label->second.empty();
      builder_.rename(
          row, labelled ? fmt::format("{} ({})", name->second, label->second) : name->second);
    }
  }
  finish_flows();
  finish_marks();
  return builder_;
}

std::vector<std::string> TraceEvents::notes() const {
  std::vector<std::string> notes;
  const auto note = [&notes](std::uint64_t count, std::string_view what) {
    if (count > 0) {
      notes.push_back(fmt::format("{} {}", format_integer(static_cast<std::int64_t>(count)), what));
    }
  };
  const Refused& refused = builder_.refused();
  note(without_time_, "events without a time that can be read were left out");
  note(unknown_, "events of other kinds were left out");
  note(unmatched_ends_, "ends without a begin were left out");
  note(open_ends_, "slices without an end are drawn to the end of the trace");
  note(refused.negative, "slices that end before they begin were left out");
  note(refused.crowded, "slices that overlap with more than 256 others were left out");
  note(refused.too_many, "slices are more than can be shown and were left out");
  return notes;
}

}  // namespace orrery::timeline
