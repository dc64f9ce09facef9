#include <algorithm>
#include <cmath>

#include "kernels/families.hpp"
#include "kernels/own/elementwise.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/elementwise.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 32;
constexpr std::int64_t kMostPositions = 8192;  // tokens beyond begin a new sequence
constexpr double kAngleBase = 10000.0;

reference::Tolerance tolerance_for(Element element) {
  constexpr double kTerms = 2.0;
  constexpr double kMagnitude = 8.0;
  return reference::tolerance_of(format_of(element), {.terms = kTerms, .magnitude = kMagnitude});
}

std::int64_t columns_of(const KernelCase& kernel) {
  const std::int64_t columns = extent(kernel, "columns");
  if (columns % kLanes != 0) {
    throw_shape(kernel, "columns in multiples of 8");
  }
  return columns;
}

template <typename T>
class ResidualFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix a, b, y;
  };

  explicit ResidualFamily(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")), columns_(columns_of(kernel)) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    return 3 * matrix_bytes(kElement, rows_, columns_);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    return {.a = random_matrix(kElement, rows_, columns_, seed, 0, stream),
            .b = random_matrix(kElement, rows_, columns_, seed, 1, stream),
            .y = make_matrix(kElement, rows_, columns_)};
  }

  void launch(const Set& set, Stream stream) const {
    launch_residual_add(ResidualAdd<T>{.a = set.a.template as<T>(),
                                       .b = set.b.template as<T>(),
                                       .y = set.y.template as<T>(),
                                       .elements = rows_ * columns_},
                        stream);
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    mark_unwritten(set.y, stream);
    launch(set, stream);
    check_written(set.y, "y", stream, comparison);
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      auto expected = read_row(set.a, row, stream);
      const auto b = read_row(set.b, row, stream);
      for (std::size_t i = 0; i < b.size(); ++i) {
        expected[i] += b[i];
      }
      comparison.add_row("y", row, read_row(set.y, row, stream), expected, tolerance_for(kElement));
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;

  std::int64_t rows_;
  std::int64_t columns_;
};

template <typename T>
class RotaryFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix x, angles, y;
  };

  explicit RotaryFamily(const KernelCase& kernel)
      : tokens_(extent(kernel, "tokens")),
        heads_(extent(kernel, "heads")),
        dim_(extent(kernel, "dim")),
        positions_(std::min(tokens_, kMostPositions)),
        back_(kernel.role == Role::backward) {
    if (dim_ % (2 * kLanes) != 0) {
      throw_shape(kernel, "dim in multiples of 16");
    }
    for (std::int64_t p = 0; p < positions_; ++p) {
      for (const bool sine : {false, true}) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(dim_ / 2); ++i) {
          const double angle = reference::rotary_angle(
              static_cast<double>(p), i, static_cast<std::size_t>(dim_), kAngleBase);
          table_.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
  }

  [[nodiscard]] std::int64_t set_bytes() const {
    return 2 * matrix_bytes(kElement, tokens_ * heads_, dim_) +
           matrix_bytes(Element::fp32, positions_, dim_);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    return {.x = random_matrix(kElement, tokens_ * heads_, dim_, seed, 0, stream),
            .angles = uploaded(table_, positions_, dim_, stream),
            .y = make_matrix(kElement, tokens_ * heads_, dim_)};
  }

  void launch(const Set& set, Stream stream) const {
    launch_rotary(Rotary<T>{.x = set.x.template as<T>(),
                            .angles = set.angles.template as<float>(),
                            .y = set.y.template as<T>(),
                            .tokens = tokens_,
                            .heads = heads_,
                            .dim = dim_,
                            .positions = positions_,
                            .back = back_},
                  stream);
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    mark_unwritten(set.y, stream);
    launch(set, stream);
    check_written(set.y, "y", stream, comparison);
    const auto half = static_cast<std::size_t>(dim_ / 2);
    for (const std::int64_t row : sampled(tokens_ * heads_, kSampledRows)) {
      const std::vector<double> angles = read_row(set.angles, row / heads_ % positions_, stream);
      const std::span<const double> own(angles);
      comparison.add_row(
          "y",
          row,
          read_row(set.y, row, stream),
          reference::rotary(read_row(set.x, row, stream),
                            own.first(half),
                            own.last(half),
                            back_ ? reference::Turn::back : reference::Turn::forward),
          tolerance_for(kElement));
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;

  std::int64_t tokens_;
  std::int64_t heads_;
  std::int64_t dim_;
  std::int64_t positions_;
  bool back_;
  std::vector<float> table_;
};

template <typename T>
class SwigluFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix gate_up, gradient, y, gate_up_gradient;
  };

  explicit SwigluFamily(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")),
        columns_(columns_of(kernel)),
        backward_(kernel.role == Role::backward) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    const std::int64_t one = matrix_bytes(kElement, rows_, columns_);
    const std::int64_t two = matrix_bytes(kElement, rows_, 2 * columns_);
    return one + (backward_ ? 2 : 1) * two;
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    Set set;
    set.gate_up = random_matrix(kElement, rows_, 2 * columns_, seed, 0, stream);
    if (backward_) {
      set.gradient = random_matrix(kElement, rows_, columns_, seed, 1, stream);
      set.gate_up_gradient = make_matrix(kElement, rows_, 2 * columns_);
    } else {
      set.y = make_matrix(kElement, rows_, columns_);
    }
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    if (backward_) {
      launch_swiglu_backward(
          SwigluBackward<T>{.gate_up = set.gate_up.template as<T>(),
                            .gradient = set.gradient.template as<T>(),
                            .gate_up_gradient = set.gate_up_gradient.template as<T>(),
                            .rows = rows_,
                            .columns = columns_},
          stream);
    } else {
      launch_swiglu_forward(SwigluForward<T>{.gate_up = set.gate_up.template as<T>(),
                                             .y = set.y.template as<T>(),
                                             .rows = rows_,
                                             .columns = columns_},
                            stream);
    }
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    const DeviceMatrix& result = backward_ ? set.gate_up_gradient : set.y;
    mark_unwritten(result, stream);
    launch(set, stream);
    check_written(result, backward_ ? "dgate and dup" : "y", stream, comparison);
    const auto width = static_cast<std::size_t>(columns_);
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      const auto x = read_row(set.gate_up, row, stream);
      const auto dy = backward_ ? read_row(set.gradient, row, stream) : std::vector<double>();
      std::vector<double> expected(backward_ ? 2 * width : width);
      for (std::size_t j = 0; j < width; ++j) {
        if (backward_) {
          const auto pair = reference::swiglu_gradient(x[j], x[j + width], dy[j]);
          expected[j] = pair.gate;
          expected[j + width] = pair.up;
        } else {
          expected[j] = reference::swiglu(x[j], x[j + width]);
        }
      }
      comparison.add_row(backward_ ? "dgate and dup" : "y",
                         row,
                         read_row(result, row, stream),
                         expected,
                         tolerance_for(kElement));
    }
  }

 private:
  static constexpr Element kElement = kElementOf<T>;

  std::int64_t rows_;
  std::int64_t columns_;
  bool backward_;
};

}  // namespace

std::unique_ptr<Runnable> make_residual_add(const KernelCase& kernel,
                                            const PrepareOptions& options) {
  return make_own_16<ResidualFamily>(kernel, options);
}

std::unique_ptr<Runnable> make_rotary(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<RotaryFamily>(kernel, options);
}

std::unique_ptr<Runnable> make_swiglu(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<SwigluFamily>(kernel, options);
}

}  // namespace orrery::kernels
