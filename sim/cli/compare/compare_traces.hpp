#pragma once

// `orrery compare SCENARIO TRACE...`: the predicted step beside the measured one. Part of the
// command compare; one screen, or JSON (orrery-comparison/1, kind "measured").

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/trace/measured_trace.hpp"
#include "sim/cli/frame/evaluating.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

// How to read traces.
struct TraceOptions {
  std::optional<std::string> marker;
  bool whole = false;
  std::vector<std::string> groups;  // NAME=AXIS
  std::optional<std::string> step;

  // Some option of traces was given.
  [[nodiscard]] bool any() const { return marker || whole || !groups.empty() || step; }
};

// --marker, --whole-trace, --group, --step
void add_trace_options(CLI::App& command, TraceOptions& options);

// What the options say; throws UsageError for a group without an axis.
[[nodiscard]] trace::MeasureOptions measure_options(const TraceOptions& options);

// Reads the files, with progress on a terminal. Problems go to stderr: then nothing. Throws
// Error(io) and Error(interrupted).
[[nodiscard]] std::optional<trace::GpuTraces> read_traces(const std::vector<std::string>& files,
                                                          const InterruptWatch& watch, bool quiet);

// The measured steps alone, as orrery-measured/1.
[[nodiscard]] std::string measured_json(const std::vector<std::string>& files,
                                        const trace::MeasuredTrace& measured,
                                        const trace::MeasuredMean& mean);

struct TraceComparison {
  std::string scenario;
  std::vector<std::string> traces;
  TraceOptions reading;
  std::vector<std::string> project;  // KEY=VALUE of another job
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  bool json = false;
};

[[nodiscard]] ExitCode compare_with_traces(const TraceComparison& comparison,
                                           const InterruptWatch& watch);

}  // namespace orrery::cli
