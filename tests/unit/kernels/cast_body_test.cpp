// The code that casts run, on the host, against the references: every recipe, both copies.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "kernels/own/quantize_body.hpp"
#include "kernels/reference/number_format.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/kernels/host_team.hpp"

namespace orrery::kernels {
namespace {

using reference::codes_apart;
using reference::decode;

constexpr std::uint64_t kCastSeed = 51;
constexpr std::size_t kRows = 256;
constexpr std::size_t kColumns = 384;
constexpr float kMultiplier = 100.0F;

struct Result {
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(kRows * kColumns, 0xFF);
  std::vector<std::uint8_t> transposed = std::vector<std::uint8_t>(kRows * kColumns, 0xFF);
  std::vector<std::uint32_t> scales = std::vector<std::uint32_t>(kRows * kColumns, 0xFFFFFFFFU);
  std::vector<std::uint32_t> transposed_scales =
      std::vector<std::uint32_t>(kRows * kColumns, 0xFFFFFFFFU);
  std::vector<std::uint32_t> magnitude = std::vector<std::uint32_t>(kColumns);
};

Operand<__nv_bfloat16> random_matrix() {
  RandomStream random(kCastSeed, 0, Purpose::property_test);
  auto matrix = random_operand<__nv_bfloat16>(kRows * kColumns, random);
  for (std::size_t i = 0; i < matrix.stored.size(); ++i) {  // rows and columns of unlike size
    const double factor = std::ldexp(1.0, static_cast<int>(i / kColumns % 7 + i % kColumns % 5));
    matrix.stored[i] = from_float<__nv_bfloat16>(static_cast<float>(matrix.values[i] * factor));
  }
  for (std::size_t j = 0; j < 128; ++j) {  // a group of nothing but zeros
    matrix.stored[3 * kColumns + j] = from_float<__nv_bfloat16>(0.0F);
  }
  matrix.values = doubles(matrix.stored);
  return matrix;
}

template <CastRecipe kRecipe>
Result run(const Operand<__nv_bfloat16>& x, bool transpose, bool wide_range = false) {
  Result result;
  Cast cast{.recipe = kRecipe,
            .wide_range = wide_range,
            .x = x.stored.data(),
            .codes = result.codes.data(),
            .scales = result.scales.data(),
            .transposed = transpose ? result.transposed.data() : nullptr,
            .transposed_scales = result.transposed_scales.data(),
            .magnitude = result.magnitude.data(),
            .multiplier = &kMultiplier,
            .rows = kRows,
            .columns = kColumns};
  if constexpr (kRecipe == CastRecipe::nvfp4) {
    run_blocks(2, 32, [&](HostTeam& team) { magnitude_body(team, cast); });
  }
  if constexpr (kRecipe == CastRecipe::row) {
    run_blocks(3, 32, [&](HostTeam& team) { cast_row_body<2>(team, cast); });
    run_threads(4, 32, [&](const HostPlace& team) {  // 2 chunks of columns x 2 tiles of rows
      column_magnitude_body(team, cast);
    });
  }
  if (transpose) {
    std::vector<std::uint32_t> tile(static_cast<std::size_t>(kCastTile * kTileWords));
    run_blocks(static_cast<std::int64_t>(kRows / 128 * (kColumns / 128)), 32,
               [&](HostTeam& team) { cast_tile_body<kRecipe>(team, cast, tile.data()); });
  } else if constexpr (kRecipe != CastRecipe::row) {
    run_blocks(3, 32, [&](HostTeam& team) { cast_body<kRecipe>(team, cast); });
  }
  return result;
}

std::uint32_t code_at(const std::vector<std::uint8_t>& codes, std::size_t i, bool four_bits) {
  return four_bits ? (codes[i / 2] >> (4 * (i % 2))) & 0xFU : codes[i];
}

std::uint8_t byte_at(const std::vector<std::uint32_t>& words, std::size_t i) {
  std::uint8_t byte = 0;
  std::memcpy(&byte, reinterpret_cast<const std::uint8_t*>(words.data()) + i, 1);
  return byte;
}

// The scale of a group as the kernel stored it; checks it against the reference.
double scale_of(CastRecipe recipe, const std::vector<std::uint32_t>& scales, std::size_t group,
                double magnitude, double tensor_scale) {
  if (recipe == CastRecipe::mx) {
    const double scale = decode(Element::e8m0, byte_at(scales, group));
    EXPECT_EQ(scale, reference::mx_scale(Element::e4m3, magnitude));
    return scale;
  }
  if (recipe == CastRecipe::nvfp4) {
    const double expected = reference::nvfp4_block_scale(magnitude, tensor_scale);
    const std::uint32_t code = byte_at(scales, group);
    EXPECT_LE(codes_apart(Element::e4m3, code, reference::encode(Element::e4m3, expected)), 1);
    return decode(Element::e4m3, code) * tensor_scale;
  }
  const double scale = static_cast<double>(detail::from_bits(scales[group]));
  EXPECT_NEAR(scale, reference::group_scale(Element::e4m3, magnitude), 1e-6 * scale);
  return scale;
}

// One copy: `value(i, j)` of a matrix of `rows` x `columns`, groups along its rows.
template <typename Value>
void check_copy(CastRecipe recipe, Element format, std::size_t rows, std::size_t columns,
                const std::vector<std::uint8_t>& codes, const std::vector<std::uint32_t>& scales,
                double tensor_scale, Value value) {
  const bool four_bits = recipe == CastRecipe::nvfp4;
  const auto fixed = static_cast<std::size_t>(cast_group(recipe));
  const std::size_t group = fixed == 0 ? columns : fixed;
  std::int64_t off = 0;
  for (std::size_t first = 0; first < rows * columns; first += group) {
    std::vector<double> values;
    for (std::size_t i = first; i < first + group; ++i) {
      values.push_back(value(i / columns, i % columns));
    }
    // Where a product of these operands looks for it.
    const auto place = static_cast<std::size_t>(scale_index(
        {scale_mode(recipe), static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
        static_cast<std::int64_t>(first / columns), static_cast<std::int64_t>(first % columns)));
    const double scale =
        recipe == CastRecipe::tensor
            ? 1.0 / static_cast<double>(kMultiplier)
            : scale_of(recipe, scales, place, reference::largest_magnitude(values), tensor_scale);
    for (std::size_t i = 0; i < group; ++i) {
      const std::uint32_t code = code_at(codes, first + i, four_bits);
      const auto expected = reference::encode(format, values[i] / scale);
      const std::int64_t apart = codes_apart(format, code, expected);
      ASSERT_LE(apart, recipe == CastRecipe::mx ? 0 : 1) << "element " << first + i;
      off += apart;
    }
  }
  // A scale rounded to fp32 moves values across ties: about one in a thousand.
  EXPECT_LE(off, static_cast<std::int64_t>(rows * columns / 500));
}

template <CastRecipe kRecipe>
void check(bool transpose, bool wide_range = false) {
  SCOPED_TRACE("recipe " + std::to_string(static_cast<int>(kRecipe)) + " seed " +
               std::to_string(kCastSeed));
  const Operand<__nv_bfloat16> x = random_matrix();
  const Result result = run<kRecipe>(x, transpose, wide_range);
  const Element format = kRecipe == CastRecipe::nvfp4 ? Element::e2m1
                         : wide_range                 ? Element::e5m2
                                                      : Element::e4m3;
  const double magnitude = reference::largest_magnitude(x.values);
  double tensor_scale = 1.0;
  if (kRecipe == CastRecipe::tensor || kRecipe == CastRecipe::nvfp4) {
    EXPECT_EQ(static_cast<double>(detail::from_bits(result.magnitude[0])), magnitude);
  }
  if (kRecipe == CastRecipe::nvfp4) {
    tensor_scale = reference::nvfp4_tensor_scale(magnitude);
  }
  check_copy(kRecipe, format, kRows, kColumns, result.codes, result.scales, tensor_scale,
             [&](std::size_t i, std::size_t j) { return x.values[i * kColumns + j]; });
  if (transpose) {
    check_copy(kRecipe, format, kColumns, kRows, result.transposed, result.transposed_scales,
               tensor_scale,
               [&](std::size_t i, std::size_t j) { return x.values[j * kColumns + i]; });
  }
}

TEST(CastBodies, WithoutTheTransposeAreThoseOfTheReference) {
  check<CastRecipe::tensor>(false);
  check<CastRecipe::tensor>(false, true);
  check<CastRecipe::row>(false);
  check<CastRecipe::block>(false);
  check<CastRecipe::mx>(false);
  check<CastRecipe::nvfp4>(false);
}

TEST(CastBodies, WithTheTransposeAreThoseOfTheReference) {
  check<CastRecipe::tensor>(true);
  check<CastRecipe::tensor>(true, true);
  check<CastRecipe::row>(true);
  check<CastRecipe::block>(true);
  check<CastRecipe::mx>(true);
  check<CastRecipe::nvfp4>(true);
}

// 200 rows fill one tile of scales and part of another: every group has its scale, and the padding
// is not touched.
TEST(CastBodies, LeaveThePaddingOfTheirScalesAlone) {
  constexpr std::size_t kFewer = 200;
  const Operand<__nv_bfloat16> x = random_matrix();
  std::vector<std::uint8_t> codes(kFewer * kColumns);
  const ScaledShape layout{ScaleMode::vec32, kFewer, kColumns};
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(scale_count(layout)), 0xFF);
  const Cast cast{.recipe = CastRecipe::mx,
                  .x = x.stored.data(),
                  .codes = codes.data(),
                  .scales = scales.data(),
                  .rows = kFewer,
                  .columns = kColumns};
  run_blocks(3, 32, [&](HostTeam& team) { cast_body<CastRecipe::mx>(team, cast); });
  EXPECT_EQ(scales.size(), 256U * (kColumns / 32));
  EXPECT_EQ(static_cast<std::size_t>(std::count(scales.begin(), scales.end(), 0xFF)),
            56U * (kColumns / 32));
}

// Over all exponents, and beside the powers of two where rounding up turns.
TEST(CastBodies, MxScalesAreThoseOfTheReferenceForEveryMagnitude) {
  for (int exponent = -140; exponent < 127; ++exponent) {
    for (const double mantissa : {1.0, 1.25, 1.75, 1.7578125, 1.9921875}) {
      const auto magnitude = static_cast<float>(std::ldexp(mantissa, exponent));
      const GroupScale scale = mx_scale(magnitude);
      const double expected = reference::mx_scale(Element::e4m3, static_cast<double>(magnitude));
      ASSERT_EQ(decode(Element::e8m0, scale.stored), expected) << magnitude;
      ASSERT_EQ(static_cast<double>(scale.multiplier), 1.0 / expected) << magnitude;
    }
  }
  EXPECT_EQ(mx_scale(0.0F).stored, 0U);
}

}  // namespace
}  // namespace orrery::kernels

namespace orrery::kernels::reference {
namespace {

// Our number formats against the host conversions of CUDA's headers.

constexpr std::uint64_t kSeed = 11;
constexpr int kDraws = 200000;

template <typename T>
std::uint16_t bits_of(const T& value) {
  static_assert(sizeof(T) == sizeof(std::uint16_t));
  std::uint16_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Over the range of the format and a few binades beyond it on both sides.
template <typename Check>
void with_random_numbers(Element format, Check check) {
  RandomStream random(kSeed, 0, Purpose::property_test);
  const int low = std::ilogb(smallest_subnormal(format)) - 3;
  const int high = std::ilogb(largest(format)) + 3;
  for (int i = 0; i < kDraws; ++i) {
    const auto binades = static_cast<std::uint64_t>(high - low);
    const int exponent = low + static_cast<int>(random.uniform_int(binades));
    const auto value = static_cast<float>(std::ldexp(random.normal(), exponent));
    check(value);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(CudaConversions, Bf16IsOurs) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    __nv_bfloat16_raw raw;
    raw.x = static_cast<unsigned short>(code);
    const double theirs = static_cast<double>(__bfloat162float(__nv_bfloat16(raw)));
    const double ours = decode(Element::bf16, code);
    ASSERT_TRUE(theirs == ours || (std::isnan(theirs) && std::isnan(ours))) << code;
  }
  with_random_numbers(Element::bf16, [](float value) {
    EXPECT_EQ(bits_of(__float2bfloat16(value)), encode(Element::bf16, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  });
}

TEST(CudaConversions, Fp16IsOurs) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(code);
    const double theirs = static_cast<double>(__half2float(__half(raw)));
    const double ours = decode(Element::fp16, code);
    ASSERT_TRUE(theirs == ours || (std::isnan(theirs) && std::isnan(ours))) << code;
  }
  with_random_numbers(Element::fp16, [](float value) {
    EXPECT_EQ(bits_of(__float2half_rn(value)), encode(Element::fp16, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  });
}

void expect_fp8(Element format, __nv_fp8_interpretation_t theirs) {
  for (std::uint32_t code = 0; code < 0x100; ++code) {
    const __half_raw raw = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), theirs);
    const double number = static_cast<double>(__half2float(__half(raw)));
    const double ours = decode(format, code);
    ASSERT_TRUE(number == ours || (std::isnan(number) && std::isnan(ours))) << code;
  }
  with_random_numbers(format, [format, theirs](float value) {
    const auto wide = static_cast<double>(value);
    EXPECT_EQ(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, theirs), encode(format, wide))
        << "seed " << kSeed << " value " << value;
    EXPECT_EQ(__nv_cvt_double_to_fp8(wide, __NV_SATFINITE, theirs), encode(format, wide));
  });
}

TEST(CudaConversions, Fp8IsOurs) {
  expect_fp8(Element::e4m3, __NV_E4M3);
  expect_fp8(Element::e5m2, __NV_E5M2);
}

TEST(CudaConversions, Fp4IsOurs) {
  for (std::uint32_t code = 0; code < 0x10; ++code) {
    const __half_raw raw =
        __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(code), __NV_E2M1);
    EXPECT_EQ(static_cast<double>(__half2float(__half(raw))), decode(Element::e2m1, code));
  }
  with_random_numbers(Element::e2m1, [](float value) {
    EXPECT_EQ(__nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest),
              encode(Element::e2m1, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  });
}

TEST(CudaConversions, ScalesOfBlocksAreOurs) {
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < kDraws; ++i) {
    const int exponent = static_cast<int>(random.uniform_int(250)) - 125;
    const auto value = static_cast<float>(std::ldexp(0.5 + random.uniform01(), exponent));
    ASSERT_EQ(__nv_cvt_float_to_e8m0(value, __NV_SATFINITE, cudaRoundPosInf),
              encode(Element::e8m0, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  }
}

}  // namespace
}  // namespace orrery::kernels::reference
