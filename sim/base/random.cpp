#include "sim/base/random.hpp"

#include <Random123/philox.h>

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery {

namespace {

constexpr int kWordBits = 32;
constexpr int kCentreShift = 12;
constexpr double kTwoToMinus52 = 0x1.0p-52;
constexpr double kSqrt2 = 1.41421356237309504880;

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::uint32_t trial, Purpose purpose,
                           std::uint32_t entity)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> kWordBits)},
      counter_{0, entity, trial, static_cast<std::uint32_t>(purpose)} {}

// Few streams are drawn from often: the others pay for what they use.
void RandomStream::refill() {
  constexpr std::uint32_t kSingle = 2;
  const std::size_t blocks = counter_[0] < kSingle ? 1 : kBlocksAhead;
  ORRERY_CHECK(counter_[0] <= UINT32_MAX - blocks,
               "random stream exhausted: more than 2^33 draws from one stream");
  const r123::Philox4x32::key_type key = {{key_[0], key_[1]}};
  for (std::size_t block = 0; block < blocks; ++block) {
    const r123::Philox4x32::ctr_type counter = {
        {counter_[0]++, counter_[1], counter_[2], counter_[3]}};
    const r123::Philox4x32::ctr_type out = r123::Philox4x32()(counter, key);
    drawn_[2 * block] = (static_cast<std::uint64_t>(out[1]) << kWordBits) | out[0];
    drawn_[2 * block + 1] = (static_cast<std::uint64_t>(out[3]) << kWordBits) | out[2];
  }
  next_ = 0;
  end_ = 2 * blocks;
}

Seconds RandomStream::exponential(Seconds mean) { return mean * -std::log1p(-uniform01()); }

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
