#include "sim/base/random.hpp"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/base/parallel.hpp"

namespace orrery {
namespace {

constexpr std::uint64_t kSeed = 20261121;

using Counter = r123::Philox4x32::ctr_type;
using Key = r123::Philox4x32::key_type;

struct KnownAnswer {
  Counter counter;
  Key key;
  Counter out;
};

// Published with Random123 (Salmon et al., SC11): philox4x32 with 10 rounds.
const std::array<KnownAnswer, 3> kKnownAnswers = {{
    {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     {{0xffffffff, 0xffffffff}},
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {{0xa4093822, 0x299f31d0}},
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
}};

std::vector<double> uniforms(RandomStream stream, int n) {
  std::vector<double> draws;
  draws.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    draws.push_back(stream.uniform01());
  }
  return draws;
}

TEST(Philox, GivesThePublishedKnownAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    EXPECT_EQ(r123::Philox4x32()(known.counter, known.key), known.out);
  }
}

TEST(RandomStream, ZeroStreamStartsWithTheFirstKnownAnswer) {
  // Counter (block 0, entity 0, trial 0, purpose 0), key 0: low word first.
  RandomStream stream(0, 0, Purpose{0}, 0);
  EXPECT_EQ(stream.next_u64(), 0xe169c58d6627e8d5U);
  EXPECT_EQ(stream.next_u64(), 0x9b00dbd8bc57ac4cU);
}

TEST(RandomStream, IsPhiloxOfSeedAndBlockEntityTrialPurpose) {
  constexpr std::uint64_t kKey = 0x299f31d0a4093822;
  RandomStream stream(kKey, 0x13198a2e, Purpose{0x03707344}, 0x85a308d3);
  for (std::uint32_t block = 0; block < 5; ++block) {
    const Counter out = r123::Philox4x32()(Counter{{block, 0x85a308d3, 0x13198a2e, 0x03707344}},
                                           Key{{0xa4093822, 0x299f31d0}});
    EXPECT_EQ(stream.next_u64(), (std::uint64_t{out[1]} << 32U) | out[0]) << "block " << block;
    EXPECT_EQ(stream.next_u64(), (std::uint64_t{out[3]} << 32U) | out[2]) << "block " << block;
  }
}

TEST(RandomStream, SameNameGivesSameDraws) {
  const RandomStream stream(kSeed, 3, Purpose::repair, 5);
  EXPECT_EQ(uniforms(stream, 100), uniforms(RandomStream(kSeed, 3, Purpose::repair, 5), 100));
}

// Streams that differ in one part of their name share no draw and are uncorrelated:
// the correlation of n independent uniform pairs has standard deviation 1/sqrt(n).
TEST(RandomStream, NeighbouringStreamsAreIndependent) {
  constexpr int kDraws = 40000;
  const std::vector<RandomStream> streams = {
      RandomStream(kSeed, 1, Purpose::failure_time, 1),
      RandomStream(kSeed + 1, 1, Purpose::failure_time, 1),
      RandomStream(kSeed + (std::uint64_t{1} << 32U), 1, Purpose::failure_time, 1),
      RandomStream(kSeed, 2, Purpose::failure_time, 1),
      RandomStream(kSeed, 1, Purpose::failure_cause, 1),
      RandomStream(kSeed, 1, Purpose::failure_time, 2),
  };
  std::vector<std::vector<double>> draws;
  std::set<double> distinct;
  for (const RandomStream& stream : streams) {
    draws.push_back(uniforms(stream, kDraws));
    distinct.insert(draws.back().begin(), draws.back().begin() + 1000);
  }
  EXPECT_EQ(distinct.size(), streams.size() * 1000);
  for (std::size_t a = 0; a < draws.size(); ++a) {
    for (std::size_t b = a + 1; b < draws.size(); ++b) {
      double covariance = 0.0;
      for (std::size_t i = 0; i < kDraws; ++i) {
        covariance += (draws[a][i] - 0.5) * (draws[b][i] - 0.5);
      }
      const double correlation = 12.0 * covariance / kDraws;
      EXPECT_LT(std::abs(correlation), 4.0 / std::sqrt(kDraws)) << "streams " << a << ", " << b;
    }
  }
}

TEST(RandomStream, UniformFillsSixtyFourBinsEvenly) {
  // Chi-square with 63 degrees of freedom: mean 63, standard deviation sqrt(126) = 11.2.
  constexpr int kBins = 64;
  constexpr int kPerBin = 4000;
  std::array<int, kBins> counts{};
  RandomStream stream(kSeed, 0, Purpose::property_test);
  double sum = 0.0;
  for (int i = 0; i < kBins * kPerBin; ++i) {
    const double u = stream.uniform01();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    ++counts[static_cast<std::size_t>(u * kBins)];
  }
  double chi_square = 0.0;
  for (const int count : counts) {
    chi_square += (count - kPerBin) * static_cast<double>(count - kPerBin) / kPerBin;
  }
  EXPECT_NEAR(chi_square, kBins - 1, 4.0 * std::sqrt(2.0 * (kBins - 1))) << "seed " << kSeed;
  constexpr double kDraws = kBins * kPerBin;
  EXPECT_NEAR(sum / kDraws, 0.5, 4.0 * std::sqrt(1.0 / 12.0 / kDraws)) << "seed " << kSeed;
}

TEST(RandomStream, OpenUniformNeverReachesZero) {
  RandomStream stream(kSeed, 1, Purpose::property_test);
  for (int i = 0; i < 100000; ++i) {
    const double u = stream.uniform01_open_zero();
    ASSERT_GT(u, 0.0);
    ASSERT_LE(u, 1.0);
  }
}

TEST(UniformInt, GivesEveryValueOfASmallRangeEquallyOften) {
  constexpr std::uint64_t kBound = 7;
  constexpr int kPerValue = 10000;
  std::array<int, kBound> counts{};
  RandomStream stream(kSeed, 2, Purpose::property_test);
  for (std::uint64_t i = 0; i < kBound * kPerValue; ++i) {
    ++counts.at(stream.uniform_int(kBound));
  }
  double chi_square = 0.0;
  for (const int count : counts) {
    chi_square += (count - kPerValue) * static_cast<double>(count - kPerValue) / kPerValue;
  }
  EXPECT_LT(chi_square, 6.0 + 4.0 * std::sqrt(12.0)) << "seed " << kSeed;
}

TEST(UniformInt, HasNoModuloBias) {
  // bound = 3 x 2^62: the plain remainder of a 64-bit draw would land below 2^62 in 1/2 of all
  // draws, because values below 2^62 are hit twice; without bias it is 1/3.
  constexpr std::uint64_t kQuarter = std::uint64_t{1} << 62U;
  constexpr int kDraws = 40000;
  RandomStream stream(kSeed, 3, Purpose::property_test);
  int below = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t draw = stream.uniform_int(3 * kQuarter);
    ASSERT_LT(draw, 3 * kQuarter);
    below += draw < kQuarter ? 1 : 0;
  }
  const double sigma = std::sqrt(1.0 / 3.0 * 2.0 / 3.0 / kDraws);
  EXPECT_NEAR(static_cast<double>(below) / kDraws, 1.0 / 3.0, 4.0 * sigma) << "seed " << kSeed;
}

TEST(UniformInt, OneValueLeavesNoChoice) {
  RandomStream stream(kSeed, 4, Purpose::property_test);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(stream.uniform_int(1), 0U);
  }
}

TEST(UniformIntDeathTest, AnEmptyRangeIsAProgrammingError) {
  RandomStream stream(kSeed, 5, Purpose::property_test);
  EXPECT_DEATH((void)stream.uniform_int(0), "uniform_int needs a bound of at least 1");
}

}  // namespace
}  // namespace orrery
