#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/device/fill.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/products/scale_layout.hpp"
#include "kernels/reference/number_format.hpp"

namespace orrery::kernels {

namespace {

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
    return static_cast<float>(reference::largest(code()) / kLargestNormal);
  }

  CastRecipe recipe;
  bool transposes;
  bool wide_range;
  std::int64_t rows;
  std::int64_t columns;
};

// 0: the right code. Below 1: the neighbour of it, and the value lies on the border of both.
double code_error(Element format, double scaled, double found) {
  constexpr double kBorder = 0x1.0p-16;
  const double expected = reference::rounded(format, scaled);
  if (found == expected) {
    return 0.0;
  }
  const auto apart = reference::codes_apart(format, reference::encode(format, found),
                                            reference::encode(format, expected));
  const double middle = 0.5 * (found + expected);
  const bool border = std::abs(scaled - middle) <= kBorder * std::abs(scaled);
  return apart <= 1 && border ? 0.5 : std::max(2.0, static_cast<double>(apart));
}

class CastCase final : public OwnCase {
 public:
  explicit CastCase(const KernelCase& kernel) : shape_(kernel) {
    const auto copy = [this](std::string_view what, bool transposed) {
      const ScaledShape layout = shape_.scaled(transposed);
      return Copy{what, room(shape_.code(), layout.outer, layout.reduced),
                  room(shape_.scale(), 1, scale_count(layout)), layout};
    };
    x_ = random(Element::bf16, shape_.rows, shape_.columns);
    straight_ = copy("codes", false);
    if (shape_.transposes) {
      turned_ = copy("transposed", true);
    }
    magnitude_ = room(Element::fp32, 1, shape_.columns);
    multiplier_ = room(Element::fp32, 1, 1);
  }

 private:
  // The tensor, straight or transposed, in codes.
  struct Copy {
    std::string_view what = {};
    Operand codes = kNone;
    Operand scales = kNone;
    ScaledShape layout = {};
  };

  void fill(Set& set, Stream stream) const override {
    const std::array<float, 1> multiplier = {shape_.multiplier()};
    upload<float>(set, multiplier_, multiplier, stream);
    clear_magnitude(set, stream);
  }

  void enqueue(const Set& set, Stream stream) const override {
    launch_cast({.recipe = shape_.recipe,
                 .wide_range = shape_.wide_range,
                 .x = set.as<__nv_bfloat16>(x_),
                 .codes = set.as<std::uint8_t>(straight_.codes),
                 .scales = set.as<void>(straight_.scales),
                 .transposed = set.as<std::uint8_t>(turned_.codes),
                 .transposed_scales = set.as<void>(turned_.scales),
                 .magnitude = set.as<std::uint32_t>(magnitude_),
                 .multiplier = set.as<float>(multiplier_),
                 .rows = shape_.rows,
                 .columns = shape_.columns},
                stream);
  }

  void compare(Check& check) const override {
    clear_magnitude(check.set, check.stream);
    for (const Operand operand :
         {straight_.codes, straight_.scales, turned_.codes, turned_.scales}) {
      if (operand != kNone) {
        check.mark(operand);
      }
    }
    enqueue(check.set, check.stream);
    const double tensor_scale = check_tensor(check);
    const auto scales = check_all_written(straight_, check);
    for (const std::int64_t row : sampled(shape_.rows, kSampledRows)) {
      check_row(straight_, row, scales, tensor_scale, check.row(x_, row), check);
    }
    if (!shape_.transposes) {
      return;
    }
    const auto turned_scales = check_all_written(turned_, check);
    for (const std::int64_t pack : sampled(shape_.columns / kLanes, kSampledPacks)) {
      const auto columns = check.columns(x_, pack * kLanes, kLanes);
      for (std::int64_t l = 0; l < kLanes; ++l) {
        std::vector<double> column;
        for (auto i = static_cast<std::size_t>(l); i < columns.size(); i += kLanes) {
          column.push_back(columns[i]);
        }
        check_row(turned_, pack * kLanes + l, turned_scales, tensor_scale, column, check);
      }
    }
  }

  void clear_magnitude(const Set& set, Stream stream) const {
    upload<float>(set, magnitude_, std::vector<float>(static_cast<std::size_t>(shape_.columns)),
                  stream);
  }

  [[nodiscard]] bool has_scales() const { return shape_.recipe != CastRecipe::tensor; }

  // Returns all scales, with the padding of their layout, which alone may be left unwritten. Two
  // codes of 4 bits may be what marks an unwritten byte; the sampled rows show those.
  std::vector<double> check_all_written(const Copy& copy, Check& check) const {
    if (shape_.code() != Element::e2m1) {
      check.written(copy.codes, copy.what);
    }
    if (!has_scales()) {
      return {};
    }
    const DeviceMatrix& scales = check.set[copy.scales];
    const std::int64_t groups = copy.layout.outer * shape_.groups(copy.layout.reduced);
    const std::int64_t left =
        count_unwritten(scales.buffer.data(), static_cast<int>(bytes_of(scales.element, 1)),
                        scales.count(), check.stream);
    if (left != scales.count() - groups) {
      check.comparison.fail(fmt::format("{} of {} scales of {} were written, {} expected",
                                        scales.count() - left, scales.count(), copy.what, groups));
    }
    return check.row(copy.scales, 0);
  }

  // The largest magnitude of the tensor, and what nvfp4 makes of it; 1 for the others.
  double check_tensor(Check& check) const {
    const bool found_here =
        shape_.recipe == CastRecipe::tensor || shape_.recipe == CastRecipe::nvfp4;
    if (!found_here) {
      return 1.0;
    }
    double most = 0.0;
    const std::int64_t count = check.set[x_].count();
    for (std::int64_t first = 0; first < count; first += kChunk) {
      for (const double value : check.run(x_, first, std::min(kChunk, count - first))) {
        most = std::max(most, std::abs(value));
      }
    }
    const double found = check.row(magnitude_, 0).front();
    check.comparison.add("magnitude", 0, 0, found, most, reference::tolerance_of(Element::fp32));
    return shape_.recipe == CastRecipe::nvfp4 ? reference::nvfp4_tensor_scale(most) : 1.0;
  }

  void check_row(const Copy& copy, std::int64_t row, const std::vector<double>& scales,
                 double tensor_scale, const std::vector<double>& values, Check& check) const {
    const auto codes = check.row(copy.codes, row);
    const Element format = shape_.code();
    const auto groups = static_cast<std::size_t>(shape_.groups(copy.layout.reduced));
    const std::size_t group = values.size() / groups;
    for (std::size_t g = 0; g < groups; ++g) {
      const auto own = std::span<const double>(values).subspan(g * group, group);
      double scale = 1.0 / static_cast<double>(shape_.multiplier());
      if (has_scales()) {
        const auto first = static_cast<std::int64_t>(g * group);
        const double found = scales[static_cast<std::size_t>(scale_index(copy.layout, row, first))];
        check_scale({row, static_cast<std::int64_t>(g)}, tensor_scale, own, found,
                    check.comparison);
        scale = found * tensor_scale;
      }
      for (std::size_t i = 0; i < group; ++i) {
        const double found = codes[g * group + i];
        check.comparison.add_error(copy.what, row, static_cast<std::int64_t>(g * group + i),
                                   found * scale, own[i],
                                   code_error(format, own[i] / scale, found));
      }
    }
  }

  struct GroupPlace {
    std::int64_t row;
    std::int64_t group;
  };

  void check_scale(GroupPlace at, double tensor_scale, std::span<const double> values, double found,
                   Comparison& comparison) const {
    const double most = reference::largest_magnitude(values);
    constexpr auto kE4m3 = Element::e4m3;
    const auto add = [&](double expected, double error) {
      comparison.add_error("scales", at.row, at.group, found, expected, error);
    };
    if (shape_.recipe == CastRecipe::nvfp4) {
      const double wanted = most / reference::largest(Element::e2m1) / tensor_scale;
      const double expected = reference::nvfp4_block_scale(most, tensor_scale);
      add(expected, found == expected ? 0.0 : code_error(kE4m3, wanted, found));
    } else if (shape_.recipe == CastRecipe::mx) {
      const double expected = reference::mx_scale(kE4m3, most);
      add(expected, found == expected ? 0.0 : 2.0);
    } else {
      const double expected = reference::group_scale(kE4m3, most);
      add(expected, reference::error_of(found, expected, reference::tolerance_of(Element::fp32)));
    }
  }

  CastShape shape_;
  Copy straight_, turned_;
  Operand x_, magnitude_, multiplier_;
};

}  // namespace

std::unique_ptr<Runnable> make_cast(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own<CastCase>(kernel, options);
}

}  // namespace orrery::kernels
