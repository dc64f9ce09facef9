// `orrery plan`: which layout, how many GPUs, which run.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/plan/make_plan.hpp"
#include "sim/answer/plan/result/cluster_plans.hpp"
#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/plan/result/winner_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/plan_options.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/frame/progress.hpp"

namespace orrery::cli {

namespace {

std::string page_of(const PlanOptions& options, const plan::Plan& plan) {
  switch (form_of(options)) {
    case PlanForm::csv:
      return plan::to_csv(plan);
    case PlanForm::json:
      return plan::to_json(plan);
    case PlanForm::text:
      break;
  }
  return plan::to_text(plan, page_style(options.colour, chosen_output(options, false)));
}

// A stop that comes after a time, or with another one.
class TimeLimit {
 public:
  TimeLimit(std::chrono::duration<double> after, const std::stop_token& other)
      : with_other_(other, [this] { source_.request_stop(); }),
        timer_([this, after](const std::stop_token& done) {
          std::unique_lock lock(mutex_);
          wake_.wait_for(lock, done, after, [] { return false; });
          source_.request_stop();
        }) {}

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> with_other_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread timer_;  // last: it uses the others
};

// One line per stage: the search counts layouts, the rest plans.
class StageProgress {
 public:
  explicit StageProgress(bool enabled) : enabled_(enabled) {}

  void update(plan::Stage stage, std::int64_t done, std::int64_t all) {
    if (!line_ || stage != stage_) {
      line_.reset();
      stage_ = stage;
      line_ = std::make_unique<ProgressLine>(std::string(plan::to_string(stage)), enabled_);
    }
    const bool search = stage == plan::Stage::search;
    line_->update(done, all,
                  search && best_ ? fmt::format("layouts, best step {} so far", format_time(*best_))
                  : search        ? "layouts"
                                  : "plans");
  }

  void found(Seconds step) { best_ = step; }

 private:
  bool enabled_;
  std::optional<Seconds> best_;
  plan::Stage stage_ = plan::Stage::search;
  std::unique_ptr<ProgressLine> line_;
};

// A search that somebody waits for says what it did in which time; the report has no clock.
void say_speed(const PlanOptions& options, const plan::Plan& plan,
               std::chrono::steady_clock::duration taken) {
  if (options.evaluation.quiet || !is_terminal(2)) {
    return;
  }
  const std::chrono::duration<double> wall = taken;
  message(fmt::format("{} layouts searched, {} plans simulated in {}",
                      format_integer(plan.counts.layouts), format_integer(plan.simulated),
                      format_time(seconds(wall.count()))));
}

void write_winner(const PlanOptions& options, const std::string& text,
                  const hardware::ProfileSearch& search, const plan::Plan& plan) {
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
      plan::winner_file(text, plan, plan.finalists.front(), *path, search, diagnostics);
  if (!file) {
    message_block(to_string(diagnostics));
    throw Error(ErrorKind::io, fmt::format("{}: not written: it would not say the plan", *path));
  }
  deliver(*file, *path);
}

ExitCode conclude(const PlanOptions& options, const std::string& text,
                  const plan::PlanQuestion& question, const plan::Plan& plan) {
  deliver(page_of(options, plan), chosen_output(options, false));
  write_winner(options, text, question.search, plan);
  if (!plan.complete()) {
    throw Error(ErrorKind::interrupted,
                fmt::format("interrupted after {} of {} layouts and {} simulated plans: {}{}",
                            format_integer(plan.counts.seen), format_integer(plan.counts.layouts),
                            format_integer(plan.simulated),
                            plan.finalists.empty() ? "no plan so far"
                                                   : "what stands above is the best so far",
                            options.journal ? "; --resume continues" : ""));
  }
  return plan.finalists.empty() ? ExitCode::does_not_fit : ExitCode::ok;
}

// Of --time, all of it and what the search has of it.
struct TimeLimits {
  std::optional<TimeLimit> search;
  std::optional<TimeLimit> all;
};

// Ctrl-C, the time that the plan may take, and how far it is.
void watch_question(const PlanOptions& options, const InterruptWatch& watch,
                    StageProgress& progress, TimeLimits& limits, plan::PlanQuestion& question) {
  question.stop = watch.token();
  if (const auto most = plan_time(options)) {
    const Seconds for_plans = std::min(*most * 0.5, seconds(10.0));  // simulated and ranked
    const auto begin = [&watch](std::optional<TimeLimit>& limit, Seconds after) {
      limit.emplace(std::chrono::duration<double>(in_seconds(after)), watch.token());
      return limit->token();
    };
    question.time_stop = begin(limits.all, *most);
    question.search_stop = begin(limits.search, *most - for_plans);
  }
  question.progress = [&progress](plan::Stage stage, std::int64_t done, std::int64_t all) {
    progress.update(stage, done, all);
  };
  question.found = [&progress](Seconds step) { progress.found(step); };
}

// One machine after the other; after Ctrl-C those that are left are not planned.
ExitCode plan_clusters(const PlanOptions& options, const std::string& text,
                       const std::vector<plan::ClusterChoice>& choices, sweep::Team& team,
                       InterruptWatch& watch) {
  const std::string name = options.file == "-" ? "<stdin>" : options.file;
  const hardware::ProfileSearch search = search_for(name, options.evaluation);
  std::vector<plan::ClusterPlan> plans;
  for (const plan::ClusterChoice& choice : choices) {
    plan::ClusterPlan one;
    one.choice = choice;
    Diagnostics diagnostics;
    const auto changed = watch.token().stop_requested()
                             ? std::nullopt
                             : plan::on_cluster(text, choice, name, search, diagnostics);
    auto question = changed ? make_question(options, *changed, diagnostics) : std::nullopt;
    if (question) {
      StageProgress progress(!options.evaluation.quiet);
      TimeLimits limits;
      watch_question(options, watch, progress, limits, *question);
      one.text = *changed;
      one.plan = plan::make_plan(*question, team, diagnostics);
    }
    if (!one.plan) {
      one.problem =
          watch.token().stop_requested() ? "not planned: interrupted" : first_error(diagnostics);
    }
    plans.push_back(std::move(one));
  }
  plan::rank(plans);
  watch.delivering();
  deliver(form_of(options) == PlanForm::json
              ? plan::to_json(plans)
              : plan::to_text(plans, page_style(options.colour, chosen_output(options, false))),
          chosen_output(options, false));
  const plan::ClusterPlan& best = plans.front();
  if (!best.plan || best.plan->finalists.empty()) {
    return best.plan ? ExitCode::does_not_fit : ExitCode::invalid;
  }
  write_winner(options, best.text, search, *best.plan);
  if (watch.token().stop_requested()) {
    throw Error(ErrorKind::interrupted, "interrupted: what stands above is the best so far");
  }
  return ExitCode::ok;
}

ExitCode run_plan_command(PlanOptions& options, sweep::Team& team, InterruptWatch& watch) {
  check_usage(options, team);
  options.file = scenario_file(options.file, options.evaluation.quiet || !team.leads());
  Diagnostics diagnostics;
  const std::string text =
      with_settings(
          options.file == "-" ? read_standard_input() : read_file(options.file, kMostPlanBytes),
          options.file == "-" ? "<stdin>" : options.file, options.evaluation, diagnostics)
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
  const auto clusters = chosen_clusters(options, question->spec);
  if (!clusters.empty()) {
    check_cluster_usage(options, question->spec, team);
    return plan_clusters(options, text, clusters, team, watch);
  }
  const auto begin = std::chrono::steady_clock::now();
  StageProgress progress(!options.evaluation.quiet && team.leads());
  TimeLimits limits;
  watch_question(options, watch, progress, limits, *question);
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

}  // namespace

void add_plan_command(CLI::App& app, Action& action, sweep::Team& team) {
  CLI::App* command =
      app.add_subcommand("plan", "The best layout, cluster size and run for an objective");
  const auto options = std::make_shared<PlanOptions>();
  add_goal_options(*command, *options);
  command->add_flag("--json", options->json, "orrery-plan/1");
  command->add_flag("--csv", options->csv, "One line per ranked plan");
  command
      ->add_option("-o,--output", options->outputs,
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
      "    llama3-70b-64h100\n"
      "  orrery plan --objective cost --clusters dgx-h100=1024,gb300-nvl72=256 FILE");
  act_on(*command, action, options, [&team](PlanOptions& asked, InterruptWatch& watch) {
    return run_plan_command(asked, team, watch);
  });
}

}  // namespace orrery::cli
