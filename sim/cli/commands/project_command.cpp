// `orrery project`: from traces of a small job and the files that describe it to a larger one. An
// import, the measured step beside the predicted one, and what the model gets wrong here taken
// along (project_measured.hpp), in one command.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "sim/base/files/file.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/compare/compare_traces.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/scenario/edit_text.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::cli {

namespace {

struct ProjectOptions {
  std::vector<std::string> traces;
  std::vector<std::string> configs;
  std::int64_t nodes = 0;
  std::string gpu;
  std::optional<std::int64_t> gpus_per_node;
  std::string network;
  std::vector<std::string> here;
  TraceOptions reading;
  EvaluationOptions evaluation;  // its settings are of the larger job
  std::optional<std::string> output;
  bool json = false;
};

// The job that was traced.
struct TracedJob {
  std::string name;
  std::string text;
};

bool is_scenario(const std::string& text) {
  return text.starts_with("format: orrery/1") ||
         text.find("\nformat: orrery/1") != std::string::npos;
}

import_config::ImportOptions import_options(const ProjectOptions& options,
                                            std::optional<std::int64_t> gpus) {
  import_config::ImportOptions import;
  if (!options.gpu.empty()) {
    import.settings.push_back({"cluster.gpu", options.gpu, "--gpu"});
  }
  if (options.gpus_per_node) {
    import.settings.push_back(
        {"cluster.gpus_per_node", std::to_string(*options.gpus_per_node), "--gpus-per-node"});
  }
  if (!options.network.empty()) {
    import.settings.push_back({"cluster.network.preset", options.network, "--network"});
  }
  const auto here = settings_of(options.here);
  const bool sized = std::any_of(here.begin(), here.end(), [](const scenario::KeyValue& setting) {
    return setting.key == "cluster.nodes" || setting.key == "cluster.gpus";
  });
  if (gpus && !sized) {
    import.settings.push_back({"cluster.gpus", std::to_string(*gpus), "the traces"});
  }
  for (const scenario::KeyValue& setting : here) {
    import.settings.push_back({setting.key, setting.value, "--here"});
  }
  return import;
}

// Nothing, and messages, where the files do not say all of it.
std::optional<TracedJob> traced_job(const ProjectOptions& options, std::optional<std::int64_t> gpus,
                                    const InterruptWatch& watch) {
  constexpr std::size_t kMostBytes = std::size_t{8} << 20U;
  Diagnostics diagnostics;
  if (options.configs.size() == 1) {
    const std::string& name = options.configs.front();
    if (const std::string text = import_config::read_plain_text(name); is_scenario(text)) {
      EvaluationOptions here;
      here.settings = options.here;
      here.profiles = options.evaluation.profiles;
      const auto set = with_settings(read_file(name, kMostBytes), name, here, diagnostics);
      message_block(to_string(diagnostics));
      return set ? std::optional(TracedJob{name, *set}) : std::nullopt;
    }
  }
  std::vector<import_config::ConfigFile> files;
  for (const std::string& name : options.configs) {
    if (auto file =
            import_config::read_config_file(name, diagnostics, {std::nullopt, {}, watch.token()})) {
      files.push_back(*std::move(file));
    }
  }
  import_config::ImportResult result;
  if (!diagnostics.has_errors()) {
    result = import_config::import_configs(files, import_options(options, gpus), diagnostics);
  }
  message_block(to_string(diagnostics));
  if (!options.evaluation.quiet && !result.settings.empty()) {
    message_block(import_config::report_text(result));  // with all that is assumed
  }
  return result.complete() ? std::optional(TracedJob{options.configs.front(), result.scenario})
                           : std::nullopt;
}

// States nodes in place of all GPUs, since nodes are what the larger job has more of.
void count_in_nodes(TracedJob& job, const scenario::Scenario& here) {
  if (!here.locations.contains("cluster.gpus")) {
    return;
  }
  Diagnostics unused;
  const auto gpus = scenario::remove_key(job.text, "cluster.gpus", unused);
  if (!gpus) {
    return;
  }
  job.text.replace(gpus->begin, gpus->length, gpus->text);
  const scenario::KeyValue nodes{"cluster.nodes", std::to_string(here.cluster.nodes), {}};
  job.text = scenario::with_keys(job.text, {&nodes, 1}, unused).value_or(job.text);
}

// The keys of the larger job: nodes, and a batch that leaves every replica its sequences, unless
// --set says otherwise. Nothing, and a message, where no whole batch does.
std::optional<std::vector<std::string>> larger_job(const ProjectOptions& options, TracedJob& job) {
  Diagnostics diagnostics;
  const auto here = scenario::load_text(job.text, job.name, diagnostics,
                                        search_for(job.name, options.evaluation));
  if (!here) {
    message_block(to_string(diagnostics));
    return std::nullopt;
  }
  count_in_nodes(job, *here);
  std::vector<std::string> keys = {fmt::format("cluster.nodes={}", options.nodes)};
  const auto set = settings_of(options.evaluation.settings);
  const bool stated = std::any_of(set.begin(), set.end(), [](const scenario::KeyValue& one) {
    Diagnostics ignored;
    const auto facts = scenario::find_key(one.key, {}, ignored);
    return facts && facts->path.starts_with("batch.global");
  });
  const auto batch = scenario::value_of(*here, "batch.global");
  const std::int64_t nodes = here->cluster.nodes;
  std::int64_t sequences = 0;
  if (batch && !stated &&
      std::from_chars(batch->data(), batch->data() + batch->size(), sequences).ec == std::errc{}) {
    if (sequences * options.nodes % nodes != 0) {
      message(
          fmt::format("project: no whole batch on {} nodes is {} sequences on {}: say --set "
                      "batch.global=N",
                      options.nodes, sequences, nodes));
      return std::nullopt;
    }
    keys.push_back(fmt::format("batch.global={}", sequences * options.nodes / nodes));
  }
  keys.insert(keys.end(), options.evaluation.settings.begin(), options.evaluation.settings.end());
  return keys;
}

std::optional<std::int64_t> gpus_of(const trace::GpuTraces& traces) {
  std::optional<std::int64_t> gpus;
  for (const auto& trace : traces) {
    gpus = trace->facts.world_size ? trace->facts.world_size : gpus;
  }
  return gpus;
}

ExitCode run_project(const ProjectOptions& options, const InterruptWatch& watch) {
  static_cast<void>(measure_options(options.reading));
  const auto traces = read_traces(options.traces, watch, options.evaluation.quiet);
  if (!traces) {
    return ExitCode::invalid;
  }
  auto job = traced_job(options, gpus_of(*traces), watch);
  const auto keys = job ? larger_job(options, *job) : std::nullopt;
  if (!keys) {
    return ExitCode::invalid;
  }
  TraceComparison asked{.scenario = job->name,
                        .text = job->text,
                        .traces = options.traces,
                        .reading = options.reading,
                        .project = *keys,
                        .evaluation = options.evaluation,
                        .output = options.output,
                        .json = options.json};
  asked.evaluation.settings.clear();
  return compare_with_traces(asked, *traces, watch);
}

}  // namespace

void add_project_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("project", "From traces of a small job to the step of a larger one");
  const auto options = std::make_shared<ProjectOptions>();
  command->add_option("TRACE", options->traces, "Traces of PyTorch's profiler, one a rank")
      ->required()
      ->check(CLI::ExistingFile);
  command
      ->add_option(
          "--config", options->configs,
          "What describes the traced job: a scenario, or files that `orrery import` reads; "
          "repeatable")
      ->required()
      ->check(CLI::ExistingFile)
      ->type_name("FILE")
      ->allow_extra_args(false);
  const CLI::Validator count = count_between(1, 1'000'000).description("");
  command->add_option("--nodes", options->nodes, "Hosts of the larger job")
      ->required()
      ->check(count)
      ->type_name("N");
  command->add_option("--gpu", options->gpu, "GPU profile (orrery list gpus)")->type_name("NAME");
  command->add_option("--gpus-per-node", options->gpus_per_node, "GPUs of one host")
      ->check(count)
      ->type_name("N");
  command->add_option("--network", options->network, "Network preset (orrery list networks)")
      ->type_name("NAME");
  command
      ->add_option(
          "--here", options->here,
          "Any key of the traced job, in place of what the files say; repeatable. --set is "
          "of the larger one")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_trace_options(*command, options->reading);
  command->add_flag("--json", options->json, "orrery-comparison/1, with its projection");
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  command->footer(
      "What the model gets wrong in the traced step it is taken to get wrong in the larger one, "
      "by\n"
      "the same factor in each category. The batch grows with the nodes unless --set batch.global\n"
      "says otherwise. What the files do not say is assumed and listed on stderr, or asked for.\n\n"
      "Examples:\n"
      "  orrery project rank0.json.gz --config train.sh --gpu h100-sxm-80gb --nodes 64\n"
      "  orrery project rank0.json.gz --config node.yaml --nodes 64 --set layout.tensor=4");
  act_on(*command, action, options, run_project);
}

}  // namespace orrery::cli
