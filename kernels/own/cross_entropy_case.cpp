#include "kernels/families.hpp"
#include "kernels/own/cross_entropy.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/random_index.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/cross_entropy.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 8;

template <typename T>
class CrossEntropyFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix logits, loss, log_sum, gradient;
    DeviceBuffer targets;
    std::vector<std::int64_t> host_targets;
  };

  explicit CrossEntropyFamily(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")),
        columns_(extent(kernel, "columns")),
        backward_(kernel.role == Role::backward) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    return (backward_ ? 2 : 1) * matrix_bytes(kElement, rows_, columns_) +
           2 * matrix_bytes(Element::fp32, rows_, 1) + index_bytes<std::int64_t>(rows_);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    Set set;
    set.logits = random_matrix(kElement, rows_, columns_, seed, 0, stream);
    set.loss = make_matrix(Element::fp32, rows_, 1);
    set.log_sum = make_matrix(Element::fp32, rows_, 1);
    set.host_targets = random_indices<std::int64_t>(rows_, columns_, seed);
    set.targets = uploaded_indices<std::int64_t>(set.host_targets, stream);
    launch_forward(set, stream);  // the backward reads its sums
    if (backward_) {
      set.gradient = make_matrix(kElement, rows_, columns_);
    }
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    if (!backward_) {
      launch_forward(set, stream);
      return;
    }
    launch_cross_entropy_backward(
        CrossEntropyBackward<T>{.logits = set.logits.template as<T>(),
                                .targets = set.targets.template as<std::int64_t>(),
                                .log_sum = set.log_sum.template as<float>(),
                                .gradient = set.gradient.template as<T>(),
                                .rows = rows_,
                                .columns = columns_,
                                .scale = 1.0F},
        stream);
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    if (backward_) {
      mark_unwritten(set.gradient, stream);
    } else {
      mark_unwritten(set.loss, stream);
      mark_unwritten(set.log_sum, stream);
    }
    launch(set, stream);
    if (backward_) {
      check_written(set.gradient, "dlogits", stream, comparison);
    } else {
      check_written(set.loss, "loss", stream, comparison);
      check_written(set.log_sum, "log_sum", stream, comparison);
    }
    constexpr double kTerms = 16.0;  // the sum of exponentials enters by its logarithm
    constexpr double kMagnitude = 16.0;
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      const auto logits = read_row(set.logits, row, stream);
      const auto target = static_cast<std::size_t>(set.host_targets[static_cast<std::size_t>(row)]);
      if (backward_) {
        // A probability is about 1 / columns: the absolute part is taken relative to that.
        const auto tolerance = reference::tolerance_of(
            format_of(kElement),
            {.terms = kTerms, .magnitude = kMagnitude / static_cast<double>(columns_)});
        comparison.add_row("dlogits",
                           row,
                           read_row(set.gradient, row, stream),
                           reference::cross_entropy_gradient(logits, target, 1.0),
                           tolerance);
        continue;
      }
      const auto tolerance = reference::tolerance_of(reference::NumberFormat::fp32,
                                                     {.terms = kTerms, .magnitude = kMagnitude});
      const auto expected = reference::cross_entropy(logits, target);
      comparison.add(
          "loss", row, 0, read_row(set.loss, row, stream).front(), expected.loss, tolerance);
      comparison.add("log_sum",
                     row,
                     0,
                     read_row(set.log_sum, row, stream).front(),
                     expected.log_sum,
                     tolerance);
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;

  void launch_forward(const Set& set, Stream stream) const {
    launch_cross_entropy_forward(
        CrossEntropyForward<T>{.logits = set.logits.template as<T>(),
                               .targets = set.targets.template as<std::int64_t>(),
                               .loss = set.loss.template as<float>(),
                               .log_sum = set.log_sum.template as<float>(),
                               .rows = rows_,
                               .columns = columns_},
        stream);
  }

  std::int64_t rows_;
  std::int64_t columns_;
  bool backward_;
};

}  // namespace

std::unique_ptr<Runnable> make_cross_entropy(const KernelCase& kernel,
                                             const PrepareOptions& options) {
  return make_own_16<CrossEntropyFamily>(kernel, options);
}

}  // namespace orrery::kernels
