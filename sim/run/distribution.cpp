#include "sim/run/distribution.hpp"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/quantile.hpp"
#include "sim/run/theory/theory.hpp"

namespace orrery::run {

namespace {

constexpr double kTail = 0.025;  // on each side of a 95 % interval

// Enough trials per chunk to hide the hand-out, few enough to use all cores and to stop soon.
constexpr std::int64_t kLeastPerChunk = 16;
constexpr std::int64_t kMostChunks = 8192;

constexpr int kDroppedBits = 52 - 14;  // of the mantissa

// Rounded to the nearest number with 14 bits of mantissa; of two the upper one.
std::uint64_t rounded_bits(double value) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << (kDroppedBits - 1);
  return (std::bit_cast<std::uint64_t>(value) + kHalf) >> kDroppedBits;
}

double value_of(std::uint64_t bits) { return std::bit_cast<double>(bits << kDroppedBits); }

std::int64_t quotient_above(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

void Moments::add(double value) {
  ++count;
  const double before = value - mean;
  mean += before / static_cast<double>(count);
  squares += before * (value - mean);
}

void Moments::add(const Moments& later) {
  if (later.count == 0) {
    return;
  }
  const auto mine = static_cast<double>(count);
  const auto others = static_cast<double>(later.count);
  const double apart = later.mean - mean;
  mean += apart * (others / (mine + others));
  squares += later.squares + apart * apart * (mine * others / (mine + others));
  count += later.count;
}

Distribution::Distribution(std::vector<double> values) : values_(std::move(values)) {
  ORRERY_CHECK(!values_.empty(), "a distribution needs at least one value");
  const double n = static_cast<double>(values_.size());
  double sum = 0.0;
  for (const double value : values_) {
    sum += value;
  }
  mean_ = sum / n;
  double squares = 0.0;
  for (const double value : values_) {
    squares += (value - mean_) * (value - mean_);
  }
  standard_deviation_ = values_.size() > 1 ? std::sqrt(squares / (n - 1.0)) : 0.0;
  std::ranges::sort(values_);
}

Distribution::Distribution(std::vector<CountedValue> values, const Moments& moments)
    : mean_(moments.mean) {
  std::ranges::sort(values, {}, &CountedValue::value);
  std::int64_t before = 0;
  for (const CountedValue& counted : values) {
    before += counted.count;
    values_.push_back(counted.value);
    upto_.push_back(before);
  }
  ORRERY_CHECK(before >= 1 && before == moments.count, "{} counted values with the moments of {}",
               before, moments.count);
  if (before > 1) {
    standard_deviation_ = std::sqrt(moments.squares / static_cast<double>(before - 1));
  }
}

double Distribution::at_rank(std::int64_t rank) const {
  if (upto_.empty()) {
    return values_[static_cast<std::size_t>(rank)];
  }
  const auto found = std::upper_bound(upto_.begin(), upto_.end(), rank);
  return values_[static_cast<std::size_t>(found - upto_.begin())];
}

double Distribution::quantile(double q) const {
  ORRERY_CHECK(q >= 0.0 && q <= 1.0 && !values_.empty(), "quantile {} of {} values", q, count());
  if (upto_.empty()) {
    return quantile_of_sorted(values_, q);
  }
  const double rank = static_cast<double>(count() - 1) * q;
  const auto below = static_cast<std::int64_t>(rank);
  const double low = at_rank(below);
  const double high = at_rank(std::min(below + 1, count() - 1));
  return low + (rank - static_cast<double>(below)) * (high - low);
}

Interval Distribution::ci95_of_quantile(double q) const {
  ORRERY_CHECK(q >= 0.0 && q <= 1.0 && !values_.empty(), "quantile {} of {} values", q, count());
  // B = number of values below the true quantile ~ Binomial(n, q). x(l) (1-based) lies above it
  // with P(B < l), x(u) below it with P(B >= u).
  const std::int64_t n = count();
  const std::int64_t lower = binomial_quantile(n, q, kTail);
  const std::int64_t upper = binomial_quantile(n, q, 1.0 - kTail) + 1;
  const auto at = [&](std::int64_t rank) {
    return at_rank(std::clamp<std::int64_t>(rank, 1, n) - 1);
  };
  return {at(lower), at(upper)};
}

Interval Distribution::ci95_of_mean() const {
  if (count() < 2) {
    return {mean_, mean_};
  }
  const double n = static_cast<double>(count());
  const boost::math::students_t_distribution<double> law(n - 1.0);
  const double half = boost::math::quantile(law, 1.0 - kTail) * standard_deviation_ / std::sqrt(n);
  return {mean_ - half, mean_ + half};
}

std::int64_t Distribution::count_below(double x) const {
  const auto index = std::lower_bound(values_.begin(), values_.end(), x) - values_.begin();
  return upto_.empty() || index == 0 ? index : upto_[static_cast<std::size_t>(index) - 1];
}

Interval ci95_of_fraction(std::int64_t successes, std::int64_t trials) {
  ORRERY_CHECK(trials >= 1 && successes >= 0 && successes <= trials, "{} successes in {} trials",
               successes, trials);
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

TrialSpread::TrialSpread(std::int64_t trials, std::size_t quantities)
    : trials_(trials),
      quantities_(quantities),
      exact_(trials <= kMostExact),
      chunk_size_(std::max(kLeastPerChunk, quotient_above(trials, kMostChunks))),
      chunks_(quotient_above(trials, chunk_size_)) {
  if (exact_) {
    values_.resize(static_cast<std::size_t>(trials) * quantities);
  } else {
    moments_.resize(static_cast<std::size_t>(chunks_) * quantities);
    counts_.resize(quantities);
  }
}

void TrialSpread::put(std::int64_t chunk, std::span<const double> values) {
  const auto first = static_cast<std::size_t>(chunk * chunk_size_) * quantities_;
  if (exact_) {
    std::copy(values.begin(), values.end(), values_.begin() + static_cast<std::ptrdiff_t>(first));
    return;
  }
  Moments* moments = &moments_[static_cast<std::size_t>(chunk) * quantities_];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != kNone) {
      moments[i % quantities_].add(values[i]);
    }
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != kNone) {
      ++counts_[i % quantities_][rounded_bits(values[i])];
    }
  }
}

std::optional<Distribution> TrialSpread::distribution(std::size_t quantity) const {
  if (exact_) {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(trials_));
    for (std::size_t i = quantity; i < values_.size(); i += quantities_) {
      if (values_[i] != kNone) {
        values.push_back(values_[i]);
      }
    }
    return values.empty() ? std::nullopt : std::optional<Distribution>(std::move(values));
  }
  Moments moments;
  for (std::size_t i = quantity; i < moments_.size(); i += quantities_) {
    moments.add(moments_[i]);
  }
  std::vector<CountedValue> counted;
  for (const auto& [bits, count] : counts_[quantity]) {
    counted.push_back({value_of(bits), count});
  }
  return counted.empty() ? std::nullopt
                         : std::optional<Distribution>(std::in_place, std::move(counted), moments);
}

}  // namespace orrery::run
