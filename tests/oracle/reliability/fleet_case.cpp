#include "tests/oracle/reliability/fleet_case.hpp"

#include "sim/base/sim_time.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run::test {

namespace {

constexpr std::int64_t kFleetTrials = 30;
constexpr double kFleetLongest = 20.0;  // times the training
const Seconds kFleetStep = seconds(1.0);

// A save without stall after every step of a second comes close to work that is never lost.
RunSpec spec_of(const FleetCase& asked) {
  RunSpec spec;
  spec.training.steps = static_cast<std::int64_t>(asked.length / kFleetStep);
  spec.checkpoint.interval = StepsInterval{1};
  spec.checkpoint.stall = Seconds{};
  spec.checkpoint.final_save = false;
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] = fixed(asked.recovery);
  spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(Seconds{});
  spec.failures.node_rate = asked.rate;
  spec.failures.causes = {failure_cause("server", FailureCategory::host)};
  LemonSpec lemons;
  lemons.fraction = asked.bad_share;
  lemons.factor = asked.bad_times;
  spec.failures.lemons = lemons;
  spec.failures.during_recovery = false;
  spec.capacity.spares = asked.standbys;
  spec.capacity.warm.nodes = asked.selected;
  spec.capacity.warm.ready = fixed(asked.selection);
  spec.capacity.repair_time = fixed(asked.first_repair);
  spec.capacity.repair.fails = asked.first_fails;
  if (asked.escalates > 0.0) {
    spec.capacity.repair.manual = ManualRepairSpec{.escalates = asked.escalates,
                                                   .time = fixed(asked.manual_repair),
                                                   .fails = asked.manual_fails};
  }
  spec.simulation.trials = kFleetTrials;
  spec.simulation.max_wall = kFleetLongest * asked.length;
  return spec;
}

}  // namespace

std::optional<FleetTimes> simulate_fleet(const FleetCase& asked) {
  const StepInput step = {.step_time = to_sim_time(kFleetStep),
                          .tokens_per_step = tokens(1.0),
                          .gpus = asked.job,
                          .nodes = asked.job,
                          .gpus_per_node = 1,
                          .parameters = 0.0};
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec_of(asked), step, problems);
  const auto result = plan ? simulate(*plan, {}) : std::optional<MonteCarloResult>();
  if (!result) {
    return std::nullopt;
  }
  FleetTimes times;
  times.total = seconds(result->wall.mean());
  times.trained = asked.length / times.total;
  return times;
}

}  // namespace orrery::run::test
