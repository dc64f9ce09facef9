#include "sim/base/units.hpp"

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/base/ids.hpp"
#include "sim/base/ledger.hpp"
#include "sim/base/provenance.hpp"
#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"

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

static_assert(!std::is_convertible_v<Seconds, SimTime>);
static_assert(!std::is_convertible_v<SimTime, Seconds>);

TEST(SimTime, RoundsTiesToTheEvenNanosecond) {
  EXPECT_EQ(to_sim_time(nanoseconds(0.5)).ns, 0);
  EXPECT_EQ(to_sim_time(nanoseconds(1.5)).ns, 2);
  EXPECT_EQ(to_sim_time(nanoseconds(2.5)).ns, 2);
  EXPECT_EQ(to_sim_time(nanoseconds(3.5)).ns, 4);
  EXPECT_EQ(to_sim_time(nanoseconds(-0.5)).ns, 0);
  EXPECT_EQ(to_sim_time(nanoseconds(-1.5)).ns, -2);
  EXPECT_EQ(to_sim_time(nanoseconds(-2.5)).ns, -2);
}

TEST(SimTime, RoundsToTheNearestNanosecondElsewhere) {
  EXPECT_EQ(to_sim_time(nanoseconds(0.49)).ns, 0);
  EXPECT_EQ(to_sim_time(nanoseconds(0.51)).ns, 1);
  EXPECT_EQ(to_sim_time(seconds(1.0)).ns, 1'000'000'000);
  EXPECT_EQ(to_sim_time(days(54.0)).ns, 4'665'600'000'000'000);
}

TEST(SimTime, WholeNanosecondsSurviveTheWayToSecondsAndBack) {
  constexpr std::uint64_t kSeed = 20261121;
  RandomStream random(kSeed, 0, Purpose::property_test);
  // A double holds 53 bits: 2^50 ns (13 days) leaves three bits for the division by 1e-9.
  constexpr std::uint64_t kBound = std::uint64_t{1} << 50U;
  for (int i = 0; i < 10000; ++i) {
    const SimTime time{static_cast<std::int64_t>(random.uniform_int(kBound))};
    ASSERT_EQ(to_sim_time(to_seconds(time)), time) << "seed " << kSeed << " draw " << i;
  }
}

TEST(SimTime, SaturatesBeyond292Years) {
  const Seconds years_292 = days(292.0 * 365.25);
  EXPECT_LT(to_sim_time(years_292), kForever);
  EXPECT_EQ(to_sim_time(days(293.0 * 365.25)), kForever);
  EXPECT_EQ(to_sim_time(days(-293.0 * 365.25)).ns, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(to_sim_time(seconds(std::numeric_limits<double>::infinity())), kForever);
  EXPECT_EQ(to_sim_time(seconds(-std::numeric_limits<double>::infinity())).ns,
            std::numeric_limits<std::int64_t>::min());
}

TEST(SimTime, AnUndefinedDurationNeverHappens) {
  EXPECT_EQ(to_sim_time(seconds(std::numeric_limits<double>::quiet_NaN())), kForever);
}

TEST(SimTime, SumsAreExactAndOrdered) {
  SimTime time{3};
  time += SimTime{4};
  time -= SimTime{2};
  EXPECT_EQ(time, SimTime{5});
  EXPECT_EQ((SimTime{7} - SimTime{9}).ns, -2);
  EXPECT_LT(SimTime{1} + SimTime{1}, SimTime{3});
  EXPECT_LT(SimTime{std::numeric_limits<std::int64_t>::max() - 1}, kForever);
}

enum class Use { work, wait, lost, count_ };

TEST(Ledger, HoldsSixteenThousandGpusForFiftyFourDaysExactly) {
  // 16,384 GPUs x 54 d x 86,400 s/d x 10^9 ns/s = 76,441,190,400 x 10^9 GPU ns: 8.3 times int64.
  Ledger<Use> ledger;
  ledger.book(Use::work, 16384, to_sim_time(days(54.0)));
  const Int128 expected = Int128{76'441'190'400} * kNanosecondsPerSecond;
  EXPECT_TRUE(ledger.total() == expected);
  EXPECT_TRUE(ledger.total() > Int128{std::numeric_limits<std::int64_t>::max()} * 8);
  EXPECT_DOUBLE_EQ(in_seconds(ledger.total_gpu_time()), 76'441'190'400.0);
  ledger.book(Use::wait, 1, SimTime{1});  // one GPU for one nanosecond is not rounded away
  EXPECT_TRUE(ledger.total() - expected == 1);
}

TEST(Ledger, DoesNotDependOnTheOrderOfBooking) {
  constexpr std::uint64_t kSeed = 7;
  RandomStream random(kSeed, 0, Purpose::property_test);
  Ledger<Use> forward;
  std::array<Ledger<Use>, 2> halves;
  Int128 sum = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto use = static_cast<Use>(random.uniform_int(Ledger<Use>::kCategories));
    const auto gpus = static_cast<std::int64_t>(random.uniform_int(20000));
    const SimTime wall{static_cast<std::int64_t>(random.next_u64() >> 2U)};
    forward.book(use, gpus, wall);
    halves.at(i % 2).book(use, gpus, wall);
    sum += static_cast<Int128>(gpus) * wall.ns;
  }
  Ledger<Use> backward = halves[1];
  backward += halves[0];
  EXPECT_EQ(forward, backward) << "seed " << kSeed;
  EXPECT_TRUE(forward.total() == sum) << "seed " << kSeed;
}

TEST(Ledger, SharesSumToOne) {
  Ledger<Use> ledger;
  ledger.book(Use::work, 8, SimTime{900});
  ledger.book(Use::wait, 8, SimTime{75});
  ledger.book(Use::lost, 8, SimTime{25});
  EXPECT_DOUBLE_EQ(ledger.share(Use::work), 0.9);
  EXPECT_DOUBLE_EQ(ledger.share(Use::wait), 0.075);
  EXPECT_DOUBLE_EQ(ledger.share(Use::lost), 0.025);
  EXPECT_DOUBLE_EQ(in_nanoseconds(ledger.gpu_time(Use::lost)), 200.0);
}

TEST(Ledger, AnEmptyLedgerHasNoShares) {
  const Ledger<Use> ledger;
  EXPECT_TRUE(ledger.total() == 0);
  EXPECT_EQ(ledger.share(Use::work), 0.0);
  EXPECT_EQ(ledger, Ledger<Use>{});
}

}  // namespace
}  // namespace orrery
