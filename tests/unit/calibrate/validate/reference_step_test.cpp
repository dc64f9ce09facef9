#include "calibrate/validate/reference_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/base/random.hpp"
#include "tests/unit/calibrate/validate/tiny_shapes.hpp"

namespace orrery::calibrate {
namespace {

constexpr std::uint64_t kSeed = 11;

struct Prepared {
  explicit Prepared(const StepShape& shape)
      : program(make_step_program(shape)), inputs(step_inputs(shape, kSeed)) {}

  [[nodiscard]] ReferenceStep step() const { return {program, inputs, kSeed}; }

  StepProgram program;
  StepInputs inputs;
};

std::vector<double> gradients_of(const Prepared& prepared) {
  ReferenceStep step = prepared.step();
  step.run();
  const auto values = step.values(prepared.program.gradients);
  return {values.begin(), values.end()};
}

// Central differences (L(w + e) - L(w - e)) / 2 e of step 1e-4 are off by e^2 L''' / 6, about 1e-8
// here, and by 1e-16 L / e: 1e-12.
TEST(ReferenceStep, GradientsAreCentralDifferencesOfTheLoss) {
  for (const StepShape& shape : {test::tiny_shape(), test::tiny_mixture()}) {
    const Prepared prepared(shape);
    ReferenceStep step = prepared.step();
    ReferenceStep ran = prepared.step();
    ran.run();
    RandomStream random(kSeed, 0, Purpose::property_test);
    for (const Parameter& parameter : prepared.program.parameters) {
      const auto weights = step.values(parameter.narrow);
      const auto gradient = ran.values(parameter.gradient);
      for (int draw = 0; draw < 4; ++draw) {
        const std::size_t i = random.uniform_int(weights.size());
        const double before = weights[i];
        constexpr double kStep = 1e-4;
        weights[i] = before + kStep;
        step.run_forward();
        const double above = step.loss();
        weights[i] = before - kStep;
        step.run_forward();
        const double below = step.loss();
        weights[i] = before;
        EXPECT_NEAR(gradient[i], (above - below) / (2.0 * kStep), 1e-7)
            << shape.name << " " << parameter.layer << " " << parameter.name << " " << i;
      }
    }
  }
}

// The embedding of a token that does not occur has no gradient; all other parameters have one.
TEST(ReferenceStep, EveryParameterHasAGradient) {
  const Prepared prepared(test::tiny_mixture());
  ReferenceStep step = prepared.step();
  step.run();
  for (const Parameter& parameter : prepared.program.parameters) {
    const auto gradient = step.values(parameter.gradient);
    EXPECT_GT(std::count_if(gradient.begin(), gradient.end(), [](double g) { return g != 0.0; }),
              static_cast<std::ptrdiff_t>(gradient.size() / 4))
        << parameter.name;
  }
}

// Rows of the experts' weights for their own gradient: dL/dw = sum of what unpermute says.
TEST(ReferenceStep, RoutingWeightsHaveTheGradientOfTheLoss) {
  const Prepared prepared(test::tiny_mixture());
  ReferenceStep ran = prepared.step();
  ran.run();
  ReferenceStep step = prepared.step();
  const auto weights = step.values(prepared.program.weights);
  constexpr double kStep = 1e-4;
  double found = 0.0;
  for (std::size_t i = 0; i < prepared.program.buffers.size(); ++i) {
    if (prepared.program.buffers[i].name.find("weights.gradient") != std::string::npos) {
      found += ran.values(static_cast<int>(i))[3];
    }
  }
  const double before = weights[3];
  weights[3] = before + kStep;
  step.run_forward();
  const double above = step.loss();
  weights[3] = before - kStep;
  step.run_forward();
  EXPECT_NEAR(found, (above - step.loss()) / (2.0 * kStep), 1e-7);
}

// Casts keep the values: an FP8 program moves the same numbers through other buffers.
TEST(ReferenceStep, CastsAndTransposedCopiesReachTheSameProducts) {
  for (const StepShape& shape : {test::tiny_shape(), test::tiny_mixture()}) {
    const std::vector<double> wide = gradients_of(Prepared(shape));
    const std::vector<double> narrow = gradients_of(Prepared(test::in_fp8(shape)));
    ASSERT_EQ(wide.size(), narrow.size());
    for (std::size_t i = 0; i < wide.size(); ++i) {
      ASSERT_NEAR(wide[i], narrow[i], 1e-13);
    }
  }
}

TEST(ReferenceStep, OneUpdateLowersTheLoss) {
  for (const StepShape& shape : test::tiny_shapes()) {
    const Prepared prepared(shape);
    ReferenceStep step = prepared.step();
    step.settings.rate = 1e-3;
    step.run();
    const double before = step.loss();
    step.run_forward();
    EXPECT_LT(step.loss(), before - 1e-3) << shape.name;
  }
}

TEST(ReferenceStep, TheNormIsThatOfAllGradients) {
  const Prepared prepared(test::tiny_shape());
  ReferenceStep step = prepared.step();
  step.run();
  double sum = 0.0;
  for (const double g : step.values(prepared.program.gradients)) {
    sum += g * g;
  }
  EXPECT_NEAR(step.values(prepared.program.norm)[0], std::sqrt(sum), 1e-12);
}

// A fresh model knows nothing: the loss is near log of the vocabulary, above it by the spread of
// the logits.
TEST(ReferenceStep, TheFirstLossIsThatOfGuessing) {
  const Prepared prepared(test::tiny_shape());
  ReferenceStep step = prepared.step();
  step.run_forward();
  EXPECT_NEAR(step.loss(), std::log(24.0), 1.2);
}

}  // namespace
}  // namespace orrery::calibrate
