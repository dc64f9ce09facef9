#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "sim/run/failures/failure_sources.hpp"
#include "sim/run/run_plan.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::plan_of;
using testing::saving_spec;
using testing::steps_of;

constexpr std::size_t kDetect = index_of(RecoveryStage::detect);
constexpr std::size_t kReschedule = index_of(RecoveryStage::reschedule);
constexpr std::size_t kCommunicators = index_of(RecoveryStage::communicator_init);
constexpr std::size_t kLoad = index_of(RecoveryStage::load);
constexpr std::size_t kWarmUp = index_of(RecoveryStage::warm_up);

RunSpec failing_spec() {
  RunSpec spec = saving_spec(1000, 10, seconds(1.0));
  spec.failures.node_rate = per_day(0.005);
  return spec;
}

double mean_of(const RunPlan& plan, std::size_t cause, std::size_t stage) {
  return in_seconds(mean(plan.recovery.stages[cause][stage]));
}

void expect_recovery_error(const RunSpec& spec, const std::string& key,
                           const std::string& message) {
  std::vector<RunProblem> problems;
  EXPECT_FALSE(resolve_run(spec, steps_of(seconds(1.0), 128), problems).has_value());
  ASSERT_EQ(problems.size(), 1U) << message;
  EXPECT_EQ(problems[0].key, key);
  EXPECT_EQ(problems[0].message, message);
}

TEST(GpuCurve, IsStraightOnLogarithmicScalesAndConstantOutside) {
  const GpuCurve curve = {{100.0, seconds(1.0)}, {10'000.0, seconds(100.0)}};
  EXPECT_DOUBLE_EQ(in_seconds(value_at(curve, 1.0)), 1.0);
  EXPECT_DOUBLE_EQ(in_seconds(value_at(curve, 100.0)), 1.0);
  EXPECT_NEAR(in_seconds(value_at(curve, 1000.0)), 10.0, 1e-12);
  EXPECT_DOUBLE_EQ(in_seconds(value_at(curve, 10'000.0)), 100.0);
  EXPECT_DOUBLE_EQ(in_seconds(value_at(curve, 1e6)), 100.0);
}

// trainmover_megatron_restart: the published table, through the plan of a job of that size.
TEST(RecoveryPlan, MegatronRestartsMeetThePublishedTable) {
  const std::vector<std::pair<std::int64_t, double>> table = {
      {4, 80.0}, {16, 190.0}, {32, 230.0}, {64, 260.0}, {128, 300.0}};
  for (const auto& [nodes, expected] : table) {
    RunSpec spec = failing_spec();
    spec.recovery.preset = shipped::recovery("megatron-restart-by-gpus");
    const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), nodes));
    EXPECT_NEAR(in_seconds(mean_recovery_time(plan)), expected, 1e-9) << 8 * nodes << " GPUs";
  }
}

TEST(RecoveryPlan, AShrunkenJobRestartsFaster) {
  RunSpec spec = failing_spec();
  spec.recovery.preset = shipped::recovery("megatron-restart-by-gpus");
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 128));
  EXPECT_EQ(plan.recovery.gpus, 1024);
  EXPECT_DOUBLE_EQ(plan.recovery.scale(0, RecoveryStage::reschedule, 1024), 1.0);
  EXPECT_NEAR(plan.recovery.scale(0, RecoveryStage::reschedule, 512), 260.0 / 300.0, 1e-12);
  EXPECT_DOUBLE_EQ(plan.recovery.scale(0, RecoveryStage::detect, 512), 1.0);
}

TEST(RecoveryPlan, CommunicatorsFollowTheGpus) {
  RunSpec spec = failing_spec();
  spec.recovery.preset = shipped::recovery("megascale-2024");  // 30 s in its own stage
  spec.recovery.communicators = shipped::communicators("nccl-2026");
  EXPECT_NEAR(mean_of(plan_of(spec, steps_of(seconds(1.0), 2048)), 0, kCommunicators), 17.0, 1e-9);
  EXPECT_NEAR(mean_of(plan_of(spec, steps_of(seconds(1.0), 12'288)), 0, kCommunicators), 200.0,
              1e-9);
  spec.recovery.communicator_points = {{1024.0, seconds(8.0)}, {4096.0, seconds(32.0)}};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 256));
  EXPECT_NEAR(mean_of(plan, 0, kCommunicators), 16.0, 1e-9);
  EXPECT_NEAR(plan.recovery.scale(0, RecoveryStage::communicator_init, 1024), 0.5, 1e-12);
  spec.recovery.stages[kCommunicators] = fixed(seconds(3.0));  // stated: whatever the size
  EXPECT_NEAR(mean_of(plan_of(spec, steps_of(seconds(1.0), 256)), 0, kCommunicators), 3.0, 1e-9);
}

TEST(RecoveryPlan, TwoThousandGpusAsMegaScaleFoundThem) {
  for (const auto& [name, expected] : std::vector<std::pair<std::string, double>>{
           {"torch-store-2024", 1047.0}, {"redis-store-2024", 361.0}, {"megascale-2024", 5.0}}) {
    EXPECT_DOUBLE_EQ(in_seconds(value_at(shipped::communicators(name)->curve, 2048.0)), expected);
  }
}

TEST(RecoveryPlan, HangsAreFoundByWatchdogOrInspection) {
  RunSpec spec = failing_spec();
  FailureCause crash;
  crash.name = "crash";
  FailureCause hang = crash;
  hang.name = "hang";
  hang.symptom = Symptom::hang;
  spec.failures.causes = {crash, hang};
  spec.recovery.stages[kDetect] = fixed(seconds(20.0));
  const auto detect = [&](std::size_t cause) {
    return mean_of(plan_of(spec, steps_of(seconds(1.0), 128)), cause, kDetect);
  };
  EXPECT_DOUBLE_EQ(detect(1), 20.0);
  spec.recovery.watchdog = minutes(10.0);
  EXPECT_DOUBLE_EQ(detect(0), 20.0);
  EXPECT_DOUBLE_EQ(detect(1), 600.0);
  spec.recovery.inspection = minutes(1.0);
  EXPECT_DOUBLE_EQ(detect(0), 20.0);  // stated
  EXPECT_DOUBLE_EQ(detect(1), 30.0);
  spec.recovery.inspection = minutes(30.0);  // the watchdog is first
  EXPECT_DOUBLE_EQ(detect(1), 600.0);
  spec.recovery.stages[kDetect].reset();
  EXPECT_DOUBLE_EQ(detect(0), 900.0);
}

TEST(RecoveryPlan, SlowStepsTakeThePlaceOfTheWarmUp) {
  RunSpec spec = failing_spec();
  spec.recovery.preset = shipped::recovery("megascale-2024");
  spec.recovery.slow_steps = SlowSteps{3, 6.0};
  const RunPlan plan = plan_of(spec, steps_of(seconds(10.0), 128));
  EXPECT_NEAR(mean_of(plan, 0, kWarmUp), 3.0 * 5.0 * 10.0, 1e-9);
  spec.recovery.stages[kWarmUp] = fixed(seconds(1.0));
  expect_recovery_error(spec, "recovery.slow_steps", "is a second warm-up beside recovery.warm_up");
}

TEST(RecoveryPlan, AMassRestartSharesTheStorage) {
  RunSpec spec = failing_spec();
  FailureCause power;
  power.name = "power";
  power.category = FailureCategory::host;
  power.scope = FailureScope::power_domain;
  power.life = ExponentialLaw{days(100.0)};
  spec.failures.correlated = {power};
  spec.failures.domains.power_domain = 64;
  spec.checkpoint.storage.mass_restart_share = 0.25;
  spec.checkpoint.storage.read = gigabytes_per_second(10.0);
  StepInput step = steps_of(seconds(10.0), 128);
  step.parameters = 1e9;  // 14 GB: 1.4 s
  const RunPlan plan = plan_of(spec, step);
  for (std::size_t c = 0; c < plan.causes.size(); ++c) {
    const bool many = plan.causes[c].scope == FailureScope::power_domain;
    EXPECT_NEAR(mean_of(plan, c, kLoad), many ? 5.6 : 1.4, 1e-9) << plan.causes[c].name;
  }
}

TEST(RecoveryPlan, CausesKeepTheStagesTheyState) {
  RunSpec spec = failing_spec();
  FailureCause cause;
  cause.name = "switch";
  cause.recovery[kReschedule] = fixed(minutes(30.0));
  spec.failures.causes = {cause};
  spec.recovery.preset = shipped::recovery("megatron-restart-by-gpus");
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 128));
  EXPECT_NEAR(mean_of(plan, 0, kReschedule), 1800.0, 1e-9);
  EXPECT_DOUBLE_EQ(plan.recovery.scale(0, RecoveryStage::reschedule, 512), 1.0);
  EXPECT_EQ(plan.recovery.stages[0][kReschedule].index(), 0U);
}

TEST(RecoveryPlan, OlmoHybridHasItsMedianAndMean) {
  RunSpec spec = failing_spec();
  spec.recovery.preset = shipped::recovery("olmo-hybrid-2026");
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 64));
  EXPECT_NEAR(in_seconds(mean_recovery_time(plan)), 2334.0, 1e-6);
  const auto* law = std::get_if<LognormalLaw>(&plan.recovery.stages[0][kReschedule]);
  ASSERT_NE(law, nullptr);
  EXPECT_NEAR(in_seconds(law->median), 222.0, 1e-12);
  EXPECT_NEAR(law->sigma, 2.169, 0.001);
}

TEST(RecoveryPlan, EmpiricalStagesDrawTheirValues) {
  const Duration law = EmpiricalLaw{{seconds(1.0), seconds(2.0), seconds(6.0)}};
  EXPECT_DOUBLE_EQ(in_seconds(mean(law)), 3.0);
  RandomStream stream(3, 0, Purpose::property_test);
  std::array<int, 3> seen{};
  for (int i = 0; i < 3000; ++i) {
    const double draw = in_seconds(sample(law, stream));
    ++seen[draw == 1.0 ? 0 : draw == 2.0 ? 1 : 2];
    EXPECT_TRUE(draw == 1.0 || draw == 2.0 || draw == 6.0);
  }
  for (const int count : seen) {
    EXPECT_NEAR(count, 1000, 4.0 * std::sqrt(1000.0 * 2.0 / 3.0));
  }
  EXPECT_EQ(problem_of(Duration(EmpiricalLaw{})), "the list of values is empty");
  EXPECT_EQ(problem_of(Duration(EmpiricalLaw{{seconds(-1.0)}})), "the values must not be negative");
  EXPECT_DOUBLE_EQ(in_seconds(mean(scaled(law, 2.0))), 6.0);
}

TEST(RecoveryPlan, EveryPresetOfCommunicatorsRisesAndNamesItsSource) {
  for (const std::string& name : shipped::names(scenario::PresetKind::communicators)) {
    EXPECT_FALSE(shipped::preset(scenario::PresetKind::communicators, name)->source.empty());
    const GpuCurve curve = shipped::communicators(name)->curve;
    for (std::size_t i = 1; i < curve.size(); ++i) {
      EXPECT_GT(curve[i].gpus, curve[i - 1].gpus) << name;
      EXPECT_GT(curve[i].time, curve[i - 1].time) << name;
    }
  }
}

TEST(RecoveryPlan, FailedRestartsReachThePlan) {
  RunSpec spec = failing_spec();
  spec.recovery.restart_fails = 0.2;
  spec.recovery.failed_restart = minutes(10.0);
  spec.recovery.max_restarts = 7;
  const RecoveryPlan plan = plan_of(spec, steps_of(seconds(1.0), 128)).recovery;
  EXPECT_EQ(plan.restart_fails, 0.2);
  EXPECT_EQ(plan.failed_restart, to_sim_time(minutes(10.0)));
  EXPECT_EQ(plan.max_restarts, 7);
}

TEST(RecoveryPlan, WrongSpecsAreNamed) {
  RunSpec spec = failing_spec();
  spec.recovery.restart_fails = 1.0;
  expect_recovery_error(spec, "recovery.restart_fails", "must be at least 0 and below 1");
  spec = failing_spec();
  spec.recovery.communicator_points = {{8.0, seconds(1.0)}, {8.0, seconds(2.0)}};
  expect_recovery_error(spec, "recovery.communicators.points",
                        "8 GPUs after 8: the GPUs must rise");
  spec = failing_spec();
  spec.recovery.slow_steps = SlowSteps{0, 2.0};
  expect_recovery_error(spec, "recovery.slow_steps",
                        "needs at least 1 step and a factor of at least 1");
  spec = failing_spec();
  spec.recovery.max_restarts = -1;
  expect_recovery_error(spec, "recovery.max_restarts", "must not be negative");
}

// Failure specs resolved: units, what is slow or wrong, logs, presets, and what is no plan.

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
            "failures.loss_spikes: needs a rate, every_steps or a rule\n"
            "failures.loss_spikes: needs exactly one of rewind_steps and skip_steps\n");
  spec = month();
  spec.failures.episodes = {{days(3.0), days(2.0), 1.0}};
  EXPECT_EQ(problems_of(spec),
            "failures.episodes: episodes must follow one another in time, each with a multiplier "
            "of at least 0\n");
}

// Beyond four sigma: erfc(4 / sqrt 2) / 2 = 3.1671e-5. Student's t with five degrees of freedom has
// P(T > x) = 1/2 - (theta + sin theta cos theta + 2/3 sin theta cos^3 theta) / pi with
// tan theta = x / sqrt 5.
TEST(SpikeRules, FalseAlarmsFollowTheTailsOfTheNoise) {
  EXPECT_NEAR(false_alarms_per_step({.sigma = 4.0}), 3.16712e-5, 1e-9);
  EXPECT_NEAR(false_alarms_per_step({.sigma = 6.0}), 9.8659e-10, 1e-13);
  const double theta = std::atan(4.0 * std::sqrt(5.0 / 3.0) / std::sqrt(5.0));
  const double c = std::cos(theta);
  const double heavy =
      0.5 - (theta + std::sin(theta) * (c + 2.0 / 3.0 * c * c * c)) / std::numbers::pi;
  EXPECT_NEAR(false_alarms_per_step({.sigma = 4.0, .degrees_of_freedom = 5.0}), heavy, 1e-12);
  EXPECT_NEAR(1.0 / heavy, 559.8, 0.1);
  EXPECT_NEAR(false_alarms_per_step({.sigma = 4.0, .series = 1024}),
              1.0 - std::pow(1.0 - 3.16712e-5, 1024.0), 1e-7);
  EXPECT_NEAR(false_alarms_per_step({.sigma = 6.0, .degrees_of_freedom = 1e6}),
              false_alarms_per_step({.sigma = 6.0}), 1e-12);
}

TEST(SpikeRules, FalseAlarmsAreACauseOfTheirOwnBesideRealSpikes) {
  RunSpec spec = month();
  spec.failures.spikes.emplace();
  spec.failures.spikes->every_steps = 1000;
  spec.failures.spikes->rule = SpikeRule{.sigma = 4.0};
  spec.failures.spikes->skip_steps = 1;
  std::vector<RunProblem> problems;
  const auto resolved = resolve_run(spec, steps_of(seconds(1.0), 16), problems);
  ASSERT_TRUE(resolved);
  const RunPlan& plan = *resolved;
  ASSERT_EQ(plan.failures.spikes.size(), 2U);
  EXPECT_EQ(plan.causes[static_cast<std::size_t>(plan.failures.spikes[0].cause)].name,
            "loss spike");
  EXPECT_EQ(plan.causes[static_cast<std::size_t>(plan.failures.spikes[1].cause)].name,
            "false alarm of the spike rule");
}

}  // namespace
}  // namespace orrery::run
