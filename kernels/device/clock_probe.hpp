#pragma once

// Measures the clock of the multiprocessors between two points of a stream. It counts on the
// device, because NVML's clock lags by tens of milliseconds.
//
//   clock = cycles of one multiprocessor / nanoseconds of the global timer
//
// Each point is a kernel of one thread per multiprocessor, some 2 us, outside of what is timed. The
// global timer moves in steps of up to 1 us: 0.1 % of a replay of 2 ms.
// Source: nvbench measures its clock in the same way (nvbench/detail/gpu_frequency.cxx).

#include <optional>

#include "kernels/device/memory.hpp"

namespace orrery::kernels {

class ClockProbe {
 public:
  ClockProbe();

  void begin(Stream stream) const;
  void end(Stream stream) const;

  // MHz, once the stream has passed end(); nothing where no block came to multiprocessor 0.
  [[nodiscard]] std::optional<double> megahertz() const;

 private:
  PinnedBuffer stamps_;  // cycles and nanoseconds, at begin and at end
  int multiprocessors_ = 0;
};

}  // namespace orrery::kernels
