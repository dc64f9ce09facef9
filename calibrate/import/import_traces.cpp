#include "calibrate/import/import_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "calibrate/import/trace_samples.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/evaluate/compare/compare_measured.hpp"
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

cli::ExitCode import_traces(const TraceImport& asked, const cli::InterruptWatch& watch) {
  const trace::MeasureOptions options = cli::measure_options(asked.reading);
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

namespace {

std::string samples_text(const TraceSamples& found) {
  Seconds all = found.taken;
  for (const auto& [reason, time] : found.left_out) {
    all += time;
  }
  std::string text = fmt::format("{} calls of {} cases on {}: {:.1f} % of the time of kernels\n",
                                 found.calls,
                                 found.samples.size(),
                                 found.machine.gpu,
                                 100.0 * (found.taken / all));
  for (const auto& [reason, time] : found.left_out) {
    text += fmt::format("  left out {:>5.1f} %: {}\n", 100.0 * (time / all), reason);
  }
  return text;
}

}  // namespace

cli::ExitCode import_samples(const SampleImport& asked) {
  if (asked.files.size() != 1) {
    throw cli::UsageError("import: --as-samples takes one trace: that of one rank");
  }
  if (!asked.output) {
    throw cli::UsageError("import: --as-samples: say where the samples go: -o FILE");
  }
  const std::string& file = asked.files.front();
  const TraceSamples found = read_trace_samples(file, asked.taken_at);
  if (!found.problem.empty()) {
    cli::message(fmt::format("{}: {}", file, found.problem));
    return cli::ExitCode::invalid;
  }
  if (found.samples.empty()) {
    cli::message(fmt::format("{}: no kernel can become a sample", file));
    cli::message_block(samples_text(found));
    return cli::ExitCode::invalid;
  }
  if (std::filesystem::exists(*asked.output)) {
    throw Error(ErrorKind::io,
                fmt::format("{} is there already: samples of a trace are not added to others",
                            *asked.output));
  }
  calibrate::SampleJournal journal(*asked.output, found.machine);
  for (const calibrate::Sample& sample : found.samples) {
    journal.append(sample);
  }
  journal.close();
  cli::deliver(samples_text(found) +
                   fmt::format("orrery calibrate --samples {} -o PROFILE makes a profile of them\n",
                               *asked.output),
               std::nullopt);
  return cli::ExitCode::ok;
}

}  // namespace orrery::calibration_import
