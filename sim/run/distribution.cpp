#include "sim/run/distribution.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/quantile.hpp"
#include "sim/run/theory.hpp"

namespace orrery::run {

namespace {

constexpr double kTail = 0.025;  // on each side of a 95 % interval

}  // namespace

Distribution::Distribution(std::vector<double> values) : sorted_(std::move(values)) {
  ORRERY_CHECK(!sorted_.empty(), "a distribution needs at least one value");
  const double n = static_cast<double>(sorted_.size());
  double sum = 0.0;
  for (const double value : sorted_) {
    sum += value;
  }
  mean_ = sum / n;
  double squares = 0.0;
  for (const double value : sorted_) {
    squares += (value - mean_) * (value - mean_);
  }
  standard_deviation_ = sorted_.size() > 1 ? std::sqrt(squares / (n - 1.0)) : 0.0;
  std::sort(sorted_.begin(), sorted_.end());
}

double Distribution::quantile(double q) const {
  ORRERY_CHECK(q >= 0.0 && q <= 1.0 && !sorted_.empty(), "quantile {} of {} values", q, count());
  return quantile_of_sorted(sorted_, q);
}

Interval Distribution::ci95_of_quantile(double q) const {
  ORRERY_CHECK(q >= 0.0 && q <= 1.0 && !sorted_.empty(), "quantile {} of {} values", q, count());
  // B = number of values below the true quantile ~ Binomial(n, q). x(l) (1-based) lies above it
  // with P(B < l), x(u) below it with P(B >= u).
  const std::int64_t n = count();
  const std::int64_t lower = binomial_quantile(n, q, kTail);
  const std::int64_t upper = binomial_quantile(n, q, 1.0 - kTail) + 1;
  const auto at = [&](std::int64_t rank) {
    return sorted_[static_cast<std::size_t>(std::clamp<std::int64_t>(rank, 1, n) - 1)];
  };
  return {at(lower), at(upper)};
}

Interval Distribution::ci95_of_mean() const {
  if (sorted_.size() < 2) {
    return {mean_, mean_};
  }
  const double n = static_cast<double>(sorted_.size());
  const boost::math::students_t_distribution<double> law(n - 1.0);
  const double half = boost::math::quantile(law, 1.0 - kTail) * standard_deviation_ / std::sqrt(n);
  return {mean_ - half, mean_ + half};
}

std::int64_t Distribution::count_below(double x) const {
  return std::lower_bound(sorted_.begin(), sorted_.end(), x) - sorted_.begin();
}

Interval ci95_of_fraction(std::int64_t successes, std::int64_t trials) {
  ORRERY_CHECK(trials >= 1 && successes >= 0 && successes <= trials,
               "{} successes in {} trials",
               successes,
               trials);
  const double k = static_cast<double>(successes);
  const double n = static_cast<double>(trials);
  Interval result{0.0, 1.0};
  if (successes > 0) {
    const boost::math::beta_distribution<double> law(k, n - k + 1.0);
    result.low = boost::math::quantile(law, kTail);
  }
  if (successes < trials) {
    const boost::math::beta_distribution<double> law(k + 1.0, n - k);
    result.high = boost::math::quantile(law, 1.0 - kTail);
  }
  return result;
}

}  // namespace orrery::run
