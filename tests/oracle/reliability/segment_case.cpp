#include "tests/oracle/reliability/segment_case.hpp"

#include <cmath>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run::test {

Seconds simulate_segment(const DalyRun& run) {
  constexpr std::int64_t kTrials = 2'000;
  constexpr std::int64_t kSegments = 1'000;  // of one trial
  RunSpec spec;
  spec.training.steps = kSegments;
  spec.checkpoint.interval = StepsInterval{1};
  spec.checkpoint.stall = run.checkpoint;
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] = fixed(run.restart);
  spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(Seconds{});
  spec.failures.job_rate = 1.0 / run.mtbf;
  spec.simulation.trials = kTrials;
  spec.simulation.max_wall = days(25'000.0);
  const StepInput step = {.step_time = to_sim_time(run.interval),
                          .tokens_per_step = tokens(1.0),
                          .gpus = 1,
                          .nodes = 1,
                          .gpus_per_node = 1,
                          .parameters = 0.0};
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec, step, problems);
  return plan ? seconds(simulate(*plan, {})->wall.mean() / static_cast<double>(kSegments))
              : seconds(std::nan(""));
}

}  // namespace orrery::run::test
