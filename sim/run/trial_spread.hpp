#pragma once

// Storage of the results of very many trials in little memory, with the same bits for any number of
// threads.
//
//   up to kMostExact trials  every value, in its slot: quantiles are exact
//   beyond                   counts of the values rounded to 14 bits of mantissa: a quantile is off
//                            by at most 2^-15 = 0.003 % of itself (whole numbers up to 16,384 are
//                            exact); mean and deviation are those of the values before rounding
//
// symbol   | meaning                                                          | unit | origin
// ---------|------------------------------------------------------------------|------|--------
// quantity | what is kept of a trial: wall time, goodput, ...                 | -    | caller
// chunk    | consecutive trials that one thread runs, by the number of trials | -    | computed
//
// Chunks do not depend on the threads. Counts are integers, so their order does not matter; sums of
// the values of a chunk are joined in the order of the chunks. Memory: 8 B per quantity and trial
// up to kMostExact, then 16 B per distinct value and 24 B per chunk, both per quantity.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/run/distribution.hpp"

namespace orrery::run {

class TrialSpread {
 public:
  static constexpr std::int64_t kMostExact = std::int64_t{1} << 17;

  // Of a quantity that a trial does not have.
  static constexpr double kNone = -1.0;

  TrialSpread(std::int64_t trials, std::size_t quantities);

  [[nodiscard]] std::int64_t chunks() const {
    return chunks_;
  }

  // Trials of a chunk but the last.
  [[nodiscard]] std::int64_t chunk_size() const {
    return chunk_size_;
  }

  // The quantities of all trials of a chunk, one after the other; values are at least 0, or kNone.
  // From any thread.
  void put(std::int64_t chunk, std::span<const double> values);

  // Nothing when no trial has the quantity. All chunks are there.
  [[nodiscard]] std::optional<Distribution> distribution(std::size_t quantity) const;

 private:
  using Counts = std::unordered_map<std::uint64_t, std::int64_t>;

  const std::int64_t trials_;
  const std::size_t quantities_;
  const bool exact_;
  const std::int64_t chunk_size_;
  const std::int64_t chunks_;
  std::vector<double> values_;    // by trial and quantity, when exact
  std::vector<Moments> moments_;  // by chunk and quantity, else
  std::vector<Counts> counts_;    // by quantity, of rounded values
  std::mutex mutex_;              // of the counts
};

}  // namespace orrery::run
