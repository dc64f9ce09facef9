#include "sim/cli/compare/trace_export.hpp"

#include <fmt/core.h>

#include <CLI/Option.hpp>
#include <algorithm>

#include "sim/base/text/format.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/yaml/scalar.hpp"

namespace orrery::cli {

namespace {

SimTime parse_end(const std::string& text, const std::string& window, SimTime fallback) {
  if (text.empty()) {
    return fallback;
  }
  const yaml::Parsed<Seconds> parsed = yaml::parse_time(text);
  if (!parsed.value || *parsed.value < Seconds{}) {
    throw UsageError(
        fmt::format("export: --window {}: `{}` is no time (2s:3.5s, 10d:, :30min)", window, text));
  }
  return to_sim_time(*parsed.value);
}

std::string count(std::size_t number) {
  return format_integer(static_cast<std::int64_t>(number));
}

std::string time_text(SimTime time) {
  return format_time(to_seconds(time), {.trim = true});
}

}  // namespace

void add_trace_export_options(CLI::App& command, TraceExportOptions& options) {
  command
      .add_option("--window",
                  options.window,
                  "Traces: what overlaps this part of the time, e.g. 2s:3.5s, 10d:, :30min "
                  "(default: all of it)")
      ->type_name("FROM:TO");
  command
      .add_option("--max-slices",
                  options.max_slices,
                  "Traces: above so many slices short neighbours are drawn as one; 0 keeps all")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return text.starts_with('-') ? std::string("is below 0") : std::string();
      })
      ->type_name("N");
}

report::TraceWindow parse_window(const std::string& text) {
  report::TraceWindow window;
  if (text.empty()) {
    return window;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw UsageError(
        fmt::format("export: --window {} has no colon between its ends (2s:3.5s)", text));
  }
  window.from = parse_end(text.substr(0, colon), text, {});
  window.to = parse_end(text.substr(colon + 1), text, kForever);
  if (window.to <= window.from) {
    throw UsageError(fmt::format("export: --window {} is empty: it ends before it begins", text));
  }
  return window;
}

std::string trace_summary(const report::ChosenTrace& chosen,
                          std::string_view format,
                          std::size_t bytes_written) {
  const report::Trace& trace = chosen.trace;
  SimTime from = kForever;
  SimTime to;
  for (const report::TraceSlice& slice : trace.slices) {
    from = std::min(from, slice.begin);
    to = std::max(to, slice.end);
  }
  std::string text = fmt::format("{}, {}: {} slices, {} marks, {} samples, {} flows",
                                 format,
                                 format_bytes(bytes(static_cast<double>(bytes_written))),
                                 count(trace.slices.size()),
                                 count(trace.marks.size()),
                                 count(trace.samples.size()),
                                 count(trace.flows.size()));
  if (!trace.slices.empty()) {
    text += fmt::format(" from {} to {}", time_text(from), time_text(to));
  }
  if (chosen.outside > 0) {
    text += fmt::format("; {} slices are outside the window", count(chosen.outside));
  }
  if (chosen.merged > 0) {
    text += fmt::format(
        "; {} slices shorter than {} were merged with their neighbours (--max-slices 0 keeps all, "
        "--window FROM:TO shows a part)",
        count(chosen.merged),
        time_text(chosen.finest));
  }
  return text;
}

}  // namespace orrery::cli
