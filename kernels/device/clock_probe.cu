#include <cuda_runtime_api.h>

#include "kernels/device/clock_probe.hpp"
#include "kernels/device/status.hpp"
#include "sim/base/units.hpp"

namespace orrery::kernels {

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
