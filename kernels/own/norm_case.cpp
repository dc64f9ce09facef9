#include <array>
#include <cmath>

#include "kernels/own/own_case.hpp"
#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/operations.hpp"

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
      element, {.terms = static_cast<double>(shape.columns), .magnitude = kLargestTerm});
}

template <typename T>
class NormForwardCase final : public OwnCase {
 public:
  explicit NormForwardCase(const KernelCase& kernel) : shape_(kernel) {
    x_ = random(kElementOf<T>, shape_.rows, shape_.columns);
    weight_ = random(kElementOf<T>, 1, shape_.columns);
    bias_ = random(kElementOf<T>, 1, shape_.columns);
    y_ = output("y", kElementOf<T>, shape_.rows, shape_.columns);
    mean_ = room(Element::fp32, shape_.rows, 1);
    scale_ = output("scale", Element::fp32, shape_.rows, 1);
  }

 private:
  void enqueue(const Set& set, Stream stream) const override {
    launch_norm_forward(NormForward<T>{.x = set.as<T>(x_),
                                       .weight = set.as<T>(weight_),
                                       .bias = shape_.layer ? set.as<T>(bias_) : nullptr,
                                       .y = set.as<T>(y_),
                                       .mean = shape_.layer ? set.as<float>(mean_) : nullptr,
                                       .scale = set.as<float>(scale_),
                                       .rows = shape_.rows,
                                       .columns = shape_.columns,
                                       .epsilon = static_cast<float>(kEpsilon)},
                        stream);
  }

  void compare(Check& check) const override {
    check.call();
    const auto weight = check.row(weight_, 0);
    const auto bias = shape_.layer ? check.row(bias_, 0) : std::vector<double>();
    for (const std::int64_t row : sampled(shape_.rows, kSampledRows)) {
      const auto expected =
          reference::norm_row(shape_.kind(), check.row(x_, row), weight, bias, kEpsilon);
      check.expect_row(y_, row, expected.output, row_tolerance(kElementOf<T>, shape_));
      check.expect_row(
          scale_, row, std::array{expected.scale},
          reference::tolerance_of(Element::fp32, {.terms = static_cast<double>(shape_.columns),
                                                  .magnitude = expected.scale}));
    }
  }

  NormShape shape_;
  Operand x_, weight_, bias_, y_, mean_, scale_;
};

template <typename T>
class NormBackwardCase final : public OwnCase {
 public:
  explicit NormBackwardCase(const KernelCase& kernel) : shape_(kernel) {
    constexpr float kSomeMean = 0.0F;  // not read: tells LayerNorm
    NormBackward<T> norm;
    norm.mean = shape_.layer ? &kSomeMean : nullptr;
    norm.rows = shape_.rows;
    norm.columns = shape_.columns;
    blocks_ = norm_backward_blocks(norm);
    x_ = random(kElementOf<T>, shape_.rows, shape_.columns);
    weight_ = random(kElementOf<T>, 1, shape_.columns);
    gradient_ = random(kElementOf<T>, shape_.rows, shape_.columns);
    mean_ = room(Element::fp32, shape_.rows, 1);
    scale_ = room(Element::fp32, shape_.rows, 1);
    partial_ = room(Element::fp32, 2 * std::int64_t{blocks_}, shape_.columns);
    dx_ = output("dx", kElementOf<T>, shape_.rows, shape_.columns);
    dw_ = output("dw", Element::fp32, 1, shape_.columns);
    db_ = room(Element::fp32, 1, shape_.columns);
    if (shape_.layer) {
      make_output("db", db_);
    }
  }

 private:
  // Statistics are those that the forward finds.
  void fill(Set& set, Stream stream) const override {
    launch_norm_forward(NormForward<T>{.x = set.as<T>(x_),
                                       .weight = set.as<T>(weight_),
                                       .bias = set.as<T>(weight_),
                                       .y = set.as<T>(dx_),
                                       .mean = shape_.layer ? set.as<float>(mean_) : nullptr,
                                       .scale = set.as<float>(scale_),
                                       .rows = shape_.rows,
                                       .columns = shape_.columns,
                                       .epsilon = static_cast<float>(kEpsilon)},
                        stream);
  }

  void enqueue(const Set& set, Stream stream) const override {
    launch_norm_backward(
        NormBackward<T>{.x = set.as<T>(x_),
                        .weight = set.as<T>(weight_),
                        .gradient = set.as<T>(gradient_),
                        .mean = shape_.layer ? set.as<float>(mean_) : nullptr,
                        .scale = set.as<float>(scale_),
                        .input_gradient = set.as<T>(dx_),
                        .partial = set.as<float>(partial_),
                        .weight_gradient = set.as<float>(dw_),
                        .bias_gradient = shape_.layer ? set.as<float>(db_) : nullptr,
                        .rows = shape_.rows,
                        .columns = shape_.columns},
        blocks_, stream);
  }

  void compare(Check& check) const override {
    check.call();
    const auto weight = check.row(weight_, 0);
    for (const std::int64_t row : sampled(shape_.rows, kSampledRows)) {
      check.expect_row(dx_, row,
                       reference::norm_input_gradient(shape_.kind(), check.row(x_, row), weight,
                                                      check.row(gradient_, row), kEpsilon),
                       row_tolerance(kElementOf<T>, shape_));
    }
    for (const std::int64_t pack : sampled(shape_.columns / kLanes, kSampledPacks)) {
      compare_weight_gradient(pack * kLanes, check);
    }
  }

  // Eight columns over all rows, with the statistics of the forward, which its own case checks.
  void compare_weight_gradient(std::int64_t first, Check& check) const {
    const auto x = check.columns(x_, first, kLanes);
    const auto dy = check.columns(gradient_, first, kLanes);
    const auto scale = check.columns(scale_, 0, 1);
    const auto mean = shape_.layer ? check.columns(mean_, 0, 1) : std::vector<double>(scale.size());
    const auto found = check.row(dw_, 0);
    const auto found_bias = shape_.layer ? check.row(db_, 0) : found;
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
          Element::fp32,
          {.terms = static_cast<double>(shape_.rows), .magnitude = std::sqrt(squares)});
      const std::int64_t column = first + l;
      const auto at = static_cast<std::size_t>(column);
      check.expect(dw_, 0, column, found[at], sum, tolerance);
      if (shape_.layer) {
        check.expect(db_, 0, column, found_bias[at], bias, tolerance);
      }
    }
  }

  NormShape shape_;
  int blocks_ = 0;
  Operand x_, weight_, gradient_, mean_, scale_, partial_, dx_, dw_, db_;
};

}  // namespace

std::unique_ptr<Runnable> make_norm(const KernelCase& kernel, const PrepareOptions& options) {
  return kernel.role == Role::backward ? make_own_16<NormBackwardCase>(kernel, options)
                                       : make_own_16<NormForwardCase>(kernel, options);
}

namespace {

constexpr std::int64_t kSampledTokens = 8;

template <typename T>
class CrossEntropyCase final : public OwnCase {
 public:
  explicit CrossEntropyCase(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")),
        columns_(extent(kernel, "columns")),
        backward_(kernel.role == Role::backward) {
    logits_ = random(kElementOf<T>, rows_, columns_);
    loss_ = room(Element::fp32, rows_, 1);
    log_sum_ = room(Element::fp32, rows_, 1);
    targets_ = indices<std::int64_t>(rows_);
    if (backward_) {
      gradient_ = output("dlogits", kElementOf<T>, rows_, columns_);
    } else {
      make_output("loss", loss_);
      make_output("log_sum", log_sum_);
    }
  }

 private:
  void fill(Set& set, Stream stream) const override {
    set.indices = random_indices(rows_, columns_, set.seed);
    upload_indices<std::int64_t>(set, targets_, stream);
    launch_forward(set, stream);  // the backward reads its sums
  }

  void enqueue(const Set& set, Stream stream) const override {
    if (!backward_) {
      launch_forward(set, stream);
      return;
    }
    launch_cross_entropy_backward(CrossEntropyBackward<T>{.logits = set.as<T>(logits_),
                                                          .targets = set.as<std::int64_t>(targets_),
                                                          .log_sum = set.as<float>(log_sum_),
                                                          .gradient = set.as<T>(gradient_),
                                                          .rows = rows_,
                                                          .columns = columns_,
                                                          .scale = 1.0F},
                                  stream);
  }

  void launch_forward(const Set& set, Stream stream) const {
    launch_cross_entropy_forward(CrossEntropyForward<T>{.logits = set.as<T>(logits_),
                                                        .targets = set.as<std::int64_t>(targets_),
                                                        .loss = set.as<float>(loss_),
                                                        .log_sum = set.as<float>(log_sum_),
                                                        .rows = rows_,
                                                        .columns = columns_},
                                 stream);
  }

  void compare(Check& check) const override {
    check.call();
    constexpr double kTerms = 16.0;  // the sum of exponentials enters by its logarithm
    constexpr double kMagnitude = 16.0;
    // A probability is about 1 / columns: the absolute part is taken relative to that.
    const auto tolerance = reference::tolerance_of(
        backward_ ? kElementOf<T> : Element::fp32,
        {.terms = kTerms,
         .magnitude = backward_ ? kMagnitude / static_cast<double>(columns_) : kMagnitude});
    for (const std::int64_t row : sampled(rows_, kSampledTokens)) {
      const auto logits = check.row(logits_, row);
      const auto target =
          static_cast<std::size_t>(check.set.indices[static_cast<std::size_t>(row)]);
      if (backward_) {
        check.expect_row(gradient_, row, reference::cross_entropy_gradient(logits, target, 1.0),
                         tolerance);
      } else {
        const auto expected = reference::cross_entropy(logits, target);
        check.expect_row(loss_, row, std::array{expected.loss}, tolerance);
        check.expect_row(log_sum_, row, std::array{expected.log_sum}, tolerance);
      }
    }
  }

  std::int64_t rows_, columns_;
  bool backward_;
  Operand logits_, loss_, log_sum_, targets_, gradient_ = kNone;
};

}  // namespace

std::unique_ptr<Runnable> make_cross_entropy(const KernelCase& kernel,
                                             const PrepareOptions& options) {
  return make_own_16<CrossEntropyCase>(kernel, options);
}

}  // namespace orrery::kernels
