#pragma once

// Tiles in shared memory, and the fragments of mma.m16n8k16 that are read from them: which lane of
// a warp holds which element.
//
//   lane = 4 g + t, g = 0..7 (`line`), t = 0..3 (`quad`)
//   A (16 x 16): register 0: row g,     columns 2t, 2t+1      1: row g + 8, the same columns
//                         2: row g,     columns 2t+8, 2t+9    3: row g + 8, the same columns
//   B (16 x 8):  register 0: rows 2t, 2t+1 of column g        1: rows 2t+8, 2t+9 of column g
//   C (16 x 8):  element 0, 1: row g, columns 2t, 2t+1        2, 3: row g + 8, the same columns
//
// symbol  | meaning                                                    | unit     | origin
// --------|------------------------------------------------------------|----------|-------
// kPad    | elements added to a row of a tile, so that the eight lines | element  | chosen
//         | of a fragment fall into different banks                    |          |
//
// C of one product, rounded, is A of the next: two neighbouring C of 8 columns make one A of 16.
// Source: PTX manual, matrix fragments for mma.m16n8k16 with 16-bit elements.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace orrery::kernels::attention {

constexpr int kWarpThreads = 32;
constexpr int kWarpRows = 16;  // rows of a fragment
constexpr unsigned kAllLanes = 0xFFFFFFFFU;

struct Lane {
  int index;
  int warp;
  int line;
  int quad;

  __device__ Lane()
      : index(static_cast<int>(threadIdx.x) % kWarpThreads),
        warp(static_cast<int>(threadIdx.x) / kWarpThreads),
        line(index / 4),
        quad(index % 4) {}

  // Place of element e of C in its fragment.
  __device__ int row(int e) const { return line + (e / 2) * 8; }

  __device__ int column(int e) const { return quad * 2 + e % 2; }
};

__device__ inline std::uint32_t pack(float low, float high, __nv_bfloat16 /*type*/) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  std::uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

__device__ inline std::uint32_t pack(float low, float high, __half /*type*/) {
  const __half2 pair = __floats2half2_rn(low, high);
  std::uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

// Two neighbours of a row.
template <typename T>
__device__ inline std::uint32_t pair_at(const T* at) {
  return *reinterpret_cast<const std::uint32_t*>(at);
}

#if !defined(ORRERY_WARP_EMULATION)

// Shared memory of the block that the launch asked for.
__device__ inline unsigned char* block_memory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}

// c += a b.
template <typename T>
__device__ inline void multiply(float (&c)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]);

template <>
__device__ inline void multiply<__nv_bfloat16>(float (&c)[4], const std::uint32_t (&a)[4],
                                               const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <>
__device__ inline void multiply<__half>(float (&c)[4], const std::uint32_t (&a)[4],
                                        const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

// Rows of one head in global memory.
template <typename T>
struct View {
  T* data;
  std::int64_t stride;  // elements from row to row
  std::int64_t count;   // rows
};

// Rows of kDim elements in shared memory.
template <typename T, int kDim>
struct Tile {
  static constexpr int kPad = 8;
  static constexpr int kStride = kDim + kPad;

  __host__ __device__ static constexpr int elements(int rows) { return rows * kStride; }

  // Rows [first, first + rows) of global memory by the whole block; rows past the end are 0.
  // Both sides are aligned to 16 bytes: kDim and kStride are multiples of 8.
  static __device__ void load(T* tile, int rows, const View<const T>& source, std::int64_t first) {
    constexpr int kVector = 8;
    constexpr int kVectors = kDim / kVector;
    for (int i = static_cast<int>(threadIdx.x); i < rows * kVectors;
         i += static_cast<int>(blockDim.x)) {
      const int row = i / kVectors;
      const int column = i % kVectors * kVector;
      const std::int64_t at = first + row;
      uint4 vector = {0U, 0U, 0U, 0U};
      if (at < source.count) {
        vector = *reinterpret_cast<const uint4*>(source.data + at * source.stride + column);
      }
      *reinterpret_cast<uint4*>(tile + row * kStride + column) = vector;
    }
  }

  // A: rows [row, row + 16), columns [column, column + 16) of the tile.
  static __device__ void load_a(std::uint32_t (&a)[4], const T* tile, int row, int column,
                                const Lane& lane) {
    const T* const at = tile + (row + lane.line) * kStride + column + 2 * lane.quad;
    a[0] = pair_at(at);
    a[1] = pair_at(at + 8 * kStride);
    a[2] = pair_at(at + 8);
    a[3] = pair_at(at + 8 * kStride + 8);
  }

  // B(l, n) = tile[row + n][column + l]: the tile transposed.
  static __device__ void load_b_rows(std::uint32_t (&b)[2], const T* tile, int row, int column,
                                     const Lane& lane) {
    const T* const at = tile + (row + lane.line) * kStride + column + 2 * lane.quad;
    b[0] = pair_at(at);
    b[1] = pair_at(at + 8);
  }

  // B(l, n) = tile[row + l][column + n]: the tile as it is.
  static __device__ void load_b_columns(std::uint32_t (&b)[2], const T* tile, int row, int column,
                                        const Lane& lane) {
    const T* const at = tile + (row + 2 * lane.quad) * kStride + column + lane.line;
    b[0] = two(at[0], at[kStride]);
    b[1] = two(at[8 * kStride], at[9 * kStride]);
  }

  // Rows [first, first + 16) of global memory, those past the end left out.
  static __device__ void store(const View<T>& target, std::int64_t first,
                               const float (&sums)[kDim / 8][4], float factor, const Lane& lane) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = first + lane.row(2 * half);
      if (row < target.count) {
#pragma unroll
        for (int n = 0; n < kDim / 8; ++n) {
          const std::uint32_t bits =
              pack(sums[n][2 * half] * factor, sums[n][2 * half + 1] * factor, T());
          *reinterpret_cast<std::uint32_t*>(target.data + row * target.stride + n * 8 +
                                            2 * lane.quad) = bits;
        }
      }
    }
  }

 private:
  static __device__ std::uint32_t two(T low, T high) {
    std::uint16_t bits[2];
    memcpy(&bits[0], &low, sizeof(low));
    memcpy(&bits[1], &high, sizeof(high));
    return bits[0] | static_cast<std::uint32_t>(bits[1]) << 16U;
  }
};

// c[row][n] += sum over dim of rows[warp's row][dim] columns[n][dim].
template <typename T, int kDim, int kColumns>
__device__ inline void multiply_rows(float (&c)[kColumns / 8][4], const T* rows, const T* columns,
                                     const Lane& lane) {
#pragma unroll 4  // all of it needs more registers than there are
  for (int kk = 0; kk < kDim / 16; ++kk) {
    std::uint32_t a[4];
    Tile<T, kDim>::load_a(a, rows, lane.warp * kWarpRows, kk * 16, lane);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      std::uint32_t b[2];
      Tile<T, kDim>::load_b_rows(b, columns, n * 8, kk * 16, lane);
      multiply<T>(c[n], a, b);
    }
  }
}

// sums[row][dim] += sum over l of weights[row][l] tile[l][dim]; the weights are rounded to T.
template <typename T, int kDim, int kColumns>
__device__ inline void multiply_columns(float (&sums)[kDim / 8][4],
                                        const float (&weights)[kColumns / 8][4], const T* tile,
                                        const Lane& lane) {
#pragma unroll
  for (int kk = 0; kk < kColumns / 16; ++kk) {
    const float(&low)[4] = weights[2 * kk];
    const float(&high)[4] = weights[2 * kk + 1];
    const std::uint32_t a[4] = {pack(low[0], low[1], T()), pack(low[2], low[3], T()),
                                pack(high[0], high[1], T()), pack(high[2], high[3], T())};
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      std::uint32_t b[2];
      Tile<T, kDim>::load_b_columns(b, tile, kk * 16, n * 8, lane);
      multiply<T>(sums[n], a, b);
    }
  }
}

}  // namespace orrery::kernels::attention
