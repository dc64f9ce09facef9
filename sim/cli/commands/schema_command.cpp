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
  std::vector<std::string> profiles;
  std::optional<std::string> output;
};

ExitCode print_schema(const SchemaOptions& options) {
  const scenario::PresetLibrary presets(
      evaluate::profile_search({}, {options.profiles.begin(), options.profiles.end()}));
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
  command->add_option("--profiles", options->profiles, "Directory with presets, searched first")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR")
      ->allow_extra_args(false);
  add_output_option(*command, options->output);
  command->footer(
      "Example:\n"
      "  orrery schema -o docs/scenario.schema.json");
  command->callback([options, &action] {
    action = [options](InterruptWatch&) { return print_schema(*options); };
  });
}

}  // namespace orrery::cli
