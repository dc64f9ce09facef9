#pragma once

// Double-entry accounting of GPU time: every GPU-second is booked to one category.
//
//   sum over categories of cells[c] == allocated GPUs integrated over wall time, exactly
//
// symbol   | meaning                              | unit   | origin
// ---------|--------------------------------------|--------|------------------------------
// cells[c] | GPU-nanoseconds booked to category c | GPU ns | book(category, gpus, wall time)
//
// 16,384 GPUs x 54 days is 7.6e19 GPU ns, beyond int64: cells are 128-bit integers, so sums are
// exact and independent of the order of booking. Category is an enum class whose last enumerator is
// `count_`.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"

namespace orrery {

__extension__ using Int128 = __int128;

template <typename Category>
class Ledger {
 public:
  static constexpr std::size_t kCategories = static_cast<std::size_t>(Category::count_);

  void book(Category category, std::int64_t gpus, SimTime wall) {
    cells_[static_cast<std::size_t>(category)] +=
        static_cast<Int128>(gpus) * static_cast<Int128>(wall.ns);
  }

  void book(Category category, Int128 gpu_nanoseconds) {
    cells_[static_cast<std::size_t>(category)] += gpu_nanoseconds;
  }

  [[nodiscard]] Int128 gpu_nanoseconds(Category category) const {
    return cells_[static_cast<std::size_t>(category)];
  }

  [[nodiscard]] Int128 total() const {
    Int128 sum = 0;
    for (const Int128 cell : cells_) {
      sum += cell;
    }
    return sum;
  }

  // GPU-seconds of one category as a double, for display and dollars.
  [[nodiscard]] Seconds gpu_time(Category category) const {
    return seconds(static_cast<double>(gpu_nanoseconds(category)) /
                   static_cast<double>(kNanosecondsPerSecond));
  }

  [[nodiscard]] Seconds total_gpu_time() const {
    return seconds(static_cast<double>(total()) / static_cast<double>(kNanosecondsPerSecond));
  }

  // Fraction of the total, 0 when the ledger is empty.
  [[nodiscard]] double share(Category category) const {
    const auto all = static_cast<double>(total());
    return all > 0.0 ? static_cast<double>(gpu_nanoseconds(category)) / all : 0.0;
  }

  Ledger& operator+=(const Ledger& other) {
    for (std::size_t i = 0; i < kCategories; ++i) {
      cells_[i] += other.cells_[i];
    }
    return *this;
  }

  friend bool operator==(const Ledger&, const Ledger&) = default;

 private:
  std::array<Int128, kCategories> cells_{};
};

}  // namespace orrery
