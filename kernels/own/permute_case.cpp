#include <cmath>
#include <span>

#include "kernels/families.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/random_index.hpp"
#include "kernels/own/routing.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/routing.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 16;
constexpr std::int64_t kExperts = 64;  // that random copies are sorted by

struct RoutingShape {
  explicit RoutingShape(const KernelCase& kernel)
      : rows(extent(kernel, "rows")),
        columns(extent(kernel, "columns")),
        copies(extent(kernel, "copies")),
        backward(kernel.role == Role::backward),
        weighted(kernel.operation == Operation::unpermute) {
    if (columns % kLanes != 0 || copies > kMostCopies) {
      throw_shape(kernel, "columns in multiples of 8 and up to 64 copies");
    }
  }

  // A sum of copies: unpermute forward, permute backward.
  [[nodiscard]] bool combines() const {
    return weighted != backward;
  }

  std::int64_t rows;
  std::int64_t columns;
  std::int64_t copies;
  bool backward;
  bool weighted;
};

// `tokens` is [rows, columns], `copies` [rows x copies, columns]: which of them is read and which
// written depends on the pass. The backward of unpermute reads and writes copies.
template <typename T>
class RoutingFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix tokens, copies, copy_gradients, weights, weight_gradients;
    DeviceBuffer places;
    std::vector<std::int32_t> host_places;
  };

  explicit RoutingFamily(const KernelCase& kernel) : shape_(kernel) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    const std::int64_t copied = shape_.rows * shape_.copies;
    const std::int64_t sets = weighted_backward() ? 2 : 1;
    return matrix_bytes(kElement, shape_.rows, shape_.columns) +
           sets * matrix_bytes(kElement, copied, shape_.columns) +
           2 * matrix_bytes(Element::fp32, copied, 1) + index_bytes<std::int32_t>(copied);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    const std::int64_t copied = shape_.rows * shape_.copies;
    Set set;
    set.tokens = random_matrix(kElement, shape_.rows, shape_.columns, seed, 0, stream);
    set.copies = random_matrix(kElement, copied, shape_.columns, seed, 1, stream);
    set.weights = random_matrix(Element::fp32, shape_.rows, shape_.copies, seed, 2, stream);
    set.weight_gradients = make_matrix(Element::fp32, shape_.rows, shape_.copies);
    if (weighted_backward()) {
      set.copy_gradients = make_matrix(kElement, copied, shape_.columns);
    }
    set.host_places =
        reference::places_by_expert(random_indices<std::int32_t>(copied, kExperts, seed));
    set.places = uploaded_indices<std::int32_t>(set.host_places, stream);
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    const auto* places = set.places.template as<std::int32_t>();
    if (shape_.combines()) {
      launch_combine(
          Combine<T>{.y = set.copies.template as<T>(),
                     .places = places,
                     .weights = shape_.weighted ? set.weights.template as<float>() : nullptr,
                     .x = set.tokens.template as<T>(),
                     .rows = shape_.rows,
                     .columns = shape_.columns,
                     .copies = shape_.copies},
          stream);
    } else if (shape_.weighted) {
      launch_combine_backward(
          CombineBackward<T>{.gradient = set.tokens.template as<T>(),
                             .y = set.copies.template as<T>(),
                             .places = places,
                             .weights = set.weights.template as<float>(),
                             .y_gradient = set.copy_gradients.template as<T>(),
                             .weight_gradient = set.weight_gradients.template as<float>(),
                             .rows = shape_.rows,
                             .columns = shape_.columns,
                             .copies = shape_.copies},
          stream);
    } else {
      launch_scatter(Scatter<T>{.x = set.tokens.template as<T>(),
                                .places = places,
                                .y = set.copies.template as<T>(),
                                .rows = shape_.rows,
                                .columns = shape_.columns,
                                .copies = shape_.copies},
                     stream);
    }
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    const DeviceMatrix& result = shape_.combines()     ? set.tokens
                                 : weighted_backward() ? set.copy_gradients
                                                       : set.copies;
    mark_unwritten(result, stream);
    mark_unwritten(set.weight_gradients, stream);
    launch(set, stream);
    check_written(result, "result", stream, comparison);
    if (weighted_backward()) {
      check_written(set.weight_gradients, "dweight", stream, comparison);
    }
    for (const std::int64_t row : sampled(shape_.rows, kSampledRows)) {
      if (shape_.combines()) {
        check_combined(set, row, stream, comparison);
      } else {
        check_scattered(set, result, row, stream, comparison);
      }
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;

  [[nodiscard]] bool weighted_backward() const {
    return shape_.weighted && shape_.backward;
  }

  [[nodiscard]] std::span<const std::int32_t> places_of(const Set& set, std::int64_t row) const {
    const auto copies = static_cast<std::size_t>(shape_.copies);
    return std::span<const std::int32_t>(set.host_places)
        .subspan(static_cast<std::size_t>(row) * copies, copies);
  }

  void check_combined(const Set& set,
                      std::int64_t row,
                      Stream stream,
                      Comparison& comparison) const {
    std::vector<double> copies;
    std::vector<std::int32_t> local;  // the rows read, in their order
    for (const std::int32_t place : places_of(set, row)) {
      const auto values = read_row(set.copies, place, stream);
      local.push_back(static_cast<std::int32_t>(local.size()));
      copies.insert(copies.end(), values.begin(), values.end());
    }
    const auto weights =
        shape_.weighted ? read_row(set.weights, row, stream) : std::vector<double>();
    const auto expected =
        reference::combined_row(copies, static_cast<std::size_t>(shape_.columns), local, weights);
    const auto found = read_row(set.tokens, row, stream);
    for (std::size_t j = 0; j < found.size(); ++j) {
      const auto tolerance = reference::tolerance_of(
          format_of(kElement),
          {.terms = static_cast<double>(shape_.copies), .magnitude = expected.magnitudes[j]});
      comparison.add(
          "x", row, static_cast<std::int64_t>(j), found[j], expected.values[j], tolerance);
    }
  }

  void check_scattered(const Set& set,
                       const DeviceMatrix& result,
                       std::int64_t row,
                       Stream stream,
                       Comparison& comparison) const {
    const auto x = read_row(set.tokens, row, stream);
    const auto weights = read_row(set.weights, row, stream);
    const auto tolerance = reference::tolerance_of(format_of(kElement));
    const auto dot_tolerance = reference::tolerance_of(
        reference::NumberFormat::fp32,
        {.terms = static_cast<double>(shape_.columns),
         .magnitude = 2.0 * std::sqrt(static_cast<double>(shape_.columns))});
    const auto places = places_of(set, row);
    for (std::size_t c = 0; c < places.size(); ++c) {
      auto expected = x;
      for (double& value : expected) {
        value *= weighted_backward() ? weights[c] : 1.0;
      }
      comparison.add_row(
          "copy", places[c], read_row(result, places[c], stream), expected, tolerance);
      if (weighted_backward()) {
        comparison.add("dweight",
                       row,
                       static_cast<std::int64_t>(c),
                       read_row(set.weight_gradients, row, stream)[c],
                       reference::weight_gradient(read_row(set.copies, places[c], stream), x),
                       dot_tolerance);
      }
    }
  }

  RoutingShape shape_;
};

}  // namespace

std::unique_ptr<Runnable> make_permute(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<RoutingFamily>(kernel, options);
}

}  // namespace orrery::kernels
