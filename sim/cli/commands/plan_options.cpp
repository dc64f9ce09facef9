#include "sim/cli/commands/plan_options.hpp"

#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <filesystem>

#include "sim/answer/plan/fronts.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/cli/frame/build_info.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

bool is_scenario_name(const std::string& name) {
  const std::string extension = std::filesystem::path(name).extension().string();
  return extension == ".yaml" || extension == ".yml";
}

// "micro=1,2,4" or "recompute=none,{layers: 4}": values part at commas outside of braces.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' || c == '[' ? 1 : 0;
    depth -= c == '}' || c == ']' ? 1 : 0;
    if (c == ',' && depth == 0) {
      values.emplace_back();
    } else if (c != ' ' || depth > 0) {
      values.back() += c;
    }
  }
  return values;
}

// The axis by its name, or an axis of the run.
struct NamedChoice {
  plan::AxisChoice* choice = nullptr;
  bool of_run = false;
};

NamedChoice find_choice(plan::PlanSpec& spec, std::string_view name) {
  for (std::size_t i = 0; i < plan::kAxes; ++i) {
    if (plan::kAxisNames[i] == name) {
      return {&spec.search[i], false};
    }
  }
  for (std::size_t i = 0; i < plan::kRunAxes; ++i) {
    if (plan::kRunAxisNames[i] == name) {
      return {&spec.run[i], true};
    }
  }
  return {};
}

[[noreturn]] void refuse_axis(std::string_view option, std::string_view name, bool with_run) {
  std::vector<std::string_view> names(plan::kAxisNames.begin(), plan::kAxisNames.end());
  if (with_run) {
    names.insert(names.end(), plan::kRunAxisNames.begin(), plan::kRunAxisNames.end());
  }
  const std::string_view near = nearest_name(name, names);
  throw UsageError(fmt::format("plan: {}: `{}` is no axis{} ({})", option, name,
                               near.empty() ? "" : fmt::format(", did you mean `{}`?", near),
                               fmt::join(names, ", ")));
}

void add_search(const std::string& argument, plan::PlanSpec& spec) {
  const std::size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const NamedChoice named = find_choice(spec, name);
  if (named.choice == nullptr) {
    refuse_axis("--search", name, true);
  }
  if (equals == std::string::npos || equals + 1 == argument.size()) {
    throw UsageError(fmt::format("plan: --search {}: needs values, such as {}=auto", name, name));
  }
  named.choice->where = {"--search", 0, 0};
  named.choice->key = fmt::format("plan.search.{}", name);
  named.choice->values.clear();
  const std::string_view values = std::string_view(argument).substr(equals + 1);
  if (values == "auto" && !named.of_run) {
    named.choice->mode = plan::AxisChoice::Mode::automatic;
    return;
  }
  named.choice->mode = plan::AxisChoice::Mode::listed;
  named.choice->values = split_values(values);
}

void add_fixed(const std::string& name, plan::PlanSpec& spec) {
  if (name == plan::kSwitches) {
    spec.keeps_switches = true;
    return;
  }
  const NamedChoice named = find_choice(spec, name);
  if (named.choice == nullptr || named.of_run) {
    refuse_axis("--fix", name, false);
  }
  named.choice->mode = plan::AxisChoice::Mode::fixed;
  named.choice->values.clear();
  named.choice->where = {"--fix", 0, 0};
  named.choice->key = fmt::format("plan.fix.{}", name);
}

// Amounts, in the spelling of the keys that they replace.
std::vector<scenario::KeyValue> amounts(const PlanOptions& options) {
  std::vector<scenario::KeyValue> changes;
  const auto add = [&changes](std::string_view key, const std::optional<std::string>& text,
                              std::string_view option) {
    if (text) {
      changes.push_back({std::string(key), *text, {std::string(option), 0, 0}});
    }
  };
  add("plan.deadline", options.deadline, "--deadline");
  add("plan.done_by", options.done_by, "--done-by");
  add("plan.constraints.budget", options.budget, "--budget");
  add("plan.constraints.memory_headroom", options.headroom, "--headroom");
  return changes;
}

// What stands on the command line goes before what stands in the file.
void add_command_line(const PlanOptions& options, plan::PlanSpec& spec) {
  for (const std::string& name : options.fix) {
    add_fixed(name, spec);
  }
  for (const std::string& argument : options.search) {
    add_search(argument, spec);
  }
  for (std::size_t i = 0; i < plan::kObjectiveNames.size(); ++i) {
    if (plan::kObjectiveNames[i] == options.objective) {
      spec.objective = static_cast<plan::Objective>(i);
    }
  }
  spec.finalists = options.finalists.value_or(spec.finalists);
  plan::Constraints& constraints = spec.constraints;
  if (options.gpus_at_most) {
    constraints.most_gpus = options.gpus_at_most;
  }
  constraints.tensor_within_nvlink |= options.tensor_within_nvlink;
  spec.any_stack |= options.any_stack;
}

}  // namespace

std::optional<std::string> chosen_output(const PlanOptions& options, bool scenario) {
  std::optional<std::string> found;
  for (const std::string& name : options.outputs) {
    if (is_scenario_name(name) == scenario) {
      if (found) {
        throw UsageError(fmt::format("plan: -o names two {}: {} and {}",
                                     scenario ? "scenarios" : "reports", *found, name));
      }
      found = name;
    }
  }
  return found;
}

PlanForm form_of(const PlanOptions& options) {
  if (options.json || options.csv) {
    return options.json ? PlanForm::json : PlanForm::csv;
  }
  const std::string extension =
      std::filesystem::path(chosen_output(options, false).value_or(std::string()))
          .extension()
          .string();
  if (extension == ".csv") {
    return PlanForm::csv;
  }
  return extension == ".json" ? PlanForm::json : PlanForm::text;
}

std::optional<Seconds> plan_time(const PlanOptions& options) {
  if (!options.time) {
    return std::nullopt;
  }
  const auto parsed = yaml::parse_time(*options.time);
  if (!parsed.value || *parsed.value <= Seconds{}) {
    throw UsageError(
        fmt::format("plan: --time {}: is no time above 0, such as 30s or 5min", *options.time));
  }
  return parsed.value;
}

void check_usage(const PlanOptions& options, const sweep::Team& team) {
  if (options.file == "-" && team.members() > 1) {
    throw UsageError("plan: several processes cannot share standard input: name a file");
  }
  if (options.resume && !options.journal) {
    throw UsageError("plan: --resume needs --journal FILE");
  }
  if (!options.pareto.empty() && options.pareto.size() != 2) {
    throw UsageError("plan: --pareto takes two figures, such as cost,finish_time");
  }
  static_cast<void>(chosen_output(options, true));
  static_cast<void>(chosen_output(options, false));
}

std::vector<plan::ClusterChoice> chosen_clusters(const PlanOptions& options,
                                                 const plan::PlanSpec& spec) {
  if (options.clusters.empty()) {
    return spec.clusters;
  }
  std::vector<plan::ClusterChoice> chosen;
  for (const std::string& text : options.clusters) {
    const std::size_t equals = text.find('=');
    const auto gpus = equals == std::string::npos
                          ? yaml::Parsed<std::int64_t>{}
                          : yaml::parse_count(std::string_view(text).substr(equals + 1));
    if (!gpus.value || *gpus.value < 1) {
      throw UsageError(
          fmt::format("plan: --clusters {}: is no PRESET=GPUS, such as dgx-h100=1024", text));
    }
    chosen.push_back({text.substr(0, equals), *gpus.value});
  }
  return chosen;
}

void check_cluster_usage(const PlanOptions& options, const plan::PlanSpec& spec,
                         const sweep::Team& team) {
  for (const plan::Axis axis : {plan::Axis::gpu, plan::Axis::nodes}) {
    if (spec[axis].mode == plan::AxisChoice::Mode::listed) {
      throw UsageError(fmt::format("plan: clusters say which GPUs and how many: search no {}",
                                   plan::to_string(axis)));
    }
  }
  if (keeps_data(options.evaluation)) {
    throw UsageError("plan: clusters of other sizes have other replicas: keep no layout.data");
  }
  if (options.csv || options.journal || team.members() > 1) {
    throw UsageError("plan: clusters are planned by one process, without --csv and --journal");
  }
}

std::optional<plan::PlanQuestion> make_question(const PlanOptions& options, const std::string& text,
                                                Diagnostics& diagnostics) {
  const std::string name = options.file == "-" ? "<stdin>" : options.file;
  const hardware::ProfileSearch search = search_for(name, options.evaluation);
  auto base = scenario::ScenarioTemplate::from_text(text, name, diagnostics, search);
  auto question =
      base ? plan::question_of(*std::move(base), amounts(options), diagnostics) : std::nullopt;
  if (!question) {
    return std::nullopt;
  }
  question->keeps_data = keeps_data(options.evaluation);
  question->most_changes = options.most_changes;
  add_command_line(options, question->spec);
  question->trials = options.evaluation.trials;
  question->seed = options.evaluation.seed;
  question->threads = options.evaluation.threads;
  question->search = search;
  question->pareto = options.pareto;
  question->version = program_version();
  if (options.journal) {
    question->journal = *options.journal;
  }
  question->resume = options.resume;
  return question;
}

void add_goal_options(CLI::App& command, PlanOptions& options) {
  command
      .add_option("SCENARIO", options.file,
                  "Scenario, with or without `plan:`: a file or a shipped name; - reads stdin")
      ->required();
  command.add_option("--objective", options.objective, "The figure to minimise")
      ->check(CLI::IsMember(
          std::vector<std::string>(plan::kObjectiveNames.begin(), plan::kObjectiveNames.end())))
      ->type_name("NAME");
  command
      .add_option("--search", options.search,
                  "AXIS=V1,V2,... or AXIS=auto; nodes, gpu, interval, spares and spot_share are "
                  "searched only when they are named; repeatable")
      ->type_name("AXIS=VALUES")
      ->allow_extra_args(false);
  command
      .add_option("--fix", options.fix,
                  "Axes that stay as the scenario has them: tensor,context; switches: those of "
                  "the stack's recipes")
      ->delimiter(',')
      ->type_name("LIST")
      ->allow_extra_args(false);
  command
      .add_option("--clusters", options.clusters,
                  "Machines to choose from, PRESET=GPUS each, beside one another: "
                  "dgx-h100=1024,gb300-nvl72=256")
      ->delimiter(',')
      ->type_name("LIST")
      ->allow_extra_args(false);
  command.add_option("--finalists", options.finalists, "Plans that are ranked; default 8")
      ->check(count_between(1, 1000))
      ->type_name("N");
  command.add_option("--deadline", options.deadline, "9 of 10 trials are done by then: 60d")
      ->type_name("TIME");
  command
      .add_option("--done-by", options.done_by,
                  "The same as a date, from training.start: 2027-06-30")
      ->type_name("DATE");
  command.add_option("--budget", options.budget, "9 of 10 trials cost no more: $3M")
      ->type_name("AMOUNT");
  command.add_option("--headroom", options.headroom, "Memory that stays free on every GPU: 4GiB")
      ->type_name("SIZE");
  command
      .add_option("--time", options.time,
                  "The plan ends after this: its search before, so that the best so far are "
                  "simulated and ranked")
      ->type_name("TIME");
  command.add_option("--gpus-at-most", options.gpus_at_most, "Largest cluster, spares apart")
      ->check(count_between(1))
      ->type_name("N");
  command
      .add_option("--at-most-changes", options.most_changes,
                  "Keys in which a plan may differ from the layout as it is stated")
      ->check(count_between(1))
      ->type_name("N");
  command.add_flag("--tensor-within-nvlink", options.tensor_within_nvlink,
                   "Tensor groups stay within one NVLink domain");
  command.add_flag("--any-stack", options.any_stack,
                   "Also schedules, sharding and recomputation that the stack does not offer");
  command
      .add_option("--pareto", options.pareto,
                  fmt::format("Two figures to trade off: {}", fmt::join(plan::kFrontFigures, ", ")))
      ->check(CLI::IsMember(
          std::vector<std::string>(plan::kFrontFigures.begin(), plan::kFrontFigures.end())))
      ->delimiter(',')
      ->type_name("X,Y")
      ->allow_extra_args(false);
}

}  // namespace orrery::cli
