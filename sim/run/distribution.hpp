#pragma once

// The distribution of a quantity over the trials, with confidence intervals.
//
//   quantile(q)      = x[h] + (h - floor h)(x[h + 1] - x[h]),  h = (n - 1) q     ("type 7")
//   ci95_of_quantile = [x(l), x(u)] with P(l <= Binomial(n, q) < u) >= 0.95, tails <= 2.5 % each
//   ci95_of_mean     = mean -+ t(0.975, n - 1) s / sqrt(n)
//   ci95_of_fraction = Clopper-Pearson for k of n
//
// symbol | meaning                                           | unit  | origin
// -------|---------------------------------------------------|-------|------------------
// x      | values of the trials in ascending order           | -     | Monte Carlo
// n      | trials                                            | -     | simulation.trials
// s      | sample standard deviation                         | -     | computed
//
// Quantiles follow the convention of NumPy and R's default. Their intervals are order statistics
// and hold for any law. Where n is too small for such an interval (n = 20 for q = 0.9, say), the
// outermost value stands in: the interval then covers less than 95 %. Sums run in trial order, so
// the mean is the same for any number of threads.
//
// Equal values are stored once, with their number, where a distribution is built from counts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace orrery::run {

struct Interval {
  double low = 0.0;
  double high = 0.0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// A value that occurs `count` times.
struct CountedValue {
  double value = 0.0;
  std::int64_t count = 0;
};

// Number, mean and sum of squared deviations of values; two sets of values can be joined.
struct Moments {
  std::int64_t count = 0;
  double mean = 0.0;
  double squares = 0.0;

  void add(double value);
  void add(const Moments& later);
};

class Distribution {
 public:
  Distribution() = default;

  // Values in trial order; at least one.
  explicit Distribution(std::vector<double> values);

  // Of counted values in any order, at least one; `moments` are those of the values themselves,
  // which the counted ones may have been rounded from.
  Distribution(std::vector<CountedValue> values, const Moments& moments);

  // 0 <= q <= 1.
  [[nodiscard]] double quantile(double q) const;
  [[nodiscard]] Interval ci95_of_quantile(double q) const;

  [[nodiscard]] double mean() const { return mean_; }

  // Sample standard deviation, 0 for a single trial.
  [[nodiscard]] double standard_deviation() const { return standard_deviation_; }

  [[nodiscard]] Interval ci95_of_mean() const;

  // How many values are below x.
  [[nodiscard]] std::int64_t count_below(double x) const;

  // For how many values `holds(value)` is true.
  template <typename Predicate>
  [[nodiscard]] std::int64_t count_if(Predicate holds) const {
    std::int64_t hits = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      hits += holds(values_[i]) ? count_of(i) : 0;
    }
    return hits;
  }

  // The distribution of function(value).
  template <typename Function>
  [[nodiscard]] Distribution mapped(Function function) const {
    if (upto_.empty()) {
      std::vector<double> images(values_.size());
      std::transform(values_.begin(), values_.end(), images.begin(), function);
      return Distribution(std::move(images));
    }
    std::vector<CountedValue> images;
    images.reserve(values_.size());
    Moments moments;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double image = function(values_[i]);
      images.push_back({image, count_of(i)});
      moments.add(Moments{count_of(i), image, 0.0});
    }
    return Distribution(std::move(images), moments);
  }

  [[nodiscard]] std::int64_t count() const {
    return upto_.empty() ? static_cast<std::int64_t>(values_.size()) : upto_.back();
  }

  // The least and the greatest value; of at least one.
  [[nodiscard]] double least() const { return values_.front(); }

  [[nodiscard]] double greatest() const { return values_.back(); }

  // Ascending; a value that is held once for many trials stands here once.
  [[nodiscard]] const std::vector<double>& sorted() const { return values_; }

  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  [[nodiscard]] std::int64_t count_of(std::size_t index) const {
    if (upto_.empty()) {
      return 1;
    }
    return upto_[index] - (index == 0 ? 0 : upto_[index - 1]);
  }

  // The value of rank 0 <= rank < count().
  [[nodiscard]] double at_rank(std::int64_t rank) const;

  std::vector<double> values_;      // ascending
  std::vector<std::int64_t> upto_;  // values up to and with this one; empty: each occurs once
  double mean_ = 0.0;
  double standard_deviation_ = 0.0;
};

// For `successes` of `trials`, trials >= 1.
[[nodiscard]] Interval ci95_of_fraction(std::int64_t successes, std::int64_t trials);

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

class TrialSpread {
 public:
  static constexpr std::int64_t kMostExact = std::int64_t{1} << 17;

  // Of a quantity that a trial does not have.
  static constexpr double kNone = -1.0;

  TrialSpread(std::int64_t trials, std::size_t quantities);

  [[nodiscard]] std::int64_t chunks() const { return chunks_; }

  // Trials of a chunk but the last.
  [[nodiscard]] std::int64_t chunk_size() const { return chunk_size_; }

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
