#include "sim/validate/rows/run_case.hpp"

#include "sim/base/sim_time.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::validate {

namespace {

using run::RunCategory;

// One GPU, so that a category's GPU time is its wall time.
run::StepInput single_gpu(Seconds step) {
  return {.step_time = to_sim_time(step),
          .tokens_per_step = tokens(1.0),
          .gpus = 1,
          .nodes = 1,
          .gpus_per_node = 1,
          .parameters = 0.0};
}

run::RunSpec spec_of(const RunCase& run) {
  // Failures are scripted; their rate only has to exist.
  constexpr double kRarely = 1.0e-6;
  run::RunSpec spec;
  spec.training.steps = run.steps;
  spec.checkpoint.interval = run::StepsInterval{run.save_every > 0 ? run.save_every : run.steps};
  spec.checkpoint.stall = run.stall;
  if (run.durable) {
    spec.checkpoint.mode = run::CheckpointMode::async;
    spec.checkpoint.durable = *run.durable;
  }
  spec.checkpoint.final_save = run.save_every > 0;
  spec.recovery.stages[run::index_of(run::RecoveryStage::reschedule)] = run::fixed(run.restart);
  spec.recovery.stages[run::index_of(run::RecoveryStage::load)] = run::fixed(Seconds{});
  spec.failures.node_rate = per_day(kRarely);
  spec.failures.job_rate = PerSecond{};
  run::FailureCause cause;
  cause.name = "scripted";
  cause.takes_node = false;
  spec.failures.causes = {cause};
  if (run.evaluate_every > 0) {
    spec.evaluation =
        run::EvaluationSpec{.every_steps = run.evaluate_every, .duration = run.evaluation};
  }
  spec.simulation.trials = 1;
  return spec;
}

}  // namespace

std::optional<RunCaseTimes> run_case(const RunCase& run) {
  if (run.steps < 1 || !(run.step > Seconds{})) {
    return std::nullopt;
  }
  std::vector<run::RunProblem> problems;
  const auto plan = run::resolve_run(spec_of(run), single_gpu(run.step), problems);
  if (!plan) {
    return std::nullopt;
  }
  std::vector<run::ScriptedFailure> failures;
  for (const Seconds at : run.failures) {
    failures.push_back({.at = to_sim_time(at)});
  }
  run::RunSimulator simulator(*plan);
  run::TrialOptions options;
  options.failures = failures;
  const run::RunResult result = simulator.run(options);
  const auto time_of = [&result](RunCategory category) { return result.ledger.gpu_time(category); };
  return RunCaseTimes{.wall = to_seconds(result.wall),
                      .lost = time_of(RunCategory::lost_work),
                      .checkpoint = time_of(RunCategory::checkpoint_stall),
                      .restart = time_of(RunCategory::restart_scheduling),
                      .evaluation = time_of(RunCategory::evaluation)};
}

}  // namespace orrery::validate
