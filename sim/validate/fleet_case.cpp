#include "sim/validate/fleet_case.hpp"

#include <fmt/core.h>

#include "sim/base/sim_time.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::validate {

namespace {

constexpr std::int64_t kFleetTrials = 30;
constexpr double kFleetLongest = 20.0;  // times the training
const Seconds kFleetStep = seconds(1.0);

// A save without stall after every step of a second comes close to work that is never lost.
run::RunSpec spec_of(const FleetCase& asked) {
  run::RunSpec spec;
  spec.training.steps = static_cast<std::int64_t>(asked.length / kFleetStep);
  spec.checkpoint.interval = run::StepsInterval{1};
  spec.checkpoint.stall = Seconds{};
  spec.checkpoint.final_save = false;
  spec.recovery.stages[run::index_of(run::RecoveryStage::reschedule)] = run::fixed(asked.recovery);
  spec.recovery.stages[run::index_of(run::RecoveryStage::load)] = run::fixed(Seconds{});
  spec.failures.node_rate = asked.rate;
  spec.failures.causes = {run::failure_cause("server", run::FailureCategory::host)};
  run::LemonSpec lemons;
  lemons.fraction = asked.bad_share;
  lemons.factor = asked.bad_times;
  spec.failures.lemons = lemons;
  spec.failures.during_recovery = false;
  spec.capacity.spares = asked.standbys;
  spec.capacity.warm.nodes = asked.selected;
  spec.capacity.warm.ready = run::fixed(asked.selection);
  spec.capacity.repair_time = run::fixed(asked.first_repair);
  spec.capacity.repair.fails = asked.first_fails;
  if (asked.escalates > 0.0) {
    spec.capacity.repair.manual = run::ManualRepairSpec{.escalates = asked.escalates,
                                                        .time = run::fixed(asked.manual_repair),
                                                        .fails = asked.manual_fails};
  }
  spec.simulation.trials = kFleetTrials;
  spec.simulation.max_wall = kFleetLongest * asked.length;
  return spec;
}

}  // namespace

std::optional<FleetTimes> simulate_fleet(const FleetCase& asked, int threads) {
  const run::StepInput step = {.step_time = to_sim_time(kFleetStep),
                               .tokens_per_step = tokens(1.0),
                               .gpus = asked.job,
                               .nodes = asked.job,
                               .gpus_per_node = 1,
                               .parameters = 0.0};
  std::vector<run::RunProblem> problems;
  const auto plan = run::resolve_run(spec_of(asked), step, problems);
  const auto result =
      plan ? run::simulate(*plan, {.threads = threads}) : std::optional<run::MonteCarloResult>();
  if (!result) {
    return std::nullopt;
  }
  FleetTimes times;
  times.total = seconds(result->wall.mean());
  times.trained = asked.length / times.total;
  times.note = fmt::format("{} trials with {:.0f} failures each{}",
                           result->trials,
                           result->failures.mean(),
                           result->finished < result->trials ? "; not all came to their end" : "");
  return times;
}

}  // namespace orrery::validate
