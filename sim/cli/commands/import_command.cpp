// `orrery import`: a scenario from the configuration files of other training stacks. Logs of
// benchmarks are the business of orrery-import, which the same command starts
// (external_command.hpp).

#include "sim/cli/commands/import_command.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <filesystem>
#include <memory>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/logs/log_outages.hpp"
#include "sim/import_config/logs/xid_log.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::cli {

namespace {

struct ImportCommand {
  std::vector<std::string> files;
  std::string format;
  std::string pattern;
  std::string gpu;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::string network;
  std::vector<std::string> settings;
  std::string name;
  std::string model_class;
  std::vector<std::string> ignored;
  std::vector<std::string> variables;
  std::optional<std::string> output;
  std::optional<std::string> failures;
  std::optional<std::string> span;
  std::vector<std::filesystem::path> profiles;
  bool json = false;
  bool quiet = false;
};

// The options as keys of the scenario.
import_config::ImportOptions options_of(const ImportCommand& command) {
  import_config::ImportOptions options;
  options.name = command.name;
  options.model_class = command.model_class;
  options.ignored = command.ignored;
  if (!command.gpu.empty()) {
    options.settings.push_back({"cluster.gpu", command.gpu, "--gpu"});
  }
  if (command.nodes) {
    options.settings.push_back({"cluster.nodes", std::to_string(*command.nodes), "--nodes"});
  }
  if (command.gpus_per_node) {
    options.settings.push_back(
        {"cluster.gpus_per_node", std::to_string(*command.gpus_per_node), "--gpus-per-node"});
  }
  if (!command.network.empty()) {
    options.settings.push_back({"cluster.network.preset", command.network, "--network"});
  }
  for (const scenario::KeyValue& setting : settings_of(command.settings)) {
    options.settings.push_back({setting.key, setting.value, "--set"});
  }
  return options;
}

std::vector<import_config::ConfigFile> read_files(const ImportCommand& command,
                                                  const InterruptWatch& watch,
                                                  Diagnostics& diagnostics) {
  const import_config::FileReading reading = {import_config::find_format(command.format),
                                              command.pattern, watch.token()};
  std::vector<import_config::ConfigFile> files;
  for (const std::string& name : command.files) {
    std::optional<import_config::ConfigFile> file;
    if (name == "-") {
      file = import_config::ConfigFile{"<stdin>", read_standard_input(), reading.format};
    } else {
      file = import_config::read_config_file(name, diagnostics, reading);
    }
    if (file) {
      for (const std::string& variable : command.variables) {
        const std::size_t equals = variable.find('=');
        if (equals == std::string::npos || equals == 0) {
          throw UsageError(
              fmt::format("--define: `{}` is no NAME=VALUE, such as 1=8B or TP=2", variable));
        }
        file->variables.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
      }
      files.push_back(*std::move(file));
    }
  }
  return files;
}

// Whether the scenario holds together: layout, cluster and profiles. What is wrong goes to stderr.
bool holds_together(const ImportCommand& command, const std::string& text) {
  const std::string name = command.output.value_or("scenario");
  Diagnostics diagnostics;
  const hardware::ProfileSearch search = evaluate::profile_search(name, command.profiles);
  const auto scenario = scenario::load_text(text, name, diagnostics, search);
  const bool sound = scenario && evaluate::resolve(*scenario, search, diagnostics).has_value() &&
                     !diagnostics.has_errors();
  if (!sound) {
    message("import: the files and options do not go together yet:");
    message_block(to_string(diagnostics));
  }
  return sound;
}

// Restarts in the logs as a failure log, which the scenario names by its path from there. False
// when no line of a step has a date.
bool import_failures(const ImportCommand& command,
                     const std::vector<import_config::ConfigFile>& files,
                     import_config::ImportOptions& options) {
  const import_config::LoggedOutages found = import_config::outages_of_logs(files);
  if (found.dated_steps == 0) {
    message("import: --failures: no line of a step in these files has a date and a number");
    return false;
  }
  for (const import_config::LoggedOutage& outage : found.outages) {
    message(fmt::format("{}:{}: restart after {:.2f} h, out for {:.1f} min, {} steps done again",
                        outage.where.file, outage.where.line,
                        in_seconds(outage.after) / kSecondsPerHour,
                        in_seconds(outage.outage) / kSecondsPerMinute, outage.lost_steps));
  }
  for (const SourceLocation& where : found.set_back) {
    message(
        fmt::format("{}:{}: the clock was set back before this step; times go on from the "
                    "step before",
                    where.file, where.line));
  }
  message(fmt::format("import: {} restart{} in {:.2f} h of logs", found.outages.size(),
                      found.outages.size() == 1 ? "" : "s",
                      in_seconds(found.length) / kSecondsPerHour));
  deliver(import_config::failure_log_text(found), *command.failures);
  namespace fs = std::filesystem;
  const fs::path log = fs::absolute(*command.failures);
  const fs::path folder =
      command.output ? fs::absolute(*command.output).parent_path() : fs::current_path();
  options.settings.push_back(
      {"failures.log", log.lexically_proximate(folder).generic_string(), "--failures"});
  return true;
}

constexpr std::string_view kXids = "xids";
constexpr std::size_t kMostLog = std::size_t{256} << 20U;  // bytes of a kernel log

bool holds_xids(const ImportCommand& command) {
  const std::string& first = command.files.front();
  return command.format == kXids ||
         (command.format.empty() && first != "-" && std::filesystem::is_regular_file(first) &&
          import_config::is_xid_log(import_config::read_plain_text(first)));
}

// Logs of Xids become a preset of failures.
ExitCode import_xids(const ImportCommand& command) {
  std::vector<import_config::ConfigFile> files;
  for (const std::string& name : command.files) {
    std::string text = name == "-" ? read_standard_input() : read_file(name, kMostLog);
    files.push_back({name == "-" ? "<stdin>" : name, std::move(text), std::nullopt});
  }
  import_config::XidOptions options = {.nodes = command.nodes};
  if (command.span) {
    const auto span = yaml::parse_time(*command.span);
    if (!span.value || *span.value <= Seconds{}) {
      throw UsageError(fmt::format("--span: `{}` is no time, such as 30d", *command.span));
    }
    options.span = *span.value;
  }
  Diagnostics diagnostics;
  const auto found = import_config::failures_by_xid(files, options, diagnostics);
  message_block(to_string(diagnostics));
  if (!found) {
    return ExitCode::invalid;
  }
  if (!command.quiet) {
    message_block(import_config::xid_report(*found));
  }
  const std::string preset = import_config::preset_of(
      *found, command.name.empty() ? std::string("our-fleet") : command.name);
  if (command.output) {
    deliver(preset, *command.output);
  }
  if (command.json || !command.output) {
    deliver(command.json ? import_config::xid_report_json(*found) : preset, std::nullopt);
  }
  return ExitCode::ok;
}

ExitCode import_files(const ImportCommand& command, const InterruptWatch& watch) {
  if (holds_xids(command)) {
    return import_xids(command);
  }
  import_config::ImportOptions options = options_of(command);
  Diagnostics diagnostics;
  const std::vector<import_config::ConfigFile> files = read_files(command, watch, diagnostics);
  if (command.failures && !diagnostics.has_errors() && !import_failures(command, files, options)) {
    return ExitCode::invalid;
  }
  import_config::ImportResult result;
  if (!diagnostics.has_errors()) {
    result = import_config::import_configs(files, options, diagnostics);
  }
  message_block(to_string(diagnostics));
  if (!command.quiet && !result.settings.empty()) {
    message_block(import_config::report_text(result));
  }
  watch.check();
  if (command.output && !result.scenario.empty()) {
    deliver(result.scenario, *command.output);
  }
  if (command.json) {
    deliver(import_config::report_json(result, diagnostics), std::nullopt);
  } else if (!command.output && !result.scenario.empty()) {
    deliver(result.scenario, std::nullopt);
  }
  if (!result.complete()) {
    return ExitCode::invalid;
  }
  return holds_together(command, result.scenario) ? ExitCode::ok : ExitCode::invalid;
}

constexpr std::string_view kImportFooter =
    R"(Reads config.json of Hugging Face models, arguments of Megatron-LM (scripts, commands,
YAML), NeMo, Megatron-Bridge and nanotron YAML, torchtitan TOML, commands and saved JSON, DeepSpeed
JSON, and the logs of Megatron-LM, Megatron-Bridge, NeMo, torchtitan, DeepSpeed, transformers'
Trainer and nanotron, which state settings and the time of a step; Slurm's topology.conf and NCCL's
topology XML, which state switches and NICs; kernel logs and DCGM's metric with Xid errors, which
become a preset of failures; the content decides.
Several files are combined. What no file says is asked for, what a program does by default and
what is assumed is listed. Nothing is executed.

Examples:
  orrery import train.sh --gpu h100-sxm-80gb --nodes 16 --network infiniband-400g -o run.yaml
  orrery import config.json ds_config.json --gpu a100-sxm-80gb --nodes 8 \
         --network infiniband-200g --set model.sequence_length=4096 -o run.yaml
  orrery import --json config.json
  orrery import train.log --gpu h100-sxm-80gb -o run.yaml && orrery compare run.yaml train.log
  orrery import kernel-*.log --nodes 256 --name our-fleet -o profiles/failures/our-fleet.yaml

Logs of nccl-tests and nvbandwidth become tables of collectives and keys of a GPU profile, traces of
training steps measured steps, with options of their own: orrery import --format nccl-tests --help

Exit codes: 0 ok, 2 usage, 3 a file is broken, holds keys that are not understood, or something is
still to be stated, 6 input or output.)";

// Those that each stand several times.
void add_repeated_options(CLI::App& command, ImportCommand& options) {
  command
      .add_option("--ignore", options.ignored, "A key of the files that is not to matter, or KEY*")
      ->type_name("KEY")
      ->allow_extra_args(false);
  command
      .add_option(
          "--define", options.variables,
          "A variable of the scripts as their caller sets it; 1=VALUE is the first argument")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_reading_options(CLI::App& command, ImportCommand& options) {
  std::string known;
  for (const import_config::ConfigFormatInfo& format : import_config::config_formats()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", format.name);
  }
  command
      .add_option(
          "--format", options.format,
          fmt::format("{}; of logs: xids, nccl-tests, nvbandwidth, trace (default: by the content)",
                      known))
      ->check(CLI::Validator(
          [known](const std::string& name) {
            return import_config::find_format(name) || name == kXids
                       ? std::string()
                       : fmt::format("`{}` is none of {}, xids, nccl-tests, nvbandwidth, trace",
                                     name, known);
          },
          ""))
      ->type_name("FORMAT");
  command
      .add_option("--pattern", options.pattern,
                  "A log of another program: where its lines say the time of a step, such as "
                  "'iter {step}: * time {ms} ms'")
      ->type_name("TEXT");
}

}  // namespace

void add_import_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "import",
      "A scenario from configuration files; tables from logs, measured steps from traces");
  const auto options = std::make_shared<ImportCommand>();
  command->add_option("FILE", options->files, "Configuration files, or logs; - reads from stdin")
      ->required();
  add_reading_options(*command, *options);
  command->add_option("--gpu", options->gpu, "GPU profile (orrery list gpus)")->type_name("NAME");
  const CLI::Validator count = count_between(1, 1'000'000).description("");
  command->add_option("--nodes", options->nodes, "Hosts that the job runs on")
      ->check(count)
      ->type_name("N");
  command->add_option("--gpus-per-node", options->gpus_per_node, "GPUs of one host")
      ->check(count)
      ->type_name("N");
  command->add_option("--network", options->network, "Network preset (orrery list networks)")
      ->type_name("NAME");
  command
      ->add_option("--set", options->settings,
                   "Any key of a scenario, in place of what the files say; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--as", options->model_class,
                   "config.json: take the text model as this class, such as llama, whatever the "
                   "file says")
      ->type_name("TYPE");
  add_repeated_options(*command, *options);
  command->add_option("--name", options->name, "Name of the scenario")->type_name("TEXT");
  add_profiles_option(*command, options->profiles);
  command
      ->add_option("--failures", options->failures,
                   "Write the restarts in the logs to FILE, and replay them in the scenario")
      ->type_name("FILE");
  command
      ->add_option("--span", options->span,
                   "Logs of Xids: the time that they cover, where their dates do not say it")
      ->type_name("TIME");
  add_output_option(*command, options->output);
  command->add_flag("--json", options->json,
                    "Report as JSON, orrery-config-import/1 or orrery-xids/1");
  command->add_flag("-q,--quiet", options->quiet, "No report on stderr");
  command->footer(std::string(kImportFooter));
  act_on(*command, action, options, import_files);
}

}  // namespace orrery::cli
