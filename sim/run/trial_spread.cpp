#include "sim/run/trial_spread.hpp"

#include <algorithm>
#include <bit>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

// Enough trials per chunk to hide the hand-out, few enough to use all cores and to stop soon.
constexpr std::int64_t kLeastPerChunk = 16;
constexpr std::int64_t kMostChunks = 8192;

constexpr int kDroppedBits = 52 - 14;  // of the mantissa

// Rounded to the nearest number with 14 bits of mantissa; of two the upper one.
std::uint64_t rounded_bits(double value) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << (kDroppedBits - 1);
  return (std::bit_cast<std::uint64_t>(value) + kHalf) >> kDroppedBits;
}

double value_of(std::uint64_t bits) {
  return std::bit_cast<double>(bits << kDroppedBits);
}

std::int64_t quotient_above(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

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
