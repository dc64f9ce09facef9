#include "gui/timeline/chrome/chrome_reader.hpp"

#include <fmt/format.h>

#include "gui/timeline/chrome/chrome_events.hpp"
#include "sim/base/text/format.hpp"
#include "sim/trace/event_reader.hpp"
#include "sim/trace/gpu_activity.hpp"

namespace orrery::timeline {

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
