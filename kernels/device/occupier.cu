#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

#include "kernels/device/occupier.hpp"
#include "kernels/device/runtime.hpp"
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
constexpr std::chrono::seconds kPatience{1};

// What a block tells the host, in memory of the host and in a place of its own: nothing there is
// added up by the GPU, whose atomic operations do not work on the host's memory on every machine.
struct Said {
  int begun;
  int expired;                // it ended by itself
  unsigned long long pieces;  // that it copied
};

// The buffer of all signals: what each block says, then the word of the host to all of them.
struct Signals {
  Said* said;
  int* end;
};

Signals signals_in(const PinnedBuffer& buffer, int blocks) {
  Said* const said = buffer.as<Said>();
  return {said, reinterpret_cast<int*>(said + blocks)};
}

std::int64_t bytes_of_signals(int blocks) {
  return blocks * static_cast<std::int64_t>(sizeof(Said)) + static_cast<std::int64_t>(sizeof(int));
}

__device__ unsigned long long now() {
  unsigned long long nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__global__ void __launch_bounds__(kThreads)
    occupy_kernel(Signals signals, float4* memory, std::int64_t packs_of_block,
                  unsigned long long most) {
  __shared__ int over;
  extern __shared__ float4 held[];  // asked for, not used
  const unsigned long long begin = now();
  float4* const from = memory == nullptr ? held : memory + blockIdx.x * packs_of_block;
  const std::int64_t half = packs_of_block / 2;
  std::int64_t at = 0;
  unsigned long long pieces = 0;
  volatile Said& mine = signals.said[blockIdx.x];
  if (threadIdx.x == 0) {
    mine.begun = 1;
    __threadfence_system();
  }
  while (true) {
    if (threadIdx.x == 0) {
      const bool expired = now() - begin > most;
      over = expired || *static_cast<volatile int*>(signals.end) != 0 ? 1 : 0;
      if (expired) {
        mine.expired = 1;
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
    mine.pieces = pieces;
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
    : blocks_(multiprocessors), load_(load), signals_(bytes_of_signals(multiprocessors)) {
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
    *static_cast<volatile int*>(signals_in(signals_, blocks_).end) = 1;
    static_cast<void>(cudaDeviceSynchronize());
  }
}

void Occupier::begin(Stream stream) {
  const Signals signals = signals_in(signals_, blocks_);
  std::memset(signals_.data(), 0, static_cast<std::size_t>(signals_.bytes()));
  const auto packs = kMemory / static_cast<std::int64_t>(sizeof(float4)) / blocks_;
  occupy_kernel<<<static_cast<unsigned>(blocks_), kThreads, static_cast<std::size_t>(shared_),
                  stream>>>(signals, memory_.as<float4>(), packs,
                            static_cast<unsigned long long>(kMostSeconds / kNano));
  check_launch("a kernel that holds multiprocessors");
  running_ = true;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const volatile Said* const said = signals.said;
  const auto all_run = [&] {
    return std::all_of(said, said + blocks_,
                       [](const volatile Said& one) { return one.begun != 0; });
  };
  while (!all_run()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(ErrorKind::device, "multiprocessors that should be held are not free");
    }
  }
  begun_ = std::chrono::steady_clock::now();
}

void Occupier::end(Stream stream) {
  const Signals signals = signals_in(signals_, blocks_);
  const auto held = std::chrono::steady_clock::now() - begun_;
  *static_cast<volatile int*>(signals.end) = 1;
  check(cudaStreamSynchronize(stream), "end a kernel that holds multiprocessors");
  running_ = false;
  unsigned long long pieces = 0;
  for (int block = 0; block < blocks_; ++block) {
    const Said& said = signals.said[block];
    if (said.expired != 0) {
      throw Error(ErrorKind::device,
                  "what should hold multiprocessors ended before the measurement");
    }
    pieces += said.pieces;
  }
  constexpr double kBytesOfPiece = 2.0 * kPacks * kThreads * sizeof(float4);  // read and written
  const double seconds = std::chrono::duration<double>(held).count();
  moved_ = seconds > 0.0 ? static_cast<double>(pieces) * kBytesOfPiece / seconds : 0.0;
}

namespace {

struct Stamp {
  unsigned long long cycles;
  unsigned long long nanoseconds;
};

__global__ void stamp_kernel(volatile Stamp* stamp) {
  unsigned multiprocessor = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor == 0) {
    unsigned long long nanoseconds = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    stamp->nanoseconds = nanoseconds;
    stamp->cycles = static_cast<unsigned long long>(clock64());
  }
}

void enqueue(Stamp* stamp, int multiprocessors, Stream stream) {
  stamp_kernel<<<static_cast<unsigned>(multiprocessors), 1, 0, stream>>>(stamp);
  check_launch("a stamp of the clock");
}

}  // namespace

ClockProbe::ClockProbe() : stamps_(2 * static_cast<std::int64_t>(sizeof(Stamp))) {
  int device = 0;
  check(cudaGetDevice(&device), "ask which GPU is current");
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
        "count the multiprocessors");
  stamps_.as<Stamp>()[0] = stamps_.as<Stamp>()[1] = Stamp{0, 0};
}

void ClockProbe::begin(Stream stream) const {
  enqueue(stamps_.as<Stamp>(), multiprocessors_, stream);
}

void ClockProbe::end(Stream stream) const {
  enqueue(stamps_.as<Stamp>() + 1, multiprocessors_, stream);
}

std::optional<double> ClockProbe::megahertz() const {
  const Stamp& first = stamps_.as<Stamp>()[0];
  const Stamp& last = stamps_.as<Stamp>()[1];
  if (first.nanoseconds == 0 || last.nanoseconds <= first.nanoseconds ||
      last.cycles <= first.cycles) {
    return std::nullopt;
  }
  const double seconds = static_cast<double>(last.nanoseconds - first.nanoseconds) * kNano;
  return static_cast<double>(last.cycles - first.cycles) / seconds / kMega;
}

}  // namespace orrery::kernels
