#pragma once

// Limits of this machine, measured in the same process as the subject, so that a benchmark reports
// a ratio that stays valid on another machine and beside busy neighbours.
//
// symbol         | meaning                                                    | unit | origin
// ---------------|------------------------------------------------------------|------|---------
// dependent load | one load whose address is the result of the load before    | ns   | measured
// triad          | a[i] = b[i] + s c[i]; 24 bytes and 8 of write-allocate     | ns   | measured
// sample         | CPU time of this thread per unit of work: time lost to     | ns   | measured
//                | neighbours does not count, the caches they took do         |      |
//
// Subject and limit are sampled in turn, and the medians of both are compared: a disturbance that
// lasts hits both. The triad is that of McCalpin's STREAM; unlike there, the line that a store
// fetches before it writes is counted, for the limit and for the subject.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace orrery::bench {

// CPU time of the calling thread.
[[nodiscard]] double thread_cpu_ns();

// A random cycle through cache lines of the given footprint.
class PointerChase {
 public:
  explicit PointerChase(std::size_t footprint_bytes);

  // ns per dependent load, over `loads` of them.
  [[nodiscard]] double sample(std::size_t loads);

 private:
  static constexpr std::size_t kLineBytes = 64;

  struct alignas(kLineBytes) Line {
    std::uint64_t next = 0;
  };

  std::vector<Line> lines_;
  std::uint64_t position_ = 0;
};

// Three arrays that have the given footprint together.
class Triad {
 public:
  explicit Triad(std::size_t footprint_bytes);

  // ns per byte moved, write-allocate included, over so many sweeps.
  [[nodiscard]] double sample(std::size_t sweeps);

 private:
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
};

// Runs `subject` and `limit` in turn once per iteration; both return ns per unit of work. Sets the
// counters ns, limit_ns and x_limit (their ratio) to medians over the iterations. For benchmarks
// registered with UseManualTime(): the time shown is the mean of the subject, per unit of work.
void compare_with_limit(benchmark::State& state, const std::function<double()>& subject,
                        const std::function<double()>& limit);

}  // namespace orrery::bench
