// Failure specs resolved: units, what is slow or wrong, logs, presets, and what is no plan.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/run/failures/failure_sources.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::plan_of;
using testing::steps_of;

RunSpec month() {
  RunSpec spec;
  spec.training.duration = days(30.0);
  return spec;
}

std::string problems_of(const RunSpec& spec, std::int64_t nodes = 16) {
  std::vector<RunProblem> problems;
  EXPECT_FALSE(resolve_run(spec, steps_of(seconds(1.0), nodes), problems).has_value());
  std::string text;
  for (const RunProblem& problem : problems) {
    text += problem.key + ": " + problem.message + "\n";
  }
  return text;
}

SlowdownSpec slow(std::string_view name, double factor) {
  SlowdownSpec spec;
  spec.name = name;
  spec.job_rate = per_day(1.0);
  spec.slowdown.median = factor;
  spec.duration = fixed(hours(1.0));
  return spec;
}

TEST(FailurePlans, WhatIsSlowOrWrongHasACauseOfItsOwn) {
  RunSpec spec = month();
  spec.failures.node_rate = per_day(0.1);
  spec.failures.stragglers = {slow("slow GPU", 1.3)};
  spec.failures.network = {slow("congestion", 1.2)};
  spec.failures.silent = SilentSpec{};
  spec.failures.silent->node_rate = per_day(0.01);
  spec.failures.silent->false_alarm_job_rate = per_day(0.4);
  spec.failures.silent->checks = 1.01;
  spec.failures.spikes = SpikeSpec{};
  spec.failures.spikes->every_steps = 5000;
  spec.failures.spikes->rewind_steps = 200;
  const RunPlan plan = plan_of(spec, steps_of(seconds(2.0), 16));
  ASSERT_EQ(plan.causes.size(), 7U);
  EXPECT_EQ(plan.causes[0].name, "node failure");
  EXPECT_EQ(plan.causes[1].name, "job-level software");
  EXPECT_EQ(plan.causes[2].name, "false alarm");
  EXPECT_EQ(plan.causes[2].effect, StrikeEffect::failure);
  EXPECT_EQ(plan.causes[2].takes_nodes, 1);
  const auto& failures = plan.failures;
  ASSERT_EQ(failures.slowdowns.size(), 2U);
  EXPECT_EQ(plan.causes[3].effect, StrikeEffect::slowdown);
  EXPECT_EQ(failures.slowdowns[0].cause, 3);
  EXPECT_EQ(plan.causes[3].takes_nodes, 1);
  EXPECT_EQ(plan.causes[4].effect_index, 1);
  EXPECT_EQ(plan.causes[4].takes_nodes, 0);  // a link is no node
  ASSERT_EQ(failures.silent.size(), 1U);
  EXPECT_EQ(plan.causes[5].effect, StrikeEffect::silent);
  ASSERT_EQ(failures.spikes.size(), 1U);
  EXPECT_EQ(plan.causes[6].effect, StrikeEffect::spike);
  EXPECT_NEAR(in_seconds(mean(plan.causes[6].life)), 10'000.0, 1e-9);
  EXPECT_EQ(failures.step_factor, 1.01);
  // Only failures make the MTBF: 16 * 0.1 + 0.4 a day.
  EXPECT_NEAR(in_hours(*plan.mtbf), 12.0, 1e-9);
}

TEST(FailurePlans, WhatIsSlowDoesNotMoveTheFailures) {
  RunSpec spec = month();
  spec.failures.node_rate = per_day(0.1);
  const RunPlan plain = plan_of(spec, steps_of(seconds(1.0), 16));
  spec.failures.stragglers = {slow("slow GPU", 1.3)};
  const RunPlan disturbed = plan_of(spec, steps_of(seconds(1.0), 16));
  FailureSources first(plain);
  FailureSources second(disturbed);
  first.reset(4);
  second.reset(4);
  int slowdowns = 0;
  while (first.next() < plain.end) {
    while (second.next() < first.next()) {
      const Strike strike = second.take(second.next());
      EXPECT_EQ(disturbed.causes[static_cast<std::size_t>(strike.cause)].name, "slow GPU");
      ++slowdowns;
    }
    ASSERT_EQ(first.next(), second.next());
    first.take(first.next());
    second.take(second.next());
  }
  EXPECT_GT(slowdowns, 5);
}

TEST(FailurePlans, ALogTakesThePlaceOfRandomFailures) {
  RunSpec spec = month();
  spec.failures.node_rate = per_day(100.0);
  spec.failures.causes = {failure_cause("GPU", FailureCategory::gpu)};
  spec.failures.log_lines = std::vector<LoggedFailure>{{days(3.0), "switch", 0, std::nullopt},
                                                       {days(1.0), "GPU", std::nullopt, hours(2.0)},
                                                       {days(3.0), "feed", 4, std::nullopt}};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 16));
  EXPECT_NEAR(in_days(*plan.mtbf), 1.0, 1e-12);
  FailureSources sources(plan);
  for (const std::uint32_t trial : {0U, 9U}) {
    sources.reset(trial);
    ASSERT_EQ(sources.next(), to_sim_time(days(1.0)));
    const Strike first = sources.take(sources.next());
    EXPECT_EQ(plan.causes[static_cast<std::size_t>(first.cause)].name, "GPU");
    EXPECT_EQ(first.nodes, 1);
    EXPECT_EQ(first.outage, to_sim_time(hours(2.0)));
    const Strike second = sources.take(to_sim_time(days(3.0)));
    EXPECT_EQ(plan.causes[static_cast<std::size_t>(second.cause)].name, "switch");
    EXPECT_EQ(second.nodes, 0);
    EXPECT_FALSE(second.outage);
    EXPECT_EQ(sources.take(to_sim_time(days(3.0))).nodes, 4);
    EXPECT_EQ(sources.next(), kForever);
  }
}

TEST(FailurePlans, PresetsAreWhatTheirSourcesCount) {
  double causes = 0.0;
  for (const FailureCause& cause : shipped::failures("ft-hsdp-2026")->spec.causes) {
    causes += cause.weight;
  }
  EXPECT_EQ(causes, 678.0);
  EXPECT_NEAR(
      shipped::in_per_thousand_node_days(*shipped::failures("megascale-2024")->spec.node_rate),
      2.79, 0.005);
  EXPECT_EQ(
      shipped::in_per_thousand_node_days(*shipped::failures("h200-fleet-2025")->spec.node_rate),
      8.5);
  // Excess hazards of a new fleet: node_rate * (factor - 1) * decay, per GPU.
  const FailureSpec fresh = shipped::failures("new-fleet")->spec;
  EXPECT_NEAR(*fresh.node_rate * (fresh.burn_in->factor - 1.0) * fresh.burn_in->decay / 8.0, 0.1,
              0.001);
  for (const auto& [name, yearly] :
       {std::pair{"titan-worn", 0.066}, std::pair{"titan-reworked", 0.0025}}) {
    RunSpec spec = month();
    spec.failures = shipped::failures(name)->spec;
    const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 1000, 1));
    EXPECT_NEAR(days(365.25) / *plan.mtbf, 1000.0 * yearly, 1e-6) << name;
  }
}

TEST(FailurePlans, WhatIsNoPlanIsSaid) {
  RunSpec spec = month();
  FailureCause rack = failure_cause("feed", FailureCategory::host);
  rack.scope = FailureScope::rack;
  spec.failures.causes = {rack};
  EXPECT_EQ(problems_of(spec), "failures.causes: feed strikes a rack, whose nodes are not known\n");
  rack.scope = FailureScope::node;
  rack.takes_nodes = 17;
  spec.failures.causes = {rack};
  EXPECT_EQ(problems_of(spec), "failures.causes: feed takes 17 nodes of a job of 16\n");

  spec = month();
  spec.failures.stragglers = {slow("slow GPU", 0.5)};
  spec.failures.stragglers.front().node_rate = per_day(1.0);
  EXPECT_EQ(problems_of(spec),
            "failures.stragglers.slowdown: a slowdown must be at least 1, its sigma not negative\n"
            "failures.stragglers: slow GPU needs one rate that is not negative\n");
  spec.failures.stragglers = {slow("slow GPU", 1.5)};
  spec.failures.stragglers.front().job_rate = 1.0 / seconds(1e-6);
  EXPECT_EQ(problems_of(spec),
            "failures: happens 2.59e+12 times in the run, too often to simulate\n");

  spec = month();
  spec.failures.spikes = SpikeSpec{};
  EXPECT_EQ(problems_of(spec),
            "failures.loss_spikes: needs exactly one of rate and every_steps\n"
            "failures.loss_spikes: needs exactly one of rewind_steps and skip_steps\n");
  spec = month();
  spec.failures.episodes = {{days(3.0), days(2.0), 1.0}};
  EXPECT_EQ(problems_of(spec),
            "failures.episodes: episodes must follow one another in time, each with a multiplier "
            "of at least 0\n");
}

}  // namespace
}  // namespace orrery::run
