#include "tests/unit/report/sample_evaluation.hpp"

#include <utility>
#include <variant>

namespace orrery::report::testing {

namespace {

using run::RunCategory;
using step::StepCategory;

constexpr std::int64_t kGpus = 8;
constexpr double kTrials = 4.0;

SimTime of(Seconds value) { return to_sim_time(value); }

void set(Evaluation& evaluation, MetricId id, double value) {
  evaluation.metrics.set({.id = id, .value = value, .trials = std::nullopt});
}

void set(Evaluation& evaluation, MetricId id, std::vector<double> values) {
  run::Distribution trials(std::move(values));
  const double mean = trials.mean();
  evaluation.metrics.set({.id = id, .value = mean, .trials = std::move(trials)});
}

ScenarioEcho sample_echo() {
  ScenarioEcho echo;
  echo.name = "Sample, 8 GPUs";
  echo.file = "sample.yaml";
  echo.sha256 = std::string(64, 'a');
  echo.model_name = "sample-7b";
  echo.model.sequence_length = 4096;
  echo.parameters.total = 7'000'000'000;
  echo.parameters.active = 7'000'000'000;
  echo.layout.gpus = kGpus;
  echo.layout.tensor = 2;
  echo.layout.sequence_parallel = true;
  echo.layout.pipeline = 2;
  echo.layout.data = 2;
  echo.layout.sharding = layout::Sharding::zero1;
  echo.layout.micro_batches = 16;
  echo.schedule = "1f1b";
  echo.precision = "bf16";
  echo.gpu = "Sample GPU";
  echo.gpu_profile = "sample-gpu";
  echo.software = "sample-stack";
  echo.software_version = "1.0";
  echo.nodes = 1;
  echo.gpus_per_node = 8;
  echo.global_batch = 32;
  return echo;
}

step::StageMemory stage_memory(double activations) {
  return {.parameters = gibibytes(4.0),
          .gradients = gibibytes(4.0),
          .optimizer = gibibytes(10.0),
          .activations = gibibytes(activations),
          .working = gibibytes(1.0),
          .communication = gibibytes(0.5),
          .overhead = gibibytes(2.5),
          .limit = gibibytes(79.5)};
}

// A step of 10 s: 75 % compute, 12.5 % bubble, 10 % exposed communication, 2.5 % optimizer.
step::StepResult sample_step() {
  step::StepResult step;
  step.step_time = of(seconds(10.0));
  step.gpus = kGpus;
  step::StepLedger stage;
  constexpr std::int64_t kStageGpus = kGpus / 2;
  stage.book(StepCategory::compute, kStageGpus, of(seconds(7.5)));
  stage.book(StepCategory::bubble, kStageGpus, of(seconds(1.25)));
  stage.book(StepCategory::exposed_tensor, kStageGpus, of(seconds(1.0)));
  stage.book(StepCategory::optimizer, kStageGpus, of(seconds(0.25)));
  step.stage_ledgers = {stage, stage};
  step.ledger += stage;
  step.ledger += stage;
  step.memory = {stage_memory(18.0), stage_memory(9.0)};
  step.feasibility = {.fits = true, .worst_stage = 0, .headroom = gibibytes(39.5)};
  step.by_source[static_cast<std::size_t>(SourceKind::datasheet)] = seconds(60.0);
  step.by_source[static_cast<std::size_t>(SourceKind::assumed)] = seconds(20.0);
  step.extrapolated = seconds(4.0);
  return step;
}

run::RunPlan sample_plan() {
  run::RunPlan plan;
  plan.step = {.step_time = of(seconds(10.0)),
               .tokens_per_step = tokens(131'072.0),
               .gpus = kGpus,
               .nodes = 1,
               .gpus_per_node = kGpus,
               .parameters = 7e9};
  plan.target_steps = 8640;
  plan.end = of(days(41.0));
  plan.fault_free_wall = of(days(1.0));
  plan.checkpoint_steps = 360;
  plan.checkpoint.size = gigabytes(98.0);
  plan.stall = of(seconds(0.5));
  plan.durable = of(seconds(20.0));
  plan.mtbf = hours(10.0);
  run::PlannedCause cause;
  cause.name = "GPU \"fell off\"";
  cause.cumulative = 1.0;
  plan.causes = {cause};
  plan.capacity.spares = {{"hot", 1, run::fixed(Seconds{}), true}};
  plan.pricing.priced = true;
  plan.pricing.as_of = "2026-11-01";
  plan.pricing.fixed = {{SimTime{}, dollars_per_hour(2.0 * kGpus)}};
  plan.simulation.trials = static_cast<std::int64_t>(kTrials);
  plan.simulation.seed = 7;
  return plan;
}

// Four trials of 25 to 28 h on 16 allocated GPUs: 106 h of wall time, 1,696 GPU-hours in all.
run::MonteCarloResult sample_run() {
  run::MonteCarloResult run;
  run.trials = static_cast<std::int64_t>(kTrials);
  run.finished = run.trials;
  run.wall = run::Distribution({in_seconds(hours(25.0)), in_seconds(hours(26.0)),
                                in_seconds(hours(27.0)), in_seconds(hours(28.0))});
  run.ledger_sum.book(RunCategory::productive, kGpus, of(hours(96.0)));
  run.ledger_sum.book(RunCategory::lost_work, kGpus, of(hours(6.0)));
  run.ledger_sum.book(RunCategory::restart_load, kGpus, of(hours(4.0)));
  run.ledger_sum.book(RunCategory::spare_idle, kGpus, of(hours(90.0)));
  run.ledger_sum.book(RunCategory::repair, kGpus, of(hours(16.0)));
  run.failures_by_cause = {1.5};
  run.gpu_time_by_cause = {static_cast<Int128>(kGpus) * of(hours(10.0)).ns};
  return run;
}

void set_step_metrics(Evaluation& evaluation) {
  set(evaluation, MetricId::step_time, 10.0);
  set(evaluation, MetricId::tokens_per_second, 13107.2);
  set(evaluation, MetricId::tokens_per_second_per_gpu, 1638.4);
  set(evaluation, MetricId::mfu, 0.4);
  set(evaluation, MetricId::hfu, 0.45);
  set(evaluation, MetricId::bubble_fraction, 0.125);
  set(evaluation, MetricId::exposed_communication_fraction, 0.1);
  set(evaluation, MetricId::peak_memory, in_bytes(gibibytes(40.0)));
  set(evaluation, MetricId::memory_headroom, in_bytes(gibibytes(39.5)));
}

void set_run_metrics(Evaluation& evaluation) {
  constexpr double kStart = 1'700'000'040.0;  // 2023-11-14T22:14Z
  std::vector<double> dates;
  for (const double wall : evaluation.run->wall.sorted()) {
    dates.push_back(kStart + wall);
  }
  set(evaluation, MetricId::finish_time, evaluation.run->wall.sorted());
  set(evaluation, MetricId::finish_date, std::move(dates));
  set(evaluation, MetricId::tokens_trained, std::vector<double>(4, 1.1325e9));
  set(evaluation, MetricId::goodput, {0.96, 0.923, 0.889, 0.857});
  set(evaluation, MetricId::cost, {800.0, 832.0, 864.0, 896.0});
  set(evaluation, MetricId::failures, {1.0, 2.0, 3.0, 4.0});
  set(evaluation, MetricId::mtbf, in_seconds(hours(10.0)));
}

void add_expectation(Evaluation& evaluation, std::string text, int line) {
  const auto parsed = parse_expectation(text);
  ExpectationResult result =
      judge_expectation(std::get<ExpectNode>(parsed),
                        {.metrics = evaluation.metrics, .fits_memory = evaluation.feasible});
  result.text = std::move(text);
  result.where = {evaluation.echo.file, line, 5};
  evaluation.expectations.push_back(std::move(result));
}

}  // namespace

Evaluation sample_step_evaluation() {
  Evaluation evaluation;
  evaluation.echo = sample_echo();
  evaluation.step = sample_step();
  evaluation.band =
      StepBand{.novelty = Novelty::model,
               .error = 0.05,
               .low = 10.0 / 1.08,
               .high = 10.8,
               .nearest = {{"sample-13b-16gpu", -0.021}},
               .doubts = {{"NVLink bandwidth", "orrery calibrate --collectives", 0.05, 0.012}}};
  set_step_metrics(evaluation);
  return evaluation;
}

Evaluation sample_evaluation() {
  Evaluation evaluation = sample_step_evaluation();
  evaluation.plan = sample_plan();
  evaluation.run = sample_run();
  evaluation.echo.checkpoint_choice = "the optimum for the stall and the failure rate";
  set_run_metrics(evaluation);
  evaluation.levers = {
      {.change = "10% fewer failures", .finish_delta = -minutes(15.0), .cost_delta = dollars(-8.0)},
      {.change = "one point of MFU more",
       .finish_delta = -minutes(36.0),
       .cost_delta = dollars(-19.5)},
      {.change = "one minute less recovery per failure",
       .finish_delta = -minutes(2.5),
       .cost_delta = dollars(-1.3)},
      {.change = "a pipeline without bubble",
       .finish_delta = -hours(3.0),
       .cost_delta = dollars(-104.0)}};
  add_expectation(evaluation, "fits_memory", 10);
  add_expectation(evaluation, "mfu >= 0.5", 11);
  add_expectation(evaluation, "p50(goodput) >= 0.9", 12);
  evaluation.diagnostics.warning({evaluation.echo.file, 6, 3}, "overlap.pipeline",
                                 "has no effect with one stage");
  return evaluation;
}

}  // namespace orrery::report::testing
