// `orrery schema`: what may a scenario file say?

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <memory>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::cli {

namespace {

struct SchemaOptions {
  bool reference = false;
  std::vector<std::filesystem::path> profiles;
  std::optional<std::string> output;
};

ExitCode print_schema(const SchemaOptions& options, const InterruptWatch&) {
  const scenario::PresetLibrary presets(evaluate::profile_search({}, options.profiles));
  std::string text =
      options.reference ? scenario::reference_markdown(presets) : scenario::json_schema(presets);
  if (!text.ends_with('\n')) {
    text += '\n';
  }
  deliver(text, options.output);
  return ExitCode::ok;
}

}  // namespace

void add_schema_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("schema", "JSON Schema (draft 7) of scenario files, or their reference");
  const auto options = std::make_shared<SchemaOptions>();
  command->add_flag("--reference", options->reference, "The reference page in Markdown instead");
  add_profiles_option(*command, options->profiles);
  add_output_option(*command, options->output);
  command->footer(
      "Example:\n"
      "  orrery schema -o docs/scenario.schema.json");
  act_on(*command, action, options, print_schema);
}

}  // namespace orrery::cli
