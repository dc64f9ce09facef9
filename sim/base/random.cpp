#include "sim/base/random.hpp"

#include <Random123/philox.h>

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery {

namespace {

constexpr int kWordBits = 32;
constexpr int kMantissaShift = 11;
constexpr int kCentreShift = 12;
constexpr double kTwoToMinus53 = 0x1.0p-53;
constexpr double kTwoToMinus52 = 0x1.0p-52;
constexpr double kSqrt2 = 1.41421356237309504880;

}  // namespace

RandomStream::RandomStream(std::uint64_t seed,
                           std::uint32_t trial,
                           Purpose purpose,
                           std::uint32_t entity)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> kWordBits)},
      counter_{0, entity, trial, static_cast<std::uint32_t>(purpose)} {}

void RandomStream::refill() {
  const r123::Philox4x32::ctr_type counter = {{counter_[0], counter_[1], counter_[2], counter_[3]}};
  const r123::Philox4x32::key_type key = {{key_[0], key_[1]}};
  const r123::Philox4x32::ctr_type out = r123::Philox4x32()(counter, key);
  block_[1] = (static_cast<std::uint64_t>(out[1]) << kWordBits) | out[0];
  block_[0] = (static_cast<std::uint64_t>(out[3]) << kWordBits) | out[2];
  ++counter_[0];
  ORRERY_CHECK(counter_[0] != 0, "random stream exhausted: more than 2^33 draws from one stream");
  available_ = 2;
}

std::uint64_t RandomStream::next_u64() {
  if (available_ == 0) {
    refill();
  }
  --available_;
  return block_[static_cast<std::size_t>(available_)];
}

double RandomStream::uniform01() {
  return static_cast<double>(next_u64() >> kMantissaShift) * kTwoToMinus53;
}

Seconds RandomStream::exponential(Seconds mean) {
  return mean * -std::log1p(-uniform01());
}

Seconds RandomStream::weibull(Seconds scale, double shape) {
  return scale * std::pow(-std::log1p(-uniform01()), 1.0 / shape);
}

double RandomStream::normal() {
  // Centre of one of 2^52 cells: exact in a double, so that neither end of (0, 1) is ever reached.
  const double u = (static_cast<double>(next_u64() >> kCentreShift) + 0.5) * kTwoToMinus52;
  return -kSqrt2 * boost::math::erfc_inv(2.0 * u);
}

Seconds RandomStream::lognormal(Seconds median, double sigma) {
  return median * std::exp(sigma * normal());
}

std::uint64_t RandomStream::uniform_int(std::uint64_t bound) {
  ORRERY_CHECK(bound >= 1, "uniform_int needs a bound of at least 1");
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t draw = next_u64();
  while (draw >= limit) {
    draw = next_u64();
  }
  return draw % bound;
}

}  // namespace orrery
