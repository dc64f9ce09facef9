#include "tests/bench/limits.hpp"

#include <algorithm>
#include <ctime>
#include <numeric>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/base/units.hpp"

namespace orrery::bench {

namespace {

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

double thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * kGiga + static_cast<double>(now.tv_nsec);
}

// Sattolo's algorithm: a random permutation that is a single cycle, so that no part of the
// footprint is left out.
PointerChase::PointerChase(std::size_t footprint_bytes)
    : lines_(std::max<std::size_t>(footprint_bytes / kLineBytes, 2)) {
  std::vector<std::uint64_t> order(lines_.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  RandomStream random(1, 0, Purpose::property_test);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(random.uniform_int(i))]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    lines_[i].next = order[i];
  }
}

double PointerChase::sample(std::size_t loads) {
  const double begin = thread_cpu_ns();
  std::uint64_t position = position_;
  for (std::size_t i = 0; i < loads; ++i) {
    position = lines_[static_cast<std::size_t>(position)].next;
  }
  position_ = position;
  benchmark::DoNotOptimize(position_);
  return (thread_cpu_ns() - begin) / static_cast<double>(loads);
}

Triad::Triad(std::size_t footprint_bytes)
    : a_(footprint_bytes / (3 * sizeof(double)), 0.0), b_(a_.size(), 1.0), c_(a_.size(), 2.0) {}

double Triad::sample(std::size_t sweeps) {
  constexpr double kBytesPerElement = 4 * sizeof(double);  // two loads, a store, its fetch
  const double begin = thread_cpu_ns();
  for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      a_[i] = b_[i] + 3.0 * c_[i];
    }
    benchmark::ClobberMemory();
  }
  return (thread_cpu_ns() - begin) / (kBytesPerElement * static_cast<double>(a_.size() * sweeps));
}

void compare_with_limit(benchmark::State& state, const std::function<double()>& subject,
                        const std::function<double()>& limit) {
  std::vector<double> subjects;
  std::vector<double> limits;
  for ([[maybe_unused]] auto iteration : state) {
    subjects.push_back(subject());
    limits.push_back(limit());
    state.SetIterationTime(subjects.back() * kNano);
  }
  state.counters["ns"] = median(subjects);
  state.counters["limit_ns"] = median(limits);
  state.counters["x_limit"] = median(subjects) / median(limits);
}

}  // namespace orrery::bench
