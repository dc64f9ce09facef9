// The grammar of one `expect:` line: what is accepted as which tree, and what is refused where.

#include <gtest/gtest.h>

#include <variant>

#include "sim/answer/report/expect.hpp"

namespace orrery::report {
namespace {

ExpectNode parsed(std::string_view text) {
  auto result = parse_expectation(text);
  const auto* error = std::get_if<ExpectError>(&result);
  EXPECT_EQ(error, nullptr) << text << ": " << (error != nullptr ? error->message : "");
  return error != nullptr ? ExpectNode{} : std::get<ExpectNode>(std::move(result));
}

ExpectError refused(std::string_view text) {
  auto result = parse_expectation(text);
  const auto* error = std::get_if<ExpectError>(&result);
  EXPECT_NE(error, nullptr) << "accepted: " << text;
  return error != nullptr ? *error : ExpectError{};
}

TEST(ExpectParse, EnergyCarriesItsUnit) {
  EXPECT_DOUBLE_EQ(parsed("p50(energy) <= 1.5GWh").bound, 1.5e6);
  EXPECT_DOUBLE_EQ(parsed("p50(energy) <= 250MWh").bound, 2.5e5);
  EXPECT_DOUBLE_EQ(parsed("p50(energy) <= 800kWh").bound, 800.0);
  EXPECT_EQ(refused("p50(energy) <= 800").allowed, "such as 250MWh, 1.2GWh or 800kWh");
}

TEST(ExpectParse, PlainMetricWithEveryComparison) {
  const std::pair<std::string_view, Comparison> cases[] = {
      {"mfu >= 0.4", Comparison::at_least}, {"mfu <= 0.4", Comparison::at_most},
      {"mfu > 0.4", Comparison::above},     {"mfu < 0.4", Comparison::below},
      {"mfu == 0.4", Comparison::equal},    {"mfu != 0.4", Comparison::not_equal}};
  for (const auto& [text, comparison] : cases) {
    const ExpectNode node = parsed(text);
    EXPECT_EQ(node.kind, ExpectNode::Kind::comparison) << text;
    EXPECT_EQ(node.operand.metric, MetricId::mfu) << text;
    EXPECT_EQ(node.comparison, comparison) << text;
    EXPECT_DOUBLE_EQ(node.bound, 0.4) << text;
  }
}

TEST(ExpectParse, BoundsCarryTheUnitOfTheMetric) {
  EXPECT_DOUBLE_EQ(parsed("step_time <= 5.8 s").bound, 5.8);
  EXPECT_DOUBLE_EQ(parsed("step_time <= 250ms").bound, 0.25);
  EXPECT_DOUBLE_EQ(parsed("peak_memory <= 80GiB").bound, 80.0 * 1073741824.0);
  EXPECT_DOUBLE_EQ(parsed("p50(cost) <= $46.1M").bound, 46.1e6);
  EXPECT_DOUBLE_EQ(parsed("mfu >= 38%").bound, 0.38);
  EXPECT_DOUBLE_EQ(parsed("tokens_per_second >= 2.5M").bound, 2.5e6);
  EXPECT_DOUBLE_EQ(parsed("p50(tokens_trained) >= 15.6T").bound, 15.6e12);
  EXPECT_DOUBLE_EQ(parsed("model_flops_per_gpu >= 400TFLOP/s").bound, 400e12);
  // 2024-05-25T00:00Z is 19868 days after 1970-01-01.
  EXPECT_DOUBLE_EQ(parsed("p90(finish_date) <= 2024-05-25").bound, 19868.0 * 86400.0);
}

TEST(ExpectParse, QuantilesMeanAndProbability) {
  const ExpectNode p10 = parsed("p10(goodput) >= 0.9");
  EXPECT_EQ(p10.operand.kind, OperandKind::quantile);
  EXPECT_DOUBLE_EQ(p10.operand.quantile, 0.1);
  EXPECT_DOUBLE_EQ(parsed("p99(goodput) >= 0.9").operand.quantile, 0.99);
  EXPECT_DOUBLE_EQ(parsed("p1(goodput) >= 0.9").operand.quantile, 0.01);
  EXPECT_EQ(parsed("mean(failures) <= 440").operand.kind, OperandKind::mean);
  const ExpectNode chance = parsed("probability(finish_time <= 54d) >= 95%");
  EXPECT_EQ(chance.operand.kind, OperandKind::probability);
  EXPECT_EQ(chance.operand.inner, Comparison::at_most);
  EXPECT_DOUBLE_EQ(chance.operand.inner_bound, 54.0 * 86400.0);
  EXPECT_DOUBLE_EQ(chance.bound, 0.95);
}

TEST(ExpectParse, AndBindsTighterThanOr) {
  const ExpectNode node = parsed("mfu > 0.1 or mfu > 0.2 and mfu > 0.3");
  ASSERT_EQ(node.kind, ExpectNode::Kind::any_of);
  ASSERT_EQ(node.children.size(), 2U);
  EXPECT_EQ(node.children[0].kind, ExpectNode::Kind::comparison);
  EXPECT_EQ(node.children[1].kind, ExpectNode::Kind::all_of);
}

TEST(ExpectParse, ParenthesesAndNotChangeTheTree) {
  const ExpectNode node = parsed("not (mfu > 0.1 or fits_memory) and hfu > 0.3");
  ASSERT_EQ(node.kind, ExpectNode::Kind::all_of);
  ASSERT_EQ(node.children[0].kind, ExpectNode::Kind::negation);
  EXPECT_EQ(node.children[0].children[0].kind, ExpectNode::Kind::any_of);
  EXPECT_EQ(parsed("not not fits_memory").kind, ExpectNode::Kind::negation);
}

TEST(ExpectParse, RefusalsNameThePlaceAndTheWayOut) {
  const ExpectError unknown = refused("mfuu >= 0.4");
  EXPECT_EQ(unknown.message, "unknown metric `mfuu`");
  EXPECT_EQ(unknown.allowed, "did you mean `mfu`?");
  EXPECT_EQ(unknown.offset, 0U);
  const ExpectError stochastic = refused("fits_memory and goodput >= 0.9");
  EXPECT_EQ(stochastic.message, "goodput varies over trials: a quantile or the mean is needed");
  EXPECT_EQ(stochastic.allowed, "p50(goodput), mean(goodput), probability(goodput >= ...)");
  EXPECT_EQ(stochastic.offset, 16U);
  EXPECT_EQ(refused("mfu 0.4").message, "a comparison is missing");
  EXPECT_EQ(refused("mfu >=").message, "a value is missing");
  EXPECT_EQ(refused("(mfu >= 0.4").message, "a parenthesis is not closed");
  EXPECT_EQ(refused("mfu >= 0.4 )").message, "`)` is left over");
  EXPECT_EQ(refused("p10 >= 0.4").message, "`p10` needs a metric in parentheses");
  EXPECT_EQ(refused("p10(goodput >= 0.4").message, "a parenthesis is not closed");
  EXPECT_EQ(refused("").message, "a metric is missing");
  EXPECT_EQ(refused("mfu >= 0.4 and").message, "a metric is missing");
}

TEST(ExpectParse, BoundsOfTheWrongDimensionAreRefused) {
  for (const std::string_view text :
       {"step_time <= 5", "step_time <= 5GiB", "peak_memory <= 80", "p50(cost) <= 5s",
        "mfu >= fast", "p50(finish_date) <= 54d"}) {
    (void)refused(text);
  }
}

TEST(ExpectParse, QuantilesOutsideOneTo99AreNoQuantiles) {
  for (const std::string_view text :
       {"p0(goodput) >= 0.5", "p100(goodput) >= 0.5", "p05(goodput) >= 0.5", "p(goodput) > 0"}) {
    (void)refused(text);
  }
}

TEST(ExpectParse, DeepNestingIsRefusedNotFollowed) {
  const std::string deep = std::string(100'000, '(') + "fits_memory";
  EXPECT_EQ(refused(deep).message, "nested too deeply");
  std::string negations;
  for (int i = 0; i < 1000; ++i) {
    negations += "not ";
  }
  EXPECT_EQ(refused(negations + "fits_memory").message, "nested too deeply");
}

TEST(ExpectParse, KnowsWhichLinesSpeakOfMemory) {
  EXPECT_TRUE(mentions_memory(parsed("fits_memory")));
  EXPECT_TRUE(mentions_memory(parsed("mfu > 0.1 and not (peak_memory > 70GiB)")));
  EXPECT_TRUE(mentions_memory(parsed("memory_headroom >= 2GiB")));
  EXPECT_FALSE(mentions_memory(parsed("mfu > 0.1 or hfu > 0.1")));
}

}  // namespace
}  // namespace orrery::report
