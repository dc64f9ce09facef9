#include "kernels/reference/cross_entropy.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::kernels::reference {

TokenLoss cross_entropy(std::span<const double> logits, std::size_t target) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const double logit : logits) {
    sum += std::exp(logit - most);
  }
  const double log_sum = most + std::log(sum);
  return {.loss = log_sum - logits[target], .log_sum = log_sum};
}

std::vector<double> cross_entropy_gradient(std::span<const double> logits,
                                           std::size_t target,
                                           double gradient) {
  const double log_sum = cross_entropy(logits, target).log_sum;
  std::vector<double> result;
  for (const double logit : logits) {
    result.push_back(gradient * std::exp(logit - log_sum));
  }
  result[target] -= gradient;
  return result;
}

}  // namespace orrery::kernels::reference
