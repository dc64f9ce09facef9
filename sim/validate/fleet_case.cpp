#include "sim/validate/fleet_case.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/sim_time.hpp"
#include "sim/run/failure_sources.hpp"
#include "sim/run/node_pool.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::validate {

namespace {

constexpr std::uint32_t kTrials = 30;
constexpr double kLongest = 20.0;  // times the training

run::RunSpec spec_of(const FleetCase& asked) {
  run::RunSpec spec;
  spec.training.duration = kLongest * asked.length;
  spec.failures.node_rate = asked.rate;
  spec.failures.causes = {run::failure_cause("server", run::FailureCategory::host)};
  run::LemonSpec lemons;
  lemons.fraction = asked.bad_share;
  lemons.factor = asked.bad_times;
  spec.failures.lemons = lemons;
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
  return spec;
}

std::optional<run::RunPlan> plan_of(const FleetCase& asked) {
  const run::StepInput step = {.step_time = to_sim_time(minutes(1.0)),
                               .tokens_per_step = tokens(1.0),
                               .gpus = asked.job,
                               .nodes = asked.job,
                               .gpus_per_node = 1,
                               .parameters = 0.0};
  std::vector<run::RunProblem> problems;
  return run::resolve_run(spec_of(asked), step, problems);
}

// One trial: sources and pool in turns, on AIReSim's clock.
class Trial {
 public:
  Trial(const run::RunPlan& plan, const FleetCase& asked)
      : asked_(asked), end_(plan.end), sources_(plan), pool_(plan) {}

  // When the training is done, or `end` when it never is.
  SimTime run(std::uint32_t trial) {
    sources_.reset(trial);
    pool_.reset(trial);
    failures_ = 0;
    SimTime now;
    SimTime left = to_sim_time(asked_.length);
    while (now < end_) {
      sources_.set_exposure(now, pool_.job(), true);
      const SimTime done = now + left;
      const SimTime next = std::min({sources_.next(), pool_.next(), done});
      left = left - (next - now);
      now = next;
      if (now == done) {
        return now;
      }
      if (pool_.next() == now) {
        static_cast<void>(pool_.take(now));
      } else {
        now = recover(now);
      }
    }
    return end_;
  }

  [[nodiscard]] std::int64_t failures() const {
    return failures_;
  }

 private:
  // The failure at `now`; returns when training goes on.
  SimTime recover(SimTime now) {
    const run::Strike strike = sources_.take(now);
    ++failures_;
    sources_.set_exposure(now, {}, false);
    pool_.lose(now, strike.nodes, strike.bad);
    SimTime ready = pool_.fill(now, asked_.job);
    while (pool_.job_nodes() < asked_.job && pool_.next() < end_) {
      now = pool_.next();
      static_cast<void>(pool_.take(now));
      ready = pool_.fill(now, asked_.job);
    }
    const SimTime on = now + ready + to_sim_time(asked_.recovery);
    while (pool_.next() < on) {
      static_cast<void>(pool_.take(pool_.next()));
    }
    return on;
  }

  const FleetCase& asked_;
  SimTime end_;
  run::FailureSources sources_;
  run::NodePool pool_;
  std::int64_t failures_ = 0;
};

}  // namespace

std::optional<FleetTimes> simulate_fleet(const FleetCase& asked) {
  const auto plan = plan_of(asked);
  if (!plan) {
    return std::nullopt;
  }
  Trial trial(*plan, asked);
  Seconds sum;
  std::int64_t failures = 0;
  for (std::uint32_t i = 0; i < kTrials; ++i) {
    sum += to_seconds(trial.run(i));
    failures += trial.failures();
  }
  FleetTimes times;
  times.total = sum / static_cast<double>(kTrials);
  times.trained = asked.length / times.total;
  times.note = fmt::format("{} trials with {:.0f} failures each",
                           kTrials,
                           static_cast<double>(failures) / static_cast<double>(kTrials));
  return times;
}

}  // namespace orrery::validate
