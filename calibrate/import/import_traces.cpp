#include "calibrate/import/import_traces.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/file.hpp"
#include "sim/cli/cli.hpp"
#include "sim/cli/output.hpp"
#include "sim/evaluate/compare_measured.hpp"
#include "sim/trace/event_reader.hpp"

namespace orrery::calibration_import {

bool are_traces(const std::vector<std::string>& files) {
  const auto other = std::find_if_not(files.begin(), files.end(), trace::is_trace_file);
  if (other == files.end()) {
    return true;
  }
  if (std::any_of(files.begin(), files.end(), trace::is_trace_file)) {
    throw cli::UsageError(
        fmt::format("import: {} is no trace; import traces by themselves", *other));
  }
  return false;
}

cli::ExitCode import_traces(const TraceImport& asked) {
  const trace::MeasureOptions options = cli::measure_options(asked.reading);
  const cli::InterruptWatch watch;
  const auto traces = cli::read_traces(asked.files, watch, false);
  if (!traces) {
    return cli::ExitCode::invalid;
  }
  const trace::MeasuredTrace measured = trace::measure(*traces, options);
  const auto mean = trace::mean_of(measured, asked.reading.step);
  if (!mean) {
    cli::message(measured.problem.empty()
                     ? fmt::format("import: the traces have no step {}; they have {}",
                                   asked.reading.step.value_or(""),
                                   fmt::join(measured.step_names(), ", "))
                     : measured.problem);
    return cli::ExitCode::invalid;
  }
  watch.check();
  if (asked.output) {
    write_file_atomically(*asked.output, evaluate::measured_lines(*mean));
  }
  cli::deliver(asked.json ? cli::measured_json(asked.files, measured, *mean)
                          : evaluate::measured_text(measured, *mean),
               std::nullopt);
  return cli::ExitCode::ok;
}

}  // namespace orrery::calibration_import
