#include "sim/cli/cli.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

#include "sim/answer/sweep/team.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/import_command.hpp"
#include "sim/cli/frame/external_command.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

constexpr std::string_view kSummary =
    "Orrery simulates a whole large-scale training run: will it fit, how long is a step and why,\n"
    "when does it finish, what does it cost, what is lost to failures.";

constexpr std::string_view kFooter = R"(Examples:
  orrery run llama3-405b-16k
  orrery run --json -o result.json llama3-70b-64h100
  orrery check --junit report.xml scenarios/*.yaml
  orrery sweep --vary capacity.spares=0:64:9 llama3-405b-16k
  orrery plan --objective cost -o best.yaml llama3-70b-64h100
  orrery explain mfu llama3-405b-16k
  orrery export --format chrome-trace -o step.json gpt3-175b-1024
  orrery import config.json ds_config.json --gpu h100-sxm-80gb --nodes 8 -o run.yaml
  orrery validate scenarios/published/measured_runs.yaml

Exit codes: 0 ok, 1 expectation failed, 2 usage, 3 scenario or data invalid, 4 does not fit in
memory (check), 5 device or profile missing, 6 input or output, 70 internal, 130 interrupted.)";

std::vector<std::string_view> command_names(const CLI::App& app,
                                            std::vector<std::string>& storage) {
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    storage.push_back(command->get_name());
  }
  return {storage.begin(), storage.end()};
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& names) {
  const std::string_view near = nearest_name(word, names);
  return near.empty() ? std::string() : fmt::format(", did you mean `{}`?", near);
}

// A first word that is no command gets the nearest one.
void check_command_word(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') {
    return;
  }
  std::vector<std::string> storage;
  const auto names = command_names(app, storage);
  const std::string_view word = argv[1];
  if (std::ranges::find(names, word) != names.end()) {
    return;
  }
  const std::string near = suggestion(word, names);
  throw UsageError(
      fmt::format("unknown command `{}`{}", word, near.empty() ? ", see orrery --help" : near));
}

// An argument that nobody wants; options get the nearest one.
std::string unexpected_argument(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) {
    return error.what();
  }
  std::vector<std::string> storage;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      storage.push_back("--" + name);
    }
  }
  const std::string word = rest.front().substr(0, rest.front().find('='));
  const bool is_option = word.starts_with("-");
  return fmt::format("unexpected {} `{}`{}", is_option ? "option" : "argument", word,
                     is_option ? suggestion(word, {storage.begin(), storage.end()}) : "");
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const auto chosen = app.get_subcommands();
  throw UsageError(fmt::format("{}{}", chosen.empty() ? "" : chosen.front()->get_name() + ": ",
                               extra ? unexpected_argument(app, error) : error.what()));
}

ExitCode dispatch(int argc, const char* const* argv, sweep::Team& team) {
  start_log_import(argc, argv);
  start_external_command(argc, argv);
  CLI::App app(std::string(kSummary), "orrery");
  Action action;
  app.set_version_flag("--version", "orrery " ORRERY_VERSION);
  app.require_subcommand(0, 1);
  add_run_command(app, action);
  add_check_command(app, action);
  add_explain_command(app, action);
  add_list_command(app, action);
  add_schema_command(app, action);
  add_export_command(app, action);
  add_validate_command(app, action);
  add_compare_command(app, action);
  add_import_command(app, action);
  add_sweep_command(app, action, team);
  add_plan_command(app, action, team);
  add_jobs_command(app, action);
  add_doctor_command(app, action);
  add_completion_command(app, action);
  add_man_command(app, action);
  for (const ExternalCommand& command : external_commands()) {
    app.add_subcommand(std::string(command.name), std::string(command.summary));
  }
  app.footer(std::string(kFooter));
  check_command_word(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    deliver(fmt::format("{}\n", version.what()), std::nullopt);
    return ExitCode::ok;
  } catch (const CLI::Success&) {
    deliver(app.help(), std::nullopt);
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
  if (!action) {
    message_block(app.help());
    return ExitCode::usage;
  }
  const CLI::App& chosen = *app.get_subcommands().front();
  return act(chosen, chosen.get_name(), action);
}

}  // namespace

int run_cli(int argc, const char* const* argv) {
  return run_guarded([argc, argv] {
    start_mpi_program(argc, argv);
    sweep::Team team;
    return dispatch(argc, argv, team);
  });
}

int run_cli(int argc, const char* const* argv, sweep::Team& team) {
  return run_guarded([argc, argv, &team] { return dispatch(argc, argv, team); });
}

}  // namespace orrery::cli
