// Phases, batch ramps and rework: which step belongs where, how long it takes, what is trained.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/run/rollout/rollout.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run::testing {
namespace {

constexpr double kSequence = 2048.0;

PlannedPhase phase(std::int64_t until, double step_seconds, double tokens_per_step) {
  PlannedPhase planned;
  planned.until_step = until;
  planned.step_time = to_sim_time(seconds(step_seconds));
  planned.tokens_per_step = tokens(tokens_per_step);
  return planned;
}

// 10 steps of 2 s and 100 tokens, 20 of 3 s and 200, then 5 s and 1,000.
std::vector<PlannedPhase> three_phases() {
  return {phase(10, 2.0, 100.0), phase(30, 3.0, 200.0), phase(kLastStep, 5.0, 1'000.0)};
}

TEST(PhasePlan, SumsStepsOfEveryPhaseAtItsOwnPace) {
  const auto phases = three_phases();
  EXPECT_EQ(tokens_of_steps(phases, 0), Tokens{});
  EXPECT_EQ(tokens_of_steps(phases, 10), tokens(1'000.0));
  EXPECT_EQ(tokens_of_steps(phases, 12), tokens(1'400.0));
  EXPECT_EQ(tokens_of_steps(phases, 31), tokens(1'000.0 + 4'000.0 + 1'000.0));
  EXPECT_EQ(time_of_steps(phases, 12), seconds(26.0));
  EXPECT_EQ(time_of_steps(phases, 31), seconds(20.0 + 60.0 + 5.0));
}

TEST(PhasePlan, FindsThePhaseOfAStep) {
  const auto phases = three_phases();
  for (const auto& [step, index] : std::vector<std::pair<std::int64_t, std::size_t>>{
           {0, 0}, {9, 0}, {10, 1}, {29, 1}, {30, 2}, {1'000'000, 2}}) {
    EXPECT_EQ(phase_of_step(phases, step), index) << step;
  }
}

TEST(PhasePlan, CountsTheLeastStepsThatReachATarget) {
  const auto phases = three_phases();
  EXPECT_EQ(steps_for_tokens(phases, tokens(1'000.0)), 10.0);
  EXPECT_EQ(steps_for_tokens(phases, tokens(1'001.0)), 11.0);
  EXPECT_EQ(steps_for_tokens(phases, tokens(5'000.0)), 30.0);
  EXPECT_EQ(steps_for_tokens(phases, tokens(5'001.0)), 31.0);
  EXPECT_EQ(steps_for_time(phases, seconds(26.0)), 12.0);
}

// Least n with tokens(n) >= wanted, by counting.
TEST(PhasePlan, StepsForTokensInvertTokensOfStepsOnRandomPhases) {
  RandomStream random(20261121, 0, Purpose::failure_time);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlannedPhase> phases;
    std::int64_t until = 0;
    for (int i = 0; i < 4; ++i) {
      until += 1 + static_cast<std::int64_t>(random.uniform01() * 20.0);
      phases.push_back(phase(i == 3 ? kLastStep : until, 1.0 + random.uniform01(),
                             1.0 + std::floor(random.uniform01() * 50.0)));
    }
    const Tokens wanted = tokens(1.0 + std::floor(random.uniform01() * 3'000.0));
    std::int64_t count = 0;
    while (tokens_of_steps(phases, count) < wanted) {
      ++count;
    }
    ASSERT_EQ(steps_for_tokens(phases, wanted), static_cast<double>(count)) << "round " << round;
  }
}

// Megatron: --rampup-batch-size 192 16 9765625 --global-batch-size 2048. There are 116 rises, each
// after 9,765,625 / 116 = 84,186.4 samples, so the ramp takes about sum 84,186.4 / b steps for
// b = 192, 208, ..., 2032. BLOOM printed 20,155,564,032 tokens after iteration 12,695, with the
// full batch since about 03-18 (tr11-176B chronicles); a step more or less per rise is rounding.
TEST(PhasePlan, MegatronRampReachesBloomsPrintedIteration) {
  TrainingSpec training;
  training.batch_ramp = BatchRampSpec{.start = 192, .increment = 16, .samples = 9'765'625};
  const std::vector<PhaseSpec> specs = phases_of(training, 2048, 2048);
  ASSERT_EQ(specs.size(), 117U);
  EXPECT_EQ(specs.front().global_batch, 192);
  EXPECT_EQ(specs[115].global_batch, 2032);
  EXPECT_FALSE(specs.back().global_batch.has_value());
  EXPECT_FALSE(specs.back().until.has_value());

  RunSpec spec;
  spec.training.steps = 94'767;
  spec.training.phases = specs;
  spec.training.batch_ramp = training.batch_ramp;
  StepInput step = steps_of(seconds(105.22));
  for (const PhaseSpec& one : specs) {
    const double batch = static_cast<double>(one.global_batch.value_or(2048));
    step.phases.push_back({to_sim_time(seconds(1.0)), tokens(batch * kSequence), step.nodes});
  }
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec, step, problems);
  ASSERT_TRUE(plan.has_value()) << (problems.empty() ? std::string() : problems.front().message);
  constexpr double kPrinted = 20'155'564'032.0;
  EXPECT_NEAR(in_tokens(tokens_of_steps(plan->phases, 12'695)) / kPrinted, 1.0, 5e-3);
  EXPECT_NEAR(in_tokens(tokens_of_steps(plan->phases, 94'767)) / 364'390'481'920.0, 1.0, 1e-3);
}

// 10 TB read at 1 TB/s and split anew at 2 TB/s take 10 s and 5 s; what is stated stands alone, and
// a phase that keeps its layout begins at once.
TEST(PhasePlan, AChangedLayoutLoadsTheCheckpointAnew) {
  RunSpec spec;
  spec.training.steps = 100;
  spec.training.phases.resize(4);
  for (std::size_t i = 0; i < 3; ++i) {
    spec.training.phases[i].until = static_cast<std::int64_t>(20 * (i + 1));
  }
  spec.training.phases[3].change = seconds(600.0);
  spec.checkpoint.bytes_per_parameter = bytes(10.0);
  spec.checkpoint.storage.read = bytes_per_second(1e12);
  spec.checkpoint.reshard = bytes_per_second(2e12);
  StepInput step = steps_of(seconds(1.0));
  step.parameters = 1e12;
  for (const bool reloads : {false, true, false, true}) {
    step.phases.push_back({to_sim_time(seconds(1.0)), tokens(100.0), step.nodes, reloads});
  }
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec, step, problems);
  ASSERT_TRUE(plan.has_value()) << (problems.empty() ? std::string() : problems.front().message);
  std::vector<double> changes;
  for (const PlannedPhase& phase : plan->phases) {
    changes.push_back(in_seconds(to_seconds(phase.change)));
  }
  EXPECT_EQ(changes, (std::vector<double>{0.0, 15.0, 0.0, 600.0}));
}

std::string refusal_of(const TrainingSpec& training, std::size_t steps) {
  RunSpec spec;
  spec.training = training;
  StepInput step = steps_of(seconds(1.0));
  step.phases.assign(steps, {to_sim_time(seconds(1.0)), tokens(100.0), step.nodes});
  std::vector<RunProblem> problems;
  EXPECT_FALSE(resolve_run(spec, step, problems).has_value());
  return problems.empty() ? std::string() : problems.front().message;
}

TEST(PhasePlan, RefusesPhasesOutOfOrder) {
  TrainingSpec training;
  training.steps = 100;
  training.phases.resize(3);
  training.phases[0].name = "first";
  training.phases[0].until = std::int64_t{50};
  training.phases[1].name = "second";
  training.phases[1].until = tokens(1'000.0);  // step 10
  EXPECT_EQ(refusal_of(training, 3), "phase second ends before it begins, at step 50");
  training.phases[1].until.reset();
  EXPECT_EQ(refusal_of(training, 3), "phase second has no end");
  training.phases[1].until = std::int64_t{60};
  training.phases[2].name = "third";
  training.phases[2].until = std::int64_t{70};
  EXPECT_EQ(refusal_of(training, 3), "phase third is the last and has an end");
}

TEST(PhasePlan, RefusesReworkOfMoreThanWasDone) {
  TrainingSpec training;
  training.steps = 100;
  training.rework.resize(1);
  training.rework[0].name = "spike";
  training.rework[0].at = std::int64_t{10};
  training.rework[0].discard = Progress(std::int64_t{11});
  EXPECT_EQ(refusal_of(training, 0), "rework `spike` at step 10 throws away 11 steps");
}

TEST(PhasePlan, ResolvesReworkInTokens) {
  RunSpec spec;
  spec.training.steps = 100;
  spec.training.rework.resize(2);
  StepInput step = steps_of(seconds(1.0));
  step.tokens_per_step = tokens(100.0);
  spec.training.rework[0].at = tokens(1'000.0);
  spec.training.rework[1].at = std::int64_t{50};
  spec.training.rework[1].discard = Progress(tokens(2'000.0));
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec, step, problems);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->rework.size(), 2U);
  EXPECT_EQ(plan->rework[0].at_step, 10);
  EXPECT_EQ(plan->rework[0].discard_steps, 10);
  EXPECT_EQ(plan->rework[1].discard_steps, 20);
}

}  // namespace
}  // namespace orrery::run::testing

namespace orrery::run {
namespace {

// Steps of reinforcement learning against their closed forms.

RolloutSpec spec() {
  return {.prompts = 64,
          .samples = 8,
          .prompt_length = 1000,
          .answer_mean = 3000.0,
          .answer_cap = 100'000,
          .answer_sigma = 0.5,
          .tokens_per_second = 1000.0,
          .token_time = seconds(0.01),
          .reward = {},
          .weight_sync = seconds(4.0),
          .switching = seconds(6.0)};
}

TrainerTimes trainer() {
  return {.tokens = 512'000.0,
          .update = seconds(20.0),
          .forward = seconds(6.0),
          .gpus = 32,
          .weights = bytes(64e9)};
}

Seconds phase(const RolloutResult& result, std::string_view name) {
  for (const RolloutPhase& one : result.phases) {
    if (one.name == name) {
      return one.time;
    }
  }
  return {};
}

// 512 answers of 4,000 tokens are four steps of the trainer.
TEST(Rollout, PhasesAddUpWhereAllShareTheGpus) {
  const RolloutResult result = compose_rollout(spec(), trainer());
  EXPECT_EQ(result.answers, 512);
  EXPECT_DOUBLE_EQ(result.tokens, 2'048'000.0);
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "update")), 80.0);
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "old log probabilities")), 24.0);
  EXPECT_EQ(phase(result, "reference log probabilities"), Seconds{});
  Seconds sum;
  for (const RolloutPhase& one : result.phases) {
    sum += one.time;
  }
  EXPECT_DOUBLE_EQ(in_seconds(result.step), in_seconds(sum));
}

// A critic of half the size: half a forward and half an update more, whatever else runs.
TEST(Rollout, ACriticTakesItsShareOfTheTrainersTimes) {
  RolloutSpec with = spec();
  with.critic = CriticSpec{.size = 0.5};
  const RolloutResult result = compose_rollout(with, trainer());
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "values of the critic")), 12.0);
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "update of the critic")), 40.0);
  EXPECT_DOUBLE_EQ(in_seconds(result.step - compose_rollout(spec(), trainer()).step), 52.0);
}

// Both pools are paid for the whole step.
TEST(Rollout, AnAnswerCostsTheGpusOfBothPools) {
  RolloutSpec priced = spec();
  EXPECT_FALSE(compose_rollout(priced, trainer()).answer);
  priced.gpus = 8;
  priced.gpu_hour = dollars_per_hour(2.0);
  const RolloutResult result = compose_rollout(priced, trainer());
  const double hours = in_seconds(result.step) / 3600.0;
  EXPECT_NEAR(in_dollars(*result.answer),
              2.0 * hours * static_cast<double>(trainer().gpus + 8) / 512.0, 1e-12);
}

// Answers of one length: the rate alone decides. 16 at once on a GPU, 1,000 tokens/s.
TEST(Rollout, AnswersOfOneLengthTakeTheRate) {
  RolloutSpec alike = spec();
  alike.answer_sigma = 0.0;
  const RolloutResult result = compose_rollout(alike, trainer());
  EXPECT_NEAR(in_seconds(phase(result, "generation")), 512.0 * 3000.0 / (1000.0 * 32.0), 1e-9);
  EXPECT_EQ(result.tail, Seconds{});
}

// L = E exp(-sigma^2 / 2 + sigma z), z = 2.886 for the highest of 512; the tail costs c a token.
TEST(Rollout, TheLongestAnswerIsWaitedFor) {
  const RolloutResult result = compose_rollout(spec(), trainer());
  EXPECT_NEAR(result.longest, 3000.0 * std::exp(-0.125 + 0.5 * 2.8856), 10.0);
  EXPECT_NEAR(in_seconds(result.tail), 0.01 * (result.longest - 3000.0), 1e-9);
  RolloutSpec capped = spec();
  capped.answer_cap = 4096;
  EXPECT_DOUBLE_EQ(compose_rollout(capped, trainer()).longest, 4096.0);
}

// A pool that generates one step ahead hides the shorter of the two.
TEST(Rollout, OneStepAheadHidesTheShorterPool) {
  RolloutSpec apart = spec();
  apart.gpus = 32;
  apart.lag = 1;
  const RolloutResult result = compose_rollout(apart, trainer());
  const double made = in_seconds(phase(result, "generation"));
  EXPECT_DOUBLE_EQ(in_seconds(result.step), std::max(made, 104.0) + 4.0);
  EXPECT_EQ(result.gpus, 64);
  EXPECT_EQ(phase(result, "offload and wake"), Seconds{});
  apart.lag = 0;
  EXPECT_DOUBLE_EQ(in_seconds(compose_rollout(apart, trainer()).step), made + 104.0 + 4.0);
}

// With as many GPUs as it says, generation takes as long as training.
TEST(Rollout, TheBalancedPoolKeepsPace) {
  RolloutSpec apart = spec();
  apart.concurrency = 16;
  apart.answer_cap = 6000;
  apart.gpus = 8;
  apart.lag = 1;
  const RolloutResult result = compose_rollout(apart, trainer());
  ASSERT_TRUE(result.balanced);
  apart.gpus = static_cast<std::int64_t>(std::ceil(*result.balanced));
  const RolloutResult even = compose_rollout(apart, trainer());
  EXPECT_LE(in_seconds(phase(even, "generation")), 104.0);
  apart.gpus = *apart.gpus - 1;
  EXPECT_GT(in_seconds(phase(compose_rollout(apart, trainer()), "generation")), 104.0);
}

// More lag, more GPUs, shorter answers, a faster server: never a longer step.
TEST(Rollout, MoreNeverTakesLonger) {
  constexpr std::uint64_t kSeed = 20261126;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < 2000; ++i) {
    RolloutSpec base = spec();
    base.concurrency = 1 + static_cast<std::int64_t>(random.uniform01() * 64.0);
    base.tokens_per_second = 50.0 + random.uniform01() * 5000.0;
    base.answer_sigma = random.uniform01();
    base.answer_mean = 100.0 + random.uniform01() * 8000.0;
    base.gpus = 1 + static_cast<std::int64_t>(random.uniform01() * 128.0);
    const auto step = [](const RolloutSpec& one) {
      return in_seconds(compose_rollout(one, trainer()).step) - 1e-9;
    };
    RolloutSpec ahead = base;
    ahead.lag = 1;
    RolloutSpec more = base;
    more.gpus = *base.gpus * 2;
    RolloutSpec faster = base;
    faster.tokens_per_second *= 1.5;
    RolloutSpec shorter = base;
    shorter.answer_cap = 1000;
    for (const RolloutSpec& better : {ahead, more, faster, shorter}) {
      EXPECT_LE(step(better), step(base) + 2e-9) << "seed " << kSeed << ", case " << i;
    }
  }
}

}  // namespace
}  // namespace orrery::run
