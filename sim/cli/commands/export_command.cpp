// `orrery export`: the evaluation for other programs, as traces, pictures, tables or JSON.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "sim/answer/report/export/chrome_trace.hpp"
#include "sim/answer/report/export/operation_trace.hpp"
#include "sim/answer/report/export/perfetto_trace.hpp"
#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/export/step_trace.hpp"
#include "sim/answer/report/export/trace_choice.hpp"
#include "sim/answer/report/files/flat_report.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/picture/step_picture.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/import_config/launch/launch_file.hpp"

namespace orrery::cli {

namespace {

// Options of `export` for traces: time window and number of slices, and a summary of the result.
// The trace itself is report/trace.hpp.

// A timeline in the browser stays quick with so many slices, and the file small (docs/exports.md).
constexpr std::size_t kUsualSlices = 200'000;

struct TraceExportOptions {
  std::string window;  // "2s:3.5s", either end may be left out; empty: all of it
  std::size_t max_slices = kUsualSlices;
};

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

std::string count(std::size_t number) { return format_integer(static_cast<std::int64_t>(number)); }

std::string time_text(SimTime time) { return format_time(to_seconds(time), {.trim = true}); }

// --window, --max-slices
void add_trace_export_options(CLI::App& command, TraceExportOptions& options) {
  command
      .add_option("--window", options.window,
                  "Traces: what overlaps this part of the time, e.g. 2s:3.5s, 10d:, :30min "
                  "(default: all of it)")
      ->type_name("FROM:TO");
  command
      .add_option("--max-slices", options.max_slices,
                  "Traces: above so many slices short neighbours are drawn as one; 0 keeps all")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return text.starts_with('-') ? std::string("is below 0") : std::string();
      })
      ->type_name("N");
}

// Throws UsageError.
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

// "perfetto, 1.20 MB: 12,345 slices, 16 marks, 800 samples, 600 flows from 0 s to 6.21 s" and,
// where it applies, what was left out and merged and how to get it.
std::string trace_summary(const report::ChosenTrace& chosen, std::string_view format,
                          std::size_t bytes_written) {
  const report::Trace& trace = chosen.trace;
  SimTime from = kForever;
  SimTime to;
  for (const report::TraceSlice& slice : trace.slices) {
    from = std::min(from, slice.begin);
    to = std::max(to, slice.end);
  }
  std::string text = fmt::format("{}, {}: {} slices, {} marks, {} samples, {} flows", format,
                                 format_bytes(bytes(static_cast<double>(bytes_written))),
                                 count(trace.slices.size()), count(trace.marks.size()),
                                 count(trace.samples.size()), count(trace.flows.size()));
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
        count(chosen.merged), time_text(chosen.finest));
  }
  return text;
}

using TableWriter = std::string (*)(const report::Evaluation&);
using TraceSource = report::Trace (*)(const report::Evaluation&);
using TraceWriter = std::string (*)(const report::Trace&);

// What can be written in which format; the first row of a format is its default. A table or picture
// comes from the evaluation, a trace goes through window and limit.
struct Export {
  std::string_view format;
  std::string_view what;
  TableWriter table = nullptr;
  TraceSource trace = nullptr;
  TraceWriter write_trace = nullptr;
};

std::string whole_json(const report::Evaluation& evaluation) { return report::to_json(evaluation); }

constexpr std::array<Export, 23> kExports = {{
    {"chrome-trace", "step", nullptr, report::step_trace, report::to_chrome_trace},
    {"chrome-trace", "run", nullptr, report::run_trace, report::to_chrome_trace},
    {"chrome-trace", "operations", nullptr, report::operation_trace, report::to_chrome_trace},
    {"perfetto", "step", nullptr, report::step_trace, report::to_perfetto_trace},
    {"perfetto", "run", nullptr, report::run_trace, report::to_perfetto_trace},
    {"perfetto", "operations", nullptr, report::operation_trace, report::to_perfetto_trace},
    {"csv", "metrics", report::metrics_csv},
    {"csv", "ledger", report::ledger_csv},
    {"csv", "memory", report::memory_csv},
    {"csv", "roofline", report::roofline_csv},
    {"csv", "failures", report::failures_csv},
    {"csv", "fabric", report::fabric_csv},
    {"jsonl", "metrics", report::metrics_lines},
    {"jsonl", "ledger", report::ledger_lines},
    {"jsonl", "memory", report::memory_lines},
    {"jsonl", "failures", report::failures_lines},
    {"jsonl", "step", nullptr, report::step_trace, report::to_json_lines},
    {"jsonl", "run", nullptr, report::run_trace, report::to_json_lines},
    {"jsonl", "operations", nullptr, report::operation_trace, report::to_json_lines},
    {"json", "all", whole_json},
    {"prometheus", "metrics", report::metrics_prometheus},
    {"svg", "step", report::step_svg},
    {"svg", "schedule", report::schedule_svg},
}};

struct ExportOptions {
  std::string file;
  std::string format;
  std::string what;
  std::string trial = "0";
  TraceExportOptions trace;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
};

const Export& find_export(const ExportOptions& options) {
  std::string known;
  for (const Export& candidate : kExports) {
    if (candidate.format != options.format) {
      continue;
    }
    if (options.what.empty() || candidate.what == options.what) {
      return candidate;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", candidate.what);
  }
  throw UsageError(fmt::format("export: --format {} has no --what {} (it has {})", options.format,
                               options.what, known));
}

// Why the wanted part is not in this evaluation; empty when it is.
std::string_view missing_part(const Export& wanted, const report::Evaluation& evaluation) {
  if ((wanted.what == "run" || wanted.what == "failures") && !evaluation.run) {
    return "there is no run to export: the scenario has no `training:`";
  }
  const bool shows_step = wanted.what == "step" || wanted.what == "schedule" ||
                          wanted.what == "operations" || wanted.what == "roofline" ||
                          wanted.what == "fabric";
  if (shows_step && evaluation.step.given) {
    return "there is no step to export: the scenario states its time";
  }
  return {};
}

std::string written(const Export& wanted, const report::Evaluation& evaluation,
                    const report::TraceWindow& window, const ExportOptions& options) {
  if (wanted.trace == nullptr) {
    const std::string sentence = wanted.what == "failures" ? hits_sentence(evaluation) : "";
    if (!options.evaluation.quiet && !sentence.empty()) {
      message(sentence);
    }
    return wanted.table(evaluation);
  }
  const report::ChosenTrace chosen =
      report::choose_trace(wanted.trace(evaluation), window, options.trace.max_slices);
  std::string data = wanted.write_trace(chosen.trace);
  if (!options.evaluation.quiet) {
    message(trace_summary(chosen, wanted.format, data.size()));
  }
  return data;
}

// The file with which another program runs the scenario; nothing is evaluated.
ExitCode export_launch_file(const ExportOptions& options, import_config::LaunchProgram program) {
  if (!options.what.empty()) {
    throw UsageError(fmt::format("export: --format {} has no --what", options.format));
  }
  InputFile file = load_files({options.file}, options.evaluation).front();
  if (!file.scenario) {
    return file.code;
  }
  check_not_read(options.output, *file.scenario);
  const auto text = import_config::launch_file(*file.scenario, program, file.diagnostics);
  message_block(to_string(file.diagnostics));
  if (!text) {
    return ExitCode::invalid;
  }
  deliver(*text, options.output);
  return ExitCode::ok;
}

ExitCode export_file(const ExportOptions& options, const InterruptWatch& watch) {
  if (const auto program = import_config::find_launch_program(options.format)) {
    return export_launch_file(options, *program);
  }
  const Export& wanted = find_export(options);
  const report::TraceWindow window = parse_window(options.trace.window);
  std::vector<InputFile> files = load_files({options.file}, options.evaluation);
  InputFile& file = files.front();
  if (file.scenario) {
    check_not_read(options.output, *file.scenario);
  }
  const bool operations =
      wanted.what == "operations" || wanted.what == "roofline" || wanted.what == "fabric";
  const bool timeline =
      wanted.trace != nullptr || wanted.format == "svg" || operations || wanted.what == "failures";
  const std::optional<double> place = options.trial == "slowest"  ? std::optional(0.0)
                                      : options.trial == "middle" ? std::optional(0.5)
                                                                  : std::nullopt;
  evaluate_file(
      file, options.evaluation,
      {.timelines = timeline,
       .ticks = wanted.what == "schedule",
       .timeline_trial = place ? 0U : static_cast<std::uint32_t>(std::stoul(options.trial)),
       .timeline_place = place,
       .operation_timeline = operations,
       .levers = wanted.format == "json"},
      watch);
  if (!file.evaluation) {
    return file.code;
  }
  if (!options.evaluation.quiet) {
    message_block(to_string(file.diagnostics));
  }
  const std::string_view missing = missing_part(wanted, *file.evaluation);
  if (!missing.empty()) {
    message(fmt::format("{}: {}", file.name, missing));
    return ExitCode::invalid;
  }
  watch.check();
  deliver(written(wanted, *file.evaluation, window, options), options.output);
  return ExitCode::ok;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "export", "Traces, pictures, tables and launch scripts for other programs");
  const auto options = std::make_shared<ExportOptions>();
  command
      ->add_option("SCENARIO", options->file, "Scenario: a file or a shipped name; - reads stdin")
      ->required();
  command
      ->add_option(
          "--format", options->format,
          "perfetto or chrome-trace (for ui.perfetto.dev), svg, csv, jsonl (JSON Lines), json, "
          "prometheus (text of its exporters); or a launch file: megatron (a script), "
          "megatron-bridge, nemo (YAML), torchtitan (TOML), "
          "deepspeed (JSON)")
      ->required()
      ->check(
          CLI::IsMember({"perfetto", "chrome-trace", "svg", "csv", "jsonl", "json", "prometheus",
                         "megatron", "megatron-bridge", "nemo", "torchtitan", "deepspeed"}))
      ->type_name("FORMAT");
  command
      ->add_option(
          "--what", options->what,
          "perfetto, chrome-trace: step (default), run, operations (what runs within the tasks of "
          "the step); svg: step (default), schedule (its order in ticks of a layer, without "
          "hardware); csv: metrics (default), ledger, memory, roofline, failures (of one trial, "
          "with "
          "the nodes that they hit), fabric (how far what is sent goes); jsonl: these but "
          "roofline and fabric, and step, run and operations as "
          "traces")
      ->type_name("PART");
  command
      ->add_option("--trial", options->trial,
                   "Trial of the run whose timeline or failures are written: its number (default "
                   "0), or the slowest or the middle one of the first 100")
      ->check([](const std::string& text) {
        const CLI::Validator number = count_between(0, std::numeric_limits<std::uint32_t>::max());
        return text == "slowest" || text == "middle" || number(text).empty()
                   ? std::string()
                   : fmt::format("`{}` is no trial (allowed: slowest, middle, 0 to {})", text,
                                 std::numeric_limits<std::uint32_t>::max());
      })
      ->type_name("N|slowest|middle");
  add_trace_export_options(*command, options->trace);
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  command->footer(
      "Examples:\n"
      "  orrery export --format perfetto -o step.pftrace gpt3-175b-1024\n"
      "  orrery export --format perfetto --what run --window 10d:12d -o run.pftrace \\\n"
      "    llama3-405b-whole-run\n"
      "  orrery export --format svg --what schedule -o picture.svg schedule-zb-v\n"
      "  orrery export --format csv --what ledger gpt3-175b-1024\n"
      "  orrery export --format csv --what failures --trial 3 llama3-405b-16k\n"
      "  orrery plan -o best.yaml run.yaml && orrery export --format megatron -o train.sh "
      "best.yaml");
  act_on(*command, action, options, export_file);
}

}  // namespace orrery::cli
