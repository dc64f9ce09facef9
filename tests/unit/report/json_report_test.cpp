// The schema `orrery-evaluation/1`: its keys, its numbers, and text that is always JSON.

#include "sim/answer/report/files/json_report.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& item : object.items()) {
    keys.insert(item.key());
  }
  return keys;
}

TEST(JsonReport, HasExactlyTheKeysOfTheSchema) {
  const Json json = Json::parse(to_json(testing::sample_evaluation()));
  EXPECT_EQ(json["schema"], "orrery-evaluation/1");
  EXPECT_EQ(keys_of(json),
            (std::set<std::string>{
                "schema",     "calibration", "bill",    "causes",       "scenario",
                "outcome",    "feasible",    "reasons", "advice",       "metrics",
                "step_band",  "step_ledger", "rollout", "budget",       "network",
                "run_ledger", "memory",      "trust",   "switches",     "levers",
                "caveats",    "assumed",     "recipe",  "expectations", "diagnostics"}));
  EXPECT_EQ(keys_of(json["scenario"]), (std::set<std::string>{"name", "file", "sha256"}));
  EXPECT_EQ(keys_of(json["step_ledger"][0]),
            (std::set<std::string>{"category", "gpu_s", "share", "usd"}));
  EXPECT_EQ(keys_of(json["memory"][0]),
            (std::set<std::string>{"stage", "peak_bytes", "limit_bytes", "terms"}));
  EXPECT_EQ(keys_of(json["levers"][0]), (std::set<std::string>{"change", "delta_s", "delta_usd"}));
  EXPECT_EQ(keys_of(json["trust"]), (std::set<std::string>{"measured", "published", "datasheet",
                                                           "assumed", "given", "extrapolated"}));
}

TEST(JsonReport, MetricsCarryTheirDistribution) {
  const Json metrics = Json::parse(to_json(testing::sample_evaluation()))["metrics"];
  EXPECT_EQ(keys_of(metrics["step_time_s"]), (std::set<std::string>{"value", "band"}));
  EXPECT_EQ(metrics["step_time_s"]["value"], 10.0);
  EXPECT_EQ(metrics["step_time_s"]["band"]["level"], 0.8);
  EXPECT_NEAR(metrics["step_time_s"]["band"]["high"].get<double>(), 10.8, 1e-9);
  EXPECT_FALSE(metrics["goodput"].contains("band"));
  const Json& finish = metrics["finish_time_s"];
  EXPECT_EQ(keys_of(finish), (std::set<std::string>{"value", "p10", "p50", "p90", "ci95", "band"}));
  // 25, 26, 27, 28 h: quantile q lies at 25 + 3 q h.
  EXPECT_NEAR(finish["value"].get<double>(), 26.5 * 3600, 1e-6);
  EXPECT_NEAR(finish["p10"].get<double>(), 25.3 * 3600, 1e-6);
  EXPECT_NEAR(finish["p90"].get<double>(), 27.7 * 3600, 1e-6);
  EXPECT_EQ(finish["ci95"].size(), 2U);
  EXPECT_LE(finish["ci95"][0].get<double>(), finish["p50"].get<double>());
}

TEST(JsonReport, ExpectationsSayPassValueAndVerdict) {
  const Json expectations = Json::parse(to_json(testing::sample_evaluation()))["expectations"];
  ASSERT_EQ(expectations.size(), 3U);
  EXPECT_EQ(expectations[0]["pass"], true);
  EXPECT_EQ(expectations[1]["pass"], false);
  EXPECT_EQ(expectations[1]["verdict"], "fail");
  EXPECT_EQ(expectations[1]["value"], 0.4);
  EXPECT_EQ(expectations[2]["pass"], false);
  EXPECT_EQ(expectations[2]["verdict"], "undecided");
}

TEST(JsonReport, StepAloneHasNoRunAndNoDollars) {
  const Json json = Json::parse(to_json(testing::sample_step_evaluation()));
  EXPECT_TRUE(json["run_ledger"].is_array());
  EXPECT_TRUE(json["run_ledger"].empty());
  EXPECT_FALSE(json["step_ledger"][0].contains("usd"));
  EXPECT_FALSE(json["metrics"].contains("cost_usd"));
  EXPECT_TRUE(json["reasons"].is_array());
}

TEST(JsonReport, NumbersWithoutAValueAreNull) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.metrics.set({.id = MetricId::mfu,
                          .value = std::numeric_limits<double>::infinity(),
                          .trials = std::nullopt});
  evaluation.metrics.set({.id = MetricId::hfu,
                          .value = std::numeric_limits<double>::quiet_NaN(),
                          .trials = std::nullopt});
  const std::string text = to_json(evaluation);
  const Json json = Json::parse(text);
  EXPECT_TRUE(json["metrics"]["mfu"]["value"].is_null());
  EXPECT_TRUE(json["metrics"]["hfu"]["value"].is_null());
  EXPECT_EQ(text.find(": inf"), std::string::npos);
  EXPECT_EQ(text.find(": nan"), std::string::npos);
}

TEST(JsonReport, NumbersSurviveTheRoundTrip) {
  Evaluation evaluation = testing::sample_evaluation();
  const double third = 1.0 / 3.0;
  evaluation.metrics.set({.id = MetricId::mfu, .value = third, .trials = std::nullopt});
  EXPECT_EQ(Json::parse(to_json(evaluation))["metrics"]["mfu"]["value"].get<double>(), third);
}

TEST(JsonReport, NamesThatAreNotUtf8StillGiveJson) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.echo.file = "caf\xe9\"\n.yaml";
  EXPECT_TRUE(Json::accept(to_json(evaluation)));
}

TEST(JsonReport, SeveralEvaluationsAreAnArray) {
  const std::vector<Evaluation> both = {testing::sample_evaluation(),
                                        testing::sample_step_evaluation()};
  const Json json = Json::parse(to_json(both));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[1]["schema"], "orrery-evaluation/1");
}

TEST(JsonReport, DiagnosticsCarryTheirPlace) {
  const Json json = Json::parse(to_json(testing::sample_evaluation()))["diagnostics"];
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["severity"], "warning");
  EXPECT_EQ(json[0]["file"], "sample.yaml");
  EXPECT_EQ(json[0]["line"], 6);
  EXPECT_EQ(json[0]["key"], "overlap.pipeline");
}

}  // namespace
}  // namespace orrery::report
