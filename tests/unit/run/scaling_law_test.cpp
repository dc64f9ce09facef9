// Scaling laws against their sources.

#include <gtest/gtest.h>

#include <cmath>

#include "sim/run/theory/theory.hpp"

namespace orrery::run {
namespace {

constexpr double kGopher = 5.76e23;  // FLOP of Gopher, and of Chinchilla: 70B on 1.4T tokens

double ratio(const LawOptimum& best) { return best.tokens / best.parameters; }

// The refit puts about 20 tokens on a parameter where Chinchilla was trained; the printed constants
// of the original put 93 there, which its authors' own model does not follow.
TEST(ScalingLaw, SaysWhatItsSourcesSayAtTheBudgetOfChinchilla) {
  const LawOptimum refit = optimum(kScalingLaws[0], flop(kGopher));
  EXPECT_NEAR(ratio(refit), 18.3, 0.1);
  EXPECT_NEAR(refit.parameters, 72.5e9, 0.5e9);
  EXPECT_NEAR(ratio(optimum(kScalingLaws[1], flop(kGopher))), 93.0, 1.0);
}

// No other split of the budget has a lower loss.
TEST(ScalingLaw, NoOtherSizeOfTheSameComputeIsBetter) {
  for (const ScalingLaw& law : kScalingLaws) {
    for (const double compute : {1e20, kGopher, 1e27}) {
      const LawOptimum best = optimum(law, flop(compute));
      EXPECT_NEAR(kFlopOfTraining * best.parameters * best.tokens, compute, 1e-9 * compute);
      const auto loss = [&](double parameters) {
        return law.a_term * std::pow(parameters, -law.alpha) +
               law.b_term * std::pow(compute / (kFlopOfTraining * parameters), -law.beta);
      };
      EXPECT_LT(loss(best.parameters), loss(best.parameters * 1.01));
      EXPECT_LT(loss(best.parameters), loss(best.parameters * 0.99));
    }
  }
}

// 8 of 10 resamples of the 240 points lie between 0.78 and 1.34 of the size at 5.76e23 FLOP,
// between 0.67 and 1.63 at 1e27.
TEST(ScalingLaw, TheSpreadIsThatOfTheResampledFit) {
  for (const auto& [compute, high] : {std::pair{kGopher, 1.32}, std::pair{1e27, 1.59}}) {
    const double middle = optimum(kScalingLaws[0], flop(compute)).parameters;
    const OptimumSpread spread = optimum_spread(flop(compute));
    EXPECT_NEAR(spread.high / middle, high, 0.03);
    EXPECT_NEAR(spread.low * spread.high, middle * middle, 1e-9 * middle * middle);
  }
}

}  // namespace
}  // namespace orrery::run
