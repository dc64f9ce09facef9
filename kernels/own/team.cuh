#pragma once

// Cooperation of the threads of a block: the device's implementation of the Team that kernel bodies
// use. The tests implement it with threads of the host, so that the very same bodies run there.
//
// A Team offers
//   thread(), threads(), block(), blocks()   where this thread is; threads is a multiple of 32
//   sum(values), maximum(value)              over the block; every thread gets the result, which
//                                            does not depend on the order of execution
//   group_sum(value, width), group_maximum   over `width` neighbouring threads,
//                                            width 1, 2, 4 .. 32;
//                                            the whole group must take part
//   barrier()                                all threads of the block
//   raise(place, value)                      *place = max(*place, value), value >= 0, any thread
//   add(place, lanes)                        adds eight numbers, any thread: order unspecified

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/device/runtime.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

inline constexpr int kWarp = 32;

class DeviceTeam {
 public:
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }

  __device__ int threads() const { return static_cast<int>(blockDim.x); }

  __device__ std::int64_t block() const { return static_cast<std::int64_t>(blockIdx.x); }

  __device__ std::int64_t blocks() const { return static_cast<std::int64_t>(gridDim.x); }

  __device__ void barrier() const { __syncthreads(); }

  template <std::size_t kCount>
  __device__ void sum(float (&values)[kCount]) const {
    __shared__ float partial[kCount][kWarp];
    const int lane = thread() % kWarp;
    const int warps = threads() / kWarp;
    ORRERY_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) {
      values[i] = group_sum(values[i], kWarp);
    }
    if (warps == 1) {
      return;
    }
    __syncthreads();  // nobody reads what the call before left here
    if (lane == 0) {
      ORRERY_UNROLL
      for (std::size_t i = 0; i < kCount; ++i) {
        partial[i][thread() / kWarp] = values[i];
      }
    }
    __syncthreads();
    ORRERY_UNROLL
    for (std::size_t i = 0; i < kCount; ++i) {
      values[i] = group_sum(lane < warps ? partial[i][lane] : 0.0F, kWarp);
    }
  }

  __device__ float maximum(float value) const {
    __shared__ float partial[kWarp];
    const int lane = thread() % kWarp;
    const int warps = threads() / kWarp;
    value = group_maximum(value, kWarp);
    if (warps == 1) {
      return value;
    }
    __syncthreads();
    if (lane == 0) {
      partial[thread() / kWarp] = value;
    }
    __syncthreads();
    return group_maximum(partial[lane < warps ? lane : 0], kWarp);
  }

  __device__ float group_sum(float value, int width) const {
    const unsigned mask = group_mask(width);
    for (int offset = width / 2; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(mask, value, offset);
    }
    return value;
  }

  __device__ float group_maximum(float value, int width) const {
    const unsigned mask = group_mask(width);
    for (int offset = width / 2; offset > 0; offset /= 2) {
      value = fmaxf(value, __shfl_xor_sync(mask, value, offset));
    }
    return value;
  }

  // Bits of numbers that are not negative are ordered as the numbers are.
  __device__ void raise(std::uint32_t* place, float value) const {
    atomicMax(place, __float_as_uint(value));
  }

  __device__ void add(float* place, const Lanes& lanes) const {
#if __CUDA_ARCH__ >= 900
    atomicAdd(reinterpret_cast<float4*>(place),
              make_float4(lanes.value[0], lanes.value[1], lanes.value[2], lanes.value[3]));
    atomicAdd(reinterpret_cast<float4*>(place + kLanes / 2),
              make_float4(lanes.value[4], lanes.value[5], lanes.value[6], lanes.value[7]));
#else
    ORRERY_UNROLL
    for (int i = 0; i < kLanes; ++i) {
      atomicAdd(place + i, lanes.value[i]);
    }
#endif
  }

 private:
  __device__ unsigned group_mask(int width) const {
    const int lane = thread() % kWarp;
    const unsigned ones = width == kWarp ? 0xFFFFFFFFU : (1U << width) - 1U;
    return ones << (lane - lane % width);
  }
};

// Grid sizes of the kernels. Streaming kernels get enough blocks for one pack per thread, kernels
// that loop over rows as many as the GPU holds at once.
//
//   streaming_blocks(packs) = ceil(packs / threads)
//   resident_blocks(kernel) = multiprocessors x blocks of the kernel that fit into one
//
// symbol  | meaning                                   | unit | origin
// --------|-------------------------------------------|------|----------
// packs   | 16-byte loads, at most 2^32 - 2^20        | 1    | case
// threads | of a block                                | 1    | kernel

inline constexpr int kStreamingThreads = 256;

// Indices of packs are 32-bit: division is five times as fast as with 64. A grid-stride step past
// the end must not wrap, so some room is left.
inline constexpr std::int64_t kMostPacks = (std::int64_t{1} << 32) - (std::int64_t{1} << 30);

[[nodiscard]] inline unsigned streaming_blocks(std::int64_t packs,
                                               int threads = kStreamingThreads) {
  require(packs > 0 && packs <= kMostPacks, "a streaming kernel moves 1 to 3 x 2^30 packs");
  return static_cast<unsigned>((packs + threads - 1) / threads);
}

template <typename Kernel>
[[nodiscard]] int resident_blocks(Kernel* kernel, int threads, int shared = 0) {
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  check(cudaGetDevice(&device), "ask which GPU is current");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "count the multiprocessors");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads,
                                                      static_cast<std::size_t>(shared)),
        "ask how many blocks fit");
  require(blocks > 0, "a kernel fits on the GPU");
  return multiprocessors * blocks;
}

}  // namespace orrery::kernels
