// Phases of the training: the step simulator times every shape once, and says which one fails.

#include <gtest/gtest.h>

#include <string>

#include "sim/run/run_plan.hpp"
#include "tests/unit/evaluate/evaluate_fixture.hpp"

namespace orrery::evaluate::test {
namespace {

std::string with_training(const std::string& keys) {
  return replaced(kBase, "training: {tokens: 300B,", "training: {tokens: 300B, " + keys + ",");
}

const run::RunPlan& plan_of(const report::Evaluation& evaluation) { return *evaluation.plan; }

TEST(PhaseSteps, EveryPhaseHasTheStepOfItsOwnShape) {
  const report::Evaluation phased = must_evaluate(with_training(
      "phases: [{until: 1000 steps, global: 64, nodes: 4}, {until: 2000 steps, sequence_length: "
      "4096}, {name: rest}]"));
  const auto& phases = plan_of(phased).phases;
  ASSERT_EQ(phases.size(), 3U);
  const auto step_of = [](const std::string& text) { return plan_of(must_evaluate(text)).step; };
  const run::StepInput small =
      step_of(replaced(replaced(kBase, "global: 128", "global: 64"), "nodes: 8,", "nodes: 4,"));
  EXPECT_EQ(phases[0].step_time, small.step_time);
  EXPECT_EQ(phases[0].tokens_per_step, small.tokens_per_step);
  EXPECT_EQ(phases[0].nodes, 4);
  const run::StepInput narrow =
      step_of(replaced(kBase, "sequence_length: 8192", "sequence_length: 4096"));
  EXPECT_EQ(phases[1].step_time, narrow.step_time);
  EXPECT_EQ(phases[1].tokens_per_step, narrow.tokens_per_step);
  EXPECT_EQ(phases[2].step_time, plan_of(phased).step.step_time);
}

TEST(PhaseSteps, APhaseMayHaveAnotherLayout) {
  const auto phases =
      plan_of(must_evaluate(with_training(
                  "phases: [{until: 1000 steps}, {until: 2000 steps, tensor: 4, pipeline: 2, "
                  "restart: 10min}, {name: back, restart: 10min}]")))
          .phases;
  ASSERT_EQ(phases.size(), 3U);
  const run::StepInput wide =
      plan_of(must_evaluate(replaced(replaced(kBase, "tensor: 2", "tensor: 4"), "pipeline: 4",
                                     "pipeline: 2")))
          .step;
  EXPECT_EQ(phases[1].step_time, wide.step_time);
  EXPECT_NE(phases[1].step_time, phases[0].step_time);
  EXPECT_EQ(phases[2].step_time, phases[0].step_time);
}

TEST(PhaseSteps, ALayoutThatChangesForNothingIsWarnedOf) {
  Diagnostics diagnostics;
  const auto phases = [](const std::string& more) {
    return with_training("phases: [{until: 5 steps}, {name: wide, tensor: 4" + more + "}]");
  };
  EXPECT_TRUE(evaluate_text(phases(", restart: 0s"), diagnostics));
  EXPECT_NE(to_string(diagnostics).find("wide: the layout changes, which takes no time as stated"),
            std::string::npos);
  const auto planned = plan_of(must_evaluate(phases(""))).step.phases;
  ASSERT_EQ(planned.size(), 2U);
  EXPECT_FALSE(planned[0].reloads);
  EXPECT_TRUE(planned[1].reloads);  // the load takes time without a word
}

TEST(PhaseSteps, ARunWithAPhaseThatDoesNotFitDoesNotFit) {
  const report::Evaluation evaluation = must_evaluate(
      with_training("phases: [{until: 5 steps}, {name: long, sequence_length: 131072}]"));
  EXPECT_TRUE(evaluation.step.feasibility.fits);
  EXPECT_FALSE(evaluation.feasible);
  ASSERT_EQ(evaluation.reasons.size(), 1U);
  EXPECT_EQ(evaluation.reasons.front().find("phase long does not fit: a GPU of stage 0 lacks "),
            0U);
}

// C / (6 N) tokens; money is what the nodes cost until it is spent.
TEST(Budget, IsTokensOrAWindow) {
  const auto metrics_of = [](const std::string& budget) {
    return must_evaluate(replaced(kBase, "tokens: 300B", "budget: " + budget)).metrics;
  };
  const auto value = [](const report::MetricSet& metrics, report::MetricId id) {
    const report::MetricValue* metric = metrics.find(id);
    return metric != nullptr ? metric->value : 0.0;
  };
  const report::MetricSet compute = metrics_of("1e22FLOP");
  EXPECT_NEAR(value(compute, report::MetricId::budget_compute), 1e22, 1e18);
  EXPECT_GT(value(compute, report::MetricId::optimal_parameters), 9e9);
  const report::MetricSet money = metrics_of("$50k");
  EXPECT_NEAR(value(money, report::MetricId::cost), 50e3, 1.0);
  EXPECT_EQ(must_evaluate(kBase).metrics.find(report::MetricId::budget_compute), nullptr);
}

// A measured step time misses by the same factor in every phase; one that is stated for a phase
// holds as it is.
TEST(PhaseSteps, AGivenStepTimeScalesThePhases) {
  const std::string keys =
      "phases: [{until: 1000 steps, global: 64}, {until: 2000 steps, "
      "step_time: 3s}, {name: rest}]";
  const auto plain = plan_of(must_evaluate(with_training(keys))).phases;
  const auto given = plan_of(must_evaluate(with_training(keys) + "step: {time: 20s}\n")).phases;
  ASSERT_EQ(given.size(), 3U);
  EXPECT_EQ(given[2].step_time, to_sim_time(seconds(20.0)));
  EXPECT_EQ(given[1].step_time, to_sim_time(seconds(3.0)));
  EXPECT_NEAR(to_seconds(given[0].step_time) / to_seconds(given[2].step_time),
              to_seconds(plain[0].step_time) / to_seconds(plain[2].step_time), 1e-8);
}

TEST(PhaseSteps, ABatchRampBecomesPhases) {
  const auto phases =
      plan_of(must_evaluate(with_training("batch_ramp: {start: 32, increment: 32, samples: 9600}")))
          .phases;
  ASSERT_EQ(phases.size(), 4U);          // 32, 64, 96, 128
  EXPECT_EQ(phases[0].until_step, 100);  // 3,200 samples of 32
  EXPECT_EQ(phases[1].until_step, 150);
  EXPECT_LT(phases[0].step_time, phases[3].step_time);
}

TEST(PhaseSteps, APhaseThatCannotBeTrainedIsRefusedByName) {
  const auto refusal = [](const std::string& keys) {
    Diagnostics diagnostics;
    EXPECT_FALSE(evaluate_text(with_training(keys), diagnostics).has_value());
    return to_string(diagnostics);
  };
  EXPECT_NE(refusal("phases: [{name: odd, until: 5 steps, global: 33}, {name: rest}]")
                .find("training.phases: odd: "),
            std::string::npos);
  EXPECT_NE(refusal("phases: [{until: 5 steps, nodes: 16}, {name: rest}]")
                .find("phase 1: 16 nodes, but the cluster has 8 (at most 8)"),
            std::string::npos);
  EXPECT_NE(refusal("phases: [{until: 5 steps, gpus: 12}, {name: rest}]")
                .find("phase 1: 12 GPUs are no whole number of nodes (a multiple of 8)"),
            std::string::npos);
  EXPECT_NE(refusal("phases: [{until: 5 steps}, {until: 9 steps}]")
                .find("phase phase 2 is the last and has an end"),
            std::string::npos);
  EXPECT_NE(refusal("batch_ramp: {start: 30, increment: 16, samples: 5}")
                .find("from 30 in steps of 16 does not reach batch.global = 128"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::evaluate::test
