// `orrery plan`: which layout, how many GPUs, which run.

#include <fmt/core.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/evaluating.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/build_info.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output_files.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/frame/progress.hpp"
#include "sim/evaluate/catalog.hpp"
#include "sim/plan/make_plan.hpp"
#include "sim/plan/result/plan_report.hpp"
#include "sim/plan/result/winner_file.hpp"
#include "sim/plan/search/fronts.hpp"

namespace orrery::cli {

namespace {

struct PlanOptions {
  std::string file;
  std::string objective;
  std::vector<std::string> search;
  std::vector<std::string> fix;
  std::optional<std::int64_t> finalists;
  std::optional<std::string> deadline;
  std::optional<std::string> budget;
  std::optional<std::string> headroom;
  std::optional<std::int64_t> gpus_at_most;
  bool tensor_within_nvlink = false;
  bool any_stack = false;
  std::vector<std::string> pareto;
  EvaluationOptions evaluation;
  std::vector<std::string> outputs;
  std::string format;
  std::optional<std::string> journal;
  std::string colour = "auto";
  bool json = false;
  bool csv = false;
  bool resume = false;
};

constexpr std::size_t kMostBytes = std::size_t{8} << 20U;

bool is_scenario_name(const std::string& name) {
  const std::string extension = std::filesystem::path(name).extension().string();
  return extension == ".yaml" || extension == ".yml";
}

// Of several -o FILE the scenario and the report, each once.
std::optional<std::string> chosen_output(const PlanOptions& options, bool scenario) {
  std::optional<std::string> found;
  for (const std::string& name : options.outputs) {
    if (is_scenario_name(name) == scenario) {
      if (found) {
        throw UsageError(fmt::format(
            "plan: -o names two {}: {} and {}", scenario ? "scenarios" : "reports", *found, name));
      }
      found = name;
    }
  }
  return found;
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
  throw UsageError(fmt::format("plan: {}: `{}` is no axis{} ({})",
                               option,
                               name,
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
  const auto add = [&changes](std::string_view key,
                              const std::optional<std::string>& text,
                              std::string_view option) {
    if (text) {
      changes.push_back({std::string(key), *text, {std::string(option), 0, 0}});
    }
  };
  add("plan.deadline", options.deadline, "--deadline");
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

enum class PlanForm { text, csv, json };

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

std::string page_of(const PlanOptions& options, const plan::Plan& plan) {
  switch (form_of(options)) {
    case PlanForm::csv:
      return plan::to_csv(plan);
    case PlanForm::json:
      return plan::to_json(plan);
    case PlanForm::text:
      break;
  }
  return plan::to_text(
      plan, text_style(colour_choice(options.colour), chosen_output(options, false).has_value()));
}

// One line per stage: the search counts layouts, the rest plans.
class StageProgress {
 public:
  explicit StageProgress(bool enabled) : enabled_(enabled) {}

  void update(plan::Stage stage, std::int64_t done, std::int64_t all) {
    if (!line_ || stage != stage_) {
      line_.reset();
      stage_ = stage;
      line_ = std::make_unique<ProgressLine>(std::string(plan::to_string(stage)),
                                             enabled_,
                                             stage == plan::Stage::search ? "layouts" : "plans");
    }
    line_->update(done, all);
  }

 private:
  bool enabled_;
  plan::Stage stage_ = plan::Stage::search;
  std::unique_ptr<ProgressLine> line_;
};

// A search that somebody waits for says what it did in which time; the report has no clock.
void say_speed(const PlanOptions& options,
               const plan::Plan& plan,
               std::chrono::steady_clock::duration taken) {
  if (options.evaluation.quiet || !is_terminal(2)) {
    return;
  }
  const std::chrono::duration<double> wall = taken;
  message(fmt::format("{} layouts searched, {} plans simulated in {}",
                      format_integer(plan.counts.layouts),
                      format_integer(plan.simulated),
                      format_time(seconds(wall.count()))));
}

void write_winner(const PlanOptions& options,
                  const std::string& text,
                  const plan::PlanQuestion& question,
                  const plan::Plan& plan) {
  const auto path = chosen_output(options, true);
  if (!path) {
    return;
  }
  if (plan.finalists.empty()) {
    message(fmt::format("{}: not written, there is no plan", *path));
    return;
  }
  Diagnostics diagnostics;
  const auto file =
      plan::winner_file(text, plan, plan.finalists.front(), *path, question.search, diagnostics);
  if (!file) {
    message_block(to_string(diagnostics));
    throw Error(ErrorKind::io, fmt::format("{}: not written: it would not say the plan", *path));
  }
  deliver(*file, *path);
}

ExitCode conclude(const PlanOptions& options,
                  const std::string& text,
                  const plan::PlanQuestion& question,
                  const plan::Plan& plan) {
  deliver(page_of(options, plan), chosen_output(options, false));
  write_winner(options, text, question, plan);
  if (!plan.complete()) {
    throw Error(ErrorKind::interrupted,
                fmt::format("interrupted after {} of {} layouts and {} simulated plans: {}{}",
                            format_integer(plan.counts.seen),
                            format_integer(plan.counts.layouts),
                            format_integer(plan.simulated),
                            plan.finalists.empty() ? "no plan so far"
                                                   : "what stands above is the best so far",
                            options.journal ? "; --resume continues" : ""));
  }
  return plan.finalists.empty() ? ExitCode::does_not_fit : ExitCode::ok;
}

std::optional<plan::PlanQuestion> make_question(const PlanOptions& options,
                                                const std::string& text,
                                                Diagnostics& diagnostics) {
  const std::string name = options.file == "-" ? "<stdin>" : options.file;
  const hardware::ProfileSearch search = search_for(name, options.evaluation);
  auto base = scenario::ScenarioTemplate::from_text(text, name, diagnostics, search);
  auto question =
      base ? plan::question_of(*std::move(base), amounts(options), diagnostics) : std::nullopt;
  if (!question) {
    return std::nullopt;
  }
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

ExitCode run_plan_command(PlanOptions& options, sweep::Team& team, InterruptWatch& watch) {
  check_usage(options, team);
  options.file = scenario_file(options.file, options.evaluation.quiet || !team.leads());
  Diagnostics diagnostics;
  const std::string text = with_settings(options.file == "-" ? read_standard_input()
                                                             : read_file(options.file, kMostBytes),
                                         options.evaluation,
                                         diagnostics)
                               .value_or("");
  auto question =
      diagnostics.has_errors() ? std::nullopt : make_question(options, text, diagnostics);
  if (!question) {
    if (team.leads()) {
      message_block(to_string(diagnostics));
    }
    return ExitCode::invalid;
  }
  Diagnostics unused;
  if (const auto scenario = question->base.with({}, unused)) {
    for (const std::string& output : options.outputs) {
      check_not_read(output, *scenario);
    }
  }
  watch.wind_up();  // to the best so far
  const auto begin = std::chrono::steady_clock::now();
  StageProgress progress(!options.evaluation.quiet && team.leads());
  question->stop = watch.token();
  question->progress = [&progress](plan::Stage stage, std::int64_t done, std::int64_t all) {
    progress.update(stage, done, all);
  };
  std::optional<plan::Plan> plan;
  try {
    plan = plan::make_plan(*question, team, diagnostics);
    progress = StageProgress(false);
  } catch (const Error&) {  // said once, by process 0
    if (team.leads()) {
      throw;
    }
  }
  if (!team.leads()) {
    return ExitCode::ok;
  }
  message_block(to_string(diagnostics));
  if (!plan) {
    const auto scenario = question->base.with({}, diagnostics);
    const bool lacking = scenario && evaluate::lacks_profile(*scenario, question->search);
    return lacking ? ExitCode::device : ExitCode::invalid;
  }
  say_speed(options, *plan, std::chrono::steady_clock::now() - begin);
  watch.delivering();
  return conclude(options, text, *question, *plan);
}

void add_goal_options(CLI::App& command, PlanOptions& options) {
  command
      .add_option("SCENARIO",
                  options.file,
                  "Scenario, with or without `plan:`: a file or a shipped name; - reads stdin")
      ->required();
  command.add_option("--objective", options.objective, "What is to be as low as possible")
      ->check(CLI::IsMember(
          std::vector<std::string>(plan::kObjectiveNames.begin(), plan::kObjectiveNames.end())))
      ->type_name("NAME");
  command
      .add_option("--search",
                  options.search,
                  "AXIS=V1,V2,... or AXIS=auto; nodes, gpu, interval, spares and spot_share are "
                  "searched only when they are named; repeatable")
      ->type_name("AXIS=VALUES")
      ->allow_extra_args(false);
  command
      .add_option("--fix", options.fix, "Axes that stay as the scenario has them: tensor,context")
      ->delimiter(',')
      ->type_name("LIST")
      ->allow_extra_args(false);
  command.add_option("--finalists", options.finalists, "Plans that are ranked; default 8")
      ->check(count_between(1, 1000))
      ->type_name("N");
  command.add_option("--deadline", options.deadline, "9 of 10 trials are done by then: 60d")
      ->type_name("TIME");
  command.add_option("--budget", options.budget, "9 of 10 trials cost no more: $3M")
      ->type_name("AMOUNT");
  command.add_option("--headroom", options.headroom, "Memory that stays free on every GPU: 4GiB")
      ->type_name("SIZE");
  command.add_option("--gpus-at-most", options.gpus_at_most, "Largest cluster, spares apart")
      ->check(count_between(1))
      ->type_name("N");
  command.add_flag("--tensor-within-nvlink",
                   options.tensor_within_nvlink,
                   "Tensor groups stay within one NVLink domain");
  command.add_flag("--any-stack",
                   options.any_stack,
                   "Also schedules, sharding and recomputation that the stack does not offer");
  command
      .add_option("--pareto",
                  options.pareto,
                  fmt::format("Two figures to trade off: {}", fmt::join(plan::kFrontFigures, ", ")))
      ->check(CLI::IsMember(
          std::vector<std::string>(plan::kFrontFigures.begin(), plan::kFrontFigures.end())))
      ->delimiter(',')
      ->type_name("X,Y")
      ->allow_extra_args(false);
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action, sweep::Team& team) {
  CLI::App* command =
      app.add_subcommand("plan", "The best layout, cluster size and run for an objective");
  const auto options = std::make_shared<PlanOptions>();
  add_goal_options(*command, *options);
  command->add_flag("--json", options->json, "orrery-plan/1");
  command->add_flag("--csv", options->csv, "One line per ranked plan");
  command
      ->add_option("-o,--output",
                   options->outputs,
                   "FILE.yaml: the best plan as a scenario; other names: the report; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--journal", options->journal, "Keeps simulated plans, for --resume")
      ->type_name("FILE");
  command->add_flag("--resume", options->resume, "Take simulated plans from the journal");
  add_evaluation_options(*command, options->evaluation);
  add_colour_option(*command, options->colour);
  command->footer(
      "Every layout of the searched axes is estimated by the model of `orrery run`; the best are\n"
      "simulated with failures and ranked. Ctrl-C shows the best so far. Exit code 4: no plan.\n\n"
      "Examples:\n"
      "  orrery plan llama3-70b-64h100\n"
      "  orrery plan --objective cost --fix tensor --search micro=1,2 -o best.yaml "
      "llama3-70b-64h100\n"
      "  orrery plan --objective fewest_gpus --deadline 60d --search nodes=8,16,32 \\\n"
      "    llama3-70b-64h100");
  command->callback([options, &action, &team] {
    action = [options, &team](InterruptWatch& watch) {
      return run_plan_command(*options, team, watch);
    };
  });
}

}  // namespace orrery::cli
