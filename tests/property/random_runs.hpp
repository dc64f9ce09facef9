#pragma once

// Random valid runs for properties: some days of a job of 2 to 16 nodes that fails every few hours.
// Test helper.
//
// symbol | meaning                            | unit | origin
// -------|------------------------------------|------|-------
// random | decides everything; seed, round    | -    | test

#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run::testing {

struct RandomRun {
  RunSpec spec;
  StepInput step;

  [[nodiscard]] RunPlan plan() const { return plan_of(spec, step); }

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} nodes, {} spares, {} steps of {} s, a node fails every {} h{}",
                       step.nodes, spec.capacity.spares, spec.training.steps.value_or(0),
                       in_seconds(to_seconds(step.step_time)),
                       in_hours(1.0 / *spec.failures.node_rate),
                       spec.capacity.spot ? ", on spot" : "");
  }

  // Nodes on spot in place of failing ones, with enough notice for a save.
  void make_spot(RandomStream& random) {
    SpotSpec& spot = spec.capacity.spot.emplace();
    spot.share = random.uniform01() < 0.5 ? 1.0 : 0.5;
    spot.rate = 1.0 / hours(2.0 + 20.0 * random.uniform01());
    spot.burst = 1 + static_cast<std::int64_t>(random.uniform_int(2));
    spot.returns = ExponentialLaw{minutes(5.0 + 60.0 * random.uniform01())};
    spot.notice = minutes(1.0 + 2.0 * random.uniform01());
    spec.capacity.elastic = ElasticSpec{1, Growth::at_once};
    for (std::int64_t nodes = 1; nodes <= step.nodes; ++nodes) {
      step.sizes.push_back({nodes, {step.step_time.ns * step.nodes / nodes}});
    }
  }
};

inline RandomRun random_run(RandomStream& random) {
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform01();
  };
  RandomRun run;
  const auto nodes = 2 + static_cast<std::int64_t>(random.uniform_int(15));
  run.step = steps_of(seconds(between(2.0, 30.0)), nodes);
  run.step.parameters = between(1.0, 100.0) * kGiga;
  RunSpec& spec = run.spec;
  const double days_of_training = between(2.0, 8.0);
  spec.training.steps =
      static_cast<std::int64_t>(days(days_of_training) / to_seconds(run.step.step_time));
  spec.failures.node_rate = 1.0 / hours(between(20.0, 400.0));
  spec.failures.job_rate = 1.0 / hours(between(20.0, 400.0));
  spec.checkpoint.interval = TimeInterval{minutes(between(5.0, 90.0))};
  spec.checkpoint.mode = random.uniform01() < 0.5 ? CheckpointMode::sync : CheckpointMode::async;
  spec.checkpoint.storage.write = gigabytes_per_second(between(5.0, 100.0));
  spec.checkpoint.storage.read = spec.checkpoint.storage.write;
  spec.recovery.stages[index_of(RecoveryStage::detect)] =
      UniformLaw{minutes(1.0), minutes(between(2.0, 30.0))};
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] = fixed(minutes(between(0.5, 10.0)));
  spec.capacity.spares = static_cast<std::int64_t>(random.uniform_int(3));
  spec.capacity.repair_time = ExponentialLaw{hours(between(1.0, 24.0))};
  spec.simulation.seed = random.uniform_int(1000);
  return run;
}

}  // namespace orrery::run::testing
