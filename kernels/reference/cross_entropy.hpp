#pragma once

// Reference for the cross-entropy loss of a token and the gradient of its logits:
//
//   lse = log sum over j of exp(x_j)     loss = lse - x_target
//   dx_j = (exp(x_j - lse) - [j = target]) g
//
// symbol | meaning                                        | unit | origin
// -------|------------------------------------------------|------|---------
// x      | logits of one token over the vocabulary        | -    | operands
// g      | gradient of the loss, e.g. 1 / tokens          | -    | operands
//
// The largest logit is subtracted before exp, so that exp does not overflow.

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::kernels::reference {

struct TokenLoss {
  double loss = 0.0;
  double log_sum = 0.0;  // lse
};

[[nodiscard]] TokenLoss cross_entropy(std::span<const double> logits, std::size_t target);

[[nodiscard]] std::vector<double> cross_entropy_gradient(std::span<const double> logits,
                                                         std::size_t target,
                                                         double gradient);

}  // namespace orrery::kernels::reference
