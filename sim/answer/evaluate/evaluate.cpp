#include "sim/answer/evaluate/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/answer/evaluate/doubts/assumptions.hpp"
#include "sim/answer/evaluate/doubts/fitting_changes.hpp"
#include "sim/answer/evaluate/doubts/recipe_effects.hpp"
#include "sim/answer/evaluate/doubts/step_evidence.hpp"
#include "sim/answer/evaluate/inputs/fault_steps.hpp"
#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/answer/evaluate/inputs/named_files.hpp"
#include "sim/answer/evaluate/inputs/phase_steps.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/evaluate/levers.hpp"
#include "sim/answer/report/trial_choice.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/checkpoints/checkpoint_rates.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/run/trial/run_simulator.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

using report::Evaluation;

// What stays the same while only keys of the run change.
struct StepAnswer {
  Resolved resolved;
  Evaluation evaluation;
  PhaseBase base;
};

namespace {

// Inputs of the checkpoint model that follow from the layout and the network.
//
//   replicas of the whole state = data-parallel ranks / ranks that share it (layout.shard_group)
//   replicated bytes            = all of it with such replicas, else what sharding leaves whole:
//                                 2 bytes of weights per parameter with zero1 and zero2,
//                                 nothing with zero3
//   network of a node           = NICs * rate of one, one direction
void add_checkpoint_input(const scenario::Scenario& scenario, const Resolved& resolved,
                          const run::CheckpointSpec& checkpoint, run::StepInput& step) {
  const layout::Layout& layout = resolved.layout;
  step.data_parallel = layout.data;
  step.state_replicas =
      std::max(1.0, static_cast<double>(layout.data) / static_cast<double>(layout.shard_group));
  if (step.state_replicas > 1.0) {
    step.replicated_bytes = checkpoint.bytes_per_parameter;
  } else if (layout.sharding == layout::Sharding::zero1 ||
             layout.sharding == layout::Sharding::zero2) {
    constexpr double kWeights = 2.0;
    step.replicated_bytes = std::min(bytes(kWeights), checkpoint.bytes_per_parameter);
  }
  const hardware::NetworkSpec& network = scenario.cluster.network;
  if (scenario.cluster.nodes > 1) {
    step.node_network = static_cast<double>(network.nics_per_node) * network.nic_rate;
  }
}

report::ScenarioEcho make_echo(const scenario::Scenario& scenario, const Resolved& resolved) {
  report::ScenarioEcho echo;
  echo.name = scenario.name;
  echo.file = scenario.file;
  echo.sha256 = scenario.sha256;
  echo.model_name = scenario.model_preset.empty() ? scenario.model.name : scenario.model_preset;
  echo.model = scenario.model;
  echo.parameters = model::count_parameters(scenario.model);
  echo.layout = resolved.layout;
  echo.schedule = std::string(schedule::to_string(scenario.step.schedule));
  echo.precision = precision_name(scenario.step.precision);
  echo.gpu = resolved.costs.gpu().full_name;
  for (std::size_t i = 0; i < resolved.mixed.size(); ++i) {
    echo.gpu += fmt::format(", {} nodes of {}", scenario.cluster.mixed[i].nodes,
                            resolved.mixed[i].costs->gpu().full_name);
  }
  echo.gpu_profile = resolved.costs.gpu().name;
  echo.compute_roofs = compute_roofs(resolved.costs.gpu(), scenario.step.precision.compute);
  echo.memory_bandwidth = resolved.costs.gpu().hbm_bandwidth.value();
  echo.calibration = resolved.costs.gpu().calibration;
  echo.software = resolved.costs.software().name;
  echo.software_release = scenario.recipe.release;
  echo.software_version = resolved.costs.software().version;
  echo.memory_error = resolved.costs.software().memory_error.value();
  echo.host_step_assumed = resolved.costs.software().fixed_step_time.kind() == SourceKind::assumed;
  echo.nodes = scenario.cluster.nodes;
  echo.gpus_per_node = scenario.cluster.gpus_per_node;
  const layout::ClusterShape whole =
      hardware::cluster_shape(scenario.cluster, resolved.costs.gpu().nvlink.has_value());
  echo.nvlink_domain = whole.nvlink_domain;
  echo.domain_gpus = resolved.cluster.nvlink_domain;
  echo.shape = resolved.cluster;
  echo.tiers = scenario.cluster.network.tiers;
  echo.global_batch = scenario.batch.global;
  return echo;
}

// A stated step time replaces the model's; what it is made of is then unknown.
void apply_given_time(step::StepResult& result, Seconds given) {
  result.given = true;
  result.step_time = to_sim_time(given);
  result.ledger = {};
  result.ledger.book(step::StepCategory::compute, result.gpus, result.step_time);
  result.stage_ledgers.clear();
  result.slices.clear();
  result.draws.clear();
  result.operations.clear();
  result.operation_timeline.reset();
  result.by_source = {};
  result.by_source[static_cast<std::size_t>(SourceKind::given)] =
      to_seconds(result.step_time) * static_cast<double>(result.gpus);
  result.extrapolated = {};
}

bool run_step(const scenario::Scenario& scenario, const Resolved& resolved,
              const EvaluateOptions& options, PhaseBase& base, Evaluation& evaluation,
              Diagnostics& diagnostics) {
  const step::StepInput input = step_input(scenario, resolved);
  const auto simulator = options.simulator ? options.simulator : make_simulator();
  auto outcome = simulator->simulate(
      input, resolved.costs,
      {.timeline = options.timelines,
       .ticks = options.ticks,
       .operations = options.operations,
       .operation_timeline = options.operation_timeline && options.timelines && !options.ticks,
       .threads = options.threads,
       .stop = options.stop});
  if (const auto* problem = std::get_if<step::StepProblem>(&outcome)) {
    // A schedule that nobody stated is refused for the number of micro-batches.
    const bool stated =
        problem->key != "layout.schedule" || scenario.locations.contains(problem->key);
    diagnostics.error(
        scenario.where(stated ? problem->key : "batch.micro"), problem->key, problem->message,
        allowed_batch(problem->allowed, scenario.batch.global, resolved.layout.micro_batches));
    return false;
  }
  evaluation.step = std::get<step::StepResult>(std::move(outcome));
  base = {to_seconds(evaluation.step.step_time), scenario.step.given_time};
  if (scenario.step.given_time) {
    apply_given_time(evaluation.step, *scenario.step.given_time);
  }
  const step::Feasibility& fit = evaluation.step.feasibility;
  evaluation.feasible = fit.fits && fit.fits_host;
  if (auto line = chosen_recompute(scenario, resolved)) {
    evaluation.assumed.push_back(*std::move(line));
  }
  if (!fit.fits) {
    evaluation.reasons.push_back(
        fmt::format("pipeline stage {} needs {}, the GPU has {}: short by {}", fit.worst_stage,
                    format_bytes_binary(worst_peak(evaluation.step)),
                    format_bytes_binary(evaluation.step.memory.front().limit),
                    format_bytes_binary(-fit.headroom)));
  }
  if (!fit.fits_host) {
    evaluation.reasons.push_back(fmt::format(
        "a node needs {} of host memory for what is offloaded, and has {}",
        format_bytes_binary(fit.host), format_bytes_binary(*scenario.step.offload.host_memory)));
  }
  return true;
}

// Saves wait in host memory beside what is offloaded.
void check_host_copies(const scenario::Scenario& scenario, const run::CheckpointSpec& spec,
                       const run::StepInput& step, report::Evaluation& evaluation) {
  const std::optional<Bytes>& memory = scenario.step.offload.host_memory;
  const step::Feasibility& fit = evaluation.step.feasibility;
  const Bytes copies = evaluation.plan->checkpoint_steps ? run::host_copies(spec, step) : Bytes{};
  if (!memory || copies == Bytes{} || !fit.fits_host || fit.host + copies <= *memory) {
    return;
  }
  evaluation.feasible = false;
  evaluation.reasons.push_back(fmt::format(
      "a node needs {} of host memory for the copies of saves{}, and has {}",
      format_bytes_binary(fit.host + copies), fit.host > Bytes{} ? " and what is offloaded" : "",
      format_bytes_binary(*memory)));
}

// How the distance between checkpoints came about, for people.
std::string checkpoint_choice(const run::CheckpointSpec& spec, const run::RunPlan& plan) {
  if (!plan.checkpoint_steps) {
    return {};
  }
  const bool priced =
      (spec.keep_all || spec.keep_every) && plan.pricing.per_stored_gigabyte > DollarsPerSecond{};
  const bool chosen = std::holds_alternative<run::AutoInterval>(spec.interval);
  const Seconds least = spec.least_interval.value_or(Seconds{});
  const Seconds step = to_seconds(plan.step.step_time);
  const bool limited = chosen && least > Seconds{} &&
                       step * static_cast<double>(*plan.checkpoint_steps) < least + step;
  std::string text =
      !chosen   ? "at the distance that the scenario states"
      : limited ? fmt::format(
                      "the least distance that checkpoint.least_interval allows, {}; losses alone "
                      "would ask for less",
                      format_time(least))
                : fmt::format("the best distance for this stall{} failure rate{}, in whole steps",
                              priced ? "," : " and", priced ? " and price of storage" : "");
  const run::CheckpointPlan& checkpoint = plan.checkpoint;
  if (!checkpoint.kept) {
    return text + "; none is ever deleted";
  }
  text += fmt::format("; the storage keeps the newest {}", format_integer(*checkpoint.kept));
  if (checkpoint.kept_every) {
    text += *checkpoint.kept_every == 1
                ? " and all others"
                : fmt::format(" and one in {} for good", format_integer(*checkpoint.kept_every));
  }
  return text;
}

void warn_of_the_run(const scenario::Scenario& scenario, const run::MonteCarloResult& run,
                     Diagnostics& diagnostics) {
  if (run.finished < run.trials) {
    diagnostics.warning(
        scenario.where("training"), "training",
        fmt::format("{} of {} trials gave up ({}): their times and costs are lower "
                    "bounds",
                    run.trials - run.finished, run.trials,
                    run::to_string(run.gave_up.value_or(run::StopReason::horizon))));
  }
}

// What other prices, plans and assumptions than those of the run would have given.
void find_what_ifs(const scenario::Scenario& scenario, const run::RunSpec& spec,
                   const run::StepInput& step, const EvaluateOptions& options,
                   Evaluation& evaluation) {
  if (const auto caveat = missing_spares(evaluation)) {
    evaluation.caveats.push_back(*caveat);
  }
  if (const auto price =
          spot_break_even(*evaluation.plan, {.threads = options.threads, .stop = options.stop})) {
    evaluation.metrics.set({.id = report::MetricId::spot_break_even,
                            .value = in_dollars_per_hour(*price),
                            .trials = std::nullopt});
  }
  if (options.levers) {
    const LeverOptions few = {.threads = options.threads, .stop = options.stop};
    evaluation.levers = find_levers(evaluation, few);
    for (auto line : {assumed_failures(scenario, spec, step, few),
                      assumed_recovery(scenario, spec, step, few)}) {
      if (line) {
        evaluation.assumed.push_back(*std::move(line));
      }
    }
  }
}

// Compute is a number of tokens of this model; money stays a window (run/prices/plan_prices.hpp).
void settle_budget(const model::ParameterCounts& parameters, run::TrainingSpec& training) {
  if (const auto* compute = training.budget ? std::get_if<Flop>(&*training.budget) : nullptr) {
    training.tokens = run::tokens_for(*compute, static_cast<double>(parameters.active));
  }
}

// What a run does where its scenario is silent.
void settle_run(const scenario::Scenario& scenario, const Resolved& resolved,
                const EvaluateOptions& options, run::RunSpec& spec) {
  if (!scenario.locations.contains("checkpoint")) {
    spec.checkpoint.final_save = false;  // the end is saved only where checkpoints are asked for
  }
  if (!scenario.locations.contains("checkpoint.device_to_host")) {
    spec.checkpoint.device_to_host = resolved.costs.gpu().host_bandwidth.value();
  }
  // Nobody saves to a storage every few seconds, however little a save seems to cost. Published
  // asynchronous saves block for 0.2 s (ByteCheckpoint, NSDI 2025) to several seconds (MegaScale,
  // NSDI 2024; PyTorch's distributed checkpoint 6.3 s), not for the copy at the peak of the host's
  // link.
  if (!spec.checkpoint.least_interval) {
    spec.checkpoint.least_interval = minutes(5.0);
  }
  spec.checkpoint.least_stall = seconds(1.0);
  spec.simulation.trials = options.trials.value_or(spec.simulation.trials);
  spec.simulation.seed = options.seed.value_or(spec.simulation.seed);
}

bool run_whole(const scenario::Scenario& scenario, const StepAnswer& answer,
               const EvaluateOptions& options, Evaluation& evaluation, Diagnostics& diagnostics) {
  const Resolved& resolved = answer.resolved;
  run::RunSpec spec = *scenario.run;
  settle_run(scenario, resolved, options, spec);
  settle_budget(evaluation.echo.parameters, spec.training);
  const double update =
      evaluation.step.given ? 0.0 : evaluation.step.ledger.share(step::StepCategory::optimizer);
  run::StepInput step = {.step_time = evaluation.step.step_time,
                         .update = to_sim_time(to_seconds(evaluation.step.step_time) * update),
                         .tokens_per_step = tokens_per_step(scenario),
                         .gpus = evaluation.step.gpus,
                         .nodes = scenario.cluster.nodes,
                         .gpus_per_node = scenario.cluster.gpus_per_node,
                         .parameters = static_cast<double>(evaluation.echo.parameters.trained() +
                                                           evaluation.echo.parameters.mtp)};
  add_checkpoint_input(scenario, resolved, spec.checkpoint, step);
  if (!add_failure_inputs(scenario, spec.failures, diagnostics)) {
    return false;
  }
  PhaseBase base = answer.base;
  if (!add_phase_steps(scenario, options, base, spec.training, step, diagnostics) ||
      !add_fault_steps(scenario, options, spec.failures, evaluation.assumed, diagnostics) ||
      !add_save_steps(scenario, options, step, spec.checkpoint, evaluation.assumed, diagnostics)) {
    return false;
  }
  evaluation.feasible = evaluation.feasible && base.lacking.empty();
  evaluation.reasons.insert(evaluation.reasons.end(), base.lacking.begin(), base.lacking.end());
  step.node_watts =
      mean_power_watts(scenario, resolved) * static_cast<double>(scenario.cluster.gpus_per_node);
  step.sizes = elastic_sizes(scenario, resolved.layout, base, options, diagnostics);
  if (diagnostics.has_errors()) {
    return false;
  }
  std::vector<run::RunProblem> problems;
  evaluation.plan = run::resolve_run(spec, step, problems);
  for (const run::RunProblem& problem : problems) {
    diagnostics.add({.severity = problem.severity,
                     .where = scenario.where(problem.key),
                     .key = problem.key,
                     .message = problem.message,
                     .allowed = problem.allowed});
  }
  if (!evaluation.plan) {
    return false;
  }
  check_host_copies(scenario, spec.checkpoint, step, evaluation);
  evaluation.echo.checkpoint_choice = checkpoint_choice(spec.checkpoint, *evaluation.plan);
  evaluation.run = run::simulate(
      *evaluation.plan,
      {.threads = options.threads, .stop = options.stop, .progress = options.progress});
  if (!evaluation.run) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
  warn_of_the_run(scenario, *evaluation.run, diagnostics);
  if (options.timelines) {
    run::RunSimulator simulator(*evaluation.plan);
    evaluation.timeline_trial = options.timeline_place
                                    ? report::trial_at(evaluation, *options.timeline_place)
                                    : options.timeline_trial;
    (void)simulator.run({.trial = evaluation.timeline_trial, .timeline = &evaluation.timeline});
  }
  fill_run_metrics(mean_power_watts(scenario, resolved), spec.training.start, evaluation);
  find_what_ifs(scenario, spec, step, options, evaluation);
  return true;
}

// Schedules without a flush trade the bubble for older weights.
std::optional<std::string> stale_weights(const scenario::Scenario& scenario,
                                         const Resolved& resolved) {
  const schedule::ScheduleKind kind = scenario.step.schedule;
  if (!schedule::traits_of(kind).stale || resolved.layout.pipeline < 2) {
    return std::nullopt;
  }
  const std::int64_t versions =
      schedule::weight_versions(kind, resolved.layout.pipeline, resolved.layout.micro_batches);
  return fmt::format(
      "{} trains with weights up to {} old: what that does to learning is in no figure",
      schedule::to_string(kind),
      versions == 2 ? "one update" : fmt::format("{} updates", versions - 1));
}

bool judge_expectations(const scenario::Scenario& scenario, Evaluation& evaluation,
                        Diagnostics& diagnostics) {
  bool valid = true;
  for (const scenario::MeasuredText& measured : scenario.measured) {
    if (report::find_metric(measured.metric) == nullptr) {
      diagnostics.error(measured.metric_where, "measured." + measured.metric, "is no metric",
                        "orrery list metrics shows all");
      valid = false;
    }
  }
  const std::int64_t gave_up =
      evaluation.run ? evaluation.run->trials - evaluation.run->finished : 0;
  for (std::size_t i = 0; i < scenario.expect.size(); ++i) {
    const scenario::ExpectationText& line = scenario.expect[i];
    auto parsed = report::parse_expectation(line.text);
    if (const auto* error = std::get_if<report::ExpectError>(&parsed)) {
      diagnostics.error(line.where, fmt::format("expect[{}]", i),
                        fmt::format("{} in `{}`", error->message, line.text), error->allowed);
      valid = false;
      continue;
    }
    report::ExpectationResult result = report::judge_expectation(
        std::get<report::ExpectNode>(parsed), {.metrics = evaluation.metrics,
                                               .fits_memory = evaluation.feasible,
                                               .decide_point = line.decide_point,
                                               .gave_up = gave_up});
    result.text = line.text;
    result.where = line.where;
    evaluation.expectations.push_back(std::move(result));
  }
  return valid;
}

}  // namespace

std::shared_ptr<step::StepSimulator> make_simulator() {
  return std::make_shared<step::StepSimulator>();
}

std::shared_ptr<const StepAnswer> evaluate_step(const scenario::Scenario& scenario,
                                                const EvaluateOptions& options,
                                                Diagnostics& diagnostics) {
  std::optional<Resolved> resolved = resolve(scenario, options.search, diagnostics);
  if (!resolved) {
    return nullptr;
  }
  Evaluation evaluation;
  evaluation.echo = make_echo(scenario, *resolved);
  PhaseBase base;
  if (!run_step(scenario, *resolved, options, base, evaluation, diagnostics)) {
    return nullptr;
  }
  warn_of_the_setup(scenario, *resolved, diagnostics);
  fill_step_metrics(scenario, mean_peak(scenario, *resolved),
                    {resolved->recompute, resolved->costs.software().attention, resolved->modules},
                    evaluation);
  if (scenario.rollout) {
    evaluation.rollout = rollout_step(scenario, *resolved, evaluation.step);
    fill_rollout_metrics(evaluation);
  }
  if (auto caveat = stale_weights(scenario, *resolved)) {
    evaluation.caveats.push_back(*std::move(caveat));
  }
  if (auto caveat = impossible_step(evaluation)) {
    evaluation.caveats.push_back(*std::move(caveat));
  }
  const bool predicts = !evaluation.step.given && (options.levers || options.band);
  const Seconds now = to_seconds(evaluation.step.step_time);
  const auto other = predicts ? other_context(scenario, now, options.search) : std::nullopt;
  if (predicts) {
    PredictedStep predicted = predicted_step(scenario, *resolved, evaluation.step);
    predicted.open = other ? open_choice(other->step.time, now) : predicted.open;
    const auto search = options.search.value_or(hardware::default_search(scenario.file));
    evaluation.band = step_band(load_evidence(search, diagnostics), predicted);
  }
  if (options.levers) {
    if (evaluation.band) {
      evaluation.band->doubts = step_doubts(scenario, *resolved, options.threads, options.stop);
    }
    if (!evaluation.step.given && scenario.cluster.mixed.empty()) {
      evaluation.switches =
          switch_levers(scenario, resolved->costs.software(), options.search, evaluation);
    }
    if (!evaluation.feasible && scenario.cluster.mixed.empty()) {
      evaluation.advice = fitting_changes(scenario, options.search);
    }
    for (auto line :
         {assumed_rack(scenario), assumed_software(scenario, options.search, evaluation),
          reroute_rule(scenario.cluster)}) {
      if (line) {
        evaluation.assumed.push_back(*std::move(line));
      }
    }
    evaluation.recipe = recipe_effects(scenario, options.search, evaluation);
    for (auto line : {switched_on(scenario, evaluation), undecided_context(evaluation, other)}) {
      if (line) {
        evaluation.assumed.push_back(*std::move(line));
      }
    }
  }
  if (scenario.run) {
    run::TrainingSpec training = scenario.run->training;
    run::StepInput unused;
    if (!add_phase_steps(scenario, options, base, training, unused, diagnostics)) {
      return nullptr;
    }
  }
  return std::make_shared<const StepAnswer>(
      StepAnswer{*std::move(resolved), std::move(evaluation), std::move(base)});
}

std::optional<Evaluation> evaluate_run(const scenario::Scenario& scenario, const StepAnswer& step,
                                       const EvaluateOptions& options, Diagnostics& diagnostics) {
  Evaluation evaluation = step.evaluation;
  evaluation.echo.name = scenario.name;
  evaluation.echo.file = scenario.file;
  evaluation.echo.sha256 = scenario.sha256;
  if (scenario.run && !run_whole(scenario, step, options, evaluation, diagnostics)) {
    return std::nullopt;
  }
  fill_budget(scenario, evaluation);
  if (!judge_expectations(scenario, evaluation, diagnostics)) {
    return std::nullopt;
  }
  evaluation.diagnostics = diagnostics;
  return evaluation;
}

std::optional<Evaluation> evaluate(const scenario::Scenario& scenario,
                                   const EvaluateOptions& options, Diagnostics& diagnostics) {
  const std::shared_ptr<const StepAnswer> step = evaluate_step(scenario, options, diagnostics);
  return step ? evaluate_run(scenario, *step, options, diagnostics) : std::nullopt;
}

}  // namespace orrery::evaluate
