#pragma once

// Options of `export` for traces: time window and number of slices, and a summary of the result.
// The trace itself is report/trace.hpp.

#include <CLI/App.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "sim/report/export/trace_choice.hpp"

namespace orrery::cli {

// A timeline in the browser stays quick with so many slices, and the file small (docs/exports.md).
inline constexpr std::size_t kUsualSlices = 200'000;

struct TraceExportOptions {
  std::string window;  // "2s:3.5s", either end may be left out; empty: all of it
  std::size_t max_slices = kUsualSlices;
};

// --window, --max-slices
void add_trace_export_options(CLI::App& command, TraceExportOptions& options);

// Throws UsageError.
[[nodiscard]] report::TraceWindow parse_window(const std::string& text);

// "perfetto, 1.20 MB: 12,345 slices, 16 marks, 800 samples, 600 flows from 0 s to 6.21 s" and,
// where it applies, what was left out and merged and how to get it.
[[nodiscard]] std::string trace_summary(const report::ChosenTrace& chosen,
                                        std::string_view format,
                                        std::size_t bytes);

}  // namespace orrery::cli
