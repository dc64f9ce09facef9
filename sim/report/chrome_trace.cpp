#include "sim/report/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/report/trace_words.hpp"

namespace orrery::report {

namespace {

using schedule::Stream;
using schedule::TaskKind;
using step::Slice;

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;

// Text as a JSON string, quotes included.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Exact: 1234567 ns are 1234.567 us.
std::string in_trace_time(SimTime time) {
  const std::int64_t whole = time.ns / kNanosecondsPerMicrosecond;
  const std::int64_t rest = time.ns % kNanosecondsPerMicrosecond;
  return rest == 0 ? fmt::format("{}", whole) : fmt::format("{}.{:03}", whole, rest);
}

class TraceWriter {
 public:
  void name_process(std::int64_t pid, std::string_view name) {
    metadata("process_name", pid, 0, fmt::format("\"name\":{}", json_string(name)));
    metadata("process_sort_index", pid, 0, fmt::format("\"sort_index\":{}", pid));
  }

  void name_thread(std::int64_t pid, std::int64_t tid, std::string_view name) {
    metadata("thread_name", pid, tid, fmt::format("\"name\":{}", json_string(name)));
    metadata("thread_sort_index", pid, tid, fmt::format("\"sort_index\":{}", tid));
  }

  // `arguments` is the inside of a JSON object, may be empty.
  void slice(std::int64_t pid,
             std::int64_t tid,
             std::string_view name,
             SimTime start,
             SimTime end,
             std::string_view arguments) {
    next();
    append(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{{{}}}}})",
           pid,
           tid,
           in_trace_time(start),
           in_trace_time(end - start),
           json_string(name),
           arguments);
  }

  void instant(std::int64_t pid, std::int64_t tid, std::string_view name, SimTime at) {
    next();
    append(R"({{"ph":"i","pid":{},"tid":{},"ts":{},"s":"p","name":{}}})",
           pid,
           tid,
           in_trace_time(at),
           json_string(name));
  }

  [[nodiscard]] std::string finish(std::string_view title) {
    append("\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{{\"scenario\":{}}}}}\n",
           json_string(title));
    return fmt::to_string(buffer_);
  }

 private:
  template <typename... Values>
  void append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Values>(values)...);
  }

  void metadata(std::string_view kind,
                std::int64_t pid,
                std::int64_t tid,
                std::string_view arguments) {
    next();
    append(
        R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})", pid, tid, kind, arguments);
  }

  void next() {
    append("{}", first_ ? "{\"traceEvents\":[\n" : ",\n");
    first_ = false;
  }

  fmt::memory_buffer buffer_;
  bool first_ = true;
};

std::string slice_arguments(const schedule::StepTask& task) {
  std::string text;
  const auto add = [&text](std::string_view key, std::int64_t value) {
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", key, value);
  };
  if (has_micro_batch(task.kind)) {
    add("micro_batch", task.micro_batch);
  }
  if (task.chunk != schedule::kNone) {
    add("chunk", task.chunk);
  }
  if (task.bucket != schedule::kWholeChunk) {
    add("bucket", task.bucket);
  }
  if (task.kind == TaskKind::overlapped) {
    add("backward_micro_batch", task.backward_micro_batch);
    add("backward_chunk", task.backward_chunk);
  }
  return text;
}

// Messages may be in flight together: each slice goes to the first lane that is free.
class Lanes {
 public:
  std::size_t place(SimTime start, SimTime end) {
    for (std::size_t i = 0; i < free_at_.size(); ++i) {
      if (free_at_[i] <= start) {
        free_at_[i] = end;
        return i;
      }
    }
    free_at_.push_back(end);
    return free_at_.size() - 1;
  }

 private:
  std::vector<SimTime> free_at_;
};

// Slices of one device and stream, in order of their start.
std::vector<std::size_t> drawing_order(const std::vector<Slice>& slices) {
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&slices](std::size_t i) {
    const Slice& slice = slices[i];
    return std::tuple(slice.task.device, slice.task.stream, slice.start, slice.end);
  };
  std::stable_sort(
      order.begin(), order.end(), [&key](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

constexpr std::int64_t kLanesPerStream = 100;

std::string lane_name(Stream stream, std::size_t lane) {
  const std::string_view name = stream_name(stream);
  return lane == 0 ? std::string(name) : fmt::format("{} ({})", name, lane + 1);
}

}  // namespace

std::string step_chrome_trace(const Evaluation& evaluation) {
  TraceWriter trace;
  const std::vector<Slice>& slices = evaluation.step.slices;
  const auto devices =
      static_cast<std::int64_t>(std::max<std::size_t>(1, evaluation.step.stage_ledgers.size()));
  for (std::int64_t device = 0; device < devices; ++device) {
    trace.name_process(device, fmt::format("pipeline device {}", device));
  }
  Lanes lanes;
  std::size_t named_lanes = 0;
  const Slice* before = nullptr;
  for (const std::size_t i : drawing_order(slices)) {
    const Slice& slice = slices[i];
    const schedule::StepTask& task = slice.task;
    if (before == nullptr || before->task.device != task.device ||
        before->task.stream != task.stream) {
      lanes = {};
      named_lanes = 0;
    }
    before = &slice;
    const std::size_t lane = lanes.place(slice.start, slice.end);
    const auto stream = static_cast<std::int64_t>(task.stream);
    const std::int64_t tid = stream * kLanesPerStream + static_cast<std::int64_t>(lane);
    if (lane == named_lanes) {
      trace.name_thread(task.device, tid, lane_name(task.stream, lane));
      ++named_lanes;
    }
    trace.slice(task.device, tid, task_name(task), slice.start, slice.end, slice_arguments(task));
  }
  return trace.finish(evaluation.echo.name);
}

std::string run_chrome_trace(const Evaluation& evaluation) {
  ORRERY_CHECK(evaluation.plan.has_value(), "a trace of the run needs the plan of the run");
  constexpr std::int64_t kJob = 0;
  TraceWriter trace;
  trace.name_process(kJob, "job");
  for (std::size_t lane = 0; lane < kRunLaneNames.size(); ++lane) {
    trace.name_thread(kJob, static_cast<std::int64_t>(lane), kRunLaneNames[lane]);
  }
  const std::vector<run::PlannedCause>& causes = evaluation.plan->causes;
  for (const run::RunInterval& interval : evaluation.timeline.intervals()) {
    const auto tid = static_cast<std::int64_t>(lane_of(interval.kind));
    const auto cause = static_cast<std::size_t>(interval.cause);
    const bool has_cause = interval.cause >= 0 && cause < causes.size();
    if (interval.kind == run::RunActivity::failure) {
      trace.instant(kJob, tid, has_cause ? causes[cause].name : "failure", interval.begin);
      continue;
    }
    const std::string arguments =
        has_cause ? fmt::format("\"after\":{}", json_string(causes[cause].name)) : std::string();
    trace.slice(kJob, tid, run::to_string(interval.kind), interval.begin, interval.end, arguments);
  }
  return trace.finish(evaluation.echo.name);
}

}  // namespace orrery::report
