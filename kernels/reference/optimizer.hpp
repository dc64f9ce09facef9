#pragma once

// Reference for one AdamW step of a weight, and for the norm of a gradient:
//
//   m' = b1 m + (1 - b1) c g     v' = b2 v + (1 - b2) (c g)^2
//   w' = w - rate (m' / (1 - b1^t) / (sqrt(v' / (1 - b2^t)) + epsilon) + decay w)
//   norm = sqrt(sum of g^2)
//
// symbol   | meaning                                         | unit | origin
// ---------|-------------------------------------------------|------|---------
// g, c     | gradient, and the factor that clips its norm    | -    | operands
// m, v     | moments                                         | -    | state
// w        | weight, fp32                                    | -    | state
// b1, b2   | decay of the moments                            | 1    | setting
// t        | step, from 1                                    | 1    | setting
//
// Source: Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2.

#include <span>

namespace orrery::kernels::reference {

struct AdamwSettings {
  double rate = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double decay = 0.1;
  double clip = 1.0;  // c
  double step = 1.0;  // t
};

struct AdamwState {
  double weight = 0.0;
  double first = 0.0;   // m
  double second = 0.0;  // v
};

[[nodiscard]] AdamwState adamw(const AdamwSettings& settings,
                               const AdamwState& state,
                               double gradient);

[[nodiscard]] double gradient_norm(std::span<const double> gradient);

}  // namespace orrery::kernels::reference
