#include "sim/base/yaml/kinds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "sim/base/random.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::yaml {
namespace {

constexpr int kDraws = 2'000;

// A new seed per run, printed on failure; the magnitude is spread evenly over its exponents.
class RoundTrip : public ::testing::Test {
 protected:
  double draw(double low_exponent, double high_exponent) {
    return std::pow(10.0, low_exponent + (high_exponent - low_exponent) * stream_.uniform01());
  }

  template <typename K, typename Accessor>
  void expect_near(typename K::Type value, double tolerance, const std::string& text, Accessor in) {
    const auto again = K::parse(text);
    ASSERT_TRUE(again.value.has_value()) << text << ": " << again.message << " seed " << seed_;
    EXPECT_NEAR(in(*again.value) / in(value), 1.0, tolerance) << text << " seed " << seed_;
  }

  std::uint64_t seed_ = std::random_device{}();
  RandomStream stream_{seed_, 0, Purpose::property_test};
};

// Three digits lose at most half of the last one: 0.5/100 relative.
constexpr double kThreeDigits = 0.00501;
// Seventeen digits and one product: a few units in the last place.
constexpr double kExact = 1e-14;
constexpr NumberStyle kFull = {17, false};

TEST_F(RoundTrip, Time) {
  for (int i = 0; i < kDraws; ++i) {
    const Seconds value = seconds(draw(-12.0, 12.0));
    expect_near<kind::Time>(value, kThreeDigits, format_time(value), in_seconds);
    expect_near<kind::Time>(value, kExact, format_time(value, kFull), in_seconds);
  }
}

TEST_F(RoundTrip, Size) {
  for (int i = 0; i < kDraws; ++i) {
    const Bytes value = bytes(draw(-3.0, 20.0));
    expect_near<kind::Size>(value, kThreeDigits, format_bytes(value), in_bytes);
    expect_near<kind::Size>(value, kThreeDigits, format_bytes_binary(value), in_bytes);
    expect_near<kind::Size>(value, kExact, format_bytes_binary(value, kFull), in_bytes);
  }
}

TEST_F(RoundTrip, Rates) {
  for (int i = 0; i < kDraws; ++i) {
    const BytesPerSecond bandwidth = bytes_per_second(draw(0.0, 16.0));
    expect_near<kind::Bandwidth>(bandwidth, kThreeDigits, format_bandwidth(bandwidth),
                                 in_bytes_per_second);
    expect_near<kind::Bandwidth>(bandwidth, kExact, format_bandwidth(bandwidth, kFull),
                                 in_bytes_per_second);
    const FlopPerSecond flops = flop_per_second(draw(0.0, 20.0));
    expect_near<kind::FlopRate>(flops, kThreeDigits, format_flop_rate(flops), in_flop_per_second);
    const PerSecond events = per_second(draw(-12.0, 3.0));
    expect_near<kind::EventRate>(events, kThreeDigits, format_event_rate(events), in_per_second);
  }
}

TEST_F(RoundTrip, Money) {
  for (int i = 0; i < kDraws; ++i) {
    const Dollars amount = dollars(draw(-3.0, 16.0));
    expect_near<kind::Money>(amount, kThreeDigits, format_money(amount), in_dollars);
    expect_near<kind::Money>(amount, kExact, format_money(amount, kFull), in_dollars);
    const DollarsPerSecond price = dollars_per_hour(draw(-2.0, 8.0));
    expect_near<kind::PriceRate>(price, kThreeDigits, format_price_rate(price),
                                 in_dollars_per_second);
  }
}

TEST_F(RoundTrip, CountsDatesAndFractionsAreExact) {
  for (int i = 0; i < kDraws; ++i) {
    const auto count =
        static_cast<std::int64_t>(stream_.next_u64() >> stream_.uniform_int(64) >> 1);
    EXPECT_EQ(parse_count(kind::Count::format(count)).value, count) << "seed " << seed_;
    const DateTime date{static_cast<std::int64_t>(stream_.uniform_int(250'000'000'000))};
    EXPECT_EQ(parse_date_time(kind::Date::format(date)).value, date) << "seed " << seed_;
    const double fraction = stream_.uniform01();
    EXPECT_EQ(parse_fraction(kind::Fraction::format(fraction)).value, fraction) << "seed " << seed_;
    const double number = draw(-300.0, 300.0);
    EXPECT_EQ(parse_number(kind::Number::format(number)).value, number) << "seed " << seed_;
  }
}

TEST(Kinds, PrintBoundsWithoutTrailingZeros) {
  EXPECT_EQ(kind::Time::format(minutes(1.0)), "60 s");
  EXPECT_EQ(kind::Time::format(days(365.0)), "365 d");
  EXPECT_EQ(kind::Size::format(gigabytes(80.0)), "80 GB");
  EXPECT_EQ(kind::Money::format(dollars(0.0)), "$0");
  EXPECT_EQ(kind::StepsOrDuration::format(Steps{1000}), "1000 steps");
  EXPECT_EQ(kind::StepsOrDuration::format(minutes(30.0)), "30 min");
  EXPECT_EQ(kind::Boolean::format(true), "true");
}

TEST(Kinds, ExamplesAreAccepted) {
  EXPECT_TRUE(kind::Time::parse(kind::Time::kExample).value.has_value());
  EXPECT_TRUE(kind::Size::parse(kind::Size::kExample).value.has_value());
  EXPECT_TRUE(kind::FlopRate::parse(kind::FlopRate::kExample).value.has_value());
  EXPECT_TRUE(kind::Money::parse(kind::Money::kExample).value.has_value());
  EXPECT_TRUE(kind::PriceRate::parse(kind::PriceRate::kExample).value.has_value());
  EXPECT_TRUE(kind::EventRate::parse(kind::EventRate::kExample).value.has_value());
  EXPECT_TRUE(kind::Date::parse(kind::Date::kExample).value.has_value());
}

}  // namespace
}  // namespace orrery::yaml
