// `orrery sweep`: the same run at many values of its keys.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/sweep/answer.hpp"
#include "sim/answer/sweep/run_sweep.hpp"
#include "sim/answer/sweep/shard.hpp"
#include "sim/answer/sweep/sweep.hpp"
#include "sim/answer/sweep/sweep_report.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/build_info.hpp"
#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/frame/progress.hpp"

namespace orrery::cli {

namespace {

struct SweepOptions {
  std::string file;
  std::vector<std::string> vary;
  bool grid = false;
  bool zip = false;
  std::optional<std::int64_t> random;
  std::vector<std::string> metrics;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  std::string format;
  std::optional<std::string> journal;
  std::string answer;
  std::optional<std::string> by;
  std::optional<std::string> longest;
  double percent = 20.0;
  std::string colour = "auto";
  bool json = false;
  bool resume = false;
  std::optional<std::string> shard;
  std::vector<std::string> join;
};

std::string read_text(const std::string& name) {
  constexpr std::size_t kMostBytes = std::size_t{8} << 20U;
  return name == "-" ? read_standard_input() : read_file(name, kMostBytes);
}

// What stands on the command line goes before what stands in the file.
void add_command_line(const SweepOptions& options, sweep::SweepFile& file,
                      Diagnostics& diagnostics) {
  for (const std::string& argument : options.vary) {
    auto axis = sweep::parse_vary(argument, diagnostics);
    if (!axis) {
      continue;
    }
    std::erase_if(file.axes, [&axis](const sweep::Axis& other) {
      return other.key.path == axis->key.path && other.where.file != axis->where.file;
    });
    file.axes.push_back(*std::move(axis));
  }
  if (!options.metrics.empty()) {
    file.columns = sweep::parse_columns(options.metrics, {"--metrics", 0, 0}, diagnostics)
                       .value_or(std::vector<sweep::Column>{});
  }
  if (options.grid || options.zip) {
    file.combination.mode = options.zip ? sweep::Mode::zip : sweep::Mode::grid;
  }
  if (options.random) {
    file.combination.mode = sweep::Mode::random;
    file.combination.random_points = *options.random;
  }
  file.trials = options.evaluation.trials ? options.evaluation.trials : file.trials;
  file.seed = options.evaluation.seed ? options.evaluation.seed : file.seed;
  file.combination.seed = file.seed.value_or(file.combination.seed);
}

// The scenario, and its text with --set.
struct Base {
  scenario::ScenarioTemplate base;
  std::string text;
};

std::optional<Base> load_base(const SweepOptions& options, sweep::SweepFile& file,
                              Diagnostics& diagnostics) {
  const auto base_of = [&](const std::string& scenario,
                           const std::string& name) -> std::optional<Base> {
    const auto set = with_settings(scenario, name, options.evaluation, diagnostics);
    auto base = set ? scenario::ScenarioTemplate::from_text(*set, name, diagnostics,
                                                            search_for(name, options.evaluation))
                    : std::nullopt;
    return base ? std::optional(Base{*std::move(base), *set}) : std::nullopt;
  };
  const std::string text = read_text(options.file);
  const std::string name = options.file == "-" ? "<stdin>" : options.file;
  if (!sweep::is_sweep_file(text)) {
    return base_of(text, name);
  }
  auto read = sweep::read_sweep_file(text, name, diagnostics);
  if (!read) {
    return std::nullopt;
  }
  file = *std::move(read);
  return base_of(read_text(file.scenario.string()), file.scenario.string());
}

struct Asked {
  sweep::Sweep sweep;
  std::string text;  // of the scenario
};

// Nothing after errors in `diagnostics`.
std::optional<Asked> make_sweep(const SweepOptions& options, Diagnostics& diagnostics) {
  sweep::SweepFile file;
  auto base = load_base(options, file, diagnostics);
  if (!base) {
    return std::nullopt;
  }
  add_command_line(options, file, diagnostics);
  for (const sweep::Axis& axis : file.axes) {
    const bool overruled = (axis.key.path == "simulation.trials" && file.trials) ||
                           (axis.key.path == "simulation.seed" && file.seed);
    if (overruled) {
      diagnostics.error(axis.where, axis.key.path, "varies, and is stated for all points as well");
    }
  }
  if (diagnostics.has_errors()) {
    return std::nullopt;
  }
  if (file.axes.empty() && options.answer.empty()) {
    throw UsageError(
        "sweep: nothing varies; --vary KEY=V1,V2,... or KEY=from:to:steps, such as --vary "
        "capacity.spares=0:32:9");
  }
  auto points = sweep::make_points(file.axes, file.combination, diagnostics);
  if (!points) {
    return std::nullopt;
  }
  sweep::Sweep sweep{.base = base->base,
                     .axes = std::move(file.axes),
                     .points = *std::move(points),
                     .columns = file.columns.empty() ? sweep::all_columns() : file.columns,
                     .all_metrics = file.columns.empty(),
                     .trials = file.trials,
                     .seed = file.seed,
                     .search = search_for(base->base.file(), options.evaluation)};
  if (keeps_data(options.evaluation)) {
    sweep::keep("layout.data", sweep);
  }
  sweep::check_values(sweep, diagnostics);
  return diagnostics.has_errors() ? std::nullopt
                                  : std::optional(Asked{std::move(sweep), std::move(base->text)});
}

enum class SweepForm { text, csv, json };

SweepForm form_of(const SweepOptions& options) {
  if (options.json || options.format == "json") {
    return SweepForm::json;
  }
  const std::string extension =
      std::filesystem::path(options.output.value_or(std::string())).extension().string();
  if (options.format == "csv" || (options.format.empty() && extension == ".csv")) {
    return SweepForm::csv;
  }
  return options.format.empty() && extension == ".json" ? SweepForm::json : SweepForm::text;
}

// Of a sweep and the results of its points, or of an answer.
template <typename... Parts>
std::string page_of(const SweepOptions& options, const Parts&... parts) {
  using report::to_csv;
  using sweep::to_csv;
  switch (form_of(options)) {
    case SweepForm::csv:
      return to_csv(parts...);
    case SweepForm::json:
      return sweep::to_json(parts...);
    case SweepForm::text:
      break;
  }
  return sweep::to_text(parts..., page_style(options.colour, options.output));
}

// Beside the table, unless told otherwise; nowhere for stdout and devices.
std::optional<std::filesystem::path> journal_path(const SweepOptions& options) {
  if (options.journal) {
    return *options.journal;
  }
  std::error_code error;
  const bool file = options.output && (!std::filesystem::exists(*options.output, error) ||
                                       std::filesystem::is_regular_file(*options.output, error));
  if (file) {
    return *options.output + ".journal";
  }
  if (options.resume) {
    throw UsageError("sweep: --resume needs the journal of -o FILE, or --journal FILE");
  }
  return std::nullopt;
}

// Why the first point cannot be evaluated: the environment, or what the files say.
ExitCode failure_of(const sweep::Sweep& sweep) {
  Diagnostics ignored;
  const auto scenario = sweep.base.with(sweep.changes(0), ignored);
  return scenario && evaluate::lacks_profile(*scenario, sweep.search) ? ExitCode::device
                                                                      : ExitCode::invalid;
}

// A sweep without one usable point is no table but an error.
std::optional<ExitCode> hopeless(const sweep::Sweep& sweep,
                                 const std::vector<sweep::PointResult>& results) {
  bool same = true;
  for (const sweep::PointResult& result : results) {
    if (result.status != sweep::Status::invalid) {
      return std::nullopt;
    }
    same = same && result.reason == results.front().reason;
  }
  Diagnostics problems;
  if (!sweep.base.with(sweep.changes(0), problems)) {
    message_block(to_string(problems));  // with their places in the file
    return ExitCode::invalid;
  }
  message(fmt::format("{}: no point can be evaluated; {}{}", sweep.base.file(),
                      same ? "" : "the first: ", results.front().reason));
  return failure_of(sweep);
}

sweep::SweepOutcome run_points(const SweepOptions& options, const sweep::Sweep& sweep,
                               sweep::Team& team, sweep::Journal* journal,
                               const InterruptWatch& watch) {
  ProgressLine progress("sweep", !options.evaluation.quiet, "points");
  if (journal != nullptr) {
    progress.start_at(std::count_if(
        sweep.points.begin(), sweep.points.end(),
        [journal](const sweep::Point& point) { return journal->finished().contains(point); }));
  }
  return sweep::run_sweep(sweep, team,
                          {.journal = journal,
                           .threads = options.evaluation.threads,
                           .stop = watch.token(),
                           .progress = [&progress](std::int64_t done, std::int64_t all) {
                             progress.update(done, all);
                           }});
}

// The points of --shard, which are a part of a whole sweep.
struct Part {
  sweep::Sweep sweep;
  sweep::Shard shard;
};

std::optional<Part> part_of(const SweepOptions& options, const sweep::Sweep& whole) {
  if (!options.shard) {
    return std::nullopt;
  }
  const auto shard = sweep::parse_shard(*options.shard);
  if (!shard) {
    throw UsageError(fmt::format("sweep: --shard {} is no part: say K/N, 1 <= K <= N, such as 3/16",
                                 *options.shard));
  }
  return Part{sweep::part_of(whole, *shard), *shard};
}

ExitCode lead(const SweepOptions& options, const Asked& whole, const std::optional<Part>& part,
              sweep::Team& team, const InterruptWatch& watch) {
  const sweep::Sweep& sweep = part ? part->sweep : whole.sweep;
  const auto path = journal_path(options);
  std::unique_ptr<sweep::Journal> journal;
  if (path) {
    journal = std::make_unique<sweep::Journal>(
        *path, sweep::journal_header(sweep, std::string(program_version())),
        sweep::line_shape(sweep), options.resume);
  }
  const sweep::SweepOutcome outcome = run_points(options, sweep, team, journal.get(), watch);
  if (journal && outcome.reused > 0 && !options.evaluation.quiet) {
    message(fmt::format("{} of {} points were in {}", outcome.reused, sweep.points.size(),
                        path->string()));
  }
  if (!outcome.complete) {
    throw Error(ErrorKind::interrupted,
                fmt::format("interrupted after {} of {} points{}", outcome.done,
                            sweep.points.size(), journal ? "; --resume continues" : ""));
  }
  std::optional<ExitCode> failure;
  if (part) {  // whether there is hope the whole sweep says
    deliver(sweep::part_text(whole.sweep, whole.text, part->shard, outcome.results,
                             std::string(program_version())),
            options.output);
  } else if (failure = hopeless(sweep, outcome.results); !failure) {
    deliver(page_of(options, sweep, outcome.results), options.output);
  }
  if (journal && !options.journal) {
    std::error_code gone;
    std::filesystem::remove(*path, gone);
  }
  return failure.value_or(ExitCode::ok);
}

// Points of one question depend on what others gave: all processes ask it, and share the points.
// Where there is nothing to share process 0 answers alone.
ExitCode give_answer(const SweepOptions& options, const sweep::Sweep& sweep, sweep::Team& processes,
                     const InterruptWatch& watch) {
  sweep::Team alone;
  const bool shared = processes.members() > 1 && sweep::shares_work(options.answer);
  if (!shared && !processes.leads()) {
    return ExitCode::ok;
  }
  Diagnostics diagnostics;
  std::optional<sweep::Answer> answer;
  {
    ProgressLine progress(options.answer, !options.evaluation.quiet && processes.leads(),
                          options.answer == "spot" ? "trials" : "points");
    answer =
        sweep::answer({.name = options.answer,
                       .sweep = sweep,
                       .by = options.by,
                       .longest = options.longest,
                       .percent = options.percent,
                       .threads = options.evaluation.threads,
                       .stop = watch.token(),
                       .progress = [&progress](std::int64_t done,
                                               std::int64_t all) { progress.update(done, all); }},
                      shared ? processes : alone, diagnostics);
  }
  if (!processes.leads()) {
    return ExitCode::ok;
  }
  if (!answer) {
    message_block(to_string(diagnostics));
    return failure_of(sweep);
  }
  watch.check();
  deliver(page_of(options, *answer), options.output);
  return ExitCode::ok;
}

ExitCode sweep_or_answer(const SweepOptions& options, const Asked& asked, sweep::Team& team,
                         const InterruptWatch& watch) {
  if (!options.answer.empty()) {
    return give_answer(options, asked.sweep, team, watch);
  }
  const std::optional<Part> part = part_of(options, asked.sweep);
  if (team.leads()) {
    return lead(options, asked, part, team, watch);
  }
  static_cast<void>(
      sweep::run_sweep(part ? part->sweep : asked.sweep, team,
                       {.threads = options.evaluation.threads, .stop = watch.token()}));
  return ExitCode::ok;
}

ExitCode join_parts(const SweepOptions& options) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
  std::vector<sweep::PartFile> files;
  for (const std::string& name : options.join) {
    files.push_back({name, read_file(name, kMostBytes)});
  }
  Diagnostics diagnostics;
  auto joined = sweep::join_parts(files, diagnostics);
  if (!joined) {
    message_block(to_string(diagnostics));
    return ExitCode::invalid;
  }
  joined->sweep.search = search_for(joined->sweep.base.file(), options.evaluation);
  const std::optional<ExitCode> failure = hopeless(joined->sweep, joined->results);
  if (!failure) {
    deliver(page_of(options, joined->sweep, joined->results), options.output);
  }
  return failure.value_or(ExitCode::ok);
}

ExitCode run_sweep_command(SweepOptions& options, sweep::Team& team, InterruptWatch& watch) {
  if (!options.join.empty()) {
    return team.leads() ? join_parts(options) : ExitCode::ok;
  }
  if (options.file.empty()) {
    throw UsageError("sweep: SCENARIO is required, or --join with the parts of a sweep");
  }
  if (options.file == "-" && team.members() > 1) {
    throw UsageError("sweep: several processes cannot share standard input: name a file");
  }
  options.file = scenario_file(options.file, options.evaluation.quiet || !team.leads());
  Diagnostics diagnostics;
  const auto asked = make_sweep(options, diagnostics);
  if (team.leads()) {
    message_block(to_string(diagnostics));
  }
  if (!asked) {
    return ExitCode::invalid;
  }
  Diagnostics unused;
  if (const auto scenario = asked->sweep.base.with(asked->sweep.changes(0), unused)) {
    check_not_read(options.output, *scenario);
  }
  if (team.members() > 1) {
    watch.wind_up();  // the others wait to be told
  }
  try {
    return sweep_or_answer(options, *asked, team, watch);
  } catch (const Error&) {  // said once, by process 0
    if (team.leads()) {
      throw;
    }
    return ExitCode::ok;
  }
}

void add_points_options(CLI::App& command, SweepOptions& options) {
  CLI::Option* scenario = command.add_option(
      "SCENARIO", options.file,
      "Scenario: a file or a shipped name; or a sweep in orrery-sweep/1; - reads stdin");
  CLI::Option* vary =
      command
          .add_option("--vary", options.vary,
                      "KEY=V1,V2,... or KEY=from:to:steps[:log]; any key of a scenario, repeatable")
          ->type_name("KEY=VALUES")
          ->allow_extra_args(false);
  command
      .add_option("--join", options.join, "The parts of a sweep, as --shard wrote them: its table")
      ->type_name("PART...")
      ->check(CLI::ExistingFile)
      ->excludes(scenario)
      ->excludes(vary);
  CLI::Option* grid = command.add_flag("--grid", options.grid, "All combinations (the default)");
  CLI::Option* zip = command.add_flag("--zip", options.zip, "The i-th values of all keys together");
  CLI::Option* random = command
                            .add_option("--random", options.random,
                                        "N points of a Latin hypercube; KEY=from:to will do")
                            ->check(count_between(1, sweep::kMostPoints))
                            ->type_name("N");
  grid->excludes(zip)->excludes(random);
  zip->excludes(random);
  command
      .add_option("--metrics", options.metrics,
                  "Figures, such as goodput,p99(finish_time),'probability(cost <= $3M)'; default: "
                  "all")
      ->delimiter(',')
      ->type_name("METRICS")
      ->allow_extra_args(false);
}

std::string question_list() {
  std::string list = "A question in place of a table:";
  for (const sweep::AnswerName& answer : sweep::answer_names()) {
    list += fmt::format("\n{}: {}", answer.name, answer.question);
  }
  return list;
}

void add_answer_options(CLI::App& command, SweepOptions& options) {
  std::vector<std::string> names;
  for (const sweep::AnswerName& answer : sweep::answer_names()) {
    names.emplace_back(answer.name);
  }
  command.add_option("--answer", options.answer, question_list())
      ->check(CLI::IsMember(names).description(""))
      ->type_name("ANSWER");
  command.add_option("--by", options.by, "finish-by: a date in UTC, or a time after the start")
      ->type_name("DATE");
  command
      .add_option("--longest", options.longest,
                  "spares: the wait for nodes, over the run, that is short enough; default 1h")
      ->type_name("TIME");
  constexpr double kMostPercent = 90.0;
  command
      .add_option("--percent", options.percent,
                  "sensitivity: low and high of everything without --vary KEY=LOW,HIGH; default 20")
      ->check(number_between(1.0, kMostPercent))
      ->type_name("P");
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action, sweep::Team& team) {
  CLI::App* command = app.add_subcommand("sweep", "The run at many values of its keys: a table");
  const auto options = std::make_shared<SweepOptions>();
  add_points_options(*command, *options);
  add_answer_options(*command, *options);
  CLI::Option* json = command->add_flag("--json", options->json, "orrery-sweep-result/1");
  CLI::Option* format =
      command
          ->add_option("--format", options->format, "text, csv or json; default: by the name of -o")
          ->check(CLI::IsMember({"text", "csv", "json"}))
          ->type_name("FORMAT");
  command
      ->add_option("--shard", options->shard,
                   "K/N: every N-th point from the K-th on, as a part for --join")
      ->type_name("K/N")
      ->excludes(json)
      ->excludes(format)
      ->excludes(command->get_option("--answer"))
      ->excludes(command->get_option("--join"));
  add_output_option(*command, options->output);
  command->add_option("--journal", options->journal, "Finished points; default: FILE.journal of -o")
      ->type_name("FILE");
  command->add_flag("--resume", options->resume, "Take finished points from the journal");
  add_evaluation_options(*command, options->evaluation);
  add_colour_option(*command, options->colour);
  command->footer(
      "All points share the seed, so that they differ by their keys alone. Points that do not fit\n"
      "or break a rule stay in the table with their reason. Processes under mpirun share the\n"
      "points; the table is the same for any number of threads and processes.\n\n"
      "Examples:\n"
      "  orrery sweep --vary capacity.spares=0:64:9 llama3-405b-16k\n"
      "  orrery sweep --vary checkpoint.interval=5min:4h:12:log --vary checkpoint.mode=sync,async "
      "\\\n"
      "    --metrics 'goodput,cost' -o table.csv llama3-405b-16k\n"
      "  orrery sweep --resume -o table.csv sweep.yaml\n"
      "  orrery sweep --shard $SLURM_ARRAY_TASK_ID/16 -o part$SLURM_ARRAY_TASK_ID.json sweep.yaml\n"
      "  orrery sweep --join part*.json -o table.csv\n"
      "  orrery sweep --answer checkpoint-interval llama3-405b-16k\n"
      "  orrery sweep --answer spot spot-70b\n"
      "  orrery sweep --answer finish-by --by 2026-12-24 llama3-70b-64h100");
  act_on(*command, action, options, [&team](SweepOptions& asked, InterruptWatch& watch) {
    return run_sweep_command(asked, team, watch);
  });
}

}  // namespace orrery::cli
