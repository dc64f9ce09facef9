#pragma once

// Per-thread bodies of the cast kernels in quantize.cu, which also run on the host. Team: team.cuh;
// symbols: own_kernels.hpp. A thread casts eight neighbours; a group of 16 to 128 values belongs to
// 2 to 16 neighbouring threads.

#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include "kernels/own/own_kernels.hpp"
#include "kernels/own/streaming_body.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

inline constexpr float kLargestE4m3 = 448.0F;
inline constexpr float kLargestE2m1 = 6.0F;

// A scale as it is stored, and what values are multiplied by.
struct GroupScale {
  std::uint32_t stored;  // bits of fp32, or a code of a byte
  float multiplier;
};

ORRERY_HD inline GroupScale fp32_scale(float magnitude) {
  const float scale = magnitude == 0.0F ? 1.0F : magnitude / kLargestE4m3;
  return {detail::to_bits(scale), magnitude == 0.0F ? 1.0F : kLargestE4m3 / magnitude};
}

// The power of two at or above magnitude / 448, as an exponent field.
ORRERY_HD inline GroupScale mx_scale(float magnitude) {
  constexpr std::uint32_t kMantissaBits = 23;
  constexpr std::uint32_t kMantissaMask = 0x7FFFFFU;
  constexpr std::uint32_t kHalf = 0x400000U;  // 2^-127 as a subnormal
  constexpr std::uint32_t kLargest = 254U;
  const std::uint32_t bits = detail::to_bits(rounded_div(magnitude, kLargestE4m3));
  std::uint32_t code = bits >> kMantissaBits;
  const std::uint32_t mantissa = bits & kMantissaMask;
  if (code == 0U) {
    code = mantissa > kHalf ? 1U : 0U;
  } else if (mantissa != 0U) {
    ++code;
  }
  code = code > kLargest ? kLargest : code;
  const std::uint32_t inverse = kLargest - code;  // exponent field of 2^(127 - code)
  return {code, inverse == 0U ? 0x1.0p-127F : detail::from_bits(inverse << kMantissaBits)};
}

ORRERY_HD inline float nvfp4_tensor_scale(float magnitude) {
  return magnitude == 0.0F ? 1.0F : magnitude / (kLargestE2m1 * kLargestE4m3);
}

ORRERY_HD inline GroupScale nvfp4_scale(float magnitude, float tensor_scale) {
  std::uint32_t code =
      __nv_cvt_float_to_fp8(magnitude / kLargestE2m1 / tensor_scale, __NV_SATFINITE, __NV_E4M3);
  code = code == 0U ? 1U : code;  // the smallest: a scale of zero divides nothing
  const __half_raw half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), __NV_E4M3);
  return {code, 1.0F / (__half2float(__half(half)) * tensor_scale)};
}

// Eight codes of a byte, in order of address.
ORRERY_HD inline uint2 fp8_codes(const Lanes& x, float multiplier, __nv_fp8_interpretation_t kind) {
  std::uint32_t pair[kLanes / 2];
  for (int i = 0; i < kLanes / 2; ++i) {
    const float2 values = {x.value[2 * i] * multiplier, x.value[2 * i + 1] * multiplier};
    pair[i] = __nv_cvt_float2_to_fp8x2(values, __NV_SATFINITE, kind);
  }
  return {pair[0] | (pair[1] << 16U), pair[2] | (pair[3] << 16U)};
}

// Eight codes of four bits, the even index low.
ORRERY_HD inline std::uint32_t fp4_codes(const Lanes& x, float multiplier) {
  std::uint32_t codes = 0;
  for (int i = 0; i < kLanes / 2; ++i) {
    const float2 values = {x.value[2 * i] * multiplier, x.value[2 * i + 1] * multiplier};
    const std::uint32_t pair = __nv_cvt_float2_to_fp4x2(values, __NV_E2M1, cudaRoundNearest);
    codes |= pair << (8U * static_cast<std::uint32_t>(i));
  }
  return codes;
}

// Threads that share a scale; 1: none is found here.
template <CastRecipe kRecipe>
ORRERY_HD constexpr int group_threads() {
  constexpr std::int64_t kGroup = cast_group(kRecipe);
  return kGroup == 0 ? 1 : static_cast<int>(kGroup) / kLanes;
}

// What all groups share: the given multiplier, or the scale of the tensor.
struct CastGiven {
  float value;
  bool wide_range;
};

// One copy of the tensor: its codes by rows of `reduced`, and its scales.
struct CastCopy {
  std::uint8_t* codes;
  void* scales;
  std::int64_t outer;
  std::int64_t reduced;
};

ORRERY_HD inline CastCopy straight_copy(const Cast& cast) {
  return {cast.codes, cast.scales, cast.rows, cast.columns};
}

ORRERY_HD inline CastCopy transposed_copy(const Cast& cast) {
  return {cast.transposed, cast.transposed_scales, cast.columns, cast.rows};
}

// Where the scale of the group that begins at `pack` stands. Packs have 32 bits (team.cuh).
template <CastRecipe kRecipe>
ORRERY_HD std::int64_t scale_place(const CastCopy& copy, std::int64_t pack) {
  const auto packs = static_cast<std::uint32_t>(copy.reduced / kLanes);
  const auto first = static_cast<std::uint32_t>(pack);
  return scale_index({scale_mode(kRecipe), copy.outer, copy.reduced},
                     static_cast<std::int64_t>(first / packs),
                     static_cast<std::int64_t>(first % packs) * kLanes);
}

// Scales and codes of eight values, number `pack` of the copy; `given` of the recipe row is the
// magnitude of the whole row or column.
template <CastRecipe kRecipe, typename Team>
ORRERY_HD void cast_lanes(const Team& team, const Lanes& x, CastGiven given, const CastCopy& copy,
                          std::int64_t pack) {
  constexpr int kThreads = group_threads<kRecipe>();
  GroupScale scale = {0U, given.value};
  if constexpr (kThreads > 1) {
    const float magnitude = team.group_maximum(largest_magnitude(x), kThreads);
    if constexpr (kRecipe == CastRecipe::block) {
      scale = fp32_scale(magnitude);
    } else if constexpr (kRecipe == CastRecipe::mx) {
      scale = mx_scale(magnitude);
    } else {
      scale = nvfp4_scale(magnitude, given.value);
    }
    if (pack % kThreads == 0) {
      const std::int64_t place = scale_place<kRecipe>(copy, pack);
      if constexpr (kRecipe == CastRecipe::block) {
        static_cast<std::uint32_t*>(copy.scales)[place] = scale.stored;
      } else {
        static_cast<std::uint8_t*>(copy.scales)[place] = static_cast<std::uint8_t>(scale.stored);
      }
    }
  } else if constexpr (kRecipe == CastRecipe::row) {
    scale = fp32_scale(given.value);
  }
  if constexpr (kRecipe == CastRecipe::nvfp4) {
    reinterpret_cast<std::uint32_t*>(copy.codes)[pack] = fp4_codes(x, scale.multiplier);
  } else {
    const auto kind = given.wide_range ? __NV_E5M2 : __NV_E4M3;
    reinterpret_cast<uint2*>(copy.codes)[pack] = fp8_codes(x, scale.multiplier, kind);
  }
}

template <CastRecipe kRecipe>
ORRERY_HD CastGiven given_of(const Cast& cast) {
  if constexpr (kRecipe == CastRecipe::tensor) {
    return {*cast.multiplier, cast.wide_range};
  } else if constexpr (kRecipe == CastRecipe::nvfp4) {
    return {nvfp4_tensor_scale(detail::from_bits(*cast.magnitude)), false};
  } else {
    return {0.0F, false};
  }
}

// Largest magnitude of the tensor: block by block into *magnitude.
template <typename Team>
ORRERY_HD void magnitude_body(Team& team, const Cast& cast) {
  float most = 0.0F;
  const auto packs = static_cast<std::uint32_t>(cast.rows * cast.columns / kLanes);
  for_each_pack(team, packs, [&](std::uint32_t i) {
    most = fmaxf(most, largest_magnitude(load_lanes(cast.x, i)));
  });
  most = team.maximum(most);
  if (team.thread() == 0) {
    team.raise(cast.magnitude, most);
  }
}

// tensor, block, mx, nvfp4 without the transposed copy.
template <CastRecipe kRecipe, typename Team>
ORRERY_HD void cast_body(Team& team, const Cast& cast) {
  const CastGiven given = given_of<kRecipe>(cast);
  float most = 0.0F;
  const auto packs = static_cast<std::uint32_t>(cast.rows * cast.columns / kLanes);
  for_each_pack(team, packs, [&](std::uint32_t i) {
    const Lanes x = load_lanes(cast.x, i);
    if constexpr (kRecipe == CastRecipe::tensor) {
      most = fmaxf(most, largest_magnitude(x));
    }
    cast_lanes<kRecipe>(team, x, given, straight_copy(cast), i);
  });
  if constexpr (kRecipe == CastRecipe::tensor) {
    most = team.maximum(most);
    if (team.thread() == 0) {
      team.raise(cast.magnitude, most);
    }
  }
}

// A block per row, which stays in registers.
template <int kPacks, typename Team>
ORRERY_HD void cast_row_body(Team& team, const Cast& cast) {
  const int packs = static_cast<int>(cast.columns / kLanes);
  for (std::int64_t row = team.block(); row < cast.rows; row += team.blocks()) {
    Pack held[std::size_t{kPacks}];
    float most = 0.0F;
    ORRERY_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const int index = p * team.threads() + team.thread();
      if (index < packs) {
        held[p] = load_pack(cast.x, row * packs + index);
        most = fmaxf(most, largest_magnitude(unpack<__nv_bfloat16>(held[p])));
      }
    }
    most = team.maximum(most);
    ORRERY_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const int index = p * team.threads() + team.thread();
      if (index < packs) {
        cast_lanes<CastRecipe::row>(team, unpack<__nv_bfloat16>(held[p]), {most, false},
                                    straight_copy(cast), row * packs + index);
      }
    }
    if (team.thread() == 0) {
      static_cast<std::uint32_t*>(cast.scales)[row] = fp32_scale(most).stored;
    }
  }
}

// Largest magnitude of every column: each block a tile of kCastTile rows, a thread eight columns.
template <typename Team>
ORRERY_HD void column_magnitude_body(const Team& team, const Cast& cast) {
  const std::int64_t packs = cast.columns / kLanes;
  const std::int64_t chunks = (packs + team.threads() - 1) / team.threads();
  const std::int64_t pack = team.block() % chunks * team.threads() + team.thread();
  const std::int64_t first = team.block() / chunks * kCastTile;
  if (pack >= packs) {
    return;
  }
  Lanes most = {};
  ORRERY_UNROLL_4
  for (std::int64_t row = first; row < first + kCastTile; ++row) {
    const Lanes x = load_lanes(cast.x, row * packs + pack);
    for (int l = 0; l < kLanes; ++l) {
      most.value[l] = fmaxf(most.value[l], fabsf(x.value[l]));
    }
  }
  for (int l = 0; l < kLanes; ++l) {
    team.raise(cast.magnitude + pack * kLanes + l, most.value[l]);
  }
}

// The tile in shared memory: a row of 128 values and one word, so that the threads of a warp that
// read down columns spread over the banks.
inline constexpr int kTileWords = static_cast<int>(kCastTile) / 2 + 1;
inline constexpr int kTilePacks = static_cast<int>(kCastTile) / kLanes;  // of a row or column

// A block per tile of 128 x 128. Rows are cast as they are loaded (not in the recipe row: its codes
// come from cast_row_body); then each thread takes two columns by eight rows.
template <CastRecipe kRecipe, typename Team>
ORRERY_HD void cast_tile_body(Team& team, const Cast& cast, std::uint32_t* tile) {
  const CastGiven given = given_of<kRecipe>(cast);
  const std::int64_t across = cast.columns / kCastTile;
  const std::int64_t first_row = team.block() / across * kCastTile;
  const std::int64_t first_column = team.block() % across * kCastTile;
  const int items = static_cast<int>(kCastTile) * kTilePacks;
  float most = 0.0F;
  for (int i = team.thread(); i < items; i += team.threads()) {
    const int row = i / kTilePacks;
    const int column = i % kTilePacks;  // pack
    const std::int64_t pack = ((first_row + row) * cast.columns + first_column) / kLanes + column;
    const Pack loaded = load_pack(cast.x, pack);
    for (int w = 0; w < kLanes / 2; ++w) {
      tile[row * kTileWords + column * (kLanes / 2) + w] = loaded.word[w];
    }
    if constexpr (kRecipe != CastRecipe::row) {
      const Lanes x = unpack<__nv_bfloat16>(loaded);
      most = fmaxf(most, largest_magnitude(x));
      cast_lanes<kRecipe>(team, x, given, straight_copy(cast), pack);
    }
  }
  team.barrier();
  for (int i = team.thread(); i < items / 2; i += team.threads()) {
    const int part = i % kTilePacks;  // rows 8 part and on
    const int pair = i / kTilePacks;  // columns 2 pair and 2 pair + 1
    Lanes low;
    Lanes high;
    for (int l = 0; l < kLanes; ++l) {
      const std::uint32_t word = tile[(part * kLanes + l) * kTileWords + pair];
      low.value[l] = detail::Convert<__nv_bfloat16>::low(word);
      high.value[l] = detail::Convert<__nv_bfloat16>::high(word);
    }
    const std::int64_t column = first_column + 2 * pair;
    const std::int64_t pack = (column * cast.rows + first_row) / kLanes + part;
    const std::int64_t next = pack + cast.rows / kLanes;
    CastGiven left = given;
    CastGiven right = given;
    if constexpr (kRecipe == CastRecipe::row) {
      left.value = detail::from_bits(cast.magnitude[column]);
      right.value = detail::from_bits(cast.magnitude[column + 1]);
      if (first_row == 0 && part == 0) {
        auto* scales = static_cast<std::uint32_t*>(cast.transposed_scales);
        scales[column] = fp32_scale(left.value).stored;
        scales[column + 1] = fp32_scale(right.value).stored;
      }
    }
    cast_lanes<kRecipe>(team, low, left, transposed_copy(cast), pack);
    cast_lanes<kRecipe>(team, high, right, transposed_copy(cast), next);
  }
  if constexpr (kRecipe == CastRecipe::tensor) {
    most = team.maximum(most);
    if (team.thread() == 0) {
      team.raise(cast.magnitude, most);
    }
  }
}

}  // namespace orrery::kernels
