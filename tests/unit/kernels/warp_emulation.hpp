#pragma once

// Emulates a GPU block on the CPU: threads as fibres of one host thread, with the operations that
// cross lanes, namely barriers, shuffles, and mma.m16n8k16 by the table of the PTX manual.
//
// It includes the product's device code with ORRERY_WARP_EMULATION defined, so that index errors
// show on a machine without a GPU. What it cannot show: races (fibres change only at operations
// that cross lanes), memory faults, speed.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)
#define ORRERY_WARP_EMULATION

namespace orrery::kernels::emulated {

constexpr int kLanes = 32;

struct Barrier {
  int arrived = 0;
  std::uint64_t generation = 0;
};

struct Warp {
  Barrier barrier;
  std::array<float, kLanes> value = {};
  std::array<std::array<std::uint32_t, 4>, kLanes> a = {};
  std::array<std::array<std::uint32_t, 2>, kLanes> b = {};
};

// The block that runs now; tests run one at a time.
class Block {
 public:
  static Block& now();

  // Calls `kernel` on every thread of every block of the grid.
  void run(dim3 grid, int threads, int memory, const std::function<void()>& kernel);

  void wait_for_block() { wait(barrier_, threads_); }

  void wait_for_warp() { wait(warp().barrier, kLanes); }

  [[nodiscard]] Warp& warp() { return warps_[static_cast<std::size_t>(current_ / kLanes)]; }

  [[nodiscard]] std::size_t lane() const { return static_cast<std::size_t>(current_ % kLanes); }

  [[nodiscard]] unsigned char* memory() { return reinterpret_cast<unsigned char*>(memory_.data()); }

 private:
  struct alignas(16) Unit {
    std::array<unsigned char, 16> bytes;
  };

  void run_block();
  void wait(Barrier& barrier, int count);
  static void enter();

  std::vector<Unit> memory_;
  std::vector<Warp> warps_;
  std::vector<ucontext_t> fibres_;
  std::vector<std::vector<char>> stacks_;
  std::vector<bool> finished_;
  ucontext_t scheduler_ = {};
  Barrier barrier_;
  const std::function<void()>* kernel_ = nullptr;
  int threads_ = 0;
  int current_ = 0;
};

}  // namespace orrery::kernels::emulated

// The names that device code uses.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;

inline void __syncthreads() { orrery::kernels::emulated::Block::now().wait_for_block(); }

inline float __shfl_xor_sync(unsigned /*mask*/, float value, int distance) {
  auto& block = orrery::kernels::emulated::Block::now();
  const std::size_t lane = block.lane();
  block.warp().value[lane] = value;
  block.wait_for_warp();
  const float other = block.warp().value[lane ^ static_cast<std::size_t>(distance)];
  block.wait_for_warp();
  return other;
}

namespace orrery::kernels::attention {

inline unsigned char* block_memory() { return emulated::Block::now().memory(); }

template <typename T>
float half_of(std::uint32_t pair, int index) {
  const auto bits = static_cast<std::uint16_t>(pair >> (16U * static_cast<unsigned>(index)));
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(value));
  return static_cast<float>(value);
}

// Element e of lane l of C is at row l / 4 + 8 (e / 2), column 2 (l % 4) + e % 2. A[row][k] is in
// lane 4 (row % 8) + k % 8 / 2, register row / 8 + 2 (k / 8), half k % 2; B[k][n] in lane
// 4 n + k % 8 / 2, register k / 8, half k % 2.
template <typename T>
void multiply(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  auto& block = emulated::Block::now();
  emulated::Warp& warp = block.warp();
  const std::size_t lane = block.lane();
  std::copy(a, a + 4, warp.a[lane].begin());
  std::copy(b, b + 2, warp.b[lane].begin());
  block.wait_for_warp();
  for (std::size_t e = 0; e < 4; ++e) {
    const std::size_t row = lane / 4 + 8 * (e / 2);
    const std::size_t n = 2 * (lane % 4) + e % 2;
    for (std::size_t k = 0; k < 16; ++k) {
      const int half = static_cast<int>(k % 2);
      const std::uint32_t from_a = warp.a[4 * (row % 8) + k % 8 / 2][row / 8 + 2 * (k / 8)];
      const std::uint32_t from_b = warp.b[4 * n + k % 8 / 2][k / 8];
      c[e] += half_of<T>(from_a, half) * half_of<T>(from_b, half);
    }
  }
  block.wait_for_warp();
}

}  // namespace orrery::kernels::attention
