#pragma once

// Keeps the GPU busy while the host prepares the next case: replays of a large product on a
// separate stream, launched by a separate thread. Without them every case would start from the
// clock of an idle GPU, and exceed for a while what the power limit allows later.
//
// Two replays of some 4 ms are enqueued ahead: memory may be freed meanwhile, which waits for them.

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>

#include "kernels/device/runnable.hpp"
#include "kernels/device/stream.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibrate {

class Filler {
 public:
  // Calls of `load` on GPU `device`.
  Filler(int device, std::unique_ptr<kernels::Runnable> load);
  ~Filler();
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  void start();

  // Waits until nothing of it runs. Throws what a replay threw.
  void stop();

  // Ends it in such a way that `stream` goes on where it ends, without a rest.
  void hand_over(kernels::Stream stream);

  // How long it has run since the GPU last rested, as rested() says.
  [[nodiscard]] Seconds loaded() const {
    return loaded_;
  }

  void rested() {
    loaded_ = Seconds{};
  }

 private:
  void run(const std::stop_token& stopped);
  void finish();

  int device_;
  std::unique_ptr<kernels::Runnable> load_;
  kernels::OwnedStream stream_;
  std::unique_ptr<kernels::Graph> graph_;
  std::array<kernels::Event, 2> ends_;
  std::size_t enqueued_ = 0;  // replays since start()
  std::chrono::steady_clock::time_point begun_;
  Seconds loaded_;
  std::exception_ptr trouble_;
  std::jthread thread_;  // the last member: it uses all others
};

}  // namespace orrery::calibrate
