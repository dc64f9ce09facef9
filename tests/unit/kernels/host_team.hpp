#pragma once

// Runs the body of a kernel without a GPU: the Team that kernels/own/team.cuh describes, with a
// thread of the host for every thread of a block.
//
//   run_blocks     threads of a block run at once and wait for each other where the body does
//   run_threads    one thread after the other: for bodies that only share out work
//
// Blocks run one after the other. Results must not depend on it: blocks of a kernel never wait for
// each other.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "kernels/own/vector.hpp"
#include "sim/base/random.hpp"

namespace orrery::kernels {

// What every Team has: a place, and additions to memory that others add to.
struct HostPlace {
  int thread_index = 0;
  int thread_count = 1;
  std::int64_t block_index = 0;
  std::int64_t block_count = 1;

  [[nodiscard]] int thread() const { return thread_index; }

  [[nodiscard]] int threads() const { return thread_count; }

  [[nodiscard]] std::int64_t block() const { return block_index; }

  [[nodiscard]] std::int64_t blocks() const { return block_count; }

  void raise(std::uint32_t* place, float value) const {
    std::atomic_ref<std::uint32_t> shared(*place);
    std::uint32_t seen = shared.load();
    while (detail::from_bits(seen) < value &&
           !shared.compare_exchange_weak(seen, detail::to_bits(value))) {
    }
  }

  void add(float* place, const Lanes& lanes) const {
    for (int i = 0; i < kLanes; ++i) {
      std::atomic_ref<float> shared(place[i]);
      float seen = shared.load();
      while (!shared.compare_exchange_weak(seen, seen + lanes.value[i])) {
      }
    }
  }
};

// What the threads of a block share.
class HostBlock {
 public:
  explicit HostBlock(int threads) : slots_(static_cast<std::size_t>(threads)) {
    for (int width = 1; width <= threads; width *= 2) {
      std::vector<std::unique_ptr<std::barrier<>>> groups;
      for (int first = 0; first < threads; first += width) {
        groups.push_back(std::make_unique<std::barrier<>>(std::min(width, threads - first)));
      }
      barriers_.push_back(std::move(groups));
    }
    whole_ = std::make_unique<std::barrier<>>(threads);
  }

  void wait() { whole_->arrive_and_wait(); }

  void wait(int thread, int width) {
    std::size_t level = 0;
    while ((1 << level) < width) {
      ++level;
    }
    barriers_[level][static_cast<std::size_t>(thread / width)]->arrive_and_wait();
  }

  float& slot(int thread) { return slots_[static_cast<std::size_t>(thread)]; }

 private:
  std::vector<float> slots_;
  std::vector<std::vector<std::unique_ptr<std::barrier<>>>> barriers_;  // by log2 of the width
  std::unique_ptr<std::barrier<>> whole_;
};

class HostTeam : public HostPlace {
 public:
  HostTeam(HostPlace place, HostBlock& shared) : HostPlace(place), shared_(&shared) {}

  void barrier() const { shared_->wait(); }

  template <std::size_t kCount>
  void sum(float (&values)[kCount]) const {
    for (float& value : values) {
      shared_->slot(thread()) = value;
      barrier();
      value = 0.0F;
      for (int t = 0; t < threads(); ++t) {
        value += shared_->slot(t);
      }
      barrier();
    }
  }

  [[nodiscard]] float maximum(float value) const {
    shared_->slot(thread()) = value;
    barrier();
    for (int t = 0; t < threads(); ++t) {
      value = std::max(value, shared_->slot(t));
    }
    barrier();
    return value;
  }

  [[nodiscard]] float group_sum(float value, int width) const {
    return in_group(value, width, [](float a, float b) { return a + b; });
  }

  [[nodiscard]] float group_maximum(float value, int width) const {
    return in_group(value, width, [](float a, float b) { return std::max(a, b); });
  }

 private:
  template <typename Join>
  [[nodiscard]] float in_group(float value, int width, Join join) const {
    shared_->slot(thread()) = value;
    shared_->wait(thread(), width);
    const int first = thread() / width * width;
    value = shared_->slot(first);
    for (int t = first + 1; t < first + width; ++t) {
      value = join(value, shared_->slot(t));
    }
    shared_->wait(thread(), width);
    return value;
  }

  HostBlock* shared_;
};

template <typename Body>
void run_blocks(std::int64_t blocks, int threads, Body body) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    HostBlock shared(threads);
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&shared, &body, thread, threads, block, blocks] {
        HostTeam team({thread, threads, block, blocks}, shared);
        body(team);
      });
    }
    for (std::thread& each : running) {
      each.join();
    }
  }
}

template <typename Body>
void run_threads(std::int64_t blocks, int threads, Body body) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (int thread = 0; thread < threads; ++thread) {
      body(HostPlace{thread, threads, block, blocks});
    }
  }
}

// Random numbers as a kernel finds them in memory, and as the reference reads them.
template <typename T>
struct Operand {
  std::vector<T> stored;
  std::vector<double> values;

  [[nodiscard]] std::span<const double> row(std::size_t index, std::size_t columns) const {
    return std::span(values).subspan(index * columns, columns);
  }
};

template <typename T>
std::vector<double> doubles(const std::vector<T>& stored) {
  std::vector<double> values;
  for (const T& value : stored) {
    if constexpr (sizeof(T) == sizeof(float)) {
      values.push_back(static_cast<double>(value));
    } else {
      values.push_back(static_cast<double>(to_float(value)));
    }
  }
  return values;
}

template <typename T>
Operand<T> random_operand(std::size_t count, RandomStream& random, double scale = 1.0) {
  Operand<T> operand;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(scale * random.normal());
    if constexpr (sizeof(T) == sizeof(float)) {
      operand.stored.push_back(value);
    } else {
      operand.stored.push_back(from_float<T>(value));
    }
  }
  operand.values = doubles(operand.stored);
  return operand;
}

}  // namespace orrery::kernels
