// Saved answers: what `run --json` writes is read back, and what is something else is refused.

#include "sim/answer/report/files/saved_evaluation.hpp"

#include <gtest/gtest.h>

#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

TEST(SavedEvaluation, HoldsEveryFigureThatWasWritten) {
  const Evaluation evaluation = testing::sample_evaluation();
  const SavedReading reading = read_saved_evaluations(to_json(evaluation));
  ASSERT_EQ(reading.problem, "");
  ASSERT_EQ(reading.evaluations.size(), 1U);
  const Figures& saved = reading.evaluations[0];
  EXPECT_EQ(saved.name, evaluation.echo.name);
  EXPECT_EQ(saved.feasible, evaluation.feasible);
  for (const MetricInfo& info : metric_registry()) {
    const MetricValue* metric = evaluation.metrics.find(info.id);
    const MetricFigures* found = saved.find(info.id);
    ASSERT_EQ(metric == nullptr, found == nullptr) << info.name;
    if (metric != nullptr) {
      EXPECT_EQ(found->value, metric->value) << info.name;
      EXPECT_EQ(found->p50.has_value(), metric->trials.has_value()) << info.name;
    }
  }
  const auto rows = run_ledger_rows(evaluation);
  ASSERT_EQ(saved.run_ledger.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(saved.run_ledger[i].label, rows[i].label);
    EXPECT_EQ(saved.run_ledger[i].share, rows[i].share);
  }
  ASSERT_EQ(saved.memory.size(), evaluation.step.memory.size());
  EXPECT_EQ(in_bytes(saved.memory[0].limit), in_bytes(evaluation.step.memory[0].limit));
  EXPECT_EQ(saved.expectations.size(), evaluation.expectations.size());
  EXPECT_EQ(saved.levers.size(), evaluation.levers.size());
}

TEST(SavedEvaluation, DoesNotDifferFromTheAnswerThatWasSaved) {
  const Evaluation evaluation = testing::sample_evaluation();
  const SavedReading reading = read_saved_evaluations(to_json(evaluation));
  const std::vector<Figures> both = {figures_of(evaluation), reading.evaluations.at(0)};
  const auto rows = differences(both);
  EXPECT_GT(rows.size(), 10U);
  for (const DifferenceRow& row : rows) {
    EXPECT_EQ(row.values[1].change, 0.0) << row.name;
  }
}

TEST(SavedEvaluation, ReadsSeveralAnswersOfOneFile) {
  const std::vector<Evaluation> two = {testing::sample_evaluation(),
                                       testing::sample_step_evaluation()};
  const SavedReading reading = read_saved_evaluations(to_json(two));
  ASSERT_EQ(reading.evaluations.size(), 2U);
  EXPECT_TRUE(reading.evaluations[1].run_ledger.empty());
}

TEST(SavedEvaluation, SaysWhyAFileIsNone) {
  const std::string whole = to_json(testing::sample_evaluation());
  EXPECT_EQ(read_saved_evaluations(whole.substr(0, whole.size() / 2)).problem,
            "the JSON is cut off");
  EXPECT_EQ(read_saved_evaluations("{}").problem,
            "no saved answer: it does not say \"schema\": \"orrery-evaluation/1\"");
  EXPECT_EQ(read_saved_evaluations(R"({"schema": "orrery-evaluation/9"})").problem,
            "its schema is orrery-evaluation/9, this program reads orrery-evaluation/1");
  EXPECT_EQ(read_saved_evaluations("[]").problem, "it holds no answer");
  EXPECT_TRUE(is_saved_evaluation(whole));
  EXPECT_FALSE(is_saved_evaluation("name: \"orrery-evaluation/1\""));
}

TEST(SavedEvaluation, SurvivesValuesOfTheWrongKind) {
  const SavedReading reading = read_saved_evaluations(
      R"({"schema": "orrery-evaluation/1", "scenario": 7, "feasible": "yes", "reasons": [1],
          "metrics": {"mfu": {"value": null}, "step_time_s": 3}, "step_ledger": {"a": 1},
          "run_ledger": [{"category": "nothing"}, 4], "memory": [null], "levers": "none",
          "expectations": [[]], "diagnostics": [{"line": "x"}]})");
  EXPECT_EQ(reading.problem, "");
  const Figures& saved = reading.evaluations.at(0);
  EXPECT_TRUE(saved.run_ledger.empty());
  EXPECT_EQ(saved.metrics.size(), 1U);
  EXPECT_EQ(saved.memory.size(), 1U);
}

}  // namespace
}  // namespace orrery::report
