// `orrery validate`: how far are predictions from published measurements?

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <filesystem>
#include <memory>

#include "sim/answer/report/metrics.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/validate/measured/layout_groups.hpp"
#include "sim/validate/output/write_validation.hpp"
#include "sim/validate/validate.hpp"

namespace orrery::cli {

namespace {

struct CommandOptions {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> profiles;
  std::optional<std::string> explain;
  std::string metric = "step_time";
  std::optional<std::string> output;
  int threads = 0;
  bool rows = false;
  bool json = false;
  bool markdown = false;
  bool layouts = false;
  bool yaml = false;
  bool evidence = false;
  bool tuned = false;
  bool unstated = false;
};

// The text to deliver, or nothing after problems in the data.
std::optional<std::string> answer(const CommandOptions& options, Diagnostics& diagnostics) {
  const std::vector<std::filesystem::path>& files = options.files;
  const validate::ValidateOptions settings{
      .profiles = options.profiles,
      .threads = options.threads,
      .unstated = options.unstated,
      .both = !options.json && !options.evidence && !options.unstated};
  if (options.explain) {
    const auto text =
        validate::explain_row(files, *options.explain, options.metric, settings, diagnostics);
    return text ? std::optional(report::wrap_lines(*text)) : std::nullopt;
  }
  if (options.layouts) {
    const auto groups = validate::layout_groups(files, settings, diagnostics);
    if (!groups) {
      return std::nullopt;
    }
    const plan::LayoutErrors errors = validate::layout_errors(*groups, files);
    if (options.yaml) {
      return plan::to_yaml(errors);
    }
    const auto tuned = options.tuned ? validate::tuned_layouts(files, settings, diagnostics)
                                     : std::optional(std::vector<validate::TunedLayout>());
    return tuned ? std::optional(validate::to_markdown(*groups, errors) +
                                 validate::to_markdown(*tuned))
                 : std::nullopt;
  }
  const auto validation = validate::validate_files(files, settings, diagnostics);
  if (!validation) {
    return std::nullopt;
  }
  if (options.evidence) {
    return evaluate::to_csv(validate::evidence_of(*validation));
  }
  if (options.json) {
    return validate::to_json(*validation);
  }
  return options.markdown ? validate::to_markdown(*validation)
                          : validate::to_text(*validation, {.rows = options.rows});
}

ExitCode validate_data(const CommandOptions& options, const InterruptWatch& watch) {
  if (report::find_metric(options.metric) == nullptr) {
    throw UsageError("validate: unknown metric `" + options.metric +
                     "` (orrery list metrics shows all)");
  }
  Diagnostics diagnostics;
  const std::optional<std::string> text = answer(options, diagnostics);
  message_block(to_string(diagnostics));
  if (!text) {
    return ExitCode::invalid;
  }
  watch.check();
  deliver(*text, options.output);
  return ExitCode::ok;
}

}  // namespace

void add_validate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate", "Compare predictions with published measurements");
  command->footer(
      "validate --hardware PROFILE: compare a calibration profile with training steps on "
      "this GPU;\n`orrery validate --hardware PROFILE --help` says how.");
  const auto options = std::make_shared<CommandOptions>();
  command->add_option("FILE", options->files, "Data sets, such as scenarios/published/*.yaml")
      ->required();
  auto* json = command->add_flag("--json", options->json, "orrery-validation/1");
  auto* markdown = command->add_flag("--markdown", options->markdown, "The page docs/accuracy.md")
                       ->excludes(json);
  command->add_flag("--rows", options->rows, "Every row, not only the statistics")
      ->excludes(json)
      ->excludes(markdown);
  command->add_flag("--unstated", options->unstated,
                    "Measured runs as a person would state them: model, machine, layout, batch, "
                    "precision, recomputation and the stack's name, none of its switches");
  command->add_option("--explain", options->explain, "Explain the prediction of one measured run")
      ->type_name("ID")
      ->excludes(json)
      ->excludes(markdown);
  command
      ->add_flag("--evidence", options->evidence,
                 "The measured steps with their errors, as the bands of step times read them")
      ->excludes(json)
      ->excludes(markdown);
  auto* layouts = command
                      ->add_flag("--layouts", options->layouts,
                                 "Judge the choice among layouts that were measured side by side")
                      ->excludes(json);
  command
      ->add_flag("--yaml", options->yaml,
                 "With --layouts: the errors by difference, as the plan reads them")
      ->needs(layouts);
  command
      ->add_flag("--tuned", options->tuned,
                 "With --layouts: also search beside the layouts that a team tuned, in minutes")
      ->needs(layouts);
  command->add_option("--metric", options->metric, "What --explain explains")
      ->capture_default_str()
      ->type_name("METRIC");
  command->add_option("--threads", options->threads, "Threads, 0 for all cores")
      ->check(count_between(0, 4096));
  add_profiles_option(*command, options->profiles);
  add_output_option(*command, options->output);
  act_on(*command, action, options, validate_data);
}

}  // namespace orrery::cli
