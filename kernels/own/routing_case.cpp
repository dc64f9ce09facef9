#include <cmath>
#include <span>

#include "kernels/own/own_case.hpp"
#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 16;
constexpr std::int64_t kExperts = 64;  // that random copies are sorted by

// Forward: table and y in T. Backward: the gradient of y in T, that of the table in fp32.
template <typename T>
class EmbeddingCase final : public OwnCase {
 public:
  explicit EmbeddingCase(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")),
        columns_(extent(kernel, "columns")),
        vocabulary_(extent(kernel, "vocabulary")),
        backward_(kernel.role == Role::backward) {
    if (columns_ % kLanes != 0) {
      throw_shape(kernel, "columns in multiples of 8");
    }
    table_ = random(backward_ ? Element::fp32 : kElementOf<T>, vocabulary_, columns_);
    values_ = backward_ ? random(kElementOf<T>, rows_, columns_)
                        : output("y", kElementOf<T>, rows_, columns_);
    ids_ = indices<std::int64_t>(rows_);
  }

 private:
  void fill(Set& set, Stream stream) const override {
    set.indices = random_indices(rows_, vocabulary_, set.seed);
    upload_indices<std::int64_t>(set, ids_, stream);
  }

  void enqueue(const Set& set, Stream stream) const override {
    if (backward_) {
      launch_embedding_backward(EmbeddingBackward<T>{.gradient = set.as<T>(values_),
                                                     .ids = set.as<std::int64_t>(ids_),
                                                     .table_gradient = set.as<float>(table_),
                                                     .rows = rows_,
                                                     .columns = columns_},
                                stream);
    } else {
      launch_embedding_forward(EmbeddingForward<T>{.table = set.as<T>(table_),
                                                   .ids = set.as<std::int64_t>(ids_),
                                                   .y = set.as<T>(values_),
                                                   .rows = rows_,
                                                   .columns = columns_},
                               stream);
    }
  }

  void compare(Check& check) const override {
    if (backward_) {
      compare_backward(check);
      return;
    }
    check.call();
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      const std::int64_t id = check.set.indices[static_cast<std::size_t>(row)];
      check.expect_row(values_, row, check.row(table_, id), reference::tolerance_of(kElementOf<T>));
    }
  }

  // Rows of the table: those of sampled tokens, and sampled ones that no token may have.
  void compare_backward(Check& check) const {
    const std::vector<std::int64_t>& ids = check.set.indices;
    std::vector<std::int64_t> checked = sampled(vocabulary_, kSampledRows);
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      checked.push_back(ids[static_cast<std::size_t>(row)]);
    }
    std::vector<std::vector<double>> given;
    for (const std::int64_t id : checked) {
      given.push_back(check.row(table_, id));
    }
    enqueue(check.set, check.stream);
    for (std::size_t i = 0; i < checked.size(); ++i) {
      // Only the tokens of this row, so that few rows are read.
      std::vector<std::int64_t> own;
      std::vector<double> gradients;
      for (std::int64_t row = 0; row < rows_; ++row) {
        if (ids[static_cast<std::size_t>(row)] == checked[i]) {
          const auto gradient = check.row(values_, row);
          own.push_back(checked[i]);
          gradients.insert(gradients.end(), gradient.begin(), gradient.end());
        }
      }
      const auto expected = reference::embedding_gradient_row(own, gradients, checked[i], given[i]);
      const auto found = check.row(table_, checked[i]);
      for (std::size_t j = 0; j < found.size(); ++j) {
        check.comparison.add(
            "dtable", checked[i], static_cast<std::int64_t>(j), found[j], expected.values[j],
            reference::tolerance_of(Element::fp32, {.terms = static_cast<double>(own.size() + 1),
                                                    .magnitude = expected.magnitudes[j]}));
      }
    }
  }

  std::int64_t rows_, columns_, vocabulary_;
  bool backward_;
  Operand table_, values_, ids_;
};

// `tokens` is [rows, columns], `copied` [rows x copies, columns]: which of them is read and which
// written depends on the pass. The backward of unpermute reads and writes copies.
template <typename T>
class PermuteCase final : public OwnCase {
 public:
  explicit PermuteCase(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")),
        columns_(extent(kernel, "columns")),
        copies_(extent(kernel, "copies")),
        weighted_(kernel.operation == Operation::unpermute),
        combines_(weighted_ != (kernel.role == Role::backward)) {
    if (columns_ % kLanes != 0 || copies_ > kMostCopies) {
      throw_shape(kernel, "columns in multiples of 8 and up to 64 copies");
    }
    tokens_ = random(kElementOf<T>, rows_, columns_);
    copied_ = random(kElementOf<T>, rows_ * copies_, columns_);
    weights_ = random(Element::fp32, rows_, copies_);
    weight_gradients_ = room(Element::fp32, rows_, copies_);
    places_ = indices<std::int32_t>(rows_ * copies_);
    result_ = combines_ ? tokens_ : copied_;
    if (combines_) {
      make_output("x", tokens_);
    } else if (weighted_) {
      make_output("dweight", weight_gradients_);
      result_ = output("copy", kElementOf<T>, rows_ * copies_, columns_);
    } else {
      make_output("copy", copied_);
    }
  }

 private:
  void fill(Set& set, Stream stream) const override {
    const auto experts = random_indices(rows_ * copies_, kExperts, set.seed);
    const auto places =
        reference::places_by_expert(std::vector<std::int32_t>(experts.begin(), experts.end()));
    set.indices.assign(places.begin(), places.end());
    upload_indices<std::int32_t>(set, places_, stream);
  }

  // A sum of copies is unpermute forward and permute backward.
  void enqueue(const Set& set, Stream stream) const override {
    const auto* places = set.as<std::int32_t>(places_);
    if (combines_) {
      launch_combine(Combine<T>{.y = set.as<T>(copied_),
                                .places = places,
                                .weights = weighted_ ? set.as<float>(weights_) : nullptr,
                                .x = set.as<T>(tokens_),
                                .rows = rows_,
                                .columns = columns_,
                                .copies = copies_},
                     stream);
    } else if (weighted_) {
      launch_combine_backward(
          CombineBackward<T>{.gradient = set.as<T>(tokens_),
                             .y = set.as<T>(copied_),
                             .places = places,
                             .weights = set.as<float>(weights_),
                             .y_gradient = set.as<T>(result_),
                             .weight_gradient = set.as<float>(weight_gradients_),
                             .rows = rows_,
                             .columns = columns_,
                             .copies = copies_},
          stream);
    } else {
      launch_scatter(Scatter<T>{.x = set.as<T>(tokens_),
                                .places = places,
                                .y = set.as<T>(copied_),
                                .rows = rows_,
                                .columns = columns_,
                                .copies = copies_},
                     stream);
    }
  }

  void compare(Check& check) const override {
    check.call();
    const auto copies = static_cast<std::size_t>(copies_);
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      const auto places =
          std::span(check.set.indices).subspan(static_cast<std::size_t>(row) * copies, copies);
      if (combines_) {
        compare_combined(row, places, check);
      } else {
        compare_scattered(row, places, check);
      }
    }
  }

  void compare_combined(std::int64_t row, std::span<const std::int64_t> places,
                        Check& check) const {
    std::vector<double> copies;
    std::vector<std::int32_t> local;  // the rows read, in their order
    for (const std::int64_t place : places) {
      const auto values = check.row(copied_, place);
      local.push_back(static_cast<std::int32_t>(local.size()));
      copies.insert(copies.end(), values.begin(), values.end());
    }
    const auto weights = weighted_ ? check.row(weights_, row) : std::vector<double>();
    const auto expected =
        reference::combined_row(copies, static_cast<std::size_t>(columns_), local, weights);
    const auto found = check.row(tokens_, row);
    for (std::size_t j = 0; j < found.size(); ++j) {
      check.expect(tokens_, row, static_cast<std::int64_t>(j), found[j], expected.values[j],
                   reference::tolerance_of(kElementOf<T>, {.terms = static_cast<double>(copies_),
                                                           .magnitude = expected.magnitudes[j]}));
    }
  }

  void compare_scattered(std::int64_t row, std::span<const std::int64_t> places,
                         Check& check) const {
    const auto x = check.row(tokens_, row);
    const auto weights = check.row(weights_, row);
    const auto dot_tolerance = reference::tolerance_of(
        Element::fp32, {.terms = static_cast<double>(columns_),
                        .magnitude = 2.0 * std::sqrt(static_cast<double>(columns_))});
    for (std::size_t c = 0; c < places.size(); ++c) {
      auto expected = x;
      for (double& value : expected) {
        value *= weighted_ ? weights[c] : 1.0;
      }
      check.expect_row(result_, places[c], expected, reference::tolerance_of(kElementOf<T>));
      if (weighted_) {
        check.expect(weight_gradients_, row, static_cast<std::int64_t>(c),
                     check.row(weight_gradients_, row)[c],
                     reference::weight_gradient(check.row(copied_, places[c]), x), dot_tolerance);
      }
    }
  }

  std::int64_t rows_, columns_, copies_;
  bool weighted_, combines_;
  Operand tokens_, copied_, weights_, weight_gradients_, places_, result_;
};

}  // namespace

std::unique_ptr<Runnable> make_embedding(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<EmbeddingCase>(kernel, options);
}

std::unique_ptr<Runnable> make_permute(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<PermuteCase>(kernel, options);
}

}  // namespace orrery::kernels
