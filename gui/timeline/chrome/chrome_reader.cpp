#include "gui/timeline/chrome/chrome_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "gui/timeline/store/evaluation_levels.hpp"
#include "sim/answer/report/export/trace_words.hpp"
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
  if (std::ranges::find(kOnHost, event.category) != kOnHost.end()) {
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
  const bool of_process = event.name.starts_with("process_");
  if (!of_process && !event.name.starts_with("thread_")) {
    return;
  }
  Said& said = of_process ? said_of_processes_[event.process]
                          : said_of_threads_[{event.process, event.thread}];
  if (event.name.ends_with("_name")) {
    said.name = event.argument_name;
  } else if (event.name == "process_labels") {
    said.label = event.argument_name;
  } else if (event.name.ends_with("_sort_index") && event.argument_order) {
    said.order = *event.argument_order;
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
    std::ranges::stable_sort(points, {}, &FlowPoint::time);
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
    const auto thread = said_of_threads_.find({mark.process, mark.thread});
    const bool failed = thread != said_of_threads_.end() && thread->second.name == "failures";
    const MarkKind kind = failed                              ? MarkKind::failure
                          : contains(mark.name, "checkpoint") ? MarkKind::checkpoint
                          : contains(mark.name, "restart")    ? MarkKind::restart
                                                              : MarkKind::other;
    builder_.mark(mark.time, kind, mark.name);
  }
}

void TraceEvents::dress(RowId row, const Said& said) {
  if (said.order) {
    builder_.set_order(row, *said.order);
  }
  if (!said.name.empty()) {
    builder_.rename(row,
                    said.label.empty() ? said.name : fmt::format("{} ({})", said.name, said.label));
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
    dress(thread.row, said_of_threads_[key]);
  }
  finish_counters();
  for (const auto& [process, row] : processes_) {
    dress(row, said_of_processes_[process]);
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

namespace {

constexpr double kReadingShare = 0.8;  // of the time to load

trace::ReadLimits limits_of(const ReadOptions& options) {
  trace::ReadLimits limits;
  limits.most_bytes = options.most_bytes;
  limits.stop = options.stop;
  if (options.progress) {
    limits.progress = [&options](double share) { options.progress(kReadingShare * share); };
  }
  return limits;
}

}  // namespace

ReadResult read_chrome_trace(const std::filesystem::path& path, const ReadOptions& options) {
  ReadResult result;
  const std::string name = path.filename().string();
  const auto fail = [&result, &name](std::string_view why) {
    result.problem = fmt::format("{}: {}", name, why);
    return result;
  };
  TraceEvents events;
  trace::ActivityCollector activities;
  const trace::EventReading reading =
      trace::read_events(path, limits_of(options), [&](const trace::TraceEvent& event) {
        events.add(event);
        activities.add(event);
        return events.slices() <= options.most_slices;
      });
  if (reading.cancelled) {
    result.cancelled = true;
    return result;
  }
  if (!reading.problem.empty()) {
    return fail(reading.problem);
  }
  if (reading.refused) {
    return fail(fmt::format("the trace holds more than {} slices",
                            format_integer(static_cast<std::int64_t>(options.most_slices))));
  }
  if (events.slices() == 0) {
    return fail("the trace holds no slices");
  }
  result.title = reading.facts.title.empty() ? name : reading.facts.title;
  if (activities.activities() > 0) {
    result.activities =
        std::make_shared<const trace::GpuTrace>(activities.finish(path.string(), reading.facts));
  }
  StoreBuilder& builder = events.finish();
  const Progress rest = options.progress ? Progress([&options](double share) {
    options.progress(kReadingShare + (1.0 - kReadingShare) * share);
  })
                                         : Progress();
  result.store = builder.build(options.stop, rest);
  result.cancelled = result.store == nullptr;
  result.notes = events.notes();
  return result;
}

Levels levels_of(const ReadResult& trace) {
  Levels levels;
  if (trace.store) {
    levels.push_back({trace.title, "trace", trace.store, {}, "a recorded trace"});
  }
  return levels;
}

}  // namespace orrery::timeline
