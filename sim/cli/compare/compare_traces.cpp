#include "sim/cli/compare/compare_traces.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <cmath>

#include "sim/answer/evaluate/compare/compare_measured.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/frame/progress.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::cli {

namespace {

Json rows_json(const std::vector<evaluate::MeasuredRow>& rows) {
  return json_list(rows, [](const evaluate::MeasuredRow& row) {
    return Json{{"category", row.key},
                {"predicted_s", row.predicted},
                {"measured_s", row.measured},
                {"difference_s", row.difference()}};
  });
}

Json operations_json(const trace::MeasuredMean& mean) {
  return json_list(mean.operations, [](const trace::OperationMean& one) {
    return Json{{"axis", to_string(one.axis)},
                {"operation", to_string(one.operation)},
                {"count", one.count},
                {"busy_s", one.busy},
                {"hidden_s", one.hidden}};
  });
}

Json step_json(const trace::MeasuredStep& step) {
  Json ledger = Json::object();
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    const auto category = static_cast<step::StepCategory>(c);
    ledger[std::string(to_string(category)) + "_s"] = step.ledger.gpu_time(category);
  }
  return {{"name", step.name},
          {"step_time_s", step.ledger.total_gpu_time()},
          {"ledger", std::move(ledger)}};
}

Json rank_json(const trace::MeasuredRank& rank) {
  return {{"file", rank.file},
          {"label", rank.label},
          {"rank", rank.rank},
          {"steps", json_list(rank.steps, step_json)}};
}

Json unknown_json(const trace::UnknownKernel& kernel) {
  return {{"kernel", kernel.name},
          {"count", kernel.count},
          {"time_s", to_seconds(SimTime{kernel.time})},
          {"share", kernel.share}};
}

Json projection_json(const TraceComparison& asked,
                     const std::optional<evaluate::Projection>& projection) {
  if (!projection) {
    return nullptr;
  }
  return {{"changes", asked.project},
          {"gpus", projection->gpus},
          {"feasible", projection->feasible},
          {"predicted_step_s", projection->predicted},
          {"projected_step_s", projection->projected},
          {"tokens_per_second", projection->tokens_per_second},
          {"share_by_model", projection->by_model},
          {"step_ledger", json_list(projection->rows, [](const evaluate::ProjectedRow& row) {
             return Json{{"category", row.key},
                         {"predicted_s", row.predicted},
                         {"factor", row.factor},
                         {"measured", row.measured},
                         {"projected_s", row.projected()}};
           })}};
}

InputFile load_asked(const TraceComparison& asked, const EvaluationOptions& options) {
  if (!asked.text) {
    return std::move(load_files({asked.scenario}, options).front());
  }
  InputFile file;
  file.name = asked.scenario;
  if (const auto set = with_settings(*asked.text, file.name, options, file.diagnostics)) {
    file.scenario =
        scenario::load_text(*set, file.name, file.diagnostics, search_for(file.name, options));
  }
  if (!file.scenario) {
    message_block(to_string(file.diagnostics));
    file.code = ExitCode::invalid;
  }
  return file;
}

// The job with the keys of --project; nothing, and a message, where it cannot be.
std::optional<evaluate::Projection> projection_of(const TraceComparison& asked,
                                                  const evaluate::MeasuredComparison& here,
                                                  const InterruptWatch& watch, ExitCode& code) {
  EvaluationOptions options = asked.evaluation;
  options.settings.insert(options.settings.end(), asked.project.begin(), asked.project.end());
  InputFile file = load_asked(asked, options);
  evaluate_file(file, options, {.levers = false}, watch);
  if (!file.evaluation) {
    code = file.code;
    return std::nullopt;
  }
  return evaluate::project_measured(here, *file.evaluation);
}

std::string comparison_json(const TraceComparison& asked,
                            const evaluate::MeasuredComparison& comparison,
                            const std::optional<evaluate::Projection>& projection,
                            const trace::MeasuredTrace& measured) {
  Json notes = comparison.notes;
  for (const std::string& note : measured.notes) {
    notes.push_back(note);
  }
  const trace::MeasuredMean& mean = comparison.measured;
  return json_text({{"schema", "orrery-comparison/1"},
                    {"kind", "measured"},
                    {"scenario", asked.scenario},
                    {"traces", asked.traces},
                    {"predicted_step_s", comparison.predicted_step},
                    {"measured_step_s", mean.step_time},
                    {"measured_median_s", mean.median},
                    {"measured_steps", mean.steps},
                    {"relative_error", comparison.error},
                    {"verdict", comparison.verdict},
                    {"step_ledger", rows_json(comparison.ledger)},
                    {"kernels", rows_json(comparison.kernels)},
                    {"communication", operations_json(mean)},
                    {"unknown_kernels", json_list(measured.unknown, unknown_json)},
                    {"ranks", json_list(measured.ranks, rank_json)},
                    {"projection", projection_json(asked, projection)},
                    {"notes", std::move(notes)}});
}

}  // namespace

std::string measured_json(const std::vector<std::string>& files,
                          const trace::MeasuredTrace& measured, const trace::MeasuredMean& mean) {
  Json ledger = Json::array();
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    ledger.push_back(
        {{"category", step::kStepCategoryNames[c]}, {"measured_s", mean.categories[c]}});
  }
  Json kernels = Json::array();
  for (std::size_t w = 0; w < trace::kWorks; ++w) {
    kernels.push_back({{"kind", trace::kWorkNames[w]}, {"measured_s", mean.work[w]}});
  }
  return json_text({{"schema", "orrery-measured/1"},
                    {"traces", files},
                    {"measured_step_s", mean.step_time},
                    {"measured_median_s", mean.median},
                    {"measured_steps", mean.steps},
                    {"step_ledger", std::move(ledger)},
                    {"kernels", std::move(kernels)},
                    {"communication", operations_json(mean)},
                    {"unknown_kernels", json_list(measured.unknown, unknown_json)},
                    {"ranks", json_list(measured.ranks, rank_json)},
                    {"notes", measured.notes}});
}

void add_trace_options(CLI::App& command, TraceOptions& options) {
  command
      .add_option("--marker", options.marker,
                  "Traces: annotations or kernels with this text begin a step (default: "
                  "ProfilerStep#, else the optimizer)")
      ->type_name("TEXT");
  command.add_flag("--whole-trace", options.whole, "Traces: each is one step");
  command
      .add_option("--group", options.groups,
                  "Traces: the axis of a communication group: NAME=tensor, context, expert, "
                  "pipeline or data")
      ->type_name("NAME=AXIS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--step", options.step, "Traces: one step, by its name or number (default: all)")
      ->type_name("STEP");
}

trace::MeasureOptions measure_options(const TraceOptions& options) {
  trace::MeasureOptions out;
  out.search = {options.marker, options.whole};
  for (const std::string& group : options.groups) {
    const std::size_t equals = group.rfind('=');
    const auto axis = equals == std::string::npos
                          ? std::nullopt
                          : trace::axis_named(std::string_view(group).substr(equals + 1));
    if (!axis || equals == 0) {
      throw UsageError(fmt::format(
          "--group {}: say NAME=AXIS, the axis being tensor, context, expert, pipeline or data",
          group));
    }
    out.groups.push_back({group.substr(0, equals), *axis});
  }
  return out;
}

std::optional<trace::GpuTraces> read_traces(const std::vector<std::string>& files,
                                            const InterruptWatch& watch, bool quiet) {
  constexpr std::int64_t kHundred = 100;
  ProgressLine line("reading traces", !quiet, "%");
  trace::GpuTraces traces;
  for (const std::string& file : files) {
    trace::ReadLimits limits;
    limits.stop = watch.token();
    const auto done = static_cast<double>(traces.size());
    limits.progress = [&](double share) {
      const double all = (done + share) / static_cast<double>(files.size());
      line.update(std::llround(all * static_cast<double>(kHundred)), kHundred);
    };
    trace::GpuReading reading = trace::read_gpu_trace(file, limits);
    stop_point(watch.token());
    if (!reading.problem.empty()) {
      message(reading.problem);
      return std::nullopt;
    }
    traces.push_back(std::move(reading.trace));
  }
  return traces;
}

ExitCode compare_with_traces(const TraceComparison& asked, const InterruptWatch& watch) {
  static_cast<void>(measure_options(asked.reading));  // what is wrong with it, before the reading
  const auto traces = read_traces(asked.traces, watch, asked.evaluation.quiet);
  return traces ? compare_with_traces(asked, *traces, watch) : ExitCode::invalid;
}

ExitCode compare_with_traces(const TraceComparison& asked, const trace::GpuTraces& traces,
                             const InterruptWatch& watch) {
  trace::MeasureOptions options = measure_options(asked.reading);
  InputFile file = load_asked(asked, asked.evaluation);
  if (file.scenario) {
    check_not_read(asked.output, *file.scenario);
  }
  evaluate_file(file, asked.evaluation, {.operations = true, .levers = false}, watch);
  if (!file.evaluation) {
    return file.code;
  }
  options.degrees = evaluate::degrees_of(*file.evaluation);
  const trace::MeasuredTrace measured = trace::measure(traces, options);
  const auto comparison =
      measured.problem.empty()
          ? evaluate::compare_measured(*file.evaluation, measured, asked.reading.step)
          : std::nullopt;
  if (!comparison) {
    const std::vector<std::string> names = measured.step_names();
    message(!measured.problem.empty()
                ? measured.problem
                : fmt::format("the traces have no step {}; they have {}",
                              asked.reading.step.value_or(""), fmt::join(names, ", ")));
    return ExitCode::invalid;
  }
  std::optional<evaluate::Projection> projection;
  if (!asked.project.empty()) {
    ExitCode code = ExitCode::ok;
    projection = projection_of(asked, *comparison, watch, code);
    if (!projection) {
      return code;
    }
  }
  watch.check();
  const std::string projected =
      projection ? evaluate::projection_text(*projection, asked.project) : std::string();
  deliver(asked.json ? comparison_json(asked, *comparison, projection, measured)
                     : evaluate::measured_comparison_text(*comparison, measured) + projected,
          asked.output);
  return ExitCode::ok;
}

}  // namespace orrery::cli
