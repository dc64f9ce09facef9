#include <cmath>

#include "kernels/families.hpp"
#include "kernels/own/norm.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/norm.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 16;
constexpr std::int64_t kSampledPacks = 4;
constexpr double kEpsilon = 1e-5;

struct NormShape {
  explicit NormShape(const KernelCase& kernel)
      : layer(kernel.operation == Operation::layer_norm),
        rows(extent(kernel, "rows")),
        columns(extent(kernel, "columns")) {
    if (columns % kLanes != 0 || columns > kMostNormColumns) {
      throw_shape(kernel, "columns in multiples of 8 up to 16384");
    }
  }

  [[nodiscard]] reference::NormKind kind() const {
    return layer ? reference::NormKind::layer : reference::NormKind::rms;
  }

  bool layer;
  std::int64_t rows;
  std::int64_t columns;
};

// Sums over a row of normal numbers: the largest of them is a few deviations.
reference::Tolerance row_tolerance(Element element, const NormShape& shape) {
  constexpr double kLargestTerm = 8.0;
  return reference::tolerance_of(
      format_of(element), {.terms = static_cast<double>(shape.columns), .magnitude = kLargestTerm});
}

template <typename T>
class NormForwardFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix x, weight, bias, y, mean, scale;
  };

  explicit NormForwardFamily(const KernelCase& kernel) : shape_(kernel) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    return 2 * matrix_bytes(kElement, shape_.rows, shape_.columns) +
           2 * matrix_bytes(kElement, 1, shape_.columns) +
           2 * matrix_bytes(Element::fp32, shape_.rows, 1);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    return {.x = random_matrix(kElement, shape_.rows, shape_.columns, seed, 0, stream),
            .weight = random_matrix(kElement, 1, shape_.columns, seed, 1, stream),
            .bias = random_matrix(kElement, 1, shape_.columns, seed, 2, stream),
            .y = make_matrix(kElement, shape_.rows, shape_.columns),
            .mean = make_matrix(Element::fp32, shape_.rows, 1),
            .scale = make_matrix(Element::fp32, shape_.rows, 1)};
  }

  void launch(const Set& set, Stream stream) const {
    launch_norm_forward(
        NormForward<T>{.x = set.x.template as<T>(),
                       .weight = set.weight.template as<T>(),
                       .bias = shape_.layer ? set.bias.template as<T>() : nullptr,
                       .y = set.y.template as<T>(),
                       .mean = shape_.layer ? set.mean.template as<float>() : nullptr,
                       .scale = set.scale.template as<float>(),
                       .rows = shape_.rows,
                       .columns = shape_.columns,
                       .epsilon = static_cast<float>(kEpsilon)},
        stream);
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    mark_unwritten(set.y, stream);
    mark_unwritten(set.scale, stream);
    launch(set, stream);
    check_written(set.y, "y", stream, comparison);
    check_written(set.scale, "scale", stream, comparison);
    const auto weight = read_row(set.weight, 0, stream);
    const auto bias = shape_.layer ? read_row(set.bias, 0, stream) : std::vector<double>();
    for (const std::int64_t row : sampled(shape_.rows, kSampledRows)) {
      const auto expected =
          reference::norm_row(shape_.kind(), read_row(set.x, row, stream), weight, bias, kEpsilon);
      comparison.add_row(
          "y", row, read_row(set.y, row, stream), expected.output, row_tolerance(kElement, shape_));
      const auto statistic = reference::tolerance_of(
          reference::NumberFormat::fp32,
          {.terms = static_cast<double>(shape_.columns), .magnitude = expected.scale});
      comparison.add(
          "scale", row, 0, read_row(set.scale, row, stream).front(), expected.scale, statistic);
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;

  NormShape shape_;
};

template <typename T>
class NormBackwardFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix x, weight, gradient, mean, scale, input_gradient, partial, weight_gradient,
        bias_gradient;
  };

  explicit NormBackwardFamily(const KernelCase& kernel) : shape_(kernel) {
    NormBackward<T> norm;
    norm.mean = shape_.layer ? &kSomeMean : nullptr;
    norm.rows = shape_.rows;
    norm.columns = shape_.columns;
    blocks_ = norm_backward_blocks(norm);
  }

  [[nodiscard]] std::int64_t set_bytes() const {
    return 3 * matrix_bytes(kElement, shape_.rows, shape_.columns) +
           matrix_bytes(kElement, 1, shape_.columns) +
           2 * matrix_bytes(Element::fp32, shape_.rows, 1) +
           matrix_bytes(Element::fp32, 2 * blocks_, shape_.columns) +
           2 * matrix_bytes(Element::fp32, 1, shape_.columns);
  }

  // Statistics are those that the forward finds.
  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    Set set{.x = random_matrix(kElement, shape_.rows, shape_.columns, seed, 0, stream),
            .weight = random_matrix(kElement, 1, shape_.columns, seed, 1, stream),
            .gradient = random_matrix(kElement, shape_.rows, shape_.columns, seed, 2, stream),
            .mean = make_matrix(Element::fp32, shape_.rows, 1),
            .scale = make_matrix(Element::fp32, shape_.rows, 1),
            .input_gradient = make_matrix(kElement, shape_.rows, shape_.columns),
            .partial = make_matrix(Element::fp32, 2 * std::int64_t{blocks_}, shape_.columns),
            .weight_gradient = make_matrix(Element::fp32, 1, shape_.columns),
            .bias_gradient = make_matrix(Element::fp32, 1, shape_.columns)};
    launch_norm_forward(
        NormForward<T>{.x = set.x.template as<T>(),
                       .weight = set.weight.template as<T>(),
                       .bias = set.weight.template as<T>(),
                       .y = set.input_gradient.template as<T>(),
                       .mean = shape_.layer ? set.mean.template as<float>() : nullptr,
                       .scale = set.scale.template as<float>(),
                       .rows = shape_.rows,
                       .columns = shape_.columns,
                       .epsilon = static_cast<float>(kEpsilon)},
        stream);
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    launch_norm_backward(
        NormBackward<T>{
            .x = set.x.template as<T>(),
            .weight = set.weight.template as<T>(),
            .gradient = set.gradient.template as<T>(),
            .mean = shape_.layer ? set.mean.template as<float>() : nullptr,
            .scale = set.scale.template as<float>(),
            .input_gradient = set.input_gradient.template as<T>(),
            .partial = set.partial.template as<float>(),
            .weight_gradient = set.weight_gradient.template as<float>(),
            .bias_gradient = shape_.layer ? set.bias_gradient.template as<float>() : nullptr,
            .rows = shape_.rows,
            .columns = shape_.columns},
        blocks_,
        stream);
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    mark_unwritten(set.input_gradient, stream);
    mark_unwritten(set.weight_gradient, stream);
    mark_unwritten(set.bias_gradient, stream);
    launch(set, stream);
    check_written(set.input_gradient, "dx", stream, comparison);
    check_written(set.weight_gradient, "dw", stream, comparison);
    if (shape_.layer) {
      check_written(set.bias_gradient, "db", stream, comparison);
    }
    const auto weight = read_row(set.weight, 0, stream);
    for (const std::int64_t row : sampled(shape_.rows, kSampledRows)) {
      comparison.add_row("dx",
                         row,
                         read_row(set.input_gradient, row, stream),
                         reference::norm_input_gradient(shape_.kind(),
                                                        read_row(set.x, row, stream),
                                                        weight,
                                                        read_row(set.gradient, row, stream),
                                                        kEpsilon),
                         row_tolerance(kElement, shape_));
    }
    for (const std::int64_t pack : sampled(shape_.columns / kLanes, kSampledPacks)) {
      check_weight_gradient(set, pack * kLanes, stream, comparison);
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;
  static constexpr float kSomeMean = 0.0F;  // not read: tells LayerNorm

  // Eight columns over all rows, with the statistics of the forward, which its own case checks.
  void check_weight_gradient(const Set& set,
                             std::int64_t first,
                             Stream stream,
                             Comparison& comparison) const {
    const auto x = read_columns(set.x, first, kLanes, stream);
    const auto dy = read_columns(set.gradient, first, kLanes, stream);
    const auto scale = read_columns(set.scale, 0, 1, stream);
    const auto mean =
        shape_.layer ? read_columns(set.mean, 0, 1, stream) : std::vector<double>(scale.size());
    const auto found = read_row(set.weight_gradient, 0, stream);
    const auto found_bias = shape_.layer ? read_row(set.bias_gradient, 0, stream) : found;
    for (int l = 0; l < kLanes; ++l) {
      double sum = 0.0;
      double bias = 0.0;
      double squares = 0.0;
      for (std::size_t row = 0; row < scale.size(); ++row) {
        const std::size_t at = row * kLanes + static_cast<std::size_t>(l);
        const double term = dy[at] * (x[at] - mean[row]) * scale[row];
        sum += term;
        bias += dy[at];
        squares += term * term + dy[at] * dy[at];
      }
      const auto tolerance = reference::tolerance_of(
          reference::NumberFormat::fp32,
          {.terms = static_cast<double>(shape_.rows), .magnitude = std::sqrt(squares)});
      const std::int64_t column = first + l;
      const auto at = static_cast<std::size_t>(column);
      comparison.add("dw", 0, column, found[at], sum, tolerance);
      if (shape_.layer) {
        comparison.add("db", 0, column, found_bias[at], bias, tolerance);
      }
    }
  }

  NormShape shape_;
  int blocks_ = 0;
};

}  // namespace

std::unique_ptr<Runnable> make_norm(const KernelCase& kernel, const PrepareOptions& options) {
  return kernel.role == Role::backward ? make_own_16<NormBackwardFamily>(kernel, options)
                                       : make_own_16<NormForwardFamily>(kernel, options);
}

}  // namespace orrery::kernels
