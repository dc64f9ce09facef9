#include <cuda_runtime_api.h>

#include <chrono>

#include "kernels/device/occupier.hpp"
#include "kernels/device/status.hpp"
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace orrery::kernels {

namespace {

constexpr int kThreads = 512;
constexpr int kPacks = 4;  // of a thread in flight
constexpr int kPiecesPerLook = 16;
constexpr unsigned kNap = 500;  // ns between two looks
constexpr double kMostSeconds = 30.0;
constexpr std::int64_t kMemory = std::int64_t{1} << 30;  // far more than any L2
constexpr std::chrono::seconds kPatience{5};

struct Signals {
  int end;                    // the host to the blocks
  int begun;                  // blocks that run
  int expired;                // blocks that ended by themselves
  unsigned long long pieces;  // copied by all blocks
};

__device__ unsigned long long now() {
  unsigned long long nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__global__ void __launch_bounds__(kThreads) occupy_kernel(Signals* signals,
                                                          float4* memory,
                                                          std::int64_t packs_of_block,
                                                          unsigned long long most) {
  __shared__ int over;
  extern __shared__ float4 held[];  // asked for, not used
  const unsigned long long begin = now();
  float4* const from = memory == nullptr ? held : memory + blockIdx.x * packs_of_block;
  const std::int64_t half = packs_of_block / 2;
  std::int64_t at = 0;
  unsigned long long pieces = 0;
  if (threadIdx.x == 0) {
    atomicAdd_system(&signals->begun, 1);
  }
  while (true) {
    if (threadIdx.x == 0) {
      const bool expired = now() - begin > most;
      over = expired || *static_cast<volatile int*>(&signals->end) != 0 ? 1 : 0;
      if (expired) {
        atomicAdd_system(&signals->expired, 1);
      }
    }
    __syncthreads();
    if (over != 0) {
      break;
    }
    if (memory == nullptr) {
      __nanosleep(kNap);
    } else {
      for (int piece = 0; piece < kPiecesPerLook; ++piece) {
        float4 pack[kPacks];
        for (int p = 0; p < kPacks; ++p) {
          pack[p] = from[at + p * kThreads + threadIdx.x];
        }
        for (int p = 0; p < kPacks; ++p) {
          from[half + at + p * kThreads + threadIdx.x] = pack[p];
        }
        at = at + 2 * kPacks * kThreads <= half ? at + kPacks * kThreads : 0;
      }
      pieces += kPiecesPerLook;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    atomicAdd_system(&signals->pieces, pieces);
  }
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "ask which GPU is current");
  check(cudaDeviceGetAttribute(&value, which, device), "read an attribute of the GPU");
  return value;
}

}  // namespace

Occupier::Occupier(int multiprocessors, Load load)
    : blocks_(multiprocessors), load_(load), signals_(sizeof(Signals)) {
  if (multiprocessors >= attribute(cudaDevAttrMultiProcessorCount)) {
    throw Unsupported("the GPU has no more multiprocessors", "too few multiprocessors");
  }
  constexpr int kOwn = 16;  // of the kernel itself
  shared_ = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kOwn;
  check(cudaFuncSetAttribute(occupy_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_),
        "ask for all shared memory of a multiprocessor");
  if (load == Load::streams) {
    memory_ = DeviceBuffer(kMemory);
    check(cudaMemset(memory_.data(), 1, static_cast<std::size_t>(kMemory)), "fill memory");
  }
}

Occupier::~Occupier() {
  if (running_) {  // left by an error: the device must not wait for it
    const_cast<volatile int&>(signals_.as<Signals>()->end) = 1;
    static_cast<void>(cudaDeviceSynchronize());
  }
}

void Occupier::begin(Stream stream) {
  Signals& signals = *signals_.as<Signals>();
  signals = Signals{};
  const auto packs = kMemory / static_cast<std::int64_t>(sizeof(float4)) / blocks_;
  occupy_kernel<<<static_cast<unsigned>(blocks_),
                  kThreads,
                  static_cast<std::size_t>(shared_),
                  stream>>>(signals_.as<Signals>(),
                            memory_.as<float4>(),
                            packs,
                            static_cast<unsigned long long>(kMostSeconds / kNano));
  check_launch("a kernel that holds multiprocessors");
  running_ = true;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (const_cast<const volatile int&>(signals.begun) < blocks_) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(ErrorKind::device, "multiprocessors that should be held are not free");
    }
  }
  begun_ = std::chrono::steady_clock::now();
}

void Occupier::end(Stream stream) {
  Signals& signals = *signals_.as<Signals>();
  const auto held = std::chrono::steady_clock::now() - begun_;
  const_cast<volatile int&>(signals.end) = 1;
  check(cudaStreamSynchronize(stream), "end a kernel that holds multiprocessors");
  running_ = false;
  if (signals.expired > 0) {
    throw Error(ErrorKind::device, "what should hold multiprocessors ended before the measurement");
  }
  constexpr double kBytesOfPiece = 2.0 * kPacks * kThreads * sizeof(float4);  // read and written
  const double seconds = std::chrono::duration<double>(held).count();
  moved_ = seconds > 0.0 ? static_cast<double>(signals.pieces) * kBytesOfPiece / seconds : 0.0;
}

}  // namespace orrery::kernels
