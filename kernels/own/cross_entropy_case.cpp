#include <array>

#include "kernels/own/own_case.hpp"
#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 8;

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
        backward_ ? format_of(kElementOf<T>) : reference::NumberFormat::fp32,
        {.terms = kTerms,
         .magnitude = backward_ ? kMagnitude / static_cast<double>(columns_) : kMagnitude});
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
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
