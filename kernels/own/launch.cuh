#pragma once

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

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/device/status.hpp"

namespace orrery::kernels {

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
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, kernel, threads, static_cast<std::size_t>(shared)),
        "ask how many blocks fit");
  require(blocks > 0, "a kernel fits on the GPU");
  return multiprocessors * blocks;
}

}  // namespace orrery::kernels
