#include "sim/cli/compare/compare_log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/logs/training_log.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::cli {

namespace {

using import_config::LoggedSteps;

// What the log says of its job, and the scenario says otherwise.
struct Difference {
  std::string key;
  std::string logged;
  std::string stated;
};

struct Compared {
  Seconds predicted;
  double tokens = 0.0;  // of one step
  std::vector<Difference> differences;
  LoggedSteps measured;
  std::vector<report::LedgerRow> ledger;
  std::optional<report::StepBand> band;  // of the prediction

  [[nodiscard]] double error() const { return predicted / measured.median - 1.0; }

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

Json slower_json(const LoggedSteps& steps) {
  if (!steps.slower) {
    return nullptr;
  }
  return {{"from_step", steps.slower->from},
          {"line", steps.slower->line},
          {"before_s", steps.slower->before},
          {"since_s", steps.slower->since}};
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
          {"slower", slower_json(compared.measured)},
          {"error", compared.error()},
          {"inside", compared.inside()},
          {"band", band_json(compared)},
          {"tokens_per_step", compared.tokens},
          {"measured_tokens_per_second", compared.measured.tokens_per_second},
          {"differences",
           json_list(compared.differences,
                     [](const Difference& one) {
                       return Json{{"key", one.key}, {"log", one.logged}, {"scenario", one.stated}};
                     })},
          {"measured_tflops_per_gpu", compared.measured.tflops}};
}

std::string text_of(const LogComparison& asked, const Compared& compared) {
  const LoggedSteps& steps = compared.measured;
  // Those of another job are not the tokens of this one.
  const std::optional<double> measured_rate =
      steps.tokens_per_second || !compared.differences.empty()
          ? steps.tokens_per_second
          : std::optional(compared.tokens / in_seconds(steps.median));
  std::string text;
  for (const Difference& one : compared.differences) {
    text += fmt::format("{}{} {}, not {}",
                        text.empty() ? fmt::format("NOT THE SAME JOB: {} says ", asked.log) : "; ",
                        one.key, one.logged, one.stated);
  }
  text += text.empty() ? "" : "\n";
  text += fmt::format("{}: the step is predicted {} of what {} says\n", asked.scenario,
                      signed_percent_cell(compared.error()), asked.log);
  text += fmt::format("  {:<28} {:>12} {:>12}\n", "", "predicted", "measured");
  text += fmt::format("  {:<28} {:>12} {:>12}\n", "step time", format_time(compared.predicted),
                      format_time(steps.median));
  text += fmt::format("  {:<28} {:>12} {:>12}\n", "tokens/s",
                      format_count(compared.tokens / in_seconds(compared.predicted)),
                      measured_rate ? format_count(*measured_rate) : "-");
  text += fmt::format(
      "measured: median of {} step{}, {} to {} from the 10th to the 90th percentile{}\n",
      steps.count, steps.count == 1 ? "" : "s", format_time(steps.tenth),
      format_time(steps.ninetieth),
      steps.tflops ? fmt::format("; {:.4g} TFLOP/s per GPU by its own count", *steps.tflops)
                   : std::string());
  if (steps.untimed.count > 0) {
    text += fmt::format("{}:{}: {}\n", asked.log, steps.untimed.first, said_of(steps.untimed));
  }
  if (steps.dates) {
    text += fmt::format("The dates of the steps say {} a step.\n", format_time(*steps.dates));
  }
  if (steps.slower) {
    text += fmt::format("From step {} on ({}:{}) they are {} slower: {}, after {} before.\n",
                        steps.slower->from, asked.log, steps.slower->line,
                        percent_cell(steps.slower->since / steps.slower->before - 1.0),
                        format_time(steps.slower->since), format_time(steps.slower->before));
  }
  text += compared.inside() ? "The prediction lies inside this spread.\n"
                            : "The prediction lies outside this spread.\n";
  if (compared.band) {
    text += fmt::format(
        "Eight of ten steps like this one lie within {} to {}: the measured one is {}.\n",
        format_time(seconds(compared.band->low)), format_time(seconds(compared.band->high)),
        compared.in_band() ? "one of them" : "not one of them");
  }
  text += "Where the predicted step goes\n";
  constexpr double kSmall = 0.005;
  for (const report::LedgerRow& row : compared.ledger) {
    if (row.share >= kSmall) {
      text += fmt::format("  {:<44} {:>9} {:>6.1f} %\n", row.label,
                          format_time(compared.predicted * row.share), kPercent * row.share);
    }
  }
  return text;
}

}  // namespace

namespace {

// Numbers as numbers: 8 and 8.0 are one value.
bool is_same(const std::string& one, const std::string& other) {
  char* end = nullptr;
  char* other_end = nullptr;
  const double a = std::strtod(one.c_str(), &end);
  const double b = std::strtod(other.c_str(), &other_end);
  const bool numbers =
      end != one.c_str() && *end == '\0' && other_end != other.c_str() && *other_end == '\0';
  return numbers ? a == b : one == other;
}

using Said = std::vector<import_config::ImportedSetting>;

std::vector<Difference> differences_of(const Said& log, const scenario::Scenario& scenario,
                                       std::int64_t gpus) {
  constexpr std::array<std::string_view, 10> kKeys = {
      "model.num_layers", "model.hidden_size", "model.sequence_length", "model.moe.num_experts",
      "layout.tensor",    "layout.pipeline",   "layout.context",        "layout.expert",
      "batch.global",     "precision.compute"};
  std::vector<Difference> found;
  for (const import_config::ImportedSetting& said : log) {
    const bool known = std::ranges::find(kKeys, said.path) != kKeys.end();
    if (said.path == "cluster.gpu") {
      found.push_back({"GPU", said.value, scenario::value_of(scenario, said.path).value_or("")});
    } else if (said.path == "cluster.gpus" && said.value != std::to_string(gpus)) {
      found.push_back({"GPUs", said.value, std::to_string(gpus)});
    } else if (const auto stated = known ? scenario::value_of(scenario, said.path) : std::nullopt;
               stated && !is_same(*stated, said.value)) {
      found.push_back({said.path, said.value, *stated});
    }
  }
  return found;
}

// Of a step, as the log says them.
double logged_tokens(const Said& log) {
  const auto count = [&log](std::string_view path) {
    const auto said =
        std::ranges::find_if(log, [path](const auto& setting) { return setting.path == path; });
    return said == log.end() ? 0.0 : std::strtod(said->value.c_str(), nullptr);
  };
  return count("batch.global") * count("model.sequence_length");
}

}  // namespace

bool is_training_log(const std::string& name) {
  std::error_code error;
  if (name == "-" || !std::filesystem::is_regular_file(name, error) || error) {
    return false;
  }
  const auto format = import_config::recognise(import_config::read_plain_text(name));
  return format && import_config::is_log(*format);
}

ExitCode compare_with_log(const LogComparison& asked, const InterruptWatch& watch) {
  Diagnostics diagnostics;
  const auto log = import_config::read_config_file(asked.log, diagnostics);
  if (!log) {
    message_block(to_string(diagnostics));
    return ExitCode::invalid;
  }
  InputFile file = std::move(load_files({asked.scenario}, asked.evaluation).front());
  if (file.scenario) {
    check_not_read(asked.output, *file.scenario);
  }
  evaluate_file(file, asked.evaluation, {}, watch);
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
  const double tokens = step * metric(report::MetricId::tokens_per_second);
  const auto length = static_cast<double>(file.scenario->model.sequence_length);
  const std::int64_t gpus = file.evaluation->step.gpus;
  std::string why;
  auto steps = import_config::steps_of_log(
      *log, {tokens / length, length, static_cast<double>(gpus)}, diagnostics, &why);
  if (!steps) {
    message_block(diagnostics.has_errors() ? to_string(diagnostics)
                                           : fmt::format("{}: {}\n", asked.log, why));
    return ExitCode::invalid;
  }
  const Said said = import_config::said_by_log(
      *log, scenario::value_of(*file.scenario, "cluster.gpu").value_or(""));
  if (const double logged = logged_tokens(said); !steps->tokens_per_second && logged > 0.0) {
    steps->tokens_per_second = logged / in_seconds(steps->median);
  }
  const Compared compared{seconds(step),
                          tokens,
                          differences_of(said, *file.scenario, gpus),
                          *steps,
                          answer.step_ledger,
                          file.evaluation->band};
  deliver(asked.json ? json_text(json_of(asked, compared)) : text_of(asked, compared),
          asked.output);
  return ExitCode::ok;
}

}  // namespace orrery::cli
