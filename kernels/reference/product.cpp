#include "kernels/reference/product.hpp"

#include <cmath>

namespace orrery::kernels::reference {

ProductElement product_element(const MatrixView& a,
                               const MatrixView& b,
                               std::size_t row,
                               std::size_t column,
                               std::size_t terms) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t l = 0; l < terms; ++l) {
    const double term = a.at(row, l) * b.at(l, column);
    sum += term;
    squares += term * term;
  }
  return {.value = sum, .magnitude = std::sqrt(squares)};
}

}  // namespace orrery::kernels::reference
