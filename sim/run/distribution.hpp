#pragma once

// How is a quantity spread over the trials, and how well is that known?
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

#include <cstdint>
#include <vector>

namespace orrery::run {

struct Interval {
  double low = 0.0;
  double high = 0.0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

class Distribution {
 public:
  Distribution() = default;

  // Values in trial order; at least one.
  explicit Distribution(std::vector<double> values);

  // 0 <= q <= 1.
  [[nodiscard]] double quantile(double q) const;
  [[nodiscard]] Interval ci95_of_quantile(double q) const;

  [[nodiscard]] double mean() const {
    return mean_;
  }

  // Sample standard deviation, 0 for a single trial.
  [[nodiscard]] double standard_deviation() const {
    return standard_deviation_;
  }

  [[nodiscard]] Interval ci95_of_mean() const;

  // How many values are below x.
  [[nodiscard]] std::int64_t count_below(double x) const;

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(sorted_.size());
  }

  [[nodiscard]] const std::vector<double>& sorted() const {
    return sorted_;
  }

  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  std::vector<double> sorted_;
  double mean_ = 0.0;
  double standard_deviation_ = 0.0;
};

// For `successes` of `trials`, trials >= 1.
[[nodiscard]] Interval ci95_of_fraction(std::int64_t successes, std::int64_t trials);

}  // namespace orrery::run
