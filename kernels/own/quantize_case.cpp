#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/families.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/quantize.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/products/scale_layout.hpp"
#include "kernels/reference/quantize.hpp"

namespace orrery::kernels {

namespace {

using reference::NumberFormat;

constexpr std::int64_t kSampledRows = 16;
constexpr std::int64_t kSampledPacks = 2;
constexpr std::int64_t kChunk = std::int64_t{16} << 20;  // elements read to the host at once
constexpr double kLargestNormal = 6.0;                   // random operands stay below

CastRecipe recipe_of(Precision precision) {
  switch (precision) {
    case Precision::fp8_row:
      return CastRecipe::row;
    case Precision::fp8_block:
      return CastRecipe::block;
    case Precision::mxfp8:
      return CastRecipe::mx;
    case Precision::nvfp4:
      return CastRecipe::nvfp4;
    default:
      return CastRecipe::tensor;
  }
}

struct CastShape {
  explicit CastShape(const KernelCase& kernel)
      : recipe(recipe_of(kernel.precision)),
        transposes(kernel.operation == Operation::quantize_transpose),
        wide_range(recipe == CastRecipe::tensor && kernel.role == Role::backward),
        rows(extent(kernel, "rows")),
        columns(extent(kernel, "columns")) {
    if (columns % kCastTile != 0 || (transposes && rows % kCastTile != 0)) {
      throw_shape(kernel, "columns, and rows to transpose, in multiples of 128");
    }
    if (recipe == CastRecipe::row && columns > kMostCastColumns) {
      throw_shape(kernel, "up to 32768 columns");
    }
  }

  [[nodiscard]] Element code() const {
    return recipe == CastRecipe::nvfp4 ? Element::e2m1 : wide_range ? Element::e5m2 : Element::e4m3;
  }

  [[nodiscard]] Element scale() const {
    return recipe == CastRecipe::mx      ? Element::e8m0
           : recipe == CastRecipe::nvfp4 ? Element::e4m3
                                         : Element::fp32;
  }

  // Scales of a row of `length` values.
  [[nodiscard]] std::int64_t groups(std::int64_t length) const {
    const std::int64_t group = cast_group(recipe);
    return group == 0 ? 1 : length / group;
  }

  [[nodiscard]] ScaledShape scaled(bool transposed) const {
    return {scale_mode(recipe), transposed ? columns : rows, transposed ? rows : columns};
  }

  [[nodiscard]] float multiplier() const {
    return static_cast<float>(reference::largest(format_of(code())) / kLargestNormal);
  }

  CastRecipe recipe;
  bool transposes;
  bool wide_range;
  std::int64_t rows;
  std::int64_t columns;
};

// 0: the right code. Below 1: the neighbour of it, and the value lies on the border of both.
double code_error(NumberFormat format, double scaled, double found) {
  constexpr double kBorder = 0x1.0p-16;
  const double expected = reference::rounded(format, scaled);
  if (found == expected) {
    return 0.0;
  }
  const auto apart = reference::codes_apart(
      format, reference::encode(format, found), reference::encode(format, expected));
  const double middle = 0.5 * (found + expected);
  const bool border = std::abs(scaled - middle) <= kBorder * std::abs(scaled);
  return apart <= 1 && border ? 0.5 : std::max(2.0, static_cast<double>(apart));
}

class CastFamily {
 public:
  static constexpr std::string_view kImplementation = "own";

  struct Set {
    DeviceMatrix x, codes, scales, transposed, transposed_scales, magnitude, multiplier;
  };

  explicit CastFamily(const KernelCase& kernel) : shape_(kernel) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    const CastShape& s = shape_;
    const std::int64_t copies = s.transposes ? 2 : 1;
    return matrix_bytes(Element::bf16, s.rows, s.columns) +
           copies * matrix_bytes(s.code(), s.rows, s.columns) +
           matrix_bytes(s.scale(), 1, scale_count(s.scaled(false))) +
           matrix_bytes(s.scale(), 1, scale_count(s.scaled(true))) +
           2 * matrix_bytes(Element::fp32, 1, s.columns);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    const CastShape& s = shape_;
    const float multiplier = s.multiplier();
    Set set{.x = random_matrix(Element::bf16, s.rows, s.columns, seed, 0, stream),
            .codes = make_matrix(s.code(), s.rows, s.columns),
            .scales = make_matrix(s.scale(), 1, scale_count(s.scaled(false))),
            .transposed = {},
            .transposed_scales = {},
            .magnitude = make_matrix(Element::fp32, 1, s.columns),
            .multiplier = uploaded({&multiplier, 1}, 1, 1, stream)};
    if (s.transposes) {
      set.transposed = make_matrix(s.code(), s.columns, s.rows);
      set.transposed_scales = make_matrix(s.scale(), 1, scale_count(s.scaled(true)));
    }
    clear_magnitude(set, stream);
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    launch_cast({.recipe = shape_.recipe,
                 .wide_range = shape_.wide_range,
                 .x = set.x.as<__nv_bfloat16>(),
                 .codes = set.codes.as<std::uint8_t>(),
                 .scales = set.scales.as<void>(),
                 .transposed = set.transposed.as<std::uint8_t>(),
                 .transposed_scales = set.transposed_scales.as<void>(),
                 .magnitude = set.magnitude.as<std::uint32_t>(),
                 .multiplier = set.multiplier.as<float>(),
                 .rows = shape_.rows,
                 .columns = shape_.columns},
                stream);
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    clear_magnitude(set, stream);
    mark(set.codes, set.scales, stream);
    if (shape_.transposes) {
      mark(set.transposed, set.transposed_scales, stream);
    }
    launch(set, stream);
    const double tensor_scale = check_tensor(set, stream, comparison);
    const Copy straight{"codes", set.codes, set.scales, shape_.scaled(false), tensor_scale};
    const auto scales = check_all_written(straight, stream, comparison);
    for (const std::int64_t row : sampled(shape_.rows, kSampledRows)) {
      check_row(straight, row, scales, read_row(set.x, row, stream), stream, comparison);
    }
    if (!shape_.transposes) {
      return;
    }
    const Copy turned{
        "transposed", set.transposed, set.transposed_scales, shape_.scaled(true), tensor_scale};
    const auto turned_scales = check_all_written(turned, stream, comparison);
    for (const std::int64_t pack : sampled(shape_.columns / kLanes, kSampledPacks)) {
      const auto columns = read_columns(set.x, pack * kLanes, kLanes, stream);
      for (std::int64_t l = 0; l < kLanes; ++l) {
        std::vector<double> column;
        for (auto i = static_cast<std::size_t>(l); i < columns.size(); i += kLanes) {
          column.push_back(columns[i]);
        }
        check_row(turned, pack * kLanes + l, turned_scales, column, stream, comparison);
      }
    }
  }

 private:
  struct Copy {
    std::string_view what;
    const DeviceMatrix& codes;
    const DeviceMatrix& scales;
    ScaledShape layout;
    double tensor_scale;
  };

  void clear_magnitude(const Set& set, Stream stream) const {
    const std::vector<float> zeros(static_cast<std::size_t>(shape_.columns));
    copy_to_device(set.magnitude.buffer.data(),
                   zeros.data(),
                   shape_.columns * bytes_of(Element::fp32, 1),
                   stream);
  }

  [[nodiscard]] bool has_scales() const {
    return shape_.recipe != CastRecipe::tensor;
  }

  void mark(const DeviceMatrix& codes, const DeviceMatrix& scales, Stream stream) const {
    mark_unwritten(codes, stream);
    mark_unwritten(scales, stream);
  }

  // Returns all scales, with the padding of their layout, which alone may be left unwritten. Two
  // codes of 4 bits may be what marks an unwritten byte; the sampled rows show those.
  std::vector<double> check_all_written(const Copy& copy,
                                        Stream stream,
                                        Comparison& comparison) const {
    if (copy.codes.element != Element::e2m1) {
      check_written(copy.codes, copy.what, stream, comparison);
    }
    if (!has_scales()) {
      return {};
    }
    const DeviceMatrix& scales = copy.scales;
    const std::int64_t groups = copy.layout.outer * shape_.groups(copy.layout.reduced);
    const std::int64_t left = count_unwritten(scales.buffer.data(),
                                              static_cast<int>(bytes_of(scales.element, 1)),
                                              scales.count(),
                                              stream);
    if (left != scales.count() - groups) {
      comparison.fail(fmt::format("{} of {} scales of {} were written, {} expected",
                                  scales.count() - left,
                                  scales.count(),
                                  copy.what,
                                  groups));
    }
    return read_row(scales, 0, stream);
  }

  // The largest magnitude of the tensor, and what nvfp4 makes of it; 1 for the others.
  double check_tensor(const Set& set, Stream stream, Comparison& comparison) const {
    const bool found_here =
        shape_.recipe == CastRecipe::tensor || shape_.recipe == CastRecipe::nvfp4;
    if (!found_here) {
      return 1.0;
    }
    double most = 0.0;
    const std::int64_t count = set.x.count();
    for (std::int64_t first = 0; first < count; first += kChunk) {
      const auto values = read_elements(
          set.x.buffer.data(), Element::bf16, first, std::min(kChunk, count - first), stream);
      for (const float value : values) {
        most = std::max(most, static_cast<double>(std::abs(value)));
      }
    }
    const double found = read_row(set.magnitude, 0, stream).front();
    comparison.add("magnitude", 0, 0, found, most, reference::tolerance_of(NumberFormat::fp32));
    return shape_.recipe == CastRecipe::nvfp4 ? reference::nvfp4_tensor_scale(most) : 1.0;
  }

  void check_row(const Copy& copy,
                 std::int64_t row,
                 const std::vector<double>& scales,
                 const std::vector<double>& values,
                 Stream stream,
                 Comparison& comparison) const {
    const auto codes = read_row(copy.codes, row, stream);
    const NumberFormat format = format_of(shape_.code());
    const auto groups = static_cast<std::size_t>(shape_.groups(copy.layout.reduced));
    const std::size_t group = values.size() / groups;
    for (std::size_t g = 0; g < groups; ++g) {
      const auto own = std::span<const double>(values).subspan(g * group, group);
      double scale = 1.0 / static_cast<double>(shape_.multiplier());
      if (has_scales()) {
        const auto first = static_cast<std::int64_t>(g * group);
        const double found = scales[static_cast<std::size_t>(scale_index(copy.layout, row, first))];
        check_scale({row, static_cast<std::int64_t>(g)}, copy, own, found, comparison);
        scale = found * copy.tensor_scale;
      }
      for (std::size_t i = 0; i < group; ++i) {
        const double found = codes[g * group + i];
        comparison.add_error(copy.what,
                             row,
                             static_cast<std::int64_t>(g * group + i),
                             found * scale,
                             own[i],
                             code_error(format, own[i] / scale, found));
      }
    }
  }

  struct GroupPlace {
    std::int64_t row;
    std::int64_t group;
  };

  void check_scale(GroupPlace at,
                   const Copy& copy,
                   std::span<const double> values,
                   double found,
                   Comparison& comparison) const {
    const double most = reference::largest_magnitude(values);
    constexpr auto kE4m3 = NumberFormat::e4m3;
    const auto add = [&](double expected, double error) {
      comparison.add_error("scales", at.row, at.group, found, expected, error);
    };
    if (shape_.recipe == CastRecipe::nvfp4) {
      const double wanted = most / reference::largest(NumberFormat::e2m1) / copy.tensor_scale;
      const double expected = reference::nvfp4_block_scale(most, copy.tensor_scale);
      add(expected, found == expected ? 0.0 : code_error(kE4m3, wanted, found));
    } else if (shape_.recipe == CastRecipe::mx) {
      const double expected = reference::mx_scale(kE4m3, most);
      add(expected, found == expected ? 0.0 : 2.0);
    } else {
      const double expected = reference::group_scale(kE4m3, most);
      add(expected,
          reference::error_of(found, expected, reference::tolerance_of(NumberFormat::fp32)));
    }
  }

  CastShape shape_;
};

}  // namespace

std::unique_ptr<Runnable> make_cast(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own<CastFamily>(kernel, options);
}

}  // namespace orrery::kernels
