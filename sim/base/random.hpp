#pragma once

// Counter-based random streams: a draw depends only on (seed, trial, purpose, entity, index), never
// on what was drawn before.
//
//   block(i) = Philox4x32-10(key = seed, counter = (i, entity, trial, purpose))
//
// symbol  | meaning                                            | unit | origin
// --------|----------------------------------------------------|------|-----------------
// seed    | simulation.seed of the scenario                    | -    | scenario
// trial   | Monte-Carlo trial number                           | -    | run
// purpose | what the draw is for; policies never share one     | -    | caller
// entity  | index of the component (cause, node, stage)        | -    | caller
// i       | index of the block inside the stream               | -    | this class
//
// A stream computes four blocks at once from its third on: they do not wait for one another.
//
// Changing one policy leaves the draws of all others in place, so A/B comparisons use common random
// numbers, and results are the same for any number of threads. Distributions are inversions of a
// 53-bit uniform (no std:: distributions: they differ between libraries); log and pow come from
// libm. Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11 (Random123).

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/base/units.hpp"

namespace orrery {

enum class Purpose : std::uint32_t {
  failure_time = 1,
  failure_cause = 2,
  detection = 3,
  diagnosis = 4,
  recovery = 5,
  repair = 6,
  gpu_speed = 7,
  node_speed = 8,
  property_test = 9,
  recovery_luck = 10,      // copies that survive, loads and restarts that fail
  disturbance = 11,        // factors, durations and detection of what does not stop the job
  calibration_order = 12,  // in which cases are measured
  node_pool = 20,
  spot = 21,
  node_number = 22,  // of the nodes that failures hit, in recorded trials
  sweep_point = 64,
};

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint32_t trial, Purpose purpose, std::uint32_t entity = 0);

  // Uniform on [0, 1) with 53 random bits.
  [[nodiscard]] double uniform01() {
    constexpr int kMantissaShift = 11;
    return static_cast<double>(next_u64() >> kMantissaShift) * 0x1.0p-53;
  }

  // Uniform on (0, 1]: safe for log().
  [[nodiscard]] double uniform01_open_zero() { return 1.0 - uniform01(); }

  // Exponential with the given mean, by inversion.
  [[nodiscard]] Seconds exponential(Seconds mean);

  // Weibull with the given scale and shape, by inversion.
  [[nodiscard]] Seconds weibull(Seconds scale, double shape);

  // Standard normal by inversion of the error function.
  [[nodiscard]] double normal();

  // exp(normal) with the given median and sigma of the logarithm.
  [[nodiscard]] Seconds lognormal(Seconds median, double sigma);

  // Uniform integer on [0, bound); bound >= 1. Rejection, so without bias.
  [[nodiscard]] std::uint64_t uniform_int(std::uint64_t bound);

  [[nodiscard]] std::uint64_t next_u64() {
    if (next_ == end_) [[unlikely]] {
      refill();
    }
    return drawn_[next_++];
  }

 private:
  static constexpr std::size_t kBlocksAhead = 4;

  void refill();

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint64_t, 2 * kBlocksAhead> drawn_{};
  std::size_t next_ = 0;  // of drawn_
  std::size_t end_ = 0;
};

}  // namespace orrery
