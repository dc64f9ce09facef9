#include "gui/timeline/chrome_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/base/format.hpp"

namespace orrery::timeline {

namespace {

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
constexpr std::int64_t kLongest = std::int64_t{1} << 61U;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "12.34e5" and the like: rounded once.
std::optional<std::int64_t> by_floating_point(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  value *= static_cast<double>(kNanosecondsPerMicrosecond);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(std::abs(value) < static_cast<double>(kLongest))) {
    return std::nullopt;
  }
  return std::llround(value);
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  const bool negative = microseconds.starts_with('-');
  const std::string_view digits = microseconds.substr(negative ? 1 : 0);
  const std::size_t point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  std::string_view rest = point == std::string_view::npos ? "" : digits.substr(point + 1);
  constexpr std::size_t kDecimals = 3;
  if (!is_digits(whole) || (!rest.empty() && !is_digits(rest)) || rest.size() > kDecimals) {
    return by_floating_point(microseconds);
  }
  std::string fraction(rest);
  fraction.resize(kDecimals, '0');
  std::int64_t us = 0;
  std::int64_t ns = 0;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), us);
  std::from_chars(fraction.data(), fraction.data() + fraction.size(), ns);
  if (parsed.ec != std::errc() || us > kLongest / kNanosecondsPerMicrosecond) {
    return std::nullopt;
  }
  const std::int64_t sum = us * kNanosecondsPerMicrosecond + ns;
  return negative ? -sum : sum;
}

void TraceEvent::clear() {
  phase = 0;
  for (std::string* text : {&name, &category, &process, &thread, &id, &argument_name}) {
    text->clear();
  }
  time.reset();
  duration.reset();
  argument_order.reset();
  numbers.clear();
}

Category category_of(const TraceEvent& event) {
  struct Rule {
    std::string_view part;
    Category category;
  };

  // The names of Kineto's kernels and categories, and those of `orrery export`.
  static constexpr std::array<Rule, 25> kByName = {{
      {"AllReduce", Category::data_reduce},
      {"ReduceScatter", Category::data_reduce},
      {"AllGather", Category::data_gather},
      {"AllToAll", Category::expert},
      {"SendRecv", Category::pipeline},
      {"nccl", Category::collective},
      {"Memcpy", Category::copy},
      {"Memset", Category::copy},
      {"forward and backward", Category::backward},
      {"backward of the inputs", Category::input_gradient},
      {"backward of the weights", Category::weight_gradient},
      {"reduce gradients", Category::data_reduce},
      {"gather parameters", Category::data_gather},
      {"send ", Category::pipeline},
      {"optimizer", Category::optimizer},
      {"Optimizer", Category::optimizer},
      {"lost training", Category::lost},
      {"discarded training", Category::discarded},
      {"training", Category::training},
      {"checkpoint", Category::checkpoint},
      {"waiting for capacity", Category::waiting},
      {"detection", Category::detection},
      {"communicator init", Category::communicator},
      {"backward", Category::backward},
      {"forward", Category::forward},
  }};
  static constexpr std::array<Rule, 7> kByCategory = {{
      {"kernel", Category::kernel},
      {"gpu_memcpy", Category::copy},
      {"gpu_memset", Category::copy},
      {"cuda_runtime", Category::host},
      {"cuda_driver", Category::host},
      {"cpu_op", Category::host},
      {"python_function", Category::host},
  }};
  const bool on_host = event.category == "cuda_runtime" || event.category == "cuda_driver" ||
                       event.category == "cpu_op" || event.category == "python_function";
  if (!on_host) {
    for (const Rule& rule : kByName) {
      if (contains(event.name, rule.part)) {
        return rule.category;
      }
    }
  }
  for (const Rule& rule : kByCategory) {
    if (event.category == rule.part) {
      return rule.category;
    }
  }
  return Category::other;
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
  } else if (event.name == "process_sort_index" && event.argument_order) {
    builder_.set_order(process_row(event.process), *event.argument_order);
  } else if (event.name == "thread_sort_index" && event.argument_order) {
    builder_.set_order(thread_of(event.process, event.thread).row, *event.argument_order);
  }
}

void TraceEvents::add_slice(const TraceEvent& event) {
  const std::int64_t begin = from_start(*event.time);
  const std::int64_t end = begin + event.duration.value_or(0);
  last_ = std::max(last_, end);
  builder_.add(thread_of(event.process, event.thread).row,
               {begin, end, builder_.name(event.name), category_of(event)});
}

void TraceEvents::add_begin_or_end(const TraceEvent& event) {
  Thread& thread = thread_of(event.process, event.thread);
  const std::int64_t time = from_start(*event.time);
  if (event.phase == 'B') {
    thread.open.push_back({time, time, builder_.name(event.name), category_of(event)});
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
    std::stable_sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) {
      return a.time < b.time;
    });
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
    const auto name = thread_names_.find(key);
    if (name != thread_names_.end() && !name->second.empty()) {
      builder_.rename(thread.row, name->second);
    }
  }
  finish_counters();
  for (const auto& [process, row] : processes_) {
    const auto name = process_names_.find(process);
    if (name != process_names_.end() && !name->second.empty()) {
      builder_.rename(row, name->second);
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
