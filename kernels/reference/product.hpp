#pragma once

// Reference for one element of a matrix product:
//
//   C(i, j) = sum over l of A(i, l) B(l, j)
//
// symbol | meaning                     | unit | origin
// -------|-----------------------------|------|---------
// A      | i x l                       | -    | operands
// B      | l x j                       | -    | operands
//
// A view locates element (row, column) in memory, so that transposed operands need no copy.

#include <cstddef>
#include <span>

namespace orrery::kernels::reference {

struct MatrixView {
  std::span<const double> values;
  std::size_t row_stride = 0;
  std::size_t column_stride = 1;

  [[nodiscard]] double at(std::size_t row, std::size_t column) const {
    return values[row * row_stride + column * column_stride];
  }

  [[nodiscard]] MatrixView transposed() const {
    return {.values = values, .row_stride = column_stride, .column_stride = row_stride};
  }
};

struct ProductElement {
  double value = 0.0;
  double magnitude = 0.0;  // root of the sum of the squares of the terms, for tolerance_of()
};

[[nodiscard]] ProductElement product_element(const MatrixView& a,
                                             const MatrixView& b,
                                             std::size_t row,
                                             std::size_t column,
                                             std::size_t terms);

}  // namespace orrery::kernels::reference
