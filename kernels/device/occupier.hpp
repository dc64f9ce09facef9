#pragma once

// Occupies n multiprocessors with a kernel that runs until it is told to end, as the kernel of a
// collective does, to measure what other kernels lose.
//
//   one block per multiprocessor: it asks for all of the shared memory that a block may have, so
//   that no block of a product fits beside it
//
// load     | what the blocks do meanwhile
// ---------|--------------------------------------------------------------------------
// spins    | sleep and poll for the end: only the multiprocessors are taken
// streams  | copy memory: bandwidth is taken too; moved() says how much
//
// Assumption: products need shared memory, as all of cuBLAS's do on these GPUs. A kernel without
// any may share a multiprocessor with a block that holds it.
// It ends itself after kMostSeconds, so that a program that forgets it does not hang; what was
// timed is then no evidence, and end() throws.

#include <chrono>
#include <optional>

#include "kernels/device/runtime.hpp"

namespace orrery::kernels {

class Occupier {
 public:
  enum class Load { spins, streams };

  // Throws Unsupported where the GPU has no more than `multiprocessors`.
  Occupier(int multiprocessors, Load load);
  Occupier(const Occupier&) = delete;
  Occupier& operator=(const Occupier&) = delete;
  ~Occupier();

  // Returns when every block runs. Between begin() and end() nothing may wait for the whole device.
  void begin(Stream stream);

  // Tells the blocks to end and waits for them. Throws Error(device) when they ended before.
  void end(Stream stream);

  // Byte/s read and written between begin() and end().
  [[nodiscard]] double moved() const { return moved_; }

 private:
  int blocks_;
  Load load_;
  int shared_ = 0;        // bytes
  PinnedBuffer signals_;  // of the host to the blocks and back
  DeviceBuffer memory_;   // what they copy
  std::chrono::steady_clock::time_point begun_;
  bool running_ = false;
  double moved_ = 0.0;
};

// Measures the clock of the multiprocessors between two points of a stream. It counts on the
// device, because NVML's clock lags by tens of milliseconds.
//
//   clock = cycles of one multiprocessor / nanoseconds of the global timer
//
// Each point is a kernel of one thread per multiprocessor, some 2 us, outside of what is timed. The
// global timer moves in steps of up to 1 us: 0.1 % of a replay of 2 ms.
// Source: nvbench measures its clock in the same way (nvbench/detail/gpu_frequency.cxx).

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
