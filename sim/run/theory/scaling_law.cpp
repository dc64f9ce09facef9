#include "sim/run/theory/scaling_law.hpp"

#include <cmath>

namespace orrery::run {

namespace {

// 4,000 resamples of the 240 points of the refit: the logarithm of N spreads by the standard error
// of a, 0.0195, for each unit of ln C beyond 1.7e19 FLOP, the middle of the points (0.20 at 5.8e23,
// 0.35 at 1e27).
constexpr double kExponentError = 0.0195;
constexpr double kMiddleOfPoints = 17.0 * kExa;
constexpr double kQuantile90 = 1.2816;

}  // namespace

Tokens tokens_for(Flop compute, double parameters) {
  return tokens(std::floor(in_flop(compute) / (kFlopOfTraining * parameters)));
}

LawOptimum optimum(const ScalingLaw& law, Flop compute) {
  const double product = in_flop(compute) / kFlopOfTraining;
  const double sum = law.alpha + law.beta;
  const double scale = std::pow(law.alpha * law.a_term / (law.beta * law.b_term), 1.0 / sum);
  const double parameters = scale * std::pow(product, law.beta / sum);
  return {parameters, product / parameters};
}

OptimumSpread optimum_spread(Flop compute) {
  const double middle = optimum(kScalingLaws.front(), compute).parameters;
  const double distance = std::abs(std::log(in_flop(compute) / kMiddleOfPoints));
  const double factor = std::exp(kQuantile90 * kExponentError * distance);
  return {middle / factor, middle * factor};
}

}  // namespace orrery::run
