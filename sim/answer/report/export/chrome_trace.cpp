#include "sim/answer/report/export/chrome_trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "sim/base/text/json_text.hpp"

namespace orrery::report {

namespace {

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;

class ChromeWriter {
 public:
  explicit ChromeWriter(const Trace& trace) : trace_(trace) {
    names_.reserve(trace.names.size());
    for (const std::string& name : trace.names) {
      names_.push_back(json_line(Json(name)));
    }
  }

  std::string write() {
    append("{{\"traceEvents\":[");
    write_tracks();
    const FlowsBySlice flows = flows_by_slice(trace_);
    for (std::size_t i = 0; i < trace_.slices.size(); ++i) {
      write_slice(trace_.slices[i]);
      for (const FlowStep& step : flows.of(static_cast<SliceId>(i))) {
        write_flow(trace_.slices[i], step);
      }
    }
    for (const TraceMark& mark : trace_.marks) {
      next();
      append(R"({{"ph":"i",{},"ts":)", place(mark.track));
      append_time(mark.at);
      append(R"(,"s":"p","name":{})", names_[mark.name]);
      if (mark.arguments > 0) {
        write_arguments(mark);
      }
      append("}}");
    }
    for (const TraceSample& sample : trace_.samples) {
      write_sample(sample);
    }
    append("\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{{\"scenario\":{}}}}}\n",
           json_line(Json(trace_.title)));
    return fmt::to_string(buffer_);
  }

 private:
  template <typename... Values>
  void append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Values>(values)...);
  }

  void next() {
    append("{}", first_ ? "\n" : ",\n");
    first_ = false;
  }

  // Exact: 1234567 ns are 1234.567 us.
  void append_time(SimTime time) {
    const std::int64_t whole = time.ns / kNanosecondsPerMicrosecond;
    const std::int64_t rest = time.ns % kNanosecondsPerMicrosecond;
    if (rest == 0) {
      append("{}", whole);
    } else {
      append("{}.{:03}", whole, rest);
    }
  }

  // "pid":0,"tid":200 of every track, formatted once.
  const std::string& place(TrackId track) {
    if (places_.empty()) {
      for (TrackId i = 0; i < trace_.tracks.size(); ++i) {
        const TraceTrack& at = trace_.tracks[i];
        const std::int64_t thread = at.kind == TraceTrack::Kind::thread ? at.number : 0;
        places_.push_back(fmt::format(R"("pid":{},"tid":{})",
                                      trace_.tracks[trace_.process_of(i)].number, thread));
      }
    }
    return places_[track];
  }

  void metadata(std::string_view kind, TrackId track, std::string_view argument) {
    next();
    append(R"({{"ph":"M",{},"name":"{}","args":{{{}}}}})", place(track), kind, argument);
  }

  void write_tracks() {
    for (TrackId i = 0; i < trace_.tracks.size(); ++i) {
      const TraceTrack& track = trace_.tracks[i];
      if (track.kind == TraceTrack::Kind::counter) {
        continue;
      }
      const std::string_view kind = track.kind == TraceTrack::Kind::process ? "process" : "thread";
      metadata(fmt::format("{}_name", kind), i,
               fmt::format("\"name\":{}", json_line(Json(track.name))));
      metadata(fmt::format("{}_sort_index", kind), i,
               fmt::format("\"sort_index\":{}", track.number));
    }
  }

  void write_slice(const TraceSlice& slice) {
    next();
    append(R"({{"ph":"X",{},"ts":)", place(slice.track));
    append_time(slice.begin);
    append(R"(,"dur":)");
    append_time(slice.end - slice.begin);
    append(R"(,"name":{})", names_[slice.name]);
    if (!trace_.name(slice.category).empty()) {
      append(R"(,"cat":{})", names_[slice.category]);
    }
    write_arguments(slice);
    append("}}");
  }

  // Of a slice or mark.
  void write_arguments(const auto& part) {
    append(R"(,"args":{{)");
    const char* comma = "";
    for (const TraceArgument& argument : trace_.arguments_of(part)) {
      append("{}{}:", comma, names_[argument.key]);
      if (argument.is_word) {
        append("{}", names_[static_cast<std::size_t>(argument.value)]);
      } else {
        append("{}", argument.value);
      }
      comma = ",";
    }
    append("}}");
  }

  void write_flow(const TraceSlice& slice, const FlowStep& step) {
    next();
    const std::string_view phase = step.step == 0 ? "s" : step.last ? "f" : "t";
    append(R"({{"ph":"{}",{},"ts":)", phase, place(slice.track));
    append_time(slice.begin);
    append(R"(,"id":{},"cat":"flow","name":{}{}}})", step.flow + 1,
           names_[trace_.flows[step.flow].name], step.last ? R"(,"bp":"e")" : "");
  }

  void write_sample(const TraceSample& sample) {
    const TraceTrack& counter = trace_.tracks[sample.counter];
    next();
    append(R"({{"ph":"C",{},"ts":)", place(sample.counter));
    append_time(sample.at);
    append(R"(,"name":{},"args":{{{}:{}}}}})", json_line(Json(counter.name)),
           json_line(Json(counter.unit)), std::isfinite(sample.value) ? sample.value : 0.0);
  }

  const Trace& trace_;
  std::vector<std::string> names_;  // as JSON strings
  std::vector<std::string> places_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

}  // namespace

std::string to_chrome_trace(const Trace& trace) { return ChromeWriter(trace).write(); }

}  // namespace orrery::report
