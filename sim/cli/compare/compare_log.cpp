#include "sim/cli/compare/compare_log.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/output_files.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/training_log.hpp"
#include "sim/report/files/difference.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/step_band.hpp"

namespace orrery::cli {

namespace {

using import_config::LoggedSteps;

struct Compared {
  Seconds predicted;
  double tokens = 0.0;  // of one step
  LoggedSteps measured;
  std::vector<report::LedgerRow> ledger;
  std::optional<report::StepBand> band;  // of the prediction

  [[nodiscard]] double error() const {
    return predicted / measured.median - 1.0;
  }

  // Whether the prediction lies within what the steps of the run vary by.
  [[nodiscard]] bool inside() const {
    return predicted >= measured.tenth && predicted <= measured.ninetieth;
  }

  // Whether the measured step is one that the prediction leaves room for.
  [[nodiscard]] bool in_band() const {
    return band && in_seconds(measured.median) >= band->low &&
           in_seconds(measured.median) <= band->high;
  }
};

Json band_json(const Compared& compared) {
  if (!compared.band) {
    return nullptr;
  }
  return {{"level", report::StepBand::kLevel},
          {"low_s", compared.band->low},
          {"high_s", compared.band->high},
          {"holds_measured", compared.in_band()}};
}

Json json_of(const LogComparison& asked, const Compared& compared) {
  return {{"schema", "orrery-comparison/1"},
          {"kind", "log"},
          {"first", asked.scenario},
          {"second", asked.log},
          {"predicted_step_time_s", compared.predicted},
          {"measured_step_time_s", compared.measured.median},
          {"measured_p10_s", compared.measured.tenth},
          {"measured_p90_s", compared.measured.ninetieth},
          {"measured_steps", compared.measured.count},
          {"error", compared.error()},
          {"inside", compared.inside()},
          {"band", band_json(compared)},
          {"tokens_per_step", compared.tokens},
          {"measured_tflops_per_gpu", compared.measured.tflops}};
}

std::string text_of(const LogComparison& asked, const Compared& compared) {
  const LoggedSteps& steps = compared.measured;
  const auto rate = [&compared](Seconds step) {
    return format_count(compared.tokens / in_seconds(step));
  };
  std::string text = fmt::format("{}: the step is predicted {} of what {} says\n",
                                 asked.scenario,
                                 signed_percent_cell(compared.error()),
                                 asked.log);
  text += fmt::format("  {:<28} {:>12} {:>12}\n", "", "predicted", "measured");
  text += fmt::format("  {:<28} {:>12} {:>12}\n",
                      "step time",
                      format_time(compared.predicted),
                      format_time(steps.median));
  text += fmt::format(
      "  {:<28} {:>12} {:>12}\n", "tokens/s", rate(compared.predicted), rate(steps.median));
  text += fmt::format(
      "measured: median of {} step{}, {} to {} from the 10th to the 90th percentile{}\n",
      steps.count,
      steps.count == 1 ? "" : "s",
      format_time(steps.tenth),
      format_time(steps.ninetieth),
      steps.tflops ? fmt::format("; {:.4g} TFLOP/s per GPU by its own count", *steps.tflops)
                   : std::string());
  text += compared.inside() ? "The prediction lies inside this spread.\n"
                            : "The prediction lies outside this spread.\n";
  if (compared.band) {
    text += fmt::format(
        "Eight of ten steps like this one lie within {} to {}: the measured one is {}.\n",
        format_time(seconds(compared.band->low)),
        format_time(seconds(compared.band->high)),
        compared.in_band() ? "one of them" : "not one of them");
  }
  text += "Where the predicted step goes\n";
  constexpr double kSmall = 0.005;
  for (const report::LedgerRow& row : compared.ledger) {
    if (row.share >= kSmall) {
      text += fmt::format("  {:<44} {:>9} {:>6.1f} %\n",
                          row.label,
                          format_time(compared.predicted * row.share),
                          kPercent * row.share);
    }
  }
  return text;
}

}  // namespace

bool is_training_log(const std::string& name) {
  std::error_code error;
  if (name == "-" || !std::filesystem::is_regular_file(name, error) || error ||
      std::filesystem::file_size(name, error) > import_config::kMostLogBytes) {
    return false;
  }
  const auto format = import_config::recognise(import_config::read_plain_text(name));
  return format && import_config::is_log(*format);
}

ExitCode compare_with_log(const LogComparison& asked, const InterruptWatch& watch) {
  const std::string text = import_config::read_plain_text(asked.log);
  const auto format = import_config::recognise(text);
  Diagnostics diagnostics;
  const auto steps =
      format ? import_config::steps_of_log(text, asked.log, *format, diagnostics) : std::nullopt;
  if (diagnostics.has_errors()) {
    message_block(to_string(diagnostics));
    return ExitCode::invalid;
  }
  if (!steps) {
    message(fmt::format("{}: holds no time of a step", asked.log));
    return ExitCode::invalid;
  }
  InputFile file = std::move(load_files({asked.scenario}, asked.evaluation).front());
  if (file.scenario) {
    check_not_read(asked.output, *file.scenario);
  }
  evaluate_file(file, asked.evaluation, {.levers = true}, watch);
  if (!file.evaluation) {
    return file.code;
  }
  const report::Figures answer = report::figures_of(*file.evaluation);
  const auto metric = [&answer](report::MetricId id) { return answer.value(id).value_or(0.0); };
  const double step = metric(report::MetricId::step_time);
  if (step <= 0.0) {
    message(fmt::format("{}: has no predicted step", asked.scenario));
    return ExitCode::invalid;
  }
  const Compared compared{seconds(step),
                          step * metric(report::MetricId::tokens_per_second),
                          *steps,
                          answer.step_ledger,
                          file.evaluation->band};
  deliver(asked.json ? json_text(json_of(asked, compared)) : text_of(asked, compared),
          asked.output);
  return ExitCode::ok;
}

}  // namespace orrery::cli
