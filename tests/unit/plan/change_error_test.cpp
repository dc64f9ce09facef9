// How far the predicted change from one answer to another may be off.

#include "sim/answer/plan/change_error.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/plan/layout_errors.hpp"
#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

struct Answered {
  scenario::Scenario scenario;
  report::Evaluation evaluation;
};

class ChangeError : public ::testing::Test {
 protected:
  [[nodiscard]] Answered answer(std::vector<scenario::KeyValue> keys) const {
    Diagnostics diagnostics;
    auto scenario = bench_.base.with(std::move(keys), diagnostics);
    EXPECT_TRUE(scenario) << to_string(diagnostics);
    auto evaluation = evaluate::evaluate(
        *scenario, {.levers = false, .band = true, .search = shipped_profiles()}, diagnostics);
    EXPECT_TRUE(evaluation) << to_string(diagnostics);
    return {*std::move(scenario), *std::move(evaluation)};
  }

  [[nodiscard]] std::optional<report::ChangeError> between(const Answered& a,
                                                           const Answered& b) const {
    Diagnostics diagnostics;
    return change_error({a.scenario, a.evaluation}, {b.scenario, b.evaluation}, shipped_profiles(),
                        diagnostics);
  }

  Bench bench_ = make_bench(dense_text());
  Answered own_ = answer({});
  LayoutErrors errors_ = [] {
    Diagnostics diagnostics;
    return load_layout_errors(shipped_profiles(), diagnostics).value();
  }();
};

TEST_F(ChangeError, OfLayoutsIsThatOfThePlan) {
  const Answered other = answer({{"layout.tensor", "4", {}}});
  const auto error = between(own_, other);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->of, "layouts that differ in tensor");
  EXPECT_EQ(error->relative, errors_.between(differences(own_.scenario, other.scenario)));
  EXPECT_EQ(between(other, own_)->relative, error->relative) << "whichever comes first";
}

TEST_F(ChangeError, IsNoneBetweenEqualSteps) {
  const auto error = between(own_, own_);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->relative, 0.0);
}

// Another batch or precision is no feature of a layout: nothing was measured about it.
TEST_F(ChangeError, OfAnotherBatchIsTheLargestOfAll) {
  for (const scenario::KeyValue& change : {scenario::KeyValue{"batch.global", "128", {}},
                                           {"model.sequence_length", "2048", {}},
                                           {"cluster.network.nic_rate", "100Gbps", {}}}) {
    const auto error = between(own_, answer({change}));
    ASSERT_TRUE(error) << change.key;
    EXPECT_EQ(error->relative, errors_.largest()) << change.key;
  }
}

// exp(hypot(b1, b2)) - 1 of the two bands.
TEST_F(ChangeError, OfOtherGpusIsThatOfBothBands) {
  const Answered other = answer({{"cluster.gpu", "h200-sxm", {}}});
  const auto error = between(own_, other);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->of, "steps that differ in GPU");
  const auto half = [](const report::Evaluation& one) {
    return std::log(one.band->high / in_seconds(to_seconds(one.step.step_time)));
  };
  EXPECT_NEAR(error->relative,
              std::expm1(std::hypot(half(own_.evaluation), half(other.evaluation))), 1e-12);
  EXPECT_GT(error->relative, errors_.largest()) << "two GPUs share less than two layouts";
  Answered unknown = other;
  unknown.evaluation.band.reset();
  EXPECT_FALSE(between(own_, unknown)) << "nobody asked how sure it is";
}

}  // namespace
}  // namespace orrery::plan::test
