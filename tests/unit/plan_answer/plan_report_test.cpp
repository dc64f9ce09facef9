// The page of a plan: within 100 columns, every ranked plan with its reason, the same in JSON.

#include "sim/plan/result/plan_report.hpp"

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

TEST(PlanReport, StaysWithinAHundredColumns) {
  const std::string text = to_text(shown(), {});
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    EXPECT_LE(report::text_columns(text.substr(begin, end - begin)), report::kPageWidth)
        << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(PlanReport, TellsTheWinnerTheRankingAndHowFirmItIs) {
  const std::string text = to_text(shown(), {});
  for (const char* part : {"Small: the plan with the lowest cost",
                           "SEARCH",
                           "BEST",
                           "RANKING",
                           "FIRM",
                           "the scenario as it stands"}) {
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

TEST(PlanReport, HasALinePerFinalistInCsv) {
  const std::string csv = to_csv(shown());
  EXPECT_TRUE(csv.starts_with("rank,standing,cost,behind,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            static_cast<std::ptrdiff_t>(shown().finalists.size()) + 1);
}

}  // namespace
}  // namespace orrery::plan::test
