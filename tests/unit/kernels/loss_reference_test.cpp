// Loss, embedding, routing of tokens, optimizer.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/reference/cross_entropy.hpp"
#include "kernels/reference/optimizer.hpp"
#include "kernels/reference/routing.hpp"
#include "tests/unit/kernels/finite_difference.hpp"

namespace orrery::kernels::reference {
namespace {

constexpr double kLossExact = 1e-13;

TEST(CrossEntropyReference, OfEqualLogitsIsTheLogarithmOfTheVocabulary) {
  const std::vector<double> logits(1000, 3.0);
  const TokenLoss loss = cross_entropy(logits, 17);
  EXPECT_NEAR(loss.loss, std::log(1000.0), 1e-12);
  EXPECT_NEAR(loss.log_sum, 3.0 + std::log(1000.0), 1e-12);
}

TEST(CrossEntropyReference, SurvivesLargeLogits) {
  const std::vector<double> logits = {1e6, -1e6, 0.0};
  EXPECT_NEAR(cross_entropy(logits, 0).loss, 0.0, kLossExact);
  EXPECT_NEAR(cross_entropy(logits, 2).loss, 1e6, kLossExact);
}

TEST(CrossEntropyReference, GradientSumsToZeroAndIsThatOfFiniteDifferences) {
  RandomStream random(21, 0, Purpose::property_test);
  const std::vector<double> logits = random_values(20, random);
  const std::vector<double> gradient = cross_entropy_gradient(logits, 4, 0.25);
  EXPECT_NEAR(std::accumulate(gradient.begin(), gradient.end(), 0.0), 0.0, kLossExact);
  expect_gradient(
      logits, gradient, [](std::span<const double> x) { return 0.25 * cross_entropy(x, 4).loss; });
}

TEST(RoutingReference, PlacesAreAPermutationInTheOrderOfExperts) {
  const std::vector<std::int32_t> experts = {2, 0, 1, 2, 0, 1};  // 3 tokens, 2 copies
  EXPECT_EQ(places_by_expert(experts), (std::vector<std::int32_t>{4, 0, 2, 5, 1, 3}));
}

TEST(RoutingReference, CombinesRowsByWeightAndItsGradientIsThatOfFiniteDifferences) {
  RandomStream random(22, 0, Purpose::property_test);
  const std::vector<double> y = random_values(3 * 4, random);
  const std::vector<std::int32_t> places = {2, 0};
  const std::vector<double> weights = {0.75, 0.25};
  const CombinedRow sum = combined_row(y, 4, places, weights);
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(sum.values[j], 0.75 * y[8 + j] + 0.25 * y[j], kLossExact);
    EXPECT_NEAR(sum.magnitudes[j], std::hypot(0.75 * y[8 + j], 0.25 * y[j]), kLossExact);
  }
  const std::vector<double> dz = random_values(4, random);
  const std::vector<double> dw = {weight_gradient(std::span(y).subspan(8, 4), dz),
                                  weight_gradient(std::span(y).subspan(0, 4), dz)};
  expect_gradient(weights, dw, [&](std::span<const double> w) {
    return dot(combined_row(y, 4, places, w).values, dz);
  });
  const CombinedRow plain = combined_row(y, 4, places, {});
  EXPECT_NEAR(plain.values[1], y[9] + y[1], kLossExact);
}

TEST(EmbeddingReference, AddsTheRowsOfItsTokens) {
  const std::vector<std::int64_t> ids = {3, 1, 3};
  const std::vector<double> gradient = {1, 2, 10, 20, 100, 200};
  const std::vector<double> given = {0.5, 0.25};
  EXPECT_EQ(embedding_gradient_row(ids, gradient, 3, given).values,
            (std::vector<double>{101.5, 202.25}));
  EXPECT_EQ(embedding_gradient_row(ids, gradient, 2, given).values, given);
}

TEST(AdamwReference, TheFirstStepMovesByTheRateAgainstTheGradient) {
  // After one step the corrected moments are g and g^2, so the direction is its sign.
  const AdamwSettings settings{.rate = 0.01, .epsilon = 0.0, .decay = 0.0};
  EXPECT_NEAR(adamw(settings, {.weight = 1.0}, 5.0).weight, 0.99, kLossExact);
  EXPECT_NEAR(adamw(settings, {.weight = 1.0}, -0.001).weight, 1.01, kLossExact);
}

TEST(AdamwReference, DecayIsApartFromTheGradient) {
  const AdamwSettings settings{.rate = 0.01, .decay = 0.1};
  // no gradient: only the decay, 1 - 0.01 x 0.1
  EXPECT_NEAR(adamw(settings, {.weight = 1.0}, 0.0).weight, 0.999, kLossExact);
  const AdamwState next = adamw(settings, {.weight = 1.0, .first = 1.0, .second = 2.0}, 0.0);
  EXPECT_NEAR(next.first, 0.9, kLossExact);
  EXPECT_NEAR(next.second, 1.9, kLossExact);
}

TEST(AdamwReference, ConstantGradientsKeepTheCorrectedMoments) {
  AdamwState state{.weight = 0.0};
  for (int step = 1; step <= 50; ++step) {
    state = adamw(
        {.rate = 0.1, .epsilon = 0.0, .decay = 0.0, .clip = 0.5, .step = double(step)}, state, 4.0);
    EXPECT_NEAR(state.weight, -0.1 * step, 1e-12);
    EXPECT_NEAR(state.first / (1.0 - std::pow(0.9, step)), 2.0, 1e-12);
  }
}

TEST(GradientNormReference, IsThatOfPythagoras) {
  EXPECT_NEAR(gradient_norm(std::vector<double>{3.0, -4.0, 12.0}), 13.0, kLossExact);
  EXPECT_EQ(gradient_norm({}), 0.0);
}

}  // namespace
}  // namespace orrery::kernels::reference
