// "Firm" is true: with a coefficient moved, no layout of the whole space leads by more than a tie
// unless the plan says which one does.

#include "sim/answer/plan/stability.hpp"

#include <functional>

#include "sim/answer/plan/search/estimate.hpp"
#include "sim/answer/plan/space/space.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::plan::test {
namespace {

using Coefficients = Coefficient<double> hardware::SoftwareProfile::*;

struct Moved {
  std::string_view name;
  Coefficients field;
};

void scale(Coefficient<double>& coefficient, double factor) {
  coefficient = Coefficient<double>(coefficient.value() * factor, coefficient.source(),
                                    coefficient.residual(), coefficient.range());
}

// How far the best of all layouts leads the winner when the coefficient is moved.
double lead_of_best(const PlanQuestion& asked, const Plan& plan, const Moved& moved,
                    double change) {
  Diagnostics diagnostics;
  const auto scenario = asked.base.with({}, diagnostics);
  auto bench = make_workbench(*scenario, asked.spec, asked.search, diagnostics);
  const auto space = make_space(*bench, asked.spec, diagnostics);
  EXPECT_TRUE(space.has_value()) << to_string(diagnostics);
  scale(bench->software.*moved.field, 1.0 + change);
  const SearchResult found = search(*bench, *space, asked.spec, {.threads = 2, .keep = 1});
  Estimator estimator(*bench);
  const Estimate own = estimator.estimate(plan.finalists.front().proposal.candidate);
  return to_seconds(own.step_time) / to_seconds(found.best.front().estimate.step_time) - 1.0;
}

void expect_true(const PlanQuestion& asked) {
  const Plan plan = plan_of(asked);
  ASSERT_TRUE(plan.stability.checked);
  const std::vector<Moved> all = {
      {"rate of matrix products", &hardware::SoftwareProfile::gemm_efficiency},
      {"network bandwidth", &hardware::SoftwareProfile::network_efficiency},
      {"bandwidth inside nodes", &hardware::SoftwareProfile::nvlink_efficiency}};
  std::size_t compared = 0;
  bool stable = true;
  for (const Perturbation& one : plan.stability.perturbations) {
    stable = stable && !one.overtaker;
    for (const Moved& moved : all) {
      if (one.coefficient != moved.name) {
        continue;
      }
      const double lead = lead_of_best(asked, plan, moved, one.change);
      EXPECT_EQ(one.overtaker.has_value(), lead > asked.spec.tie)
          << one.coefficient << " " << one.change << ": " << lead;
      EXPECT_NEAR(one.by, one.overtaker ? lead : 0.0, 1e-9);
      ++compared;
    }
  }
  for (const Rival& rival : plan.stability.rivals) {
    stable = stable && rival.lead > rival.error;
  }
  EXPECT_EQ(plan.stability.stable, stable);
  EXPECT_EQ(compared, 6U);
}

TEST(Stability, SaysWhichLayoutOvertakesWhen) {
  for (const char* tie : {"0%", "0.5%", "5%"}) {
    SCOPED_TRACE(tie);
    expect_true(
        question(small_text() + replaced(narrow_block(), "  finalists: 4\n",
                                         std::string("  finalists: 4\n  tie: ") + tie + "\n")));
  }
}

// A lead within which measured pairs of such layouts are mispredicted is no firm one.
TEST(Stability, CallsNoPlanFirmWithinTheErrorOfItsDifferences) {
  const Plan plan = plan_of(small_text() + narrow_block());
  ASSERT_TRUE(plan.stability.errors_known);
  ASSERT_FALSE(plan.stability.rivals.empty());
  Diagnostics diagnostics;
  const auto errors = load_layout_errors(profiles(), diagnostics);
  ASSERT_TRUE(errors.has_value()) << to_string(diagnostics);
  const double winner = plan.finalists.front().value;
  bool close = false;
  for (const Rival& rival : plan.stability.rivals) {
    const Finalist& finalist = plan.finalists[rival.rank - 1];
    EXPECT_DOUBLE_EQ(rival.lead, finalist.value / winner - 1.0);
    FeatureSet features;
    for (std::size_t i = 0; i < kFeatures; ++i) {
      features.set(i, rival.differs.find(kFeatureNames[i]) != std::string::npos);
    }
    EXPECT_TRUE(features.any());
    EXPECT_DOUBLE_EQ(rival.error, errors->between(features)) << rival.differs;
    close = close || rival.lead <= rival.error;
  }
  EXPECT_TRUE(!close || !plan.stability.stable);
}

TEST(Stability, TellsHowMuchMemoryIsLeft) {
  const Plan plan = plan_of(small_text() + narrow_block());
  const step::StepResult& step = plan.finalists.front().evaluation.step;
  const Bytes peak = step.memory.front().limit - step.feasibility.headroom;
  EXPECT_DOUBLE_EQ(plan.stability.memory_margin, step.feasibility.headroom / peak);
}

}  // namespace
}  // namespace orrery::plan::test
