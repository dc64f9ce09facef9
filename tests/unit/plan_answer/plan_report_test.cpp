// The page of a plan: within 100 columns, every ranked plan with its reason, the same in JSON.

#include "sim/answer/plan/result/plan_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::plan::test {
namespace {

using Json = nlohmann::json;

const Plan& shown() {
  static const Plan plan =
      plan_of(small_text() + replaced(narrow_block(), "plan:\n", "plan:\n  objective: cost\n"));
  return plan;
}

TEST(PlanReport, TellsTheWinnerTheRankingAndHowFirmItIs) {
  const std::string text = to_text(shown(), {});
  for (const char* part : {"Small: the plan with the lowest cost", "SEARCH", "BEST", "RANKING",
                           "FIRM", "the scenario as it stands"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(PlanReport, SaysTheSameInJson) {
  const Json json = Json::parse(to_json(shown()));
  EXPECT_EQ(json["schema"], "orrery-plan/1");
  EXPECT_EQ(json["objective"], "cost");
  EXPECT_EQ(json["unit"], "usd");
  EXPECT_TRUE(json["complete"]);
  ASSERT_EQ(json["finalists"].size(), shown().finalists.size());
  EXPECT_EQ(json["finalists"][0]["standing"], "best");
  EXPECT_EQ(json["finalists"][0]["metrics"]["cost_usd"]["value"], json["finalists"][0]["value"]);
  EXPECT_EQ(json["search"]["layouts"], shown().counts.layouts);
  for (const Json& finalist : json["finalists"]) {
    double sum = 0.0;
    for (const Json& row : finalist["step_ledger"]) {
      sum += row["share"].get<double>();
    }
    EXPECT_NEAR(sum, 1.0, 1e-9);
  }
}

// What ran with short sequences says nothing about the memory of long ones.
TEST(PlanReport, APublishedLayoutOfShorterSequencesIsNoWitness) {
  Plan plan = shown();
  Published published;
  published.from.model = "llama2-7b";
  published.from.gpus = plan.finalists.front().proposal.gpus;
  published.from.sequence_length = 4096;
  published.problem = "does not fit";
  published.plan = plan.finalists.front();
  published.plan->evaluation.feasible = false;
  plan.published = published;
  const std::string witness = "its peak is predicted too high";
  EXPECT_NE(to_text(plan, {}).find(witness), std::string::npos);
  plan.published->shorter = true;
  const std::string text = to_text(plan, {});
  EXPECT_EQ(text.find(witness), std::string::npos);
  EXPECT_NE(text.find("sequences of 4,096 tokens"), std::string::npos) << text;
}

// Of Llama 2 7B nothing is published on this GPU in the table; of Llama 3 8B there is.
TEST(PlanReport, SaysWhereThePublishedLayoutStandsAndWhatAStepAsideLoses) {
  const std::string text = small_text() + narrow_block();
  EXPECT_TRUE(Json::parse(to_json(shown()))["published"].is_null());
  const Plan plan = plan_of(replaced(text, "llama2-7b, sequence_length: 4096", "llama3-8b"));
  ASSERT_TRUE(plan.published.has_value());
  const Json json = Json::parse(to_json(plan));
  EXPECT_EQ(json["published"]["stack"], "nemo");
  EXPECT_EQ(json["published"]["sets"]["layout.context"], "2");
  ASSERT_TRUE(plan.published->plan.has_value());
  // Context 2 is not among the values to search.
  EXPECT_EQ(plan.published->problem, "plan.search leaves it out");
  EXPECT_FALSE(plan.published->rank);
  const std::string page = to_text(plan, {});
  EXPECT_NE(page.find("PUBLISHED  context 2, data 8, zero1"), std::string::npos) << page;
  EXPECT_NE(page.find("ASIDE"), std::string::npos) << page;
  ASSERT_FALSE(plan.aside.empty());
  for (const StepAside& one : plan.aside) {
    EXPECT_TRUE(!one.fits || one.loss >= 0.0) << one.change.name << " " << one.change.value;
  }
}

// Its rank is its place in the ranking, whose figures rise.
TEST(PlanReport, HasThePublishedLayoutInTheRanking) {
  const Plan plan = plan_of(replaced(
      replaced(small_text() + narrow_block(), "llama2-7b, sequence_length: 4096", "llama3-8b"),
      "fix: [context, ", "fix: ["));
  ASSERT_TRUE(plan.published && plan.published->plan) << to_text(plan, {});
  EXPECT_EQ(plan.published->problem, "");
  for (std::size_t i = 1; i < plan.finalists.size(); ++i) {
    EXPECT_LE(plan.finalists[i - 1].value, plan.finalists[i].value);
  }
  if (plan.published->rank) {
    const Finalist& own = plan.finalists.at(*plan.published->rank - 1);
    EXPECT_EQ(own.proposal.candidate, plan.published->plan->proposal.candidate);
    EXPECT_EQ(own.value, plan.published->plan->value);
    EXPECT_NE(to_text(plan, {}).find("the published layout"), std::string::npos);
  } else {
    EXPECT_GT(plan.published->plan->value, plan.finalists.back().value);
  }
}

TEST(PlanReport, HasALinePerFinalistInCsv) {
  const std::string csv = to_csv(shown());
  EXPECT_TRUE(csv.starts_with("rank,standing,cost,behind,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            static_cast<std::ptrdiff_t>(shown().finalists.size()) + 1);
}

}  // namespace
}  // namespace orrery::plan::test
