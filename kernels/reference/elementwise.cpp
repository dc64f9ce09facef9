#include "kernels/reference/elementwise.hpp"

#include <cmath>

namespace orrery::kernels::reference {

namespace {

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

double rotary_angle(double position, std::size_t pair, std::size_t dim, double base) {
  return position * std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}

std::vector<double> rotary(std::span<const double> x,
                           std::span<const double> cosine,
                           std::span<const double> sine,
                           Turn turn) {
  const std::size_t half = x.size() / 2;
  const double direction = turn == Turn::forward ? 1.0 : -1.0;
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    y[i] = x[i] * cosine[i] - direction * x[i + half] * sine[i];
    y[i + half] = x[i + half] * cosine[i] + direction * x[i] * sine[i];
  }
  return y;
}

double swiglu(double gate, double up) {
  return gate * sigmoid(gate) * up;
}

SwigluGradient swiglu_gradient(double gate, double up, double gradient) {
  const double s = sigmoid(gate);
  return {.gate = gradient * up * s * (1.0 + gate * (1.0 - s)), .up = gradient * gate * s};
}

}  // namespace orrery::kernels::reference
