#include <algorithm>

#include "kernels/families.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/random_index.hpp"
#include "kernels/own/routing.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/routing.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 16;

// Forward: table and y in T. Backward: the gradient of y in T, that of the table in fp32.
template <typename T>
class EmbeddingFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix table, rows;
    DeviceBuffer ids;
    std::vector<std::int64_t> host_ids;
    std::uint64_t seed = 0;
  };

  explicit EmbeddingFamily(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")),
        columns_(extent(kernel, "columns")),
        vocabulary_(extent(kernel, "vocabulary")),
        backward_(kernel.role == Role::backward) {
    if (columns_ % kLanes != 0) {
      throw_shape(kernel, "columns in multiples of 8");
    }
  }

  [[nodiscard]] std::int64_t set_bytes() const {
    return matrix_bytes(table_element(), vocabulary_, columns_) +
           matrix_bytes(kElement, rows_, columns_) + index_bytes<std::int64_t>(rows_);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    Set set;
    set.seed = seed;
    set.table = random_matrix(table_element(), vocabulary_, columns_, seed, 0, stream);
    set.rows = backward_ ? random_matrix(kElement, rows_, columns_, seed, 1, stream)
                         : make_matrix(kElement, rows_, columns_);
    set.host_ids = random_indices<std::int64_t>(rows_, vocabulary_, seed);
    set.ids = uploaded_indices<std::int64_t>(set.host_ids, stream);
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    const auto* ids = set.ids.template as<std::int64_t>();
    if (backward_) {
      launch_embedding_backward(
          EmbeddingBackward<T>{.gradient = set.rows.template as<T>(),
                               .ids = ids,
                               .table_gradient = set.table.template as<float>(),
                               .rows = rows_,
                               .columns = columns_},
          stream);
    } else {
      launch_embedding_forward(EmbeddingForward<T>{.table = set.table.template as<T>(),
                                                   .ids = ids,
                                                   .y = set.rows.template as<T>(),
                                                   .rows = rows_,
                                                   .columns = columns_},
                               stream);
    }
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    if (backward_) {
      check_backward(set, stream, comparison);
      return;
    }
    mark_unwritten(set.rows, stream);
    launch(set, stream);
    check_written(set.rows, "y", stream, comparison);
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      const std::int64_t id = set.host_ids[static_cast<std::size_t>(row)];
      comparison.add_row("y",
                         row,
                         read_row(set.rows, row, stream),
                         read_row(set.table, id, stream),
                         reference::tolerance_of(format_of(kElement)));
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;

  [[nodiscard]] Element table_element() const {
    return backward_ ? Element::fp32 : kElement;
  }

  // Rows of the table: those of sampled tokens, and sampled ones that no token may have.
  void check_backward(const Set& set, Stream stream, Comparison& comparison) const {
    std::vector<std::int64_t> checked = sampled(vocabulary_, kSampledRows);
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      checked.push_back(set.host_ids[static_cast<std::size_t>(row)]);
    }
    std::vector<std::vector<double>> given;
    for (const std::int64_t id : checked) {
      given.push_back(read_row(set.table, id, stream));
    }
    launch(set, stream);
    for (std::size_t i = 0; i < checked.size(); ++i) {
      const std::int64_t id = checked[i];
      // Only the tokens of this row, so that few rows are read.
      std::vector<std::int64_t> ids;
      std::vector<double> gradients;
      for (std::int64_t row = 0; row < rows_; ++row) {
        if (set.host_ids[static_cast<std::size_t>(row)] == id) {
          const auto gradient = read_row(set.rows, row, stream);
          ids.push_back(id);
          gradients.insert(gradients.end(), gradient.begin(), gradient.end());
        }
      }
      const auto expected = reference::embedding_gradient_row(ids, gradients, id, given[i]);
      const auto found = read_row(set.table, id, stream);
      for (std::size_t j = 0; j < found.size(); ++j) {
        const auto tolerance = reference::tolerance_of(
            reference::NumberFormat::fp32,
            {.terms = static_cast<double>(ids.size() + 1), .magnitude = expected.magnitudes[j]});
        comparison.add(
            "dtable", id, static_cast<std::int64_t>(j), found[j], expected.values[j], tolerance);
      }
    }
  }

  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t vocabulary_;
  bool backward_;
};

}  // namespace

std::unique_ptr<Runnable> make_embedding(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<EmbeddingFamily>(kernel, options);
}

}  // namespace orrery::kernels
