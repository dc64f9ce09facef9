// The reason is the ledger difference: its parts add up to what the plan is behind.

#include "sim/answer/plan/result/reason.hpp"

#include <cmath>
#include <numeric>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/plan/finalists.hpp"
#include "sim/scenario/load.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::plan::test {
namespace {

struct Answered {
  report::Evaluation evaluation;
  Facts facts;
};

Answered answered(const std::string& text) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(text, "small.yaml", diagnostics);
  EXPECT_TRUE(scenario.has_value()) << to_string(diagnostics);
  evaluate::EvaluateOptions options;
  options.levers = false;
  options.search = profiles();
  auto evaluation = evaluate::evaluate(*scenario, options, diagnostics);
  EXPECT_TRUE(evaluation.has_value()) << to_string(diagnostics);
  Facts facts = facts_of(*scenario, *evaluation);
  return {*std::move(evaluation), std::move(facts)};
}

std::string with_layout(const std::string& layout) {
  return replaced(small_text(), "layout: {tensor: 2, sequence_parallel: true, sharding: zero1}",
                  "layout: {" + layout + "}");
}

TEST(Account, AddsUpToTheObjective) {
  const Answered one = answered(small_text());
  for (std::size_t i = 0; i < kObjectiveNames.size(); ++i) {
    const auto objective = static_cast<Objective>(i);
    const Account account = account_of(one.evaluation, objective);
    const double sum = std::accumulate(account.parts.begin(), account.parts.end(), 0.0);
    EXPECT_GT(account.total, 0.0) << kObjectiveNames[i];
    EXPECT_NEAR(sum, account.total, 1e-9 * account.total) << kObjectiveNames[i];
  }
}

// 16 stages for 4 micro-batches wait (p - 1) / (m + p - 1) = 15 / 19 of the time.
TEST(Reason, NamesTheBubbleWithItsStagesAndMicroBatches) {
  const Answered best =
      answered(with_layout("tensor: 2, sequence_parallel: true, sharding: zero1"));
  const Answered deep = answered(with_layout("pipeline: 16, schedule: 1f1b"));
  const std::string text =
      reason(Objective::step_time, {best.evaluation, best.facts}, {deep.evaluation, deep.facts});
  EXPECT_TRUE(text.starts_with("+")) << text;
  EXPECT_NE(text.find(" bubble: 16 stages for 64 micro-batches"), std::string::npos) << text;
}

TEST(Reason, NamesTensorGroupsThatLeaveNvlink) {
  const Answered best = answered(small_text());
  const Answered wide = answered(with_layout("tensor: 16, sequence_parallel: true"));
  const std::string text =
      reason(Objective::step_time, {best.evaluation, best.facts}, {wide.evaluation, wide.facts});
  EXPECT_NE(text.find("tensor communication: tensor 16 reaches over 2 NVLink domains"),
            std::string::npos)
      << text;
}

TEST(Reason, SpeaksOfMoneyWhereMoneyCounts) {
  const Answered best = answered(small_text());
  const Answered idle = answered(replaced(small_text(), "spares: 1", "spares: 8"));
  const auto changes =
      ledger_changes(Objective::cost, {best.evaluation, best.facts}, {idle.evaluation, idle.facts});
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.front().category, "idle spares");
  EXPECT_EQ(changes.front().because, "8 spare nodes");
  EXPECT_GT(changes.front().change, 0.0);
  const std::string text =
      reason(Objective::cost, {best.evaluation, best.facts}, {idle.evaluation, idle.facts});
  EXPECT_TRUE(text.starts_with("+$")) << text;
}

TEST(Reason, FindsNoDifferenceOfAPlanToItself) {
  const Answered one = answered(small_text());
  EXPECT_EQ(reason(Objective::cost, {one.evaluation, one.facts}, {one.evaluation, one.facts}),
            "no difference in the ledger");
}

}  // namespace
}  // namespace orrery::plan::test
