#pragma once

// Operands and results of a matrix product: the layouts that a training framework gives to the
// products of a linear layer, the values of its random operands, and single elements of the result
// in double precision.
//
//   D[i, j] = sum over l of b(i, l) a(j, l)  (+ C[i, j]),   i < m, j < n, l < k;  D row-major
//
// role  | b: rows i              | a: rows j         | in 16 bit and above  | 8 bit and below
// ------|------------------------|-------------------|----------------------|----------------
// fprop | tokens X [m, k]        | weights W [n, k]  | both k contiguous    | both k contiguous
// dgrad | gradient dY [m, k]     | weights W [k, n]  | b: k, a: j contiguous| both k contiguous
// wgrad | gradient dY [k, m]     | tokens X [k, n]   | i and j contiguous   | both k contiguous
//
// To a column-major library D is n x m, its first operand a and its second b: TN, NN and NT. The
// narrow formats want k contiguous, which is why frameworks keep transposed copies.
//
// symbol    | meaning                                              | unit | origin
// ----------|------------------------------------------------------|------|----------------------
// magnitude | sum of absolute terms, which bounds the rounding     | -    | computed
// partial   | root sum of squares of the terms: a typical part sum | -    | computed
// seed      | of a set of operands; a, b, their scales, C differ   | -    | caller
//
// Assumptions: only fp8_tensor has gradients in E5M2; rows and blocks carry enough range for E4M3.

#include <cstdint>

#include "kernels/device/element.hpp"
#include "kernels/device/fill.hpp"
#include "kernels/products/scale_layout.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

struct ProductOperand {
  Element element = Element::bf16;
  std::int64_t outer = 0;    // n or m
  std::int64_t reduced = 0;  // k
  bool reduced_contiguous = true;
  ScaleMode scales = ScaleMode::none;

  [[nodiscard]] std::int64_t count() const { return outer * reduced; }

  [[nodiscard]] ScaledShape scaled_shape() const { return {scales, outer, reduced}; }
};

struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ProductOperand a;  // n rows
  ProductOperand b;  // m rows
  Element result = Element::bf16;
  bool accumulates = false;  // D is C
  bool fast = false;         // 8-bit products may add up in fewer bits (fprop, as frameworks do)
  bool tf32 = false;
};

// Of `kernel`, a gemm; `m`, `n` and `k` are separate so that a grouped product can use it.
[[nodiscard]] Product product_of(Role role, Precision precision, std::int64_t m, std::int64_t n,
                                 std::int64_t k);

[[nodiscard]] Element scale_element(ScaleMode mode);

// Bytes of one operand set: a, b, their scales and D, each aligned.
[[nodiscard]] std::int64_t set_bytes(const Product& product);

// Random contents.
struct ProductSeeds {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t a_scales = 0;
  std::uint64_t b_scales = 0;
  std::uint64_t c = 0;
};

[[nodiscard]] ProductSeeds seeds_of(std::uint64_t seed);
[[nodiscard]] Normal contents(const ProductOperand& operand, std::uint64_t seed);
[[nodiscard]] Uniform scale_contents(const ProductOperand& operand, std::uint64_t seed);

// Position of (row, l) in the operand's memory.
[[nodiscard]] std::int64_t element_index(const ProductOperand& operand, std::int64_t row,
                                         std::int64_t l);

// Stored value times its scale.
[[nodiscard]] double operand_value(const ProductOperand& operand, std::uint64_t seed,
                                   std::uint64_t scale_seed, std::int64_t row, std::int64_t l);

struct ProductSum {
  double value = 0.0;
  double magnitude = 0.0;
  double partial = 0.0;
};

// What an element may differ from the reference: its rounding, that of the sum, and that of parts
// of a split sum, which a library may keep in the format of the result.
[[nodiscard]] double tolerance_of(const Product& product, const ProductSum& reference);

// Compares `rows` x `columns` sampled elements of D, given as numbers, with the reference.
// `d(i, j)` reads one element.
struct ProductSample {
  std::vector<std::int64_t> rows;     // i
  std::vector<std::int64_t> columns;  // j
};

// First, last and pseudo-random others, ascending, at most `most` of each.
[[nodiscard]] ProductSample sample_of(const Product& product, std::uint64_t seed, int most);

// Found: values of D by [row of the sample][column of the sample].
[[nodiscard]] Verification compare_product(const Product& product, const ProductSeeds& seeds,
                                           const ProductSample& sample,
                                           const std::vector<std::vector<float>>& found);

// D before a checked call: C where it accumulates, else marked as not written.
void reset_result(const Product& product, const ProductSeeds& seeds, void* d, Stream stream);

// D after it: every element written, and `most` rows x columns at most compared.
[[nodiscard]] Verification verify_result(const Product& product, const ProductSeeds& seeds,
                                         const void* d, int most, Stream stream);

}  // namespace orrery::kernels
