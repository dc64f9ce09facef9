#pragma once

// Device code of the own attention, without launches: nvcc compiles it for the GPU, tests run it on
// an emulated warp (ORRERY_WARP_EMULATION).
//
// symbol   | meaning                                              | unit | origin
// ---------|------------------------------------------------------|------|-------
// kRows    | rows of a block: four warps of 16                    | 1    | chosen
// scores   | q . k of a fragment, then P; in powers of two        | -    | computed
// log_sum  | natural logarithm, as the reference and cuDNN have it | -   | computed
//
// Assumptions: the grid is (row tiles, heads or groups, sequences); tensors as attention_case.hpp
// lays them out, aligned to 16 bytes, head dimensions multiples of 16.

#include <cstdint>

#include "kernels/attention/attention_tiles.cuh"

namespace orrery::kernels::attention {

inline constexpr float kLog2E = 1.44269504088896F;
inline constexpr float kLn2 = 0.693147180559945F;
inline constexpr int kWarps = 4;
inline constexpr int kThreads = kWarps * kWarpThreads;
inline constexpr int kRows = kWarps * kWarpRows;  // of a block: 64
inline constexpr int kForwardKeys = 64;
inline constexpr int kBackwardColumns = 32;

struct DeviceAttention {
  std::int64_t heads;
  std::int64_t groups;
  std::int64_t queries;
  std::int64_t keys;
  bool causal;
  float scale;

  // Rows of a head of a tensor [sequence, row, head, dim].
  template <int kDim, typename T>
  __device__ View<T> query_view(T* tensor, std::int64_t sequence, std::int64_t head) const {
    return {tensor + (sequence * queries * heads + head) * kDim, heads * kDim, queries};
  }

  template <int kDim, typename T>
  __device__ View<T> key_view(T* tensor, std::int64_t sequence, std::int64_t group) const {
    return {tensor + (sequence * keys * groups + group) * kDim, groups * kDim, keys};
  }

  __device__ std::int64_t row_offset(std::int64_t sequence, std::int64_t head) const {
    return (sequence * heads + head) * queries;
  }

  __device__ bool visible(std::int64_t query, std::int64_t key) const {
    return query < queries && key < keys && (!causal || key <= query);
  }
};

// Running softmax of the two rows that a lane holds, in powers of two.
struct Softmax {
  float most[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0F, 0.0F};  // of this lane's columns

  // Turns scores into probabilities relative to the new maximum; returns what the older sums
  // shrink by. Every tile holds a visible key of each row that exists, so maxima are finite.
  template <int kTiles>
  __device__ void add(float (&scores)[kTiles][4], float (&shrink)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = most[half];
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        largest = fmaxf(largest, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
      }
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 2));
      // A row past the end sees nothing: exp2(-inf - 0) = 0 instead of exp2(-inf + inf).
      const float base = largest == -INFINITY ? 0.0F : largest;
      shrink[half] = exp2f(most[half] - base);
      most[half] = largest;
      sum[half] *= shrink[half];
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          scores[n][e] = exp2f(scores[n][e] - base);
          sum[half] += scores[n][e];
        }
      }
    }
  }
};

// Scores of a warp's 16 queries against a tile of keys in powers of two, -inf where masked.
template <typename T, int kDim>
__device__ void score(float (&scores)[kForwardKeys / 8][4],
                      const std::uint32_t (&query)[kDim / 16][4], const T* key_tile,
                      const DeviceAttention& shape, std::int64_t warp_row, std::int64_t start,
                      const Lane& lane) {
#pragma unroll
  for (int kk = 0; kk < kDim / 16; ++kk) {
#pragma unroll
    for (int n = 0; n < kForwardKeys / 8; ++n) {
      std::uint32_t b[2];
      Tile<T, kDim>::load_b_rows(b, key_tile, n * 8, kk * 16, lane);
      multiply<T>(scores[n], query[kk], b);
    }
  }
#pragma unroll
  for (int n = 0; n < kForwardKeys / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const bool seen = shape.visible(warp_row + lane.row(e), start + n * 8 + lane.column(e));
      scores[n][e] = seen ? scores[n][e] * (shape.scale * kLog2E) : -INFINITY;
    }
  }
}

// Divides by the sums of the softmax and writes their logarithms; `log_sum`: of the head's rows.
template <int kDim>
__device__ void normalise(float (&sums)[kDim / 8][4], const Softmax& softmax, float* log_sum,
                          std::int64_t queries, std::int64_t warp_row, const Lane& lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float total = softmax.sum[half];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    total += __shfl_xor_sync(kAllLanes, total, 2);
    const float inverse = 1.0F / total;
    const std::int64_t row = warp_row + lane.row(2 * half);
    if (lane.quad == 0 && row < queries) {
      log_sum[row] = (softmax.most[half] + log2f(total)) * kLn2;
    }
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      sums[n][2 * half] *= inverse;
      sums[n][2 * half + 1] *= inverse;
    }
  }
}

template <typename T, int kDimQk, int kDimV>
__global__ void __launch_bounds__(kThreads, 1)
    forward_kernel(const T* q, const T* k, const T* v, T* o, float* log_sum,
                   DeviceAttention shape) {
  using Wide = Tile<T, kDimQk>;
  using Values = Tile<T, kDimV>;
  T* const key_tile = reinterpret_cast<T*>(block_memory());
  T* const value_tile = key_tile + Wide::elements(kForwardKeys);
  const Lane lane;
  const std::int64_t head = blockIdx.y;
  const std::int64_t sequence = blockIdx.z;
  const std::int64_t group = head / (shape.heads / shape.groups);
  // Causal blocks differ in length; the longest start first.
  const std::int64_t first = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
  const std::int64_t warp_row = first + lane.warp * kWarpRows;
  const auto keys = shape.key_view<kDimQk>(k, sequence, group);
  const auto values = shape.key_view<kDimV>(v, sequence, group);

  // The queries pass through the key tile into registers.
  Wide::load(key_tile, kRows, shape.query_view<kDimQk>(q, sequence, head), first);
  __syncthreads();
  std::uint32_t query[kDimQk / 16][4];
#pragma unroll
  for (int kk = 0; kk < kDimQk / 16; ++kk) {
    Wide::load_a(query[kk], key_tile, lane.warp * kWarpRows, kk * 16, lane);
  }

  float sums[kDimV / 8][4] = {};
  Softmax softmax;
  const std::int64_t past = first + kRows;
  const std::int64_t last = shape.causal && past < shape.keys ? past : shape.keys;
  for (std::int64_t start = 0; start < last; start += kForwardKeys) {
    __syncthreads();
    Wide::load(key_tile, kForwardKeys, keys, start);
    Values::load(value_tile, kForwardKeys, values, start);
    __syncthreads();
    float scores[kForwardKeys / 8][4] = {};
    score<T, kDimQk>(scores, query, key_tile, shape, warp_row, start, lane);
    float shrink[2];
    softmax.add(scores, shrink);
#pragma unroll
    for (int n = 0; n < kDimV / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sums[n][e] *= shrink[e / 2];
      }
    }
    multiply_columns<T, kDimV, kForwardKeys>(sums, scores, value_tile, lane);
  }

  normalise<kDimV>(sums, softmax, log_sum + shape.row_offset(sequence, head), shape.queries,
                   warp_row, lane);
  Values::store(shape.query_view<kDimV>(o, sequence, head), warp_row, sums, 1.0F, lane);
}

// One warp per row: delta = sum over dim of dO O.
template <typename T, int kDim>
__global__ void __launch_bounds__(kThreads, 1)
    delta_kernel(const T* o, const T* d_o, float* delta, DeviceAttention shape, std::int64_t rows) {
  const Lane lane;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + lane.warp;
  if (row >= rows) {
    return;  // the whole warp
  }
  // `row` counts [sequence, head, query]; the tensors are [sequence, query, head, dim].
  const std::int64_t query = row % shape.queries;
  const std::int64_t head = row / shape.queries % shape.heads;
  const std::int64_t sequence = row / shape.queries / shape.heads;
  const auto outputs = shape.query_view<kDim>(o, sequence, head);
  const auto gradients = shape.query_view<kDim>(d_o, sequence, head);
  const std::int64_t offset = query * outputs.stride;
  float sum = 0.0F;
  for (int i = lane.index; i < kDim; i += kWarpThreads) {
    sum += static_cast<float>(outputs.data[offset + i]) *
           static_cast<float>(gradients.data[offset + i]);
  }
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  }
  if (lane.index == 0) {
    delta[row] = sum;
  }
}

template <typename T>
struct BackwardOperands {
  const T* q;
  const T* k;
  const T* v;
  const T* d_o;
  const float* log_sum;
  const float* delta;
};

template <typename T, int kDimQk, int kDimV>
__global__ void __launch_bounds__(kThreads, 1)
    query_gradient_kernel(BackwardOperands<T> in, T* d_q, DeviceAttention shape) {
  using Wide = Tile<T, kDimQk>;
  using Values = Tile<T, kDimV>;
  T* const query_tile = reinterpret_cast<T*>(block_memory());
  T* const output_tile = query_tile + Wide::elements(kRows);
  T* const key_tile = output_tile + Values::elements(kRows);
  T* const value_tile = key_tile + Wide::elements(kBackwardColumns);
  const Lane lane;
  const std::int64_t head = blockIdx.y;
  const std::int64_t sequence = blockIdx.z;
  const std::int64_t group = head / (shape.heads / shape.groups);
  const std::int64_t first = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
  const std::int64_t warp_row = first + lane.warp * kWarpRows;
  const auto keys = shape.key_view<kDimQk>(in.k, sequence, group);
  const auto values = shape.key_view<kDimV>(in.v, sequence, group);

  Wide::load(query_tile, kRows, shape.query_view<kDimQk>(in.q, sequence, head), first);
  Values::load(output_tile, kRows, shape.query_view<kDimV>(in.d_o, sequence, head), first);
  float log2_sum[2];
  float delta[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = warp_row + lane.row(2 * half);
    const bool exists = row < shape.queries;
    const std::int64_t at = shape.row_offset(sequence, head) + row;
    log2_sum[half] = exists ? in.log_sum[at] * kLog2E : 0.0F;
    delta[half] = exists ? in.delta[at] : 0.0F;
  }

  float sums[kDimQk / 8][4] = {};
  const std::int64_t past = first + kRows;
  const std::int64_t last = shape.causal && past < shape.keys ? past : shape.keys;
  for (std::int64_t start = 0; start < last; start += kBackwardColumns) {
    __syncthreads();
    Wide::load(key_tile, kBackwardColumns, keys, start);
    Values::load(value_tile, kBackwardColumns, values, start);
    __syncthreads();
    float scores[kBackwardColumns / 8][4] = {};
    float gradients[kBackwardColumns / 8][4] = {};
    multiply_rows<T, kDimQk, kBackwardColumns>(scores, query_tile, key_tile, lane);
    multiply_rows<T, kDimV, kBackwardColumns>(gradients, output_tile, value_tile, lane);
#pragma unroll
    for (int n = 0; n < kBackwardColumns / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const bool seen = shape.visible(warp_row + lane.row(e), start + n * 8 + lane.column(e));
        const float power = scores[n][e] * (shape.scale * kLog2E) - log2_sum[e / 2];
        scores[n][e] = seen ? exp2f(power) * (gradients[n][e] - delta[e / 2]) : 0.0F;
      }
    }
    multiply_columns<T, kDimQk, kBackwardColumns>(sums, scores, key_tile, lane);
  }
  Wide::store(shape.query_view<kDimQk>(d_q, sequence, head), warp_row, sums, shape.scale, lane);
}

// From scores and dP, both with keys in rows: P and dS.
__device__ inline void weigh(float (&scores)[kBackwardColumns / 8][4],
                             float (&gradients)[kBackwardColumns / 8][4], const float* log2_sum,
                             const float* delta, const DeviceAttention& shape,
                             std::int64_t warp_row, std::int64_t start, const Lane& lane) {
#pragma unroll
  for (int n = 0; n < kBackwardColumns / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int column = n * 8 + lane.column(e);
      const bool seen = shape.visible(start + column, warp_row + lane.row(e));
      const float power = scores[n][e] * (shape.scale * kLog2E) - log2_sum[column];
      scores[n][e] = seen ? exp2f(power) : 0.0F;
      gradients[n][e] = scores[n][e] * (gradients[n][e] - delta[column]);
    }
  }
}

// Rows are keys, columns queries: everything is transposed.
template <typename T, int kDimQk, int kDimV>
__global__ void __launch_bounds__(kThreads, 1)
    key_gradient_kernel(BackwardOperands<T> in, T* d_k, T* d_v, DeviceAttention shape) {
  using Wide = Tile<T, kDimQk>;
  using Values = Tile<T, kDimV>;
  T* const key_tile = reinterpret_cast<T*>(block_memory());
  T* const value_tile = key_tile + Wide::elements(kRows);
  T* const query_tile = value_tile + Values::elements(kRows);
  T* const output_tile = query_tile + Wide::elements(kBackwardColumns);
  __shared__ float log2_sum[kBackwardColumns];
  __shared__ float delta[kBackwardColumns];
  const Lane lane;
  const std::int64_t group = blockIdx.y;
  const std::int64_t sequence = blockIdx.z;
  const std::int64_t shared_heads = shape.heads / shape.groups;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows;
  const std::int64_t warp_row = first + lane.warp * kWarpRows;

  Wide::load(key_tile, kRows, shape.key_view<kDimQk>(in.k, sequence, group), first);
  Values::load(value_tile, kRows, shape.key_view<kDimV>(in.v, sequence, group), first);
  float key_sums[kDimQk / 8][4] = {};
  float value_sums[kDimV / 8][4] = {};
  for (std::int64_t head = group * shared_heads; head < (group + 1) * shared_heads; ++head) {
    const auto queries = shape.query_view<kDimQk>(in.q, sequence, head);
    const auto outputs = shape.query_view<kDimV>(in.d_o, sequence, head);
    const std::int64_t rows = shape.row_offset(sequence, head);
    // Earlier queries see none of these keys; kRows is a multiple of the tile.
    for (std::int64_t start = shape.causal ? first : 0; start < shape.queries;
         start += kBackwardColumns) {
      __syncthreads();
      Wide::load(query_tile, kBackwardColumns, queries, start);
      Values::load(output_tile, kBackwardColumns, outputs, start);
      if (threadIdx.x < kBackwardColumns) {
        const std::int64_t query = start + threadIdx.x;
        const bool exists = query < shape.queries;
        log2_sum[threadIdx.x] = exists ? in.log_sum[rows + query] * kLog2E : 0.0F;
        delta[threadIdx.x] = exists ? in.delta[rows + query] : 0.0F;
      }
      __syncthreads();
      float scores[kBackwardColumns / 8][4] = {};
      float gradients[kBackwardColumns / 8][4] = {};
      multiply_rows<T, kDimQk, kBackwardColumns>(scores, key_tile, query_tile, lane);
      multiply_rows<T, kDimV, kBackwardColumns>(gradients, value_tile, output_tile, lane);
      weigh(scores, gradients, log2_sum, delta, shape, warp_row, start, lane);
      multiply_columns<T, kDimV, kBackwardColumns>(value_sums, scores, output_tile, lane);
      multiply_columns<T, kDimQk, kBackwardColumns>(key_sums, gradients, query_tile, lane);
    }
  }
  Wide::store(shape.key_view<kDimQk>(d_k, sequence, group), warp_row, key_sums, shape.scale, lane);
  Values::store(shape.key_view<kDimV>(d_v, sequence, group), warp_row, value_sums, 1.0F, lane);
}

// Bytes of shared memory.
template <typename T, int kDimQk, int kDimV>
inline constexpr int kForwardMemory = static_cast<int>(sizeof(T)) *
                                      (Tile<T, kDimQk>::elements(kForwardKeys) +
                                       Tile<T, kDimV>::elements(kForwardKeys));

template <typename T, int kDimQk, int kDimV>
inline constexpr int kBackwardMemory = static_cast<int>(sizeof(T)) *
                                       (Tile<T, kDimQk>::elements(kRows + kBackwardColumns) +
                                        Tile<T, kDimV>::elements(kRows + kBackwardColumns));

}  // namespace orrery::kernels::attention
