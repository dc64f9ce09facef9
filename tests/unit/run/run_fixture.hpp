#pragma once

// Plans for tests of the run: a job of one node whose only losses are the ones a test asks for.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/run/monte_carlo.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run::testing {

inline StepInput steps_of(Seconds step_time, std::int64_t nodes = 1, std::int64_t per_node = 8) {
  return {.step_time = to_sim_time(step_time),
          .tokens_per_step = tokens(1000.0),
          .gpus = nodes * per_node,
          .nodes = nodes,
          .gpus_per_node = per_node,
          .parameters = 0.0};
}

// No failures, no prices; saves every `checkpoint_steps` steps that block for `stall`.
inline RunSpec saving_spec(std::int64_t steps, std::int64_t checkpoint_steps, Seconds stall) {
  RunSpec spec;
  spec.training.steps = steps;
  spec.checkpoint.interval = StepsInterval{checkpoint_steps};
  spec.checkpoint.stall = stall;
  return spec;
}

// A restart of fixed length in one stage.
inline void restart_after(RunSpec& spec, Seconds restart) {
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] = fixed(restart);
}

// Failures that leave the node in place, with the given mean time between them.
inline void fail_every(RunSpec& spec, Seconds mtbf) { spec.failures.job_rate = 1.0 / mtbf; }

inline RunPlan plan_of(const RunSpec& spec, const StepInput& step) {
  std::vector<RunProblem> problems;
  std::optional<RunPlan> plan = resolve_run(spec, step, problems);
  std::string text;
  for (const RunProblem& problem : problems) {
    text += fmt::format("{}: {}\n", problem.key, problem.message);
  }
  EXPECT_TRUE(plan.has_value()) << text;
  return plan.value_or(RunPlan{});
}

// Wall time of one category, for a job without missing nodes.
inline double seconds_of(const RunPlan& plan, const RunResult& result, RunCategory category) {
  return in_seconds(result.ledger.gpu_time(category)) / static_cast<double>(plan.job_gpus());
}

inline double restart_seconds(const RunPlan& plan, const RunResult& result) {
  double sum = 0.0;
  for (const RunCategory category :
       {RunCategory::detection, RunCategory::diagnosis, RunCategory::restart_scheduling,
        RunCategory::restart_communicator, RunCategory::restart_load,
        RunCategory::restart_warm_up}) {
    sum += seconds_of(plan, result, category);
  }
  return sum;
}

}  // namespace orrery::run::testing
