#include "kernels/reference/optimizer.hpp"

#include <cmath>

namespace orrery::kernels::reference {

AdamwState adamw(const AdamwSettings& settings, const AdamwState& state, double gradient) {
  const double g = settings.clip * gradient;
  AdamwState next;
  next.first = settings.beta1 * state.first + (1.0 - settings.beta1) * g;
  next.second = settings.beta2 * state.second + (1.0 - settings.beta2) * g * g;
  const double first = next.first / (1.0 - std::pow(settings.beta1, settings.step));
  const double second = next.second / (1.0 - std::pow(settings.beta2, settings.step));
  const double direction =
      first / (std::sqrt(second) + settings.epsilon) + settings.decay * state.weight;
  next.weight = state.weight - settings.rate * direction;
  return next;
}

double gradient_norm(std::span<const double> gradient) {
  double sum = 0.0;
  for (const double g : gradient) {
    sum += g * g;
  }
  return std::sqrt(sum);
}

}  // namespace orrery::kernels::reference
