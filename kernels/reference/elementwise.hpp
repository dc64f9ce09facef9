#pragma once

// Reference for rotary embedding and SwiGLU of a vector, and their gradients:
//
//   rotary   y_i = x_i cos - x_(i + d/2) sin     y_(i + d/2) = x_(i + d/2) cos + x_i sin
//            angle_i = position base^(-2 i / d), i < d / 2; the gradient is rotated back by it
//   SwiGLU   y = g s(g) u     s(g) = 1 / (1 + exp(-g))
//            dg = dy u s(g) (1 + g (1 - s(g)))     du = dy g s(g)
//
// symbol | meaning                                 | unit | origin
// -------|-----------------------------------------|------|---------
// x, y   | one head of one token                   | -    | operands
// d      | its dimension, even                     | 1    | operands
// base   | of the angles, 10,000 in the paper      | 1    | model
// g, u   | results of the gate and up projections  | -    | operands
//
// Source: Su et al. 2021 (arXiv 2104.09864); Shazeer 2020 (arXiv 2002.05202).

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::kernels::reference {

[[nodiscard]] double rotary_angle(double position, std::size_t pair, std::size_t dim, double base);

enum class Turn { forward, back };

// cosine and sine: of the d / 2 angles.
[[nodiscard]] std::vector<double> rotary(std::span<const double> x,
                                         std::span<const double> cosine,
                                         std::span<const double> sine,
                                         Turn turn);

[[nodiscard]] double swiglu(double gate, double up);

struct SwigluGradient {
  double gate = 0.0;
  double up = 0.0;
};

[[nodiscard]] SwigluGradient swiglu_gradient(double gate, double up, double gradient);

}  // namespace orrery::kernels::reference
