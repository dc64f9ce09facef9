// Norms, rotary embedding and SwiGLU: closed forms, invariances, gradients by finite differences.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/reference/number_format.hpp"
#include "kernels/reference/operations.hpp"
#include "tests/unit/kernels/finite_difference.hpp"

namespace orrery::kernels::reference {

namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kExact = 1e-13;
const std::vector<double> kOnes(16, 1.0);
const std::vector<double> kZeros(16, 0.0);

TEST(NormReference, IsItsClosedFormForTwoNumbers) {
  // rms of (3, 4) without epsilon: sqrt(12.5); deviation around 3.5: 0.5
  const std::vector<double> x = {3.0, 4.0};
  const std::vector<double> weight = {2.0, -1.0};
  const NormRow rms = norm_row(NormKind::rms, x, weight, {}, 0.0);
  EXPECT_NEAR(rms.output[0], 6.0 / std::sqrt(12.5), kExact);
  EXPECT_NEAR(rms.output[1], -4.0 / std::sqrt(12.5), kExact);
  EXPECT_EQ(rms.mean, 0.0);
  const std::vector<double> bias = {10.0, 20.0};
  const NormRow layer = norm_row(NormKind::layer, x, weight, bias, 0.0);
  EXPECT_NEAR(layer.output[0], -2.0 + 10.0, kExact);
  EXPECT_NEAR(layer.output[1], -1.0 + 20.0, kExact);
  EXPECT_NEAR(layer.mean, 3.5, kExact);
  EXPECT_NEAR(layer.scale, 2.0, kExact);
}

TEST(NormReference, OutputHasUnitPowerAndLayerNormNoMean) {
  RandomStream random(3, 0, Purpose::property_test);
  const std::vector<double> x = random_values(16, random);
  const NormRow rms = norm_row(NormKind::rms, x, kOnes, {}, 0.0);
  EXPECT_NEAR(dot(rms.output, rms.output), 16.0, kExact * 16.0);
  const NormRow layer = norm_row(NormKind::layer, x, kOnes, kZeros, 0.0);
  EXPECT_NEAR(dot(layer.output, layer.output), 16.0, kExact * 16.0);
  EXPECT_NEAR(std::accumulate(layer.output.begin(), layer.output.end(), 0.0), 0.0, kExact * 16.0);
}

TEST(NormReference, IgnoresScaleAndLayerNormIgnoresShift) {
  RandomStream random(4, 0, Purpose::property_test);
  const std::vector<double> x = random_values(16, random);
  std::vector<double> moved = x;
  for (double& value : moved) {
    value = 7.0 * value + 3.0;
  }
  std::vector<double> scaled = x;
  for (double& value : scaled) {
    value *= 7.0;
  }
  const NormRow rms = norm_row(NormKind::rms, x, kOnes, {}, 0.0);
  const NormRow rms_scaled = norm_row(NormKind::rms, scaled, kOnes, {}, 0.0);
  const NormRow layer = norm_row(NormKind::layer, x, kOnes, {}, 0.0);
  const NormRow layer_moved = norm_row(NormKind::layer, moved, kOnes, {}, 0.0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    EXPECT_NEAR(rms.output[j], rms_scaled.output[j], kExact * 10.0);
    EXPECT_NEAR(layer.output[j], layer_moved.output[j], kExact * 10.0);
  }
}

TEST(NormReference, GradientsAreThoseOfFiniteDifferences) {
  for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
    RandomStream random(5, 0, Purpose::property_test);
    const std::vector<double> x = random_values(12, random);
    const std::vector<double> weight = random_values(12, random);
    const std::vector<double> bias = random_values(12, random);
    const std::vector<double> dy = random_values(12, random);
    const auto value = [&](std::span<const double> row, std::span<const double> w,
                           std::span<const double> b) {
      return dot(norm_row(kind, row, w, b, kEpsilon).output, dy);
    };
    expect_gradient(x, norm_input_gradient(kind, x, weight, dy, kEpsilon),
                    [&](std::span<const double> v) { return value(v, weight, bias); });
    std::vector<double> dw(12);
    std::vector<double> db(12);
    add_norm_weight_gradient(kind, x, dy, kEpsilon, dw, db);
    expect_gradient(weight, dw, [&](std::span<const double> v) { return value(x, v, bias); });
    expect_gradient(bias, db, [&](std::span<const double> v) { return value(x, weight, v); });
  }
}

TEST(RotaryReference, TurnsAndTurnsBackWithoutChangingLengths) {
  RandomStream random(6, 0, Purpose::property_test);
  const std::vector<double> x = random_values(16, random);
  std::vector<double> cosine(8);
  std::vector<double> sine(8);
  for (std::size_t i = 0; i < 8; ++i) {
    const double angle = rotary_angle(1234.0, i, 16, 10000.0);
    cosine[i] = std::cos(angle);
    sine[i] = std::sin(angle);
  }
  const std::vector<double> y = rotary(x, cosine, sine, Turn::forward);
  EXPECT_NEAR(dot(y, y), dot(x, x), kExact * 100.0);
  const std::vector<double> back = rotary(y, cosine, sine, Turn::back);
  for (std::size_t j = 0; j < x.size(); ++j) {
    EXPECT_NEAR(back[j], x[j], kExact * 10.0);
  }
  // an orthogonal map: its gradient is its transpose, which is its inverse
  const std::vector<double> dy = random_values(16, random);
  expect_gradient(x, rotary(dy, cosine, sine, Turn::back), [&](std::span<const double> v) {
    return dot(rotary(v, cosine, sine, Turn::forward), dy);
  });
}

// What makes it a position embedding: products depend on the distance of the positions only.
TEST(RotaryReference, ProductsDependOnTheDistanceOnly) {
  RandomStream random(7, 0, Purpose::property_test);
  const std::vector<double> q = random_values(8, random);
  const std::vector<double> k = random_values(8, random);
  const auto turned = [](std::span<const double> x, double position) {
    std::vector<double> cosine;
    std::vector<double> sine;
    for (std::size_t i = 0; i < 4; ++i) {
      cosine.push_back(std::cos(rotary_angle(position, i, 8, 10000.0)));
      sine.push_back(std::sin(rotary_angle(position, i, 8, 10000.0)));
    }
    return rotary(x, cosine, sine, Turn::forward);
  };
  EXPECT_NEAR(dot(turned(q, 10.0), turned(k, 3.0)), dot(turned(q, 107.0), turned(k, 100.0)), 1e-11);
  EXPECT_EQ(rotary_angle(5.0, 0, 8, 10000.0), 5.0);
  EXPECT_NEAR(rotary_angle(5.0, 2, 8, 10000.0), 5.0 / 100.0, kExact);  // base^(-4/8)
}

TEST(SwigluReference, IsItsClosedFormAndItsGradientThatOfFiniteDifferences) {
  EXPECT_EQ(swiglu(0.0, 5.0), 0.0);
  EXPECT_NEAR(swiglu(std::log(3.0), 2.0), std::log(3.0) * 0.75 * 2.0, kExact);  // s(ln 3) = 3/4
  RandomStream random(8, 0, Purpose::property_test);
  for (int i = 0; i < 50; ++i) {
    const std::vector<double> x = random_values(2, random);
    const double dy = random.normal();
    const SwigluGradient gradient = swiglu_gradient(x[0], x[1], dy);
    expect_gradient(x, std::vector<double>{gradient.gate, gradient.up},
                    [dy](std::span<const double> v) { return dy * swiglu(v[0], v[1]); });
  }
}

TEST(ProductReference, FollowsStridesAndGivesTheSizeOfItsTerms) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6};   // 2 x 3
  const std::vector<double> b = {1, 0, -1, 2, 2, 1};  // 3 x 2
  const MatrixView left{.values = a, .row_stride = 3};
  const MatrixView right{.values = b, .row_stride = 2};
  // row 1: (4, 5, 6), column 1: (0, 2, 1): 0 + 10 + 6
  const ProductElement element = product_element(left, right, 1, 1, 3);
  EXPECT_EQ(element.value, 16.0);
  EXPECT_NEAR(element.magnitude, std::sqrt(136.0), kExact * 100.0);
  EXPECT_EQ(product_element(right.transposed(), left.transposed(), 1, 1, 3).value, 16.0);
}

TEST(Tolerances, AcceptTheLastRoundingAndRefuseTheNextCode) {
  const double value = 1.0 + std::ldexp(0.999, -8);  // just below half a step above 1
  const Tolerance tolerance = tolerance_of(Element::bf16);
  EXPECT_LE(error_of(rounded(Element::bf16, value), value, tolerance), 1.0);
  EXPECT_GT(error_of(1.0 + std::ldexp(1.0, -6), value, tolerance), 1.0);
  EXPECT_TRUE(std::isinf(error_of(std::nan(""), 1.0, tolerance)));
  EXPECT_TRUE(std::isinf(error_of(HUGE_VAL, 1.0, tolerance)));
}

// fp32 sums of random terms stay inside the bound, with the margin but not by orders of magnitude.
TEST(Tolerances, CoverSumsInSinglePrecision) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed, 0, Purpose::property_test);
    constexpr int kTerms = 20000;
    double exact = 0.0;
    double squares = 0.0;
    float sum = 0.0F;
    for (int i = 0; i < kTerms; ++i) {
      const auto term = static_cast<float>(random.normal());
      sum += term;
      exact += static_cast<double>(term);
      squares += static_cast<double>(term) * static_cast<double>(term);
    }
    const Tolerance tolerance =
        tolerance_of(Element::fp32, {.terms = kTerms, .magnitude = std::sqrt(squares)});
    EXPECT_LE(error_of(static_cast<double>(sum), exact, tolerance), 1.0) << "seed " << seed;
    EXPECT_LT(tolerance.absolute, 1e-3 * std::sqrt(squares));
  }
}

}  // namespace

// Loss, embedding, routing of tokens, optimizer.

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
  expect_gradient(logits, gradient,
                  [](std::span<const double> x) { return 0.25 * cross_entropy(x, 4).loss; });
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
    state = adamw({.rate = 0.1, .epsilon = 0.0, .decay = 0.0, .clip = 0.5, .step = double(step)},
                  state, 4.0);
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
