#include "sim/base/units.hpp"

#include <gtest/gtest.h>

#include <compare>
#include <type_traits>

#include "sim/base/ids.hpp"
#include "sim/base/provenance.hpp"

namespace orrery {
namespace {

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};

template <typename A, typename B>
concept Subtractable = requires(A a, B b) {
  a - b;
};

template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a < b;
};

template <typename A, typename B>
concept Equatable = requires(A a, B b) {
  a == b;
};

template <typename A, typename B>
concept Accumulable = requires(A a, B b) {
  a += b;
};

// Mixed dimensions and bare numbers do not compile.
static_assert(Addable<Seconds, Seconds>);
static_assert(!Addable<Seconds, Bytes>);
static_assert(!Addable<Seconds, double>);
static_assert(!Addable<double, Seconds>);
static_assert(!Addable<BytesPerSecond, Bytes>);
static_assert(!Subtractable<Dollars, Tokens>);
static_assert(!Subtractable<Flop, FlopPerSecond>);
static_assert(Comparable<Bytes, Bytes>);
static_assert(!Comparable<Bytes, Flop>);
static_assert(!Comparable<Seconds, double>);
static_assert(!Equatable<Seconds, double>);
static_assert(!Equatable<Seconds, PerSecond>);
static_assert(!Accumulable<Seconds, Bytes>);
static_assert(!Accumulable<Seconds, double>);
static_assert(!Accumulable<double, Seconds>);

// A quantity is built by a named factory and read by a named accessor only.
static_assert(!std::is_convertible_v<double, Seconds>);
static_assert(!std::is_constructible_v<Seconds, double>);
static_assert(!std::is_convertible_v<Seconds, double>);
static_assert(!std::is_constructible_v<double, Seconds>);
static_assert(!std::is_assignable_v<Seconds&, double>);
static_assert(!std::is_assignable_v<BytesPerSecond&, decltype(Bytes{} / BytesPerSecond{})>);
static_assert(!std::is_assignable_v<double&, Bytes>);

// Products and quotients carry the derived dimension; equal dimensions cancel to a double.
static_assert(std::is_same_v<decltype(Bytes{} / BytesPerSecond{}), Seconds>);
static_assert(std::is_same_v<decltype(Bytes{} / Seconds{}), BytesPerSecond>);
static_assert(std::is_same_v<decltype(FlopPerSecond{} * Seconds{}), Flop>);
static_assert(std::is_same_v<decltype(DollarsPerSecond{} * Seconds{}), Dollars>);
static_assert(std::is_same_v<decltype(1.0 / Seconds{}), PerSecond>);
static_assert(std::is_same_v<decltype(Tokens{} / Seconds{}), TokensPerSecond>);
static_assert(std::is_same_v<decltype(Seconds{} / Seconds{}), double>);
static_assert(std::is_same_v<decltype(PerSecond{} * Seconds{}), double>);
static_assert(std::is_same_v<decltype(2.0 * Seconds{}), Seconds>);

// No cost over a double.
static_assert(sizeof(Seconds) == sizeof(double));
static_assert(std::is_trivially_copyable_v<Seconds>);

// Identifiers of different things are not comparable; a coefficient needs its source.
static_assert(Equatable<RankId, RankId>);
static_assert(!Equatable<RankId, TaskId>);
static_assert(!Comparable<RankId, TaskId>);
static_assert(!std::is_convertible_v<int, RankId>);
static_assert(!std::is_default_constructible_v<Coefficient<Seconds>>);
static_assert(!std::is_constructible_v<Coefficient<Seconds>, Seconds>);
static_assert(std::is_constructible_v<Coefficient<Seconds>, Seconds, Source>);

TEST(Units, FactoriesAgreeWithEachOther) {
  EXPECT_EQ(in_seconds(minutes(1.0)), 60.0);
  EXPECT_EQ(in_minutes(hours(1.0)), 60.0);
  EXPECT_EQ(in_hours(days(54.0)), 1296.0);
  EXPECT_EQ(in_days(hours(36.0)), 1.5);
  EXPECT_DOUBLE_EQ(in_seconds(milliseconds(250.0)), 0.25);
  EXPECT_DOUBLE_EQ(in_microseconds(milliseconds(1.5)), 1500.0);
  EXPECT_DOUBLE_EQ(in_nanoseconds(microseconds(2.0)), 2000.0);
  EXPECT_DOUBLE_EQ(in_per_day(1.0 / days(0.5)), 2.0);
}

TEST(Units, DecimalAndBinaryBytesDiffer) {
  EXPECT_EQ(in_bytes(kibibytes(1.0)), 1024.0);
  EXPECT_EQ(in_bytes(mebibytes(1.0)), 1048576.0);
  EXPECT_EQ(in_bytes(gibibytes(80.0)), 85899345920.0);
  EXPECT_EQ(in_bytes(gigabytes(80.0)), 80000000000.0);
  EXPECT_EQ(in_bytes(terabytes(2.0)), 2e12);
  EXPECT_GT(gibibytes(1.0), gigabytes(1.0));
}

TEST(Units, BitsAreAnEighthOfABytePerSecond) {
  // 400 Gbit/s / 8 = 50 GB/s
  EXPECT_EQ(in_gigabytes_per_second(gigabits_per_second(400.0)), 50.0);
  EXPECT_EQ(in_gigabits_per_second(gigabytes_per_second(450.0)), 3600.0);
}

TEST(Units, TransferTimeIsSizeOverBandwidth) {
  // 3.35 GB at 3.35 TB/s takes 1 ms
  EXPECT_DOUBLE_EQ(in_milliseconds(gigabytes(3.35) / terabytes_per_second(3.35)), 1.0);
  // 989 TFLOP at 494.5 TFLOP/s takes 2 s
  EXPECT_DOUBLE_EQ(in_seconds(teraflop(989.0) / teraflop_per_second(494.5)), 2.0);
}

TEST(Units, BalanceOfAnH100IsAbout295FlopPerByte) {
  // 989 TFLOP/s / 3.35 TB/s = 295.2 FLOP/B
  const auto balance = teraflop_per_second(989.0) / terabytes_per_second(3.35);
  EXPECT_NEAR(in_flop(balance * bytes(1.0)), 295.2, 0.05);
}

TEST(Units, HourlyPriceOfAClusterScalesToDollars) {
  // 16,384 GPUs x $4/h x 1 h = $65,536
  EXPECT_DOUBLE_EQ(in_dollars(16384.0 * dollars_per_hour(4.0) * hours(1.0)), 65536.0);
}

TEST(Units, ArithmeticKeepsTheDimension) {
  Seconds t = seconds(1.0);
  t += seconds(2.0);
  t -= seconds(0.5);
  t *= 4.0;
  EXPECT_EQ(t, seconds(10.0));
  EXPECT_EQ(t / 4.0, seconds(2.5));
  EXPECT_EQ(-t, seconds(-10.0));
  EXPECT_EQ(t - seconds(1.0), seconds(9.0));
  EXPECT_LT(seconds(1.0), seconds(2.0));
  EXPECT_EQ(Seconds{}, seconds(0.0));
  EXPECT_DOUBLE_EQ(minutes(90.0) / hours(1.0), 1.5);
}

TEST(Ids, OrderByIndex) {
  EXPECT_LT(RankId{3}, RankId{4});
  EXPECT_EQ(RankId{3}.index(), 3U);
  EXPECT_EQ(TaskId{}, TaskId{0});
}

TEST(Provenance, EveryKindHasItsPrintedName) {
  EXPECT_EQ(to_string(SourceKind::measured), "measured");
  EXPECT_EQ(to_string(SourceKind::published), "published");
  EXPECT_EQ(to_string(SourceKind::datasheet), "datasheet");
  EXPECT_EQ(to_string(SourceKind::assumed), "assumed");
  EXPECT_EQ(to_string(SourceKind::given), "given");
}

TEST(Provenance, CoefficientCarriesSourceResidualAndRange) {
  const Coefficient<Seconds> fitted(microseconds(5.0), {SourceKind::measured, "profile h100"}, 0.03,
                                    ValidRange{8.0, 64.0});
  EXPECT_EQ(fitted.kind(), SourceKind::measured);
  EXPECT_EQ(fitted.source().citation, "profile h100");
  EXPECT_EQ(fitted.residual(), 0.03);
  ASSERT_TRUE(fitted.range().has_value());
  EXPECT_TRUE(fitted.range()->contains(8.0));
  EXPECT_TRUE(fitted.range()->contains(64.0));
  EXPECT_FALSE(fitted.range()->contains(64.5));
  const Coefficient<Seconds> stated(seconds(1.0), {SourceKind::given, "scenario"});
  EXPECT_EQ(stated.residual(), 0.0);
  EXPECT_FALSE(stated.range().has_value());
}

}  // namespace
}  // namespace orrery
