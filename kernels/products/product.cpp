#include "kernels/products/product.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/device/comparison.hpp"
#include "kernels/device/random.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/check.hpp"

namespace orrery::kernels {

namespace {

bool is_wgrad(Role role) { return role == Role::wgrad || role == Role::wgrad_accumulate; }

Element operand_element(Precision precision, bool gradient) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return Element::fp32;
    case Precision::bf16:
      return Element::bf16;
    case Precision::fp16:
      return Element::fp16;
    case Precision::fp8_tensor:
      return gradient ? Element::e5m2 : Element::e4m3;
    case Precision::fp8_row:
    case Precision::fp8_block:
    case Precision::mxfp8:
      return Element::e4m3;
    case Precision::nvfp4:
      return Element::e2m1;
  }
  return Element::bf16;
}

ScaleMode scale_mode(Precision precision, bool weights) {
  switch (precision) {
    case Precision::fp8_tensor:
      return ScaleMode::tensor;
    case Precision::fp8_row:
      return ScaleMode::row;
    case Precision::fp8_block:
      return weights ? ScaleMode::blk128 : ScaleMode::vec128;
    case Precision::mxfp8:
      return ScaleMode::vec32;
    case Precision::nvfp4:
      return ScaleMode::vec16;
    default:
      return ScaleMode::none;
  }
}

Element result_element(Role role, Precision precision) {
  if (role == Role::wgrad_accumulate || precision == Precision::fp32 ||
      precision == Precision::tf32) {
    return Element::fp32;
  }
  return precision == Precision::fp16 ? Element::fp16 : Element::bf16;
}

// Stored values have this standard deviation: 8-bit formats are used over their range, and 4-bit
// values saturate beyond three standard deviations, as in a quantised tensor.
float stored_deviation(Element element) {
  switch (element) {
    case Element::e4m3:
      return 64.0F;
    case Element::e5m2:
      return 4096.0F;
    case Element::e2m1:
      return 2.0F;
    default:
      return 1.0F;
  }
}

double scale_value(const ProductOperand& operand, std::uint64_t seed, std::int64_t row,
                   std::int64_t l) {
  if (operand.scales == ScaleMode::none) {
    return 1.0;
  }
  const std::int64_t index = scale_index(operand.scaled_shape(), row, l);
  return static_cast<double>(
      stored_uniform(scale_element(operand.scales), scale_contents(operand, seed), index));
}

// Relative rounding of the sum against the sum of magnitudes. Tensor cores add fp32 with a few bits
// cut off; 8-bit products of Hopper keep about 14 bits between promotions; tf32 cuts the operands
// to 11 bits.
double sum_rounding(const Product& product) {
  constexpr double kFp32 = 0x1.0p-16;
  constexpr double kNarrow = 0x1.0p-10;
  const bool narrow = bits_of(product.a.element) <= 8;
  return narrow || product.tf32 ? kNarrow : kFp32;
}

double result_rounding(Element element) {
  switch (element) {
    case Element::bf16:
      return 0x1.0p-8;
    case Element::fp16:
      return 0x1.0p-11;
    default:
      return 0x1.0p-23;
  }
}

}  // namespace

Product product_of(Role role, Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool wgrad = is_wgrad(role);
  const Element a_element = operand_element(precision, false);
  const Element b_element = operand_element(precision, role != Role::fprop);
  const bool narrow = bits_of(a_element) <= 8;
  Product product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a = {a_element, n, k, narrow || role == Role::fprop, scale_mode(precision, !wgrad)};
  product.b = {b_element, m, k, narrow || !wgrad, scale_mode(precision, false)};
  product.result = result_element(role, precision);
  product.accumulates = role == Role::wgrad_accumulate;
  product.fast = precision == Precision::fp8_tensor && role == Role::fprop;
  product.tf32 = precision == Precision::tf32;
  return product;
}

Element scale_element(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::vec32:
      return Element::e8m0;
    case ScaleMode::vec16:
      return Element::e4m3;
    default:
      return Element::fp32;
  }
}

std::int64_t set_bytes(const Product& product) {
  std::int64_t bytes = aligned(bytes_of(product.result, product.m * product.n));
  for (const ProductOperand& operand : {product.a, product.b}) {
    bytes += aligned(bytes_of(operand.element, operand.count()));
    bytes += aligned(bytes_of(scale_element(operand.scales), scale_count(operand.scaled_shape())));
  }
  return bytes;
}

ProductSeeds seeds_of(std::uint64_t seed) {
  constexpr std::uint64_t kTensors = 8;  // seeds of neighbouring sets do not meet
  const std::uint64_t base = seed * kTensors;
  return {base + 1, base + 2, base + 3, base + 4, base + 5};
}

Normal contents(const ProductOperand& operand, std::uint64_t seed) {
  return {seed, stored_deviation(operand.element), 0};
}

Uniform scale_contents(const ProductOperand& operand, std::uint64_t seed) {
  // Scales differ by up to four: a wrong layout shows. Their product with the stored values has a
  // standard deviation of about one.
  const float unit = 1.0F / stored_deviation(operand.element);
  return {seed, 0.5F * unit, 2.0F * unit};
}

std::int64_t element_index(const ProductOperand& operand, std::int64_t row, std::int64_t l) {
  return operand.reduced_contiguous ? row * operand.reduced + l : l * operand.outer + row;
}

double operand_value(const ProductOperand& operand, std::uint64_t seed, std::uint64_t scale_seed,
                     std::int64_t row, std::int64_t l) {
  const float stored =
      stored_normal(operand.element, contents(operand, seed), element_index(operand, row, l));
  return static_cast<double>(stored) * scale_value(operand, scale_seed, row, l);
}

double tolerance_of(const Product& product, const ProductSum& reference) {
  constexpr double kParts = 2.0;
  const double result = std::abs(reference.value) + kParts * reference.partial;
  return result_rounding(product.result) * result + sum_rounding(product) * reference.magnitude;
}

namespace {

std::vector<std::int64_t> indices(std::int64_t extent, std::uint64_t seed, int most) {
  std::vector<std::int64_t> chosen;
  if (extent <= most) {
    for (std::int64_t i = 0; i < extent; ++i) {
      chosen.push_back(i);
    }
    return chosen;
  }
  chosen = {0, extent - 1};
  const auto bound =
      static_cast<std::uint32_t>(std::min<std::int64_t>(extent, std::int64_t{1} << 31));
  for (std::uint64_t draw = 0; chosen.size() < static_cast<std::size_t>(most); ++draw) {
    chosen.push_back(integer_at(seed, draw, bound));
  }
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

// Values of the sampled rows of an operand, scaled.
std::vector<std::vector<double>> rows_of(const ProductOperand& operand, std::uint64_t seed,
                                         std::uint64_t scale_seed,
                                         const std::vector<std::int64_t>& rows) {
  std::vector<std::vector<double>> values;
  for (const std::int64_t row : rows) {
    std::vector<double>& line = values.emplace_back();
    line.reserve(static_cast<std::size_t>(operand.reduced));
    for (std::int64_t l = 0; l < operand.reduced; ++l) {
      line.push_back(operand_value(operand, seed, scale_seed, row, l));
    }
  }
  return values;
}

ProductSum dot(const std::vector<double>& x, const std::vector<double>& y) {
  ProductSum sum;
  double squares = 0.0;
  for (std::size_t l = 0; l < x.size(); ++l) {
    const double term = x[l] * y[l];
    sum.value += term;
    sum.magnitude += std::abs(term);
    squares += term * term;
  }
  sum.partial = std::sqrt(squares);
  return sum;
}

}  // namespace

ProductSample sample_of(const Product& product, std::uint64_t seed, int most) {
  return {indices(product.m, seed, most), indices(product.n, seed + 1, most)};
}

Verification compare_product(const Product& product, const ProductSeeds& seeds,
                             const ProductSample& sample,
                             const std::vector<std::vector<float>>& found) {
  ORRERY_CHECK(found.size() == sample.rows.size(), "one row of results per sampled row");
  const auto a = rows_of(product.a, seeds.a, seeds.a_scales, sample.columns);
  const auto b = rows_of(product.b, seeds.b, seeds.b_scales, sample.rows);
  Comparison result;
  for (std::size_t i = 0; i < sample.rows.size(); ++i) {
    ORRERY_CHECK(found[i].size() == sample.columns.size(), "one result per sampled column");
    for (std::size_t j = 0; j < sample.columns.size(); ++j) {
      ProductSum sum = dot(a[j], b[i]);
      if (product.accumulates) {
        const std::int64_t at = sample.rows[i] * product.n + sample.columns[j];
        const auto c = static_cast<double>(stored_normal(Element::fp32, {seeds.c, 1.0F, 0}, at));
        sum.value += c;
        sum.magnitude += std::abs(c);
      }
      const auto value = static_cast<double>(found[i][j]);
      const double error =
          std::abs(value - sum.value) / std::max(tolerance_of(product, sum), 1e-30);
      result.add_error("D", sample.rows[i], sample.columns[j], value, sum.value,
                       std::isfinite(error) ? error : HUGE_VAL);
    }
  }
  return result.result();
}

void reset_result(const Product& product, const ProductSeeds& seeds, void* d, Stream stream) {
  const std::int64_t count = product.m * product.n;
  if (product.accumulates) {
    fill_normal(d, product.result, count, {seeds.c, 1.0F, 0}, stream);
  } else {
    fill_unwritten(d, bytes_of(product.result, count), stream);
  }
}

Verification verify_result(const Product& product, const ProductSeeds& seeds, const void* d,
                           int most, Stream stream) {
  const std::int64_t count = product.m * product.n;
  Comparison whole;
  if (!product.accumulates) {
    whole.check_written(d, product.result, count, "D", stream);
  }
  if (whole.failed()) {
    return whole.result();
  }
  const ProductSample sample = sample_of(product, seeds.a, most);
  std::vector<std::vector<float>> found;
  for (const std::int64_t row : sample.rows) {
    const auto line = read_elements(d, product.result, row * product.n, product.n, stream);
    std::vector<float>& values = found.emplace_back();
    for (const std::int64_t column : sample.columns) {
      values.push_back(line[static_cast<std::size_t>(column)]);
    }
  }
  return compare_product(product, seeds, sample, found);
}

}  // namespace orrery::kernels
