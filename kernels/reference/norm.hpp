#pragma once

// Reference for RMSNorm and LayerNorm of a row, and their gradients:
//
//   xh_j = (x_j - mean) r     r = 1 / sqrt(mean of (x - mean)^2 + epsilon)     y_j = xh_j w_j + b_j
//   dx_j = r (g_j - mean(g) - xh_j mean(g xh))     g_j = dy_j w_j
//   dw_j = sum over rows of dy_j xh_j              db_j = sum over rows of dy_j
//
// RMSNorm is the same with mean, mean(g) and b taken as zero.
//
// symbol  | meaning                     | unit | origin
// --------|-----------------------------|------|---------
// x, y    | a row before and after      | -    | operands
// w, b    | weight and bias, by column  | -    | operands
// epsilon | keeps r finite              | -    | operands
//
// Source: Zhang and Sennrich 2019 (arXiv 1910.07467); Ba et al. 2016 (arXiv 1607.06450).

#include <span>
#include <vector>

namespace orrery::kernels::reference {

enum class NormKind { rms, layer };

struct NormRow {
  std::vector<double> output;
  double mean = 0.0;
  double scale = 0.0;  // r
};

[[nodiscard]] NormRow norm_row(NormKind kind,
                               std::span<const double> x,
                               std::span<const double> weight,
                               std::span<const double> bias,  // empty: none
                               double epsilon);

[[nodiscard]] std::vector<double> norm_input_gradient(NormKind kind,
                                                      std::span<const double> x,
                                                      std::span<const double> weight,
                                                      std::span<const double> gradient,
                                                      double epsilon);

// Adds what a row contributes to the gradients of weight and bias (empty: none).
void add_norm_weight_gradient(NormKind kind,
                              std::span<const double> x,
                              std::span<const double> gradient,
                              double epsilon,
                              std::span<double> weight_gradient,
                              std::span<double> bias_gradient);

}  // namespace orrery::kernels::reference
