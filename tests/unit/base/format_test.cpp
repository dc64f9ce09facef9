#include "sim/base/text/format.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace orrery {
namespace {

TEST(FormatTime, PicksTheUnitThatReadsBest) {
  EXPECT_EQ(format_time(seconds(6.21)), "6.21 s");
  EXPECT_EQ(format_time(seconds(105.22)), "105 s");
  EXPECT_EQ(format_time(hours(3.09)), "3.09 h");
  EXPECT_EQ(format_time(days(54.0)), "54.0 d");
  EXPECT_EQ(format_time(minutes(12.0)), "12.0 min");
  EXPECT_EQ(format_time(milliseconds(1.5)), "1.50 ms");
  EXPECT_EQ(format_time(microseconds(2.0)), "2.00 us");
  EXPECT_EQ(format_time(nanoseconds(7.0)), "7.00 ns");
  EXPECT_EQ(format_time(seconds(0.0)), "0 s");
  EXPECT_EQ(format_time(-hours(3.09)), "-3.09 h");
  EXPECT_EQ(format_time(days(1500.0)), "1500 d");
}

// 999.96 ms rounds to 1000 ms with three digits, which is 1.00 s.
TEST(FormatTime, MovesUpWhenRoundingReachesTheNextUnit) {
  EXPECT_EQ(format_time(milliseconds(999.96)), "1.00 s");
  EXPECT_EQ(format_time(milliseconds(999.4)), "999 ms");
  EXPECT_EQ(format_time(seconds(119.7)), "2.00 min");
  EXPECT_EQ(format_time(seconds(9.996)), "10.0 s");
}

TEST(FormatBytes, HasDecimalAndBinaryForms) {
  EXPECT_EQ(format_bytes(gigabytes(80.0)), "80.0 GB");
  EXPECT_EQ(format_bytes(gibibytes(80.0)), "85.9 GB");
  EXPECT_EQ(format_bytes_binary(gibibytes(80.0)), "80.0 GiB");
  EXPECT_EQ(format_bytes(bytes(14.0), {3, true}), "14 B");
  EXPECT_EQ(format_bytes(terabytes(2.0)), "2.00 TB");
}

TEST(FormatRates, UsePerSecond) {
  EXPECT_EQ(format_bandwidth(terabytes_per_second(3.35)), "3.35 TB/s");
  EXPECT_EQ(format_flop_rate(teraflop_per_second(989.0)), "989 TFLOP/s");
  EXPECT_EQ(format_event_rate(per_day(0.0065)), "0.00650/d");
}

// 16,384 GPUs at $4/h: $65,536/h; 16,000 for 30 days: 16,000 * 4 * 720 = $46.08M.
TEST(FormatMoney, KeepsCentsBelowAThousand) {
  EXPECT_EQ(format_price_rate(16'384.0 * dollars_per_hour(4.0)), "$65.5k/h");
  EXPECT_EQ(format_money(16'000.0 * dollars_per_hour(4.0) * days(30.0)), "$46.1M");
  EXPECT_EQ(format_money(dollars(2.5)), "$2.50");
  EXPECT_EQ(format_money(dollars(123.456)), "$123.46");
  EXPECT_EQ(format_money(dollars(0.0042)), "$0.00420");
  EXPECT_EQ(format_money(dollars(999.999)), "$1.00k");
  EXPECT_EQ(format_money(dollars(0.0)), "$0.00");
  EXPECT_EQ(format_money(-dollars(3.0 * kMega)), "-$3.00M");
}

TEST(FormatNumbers, CountPercentAndInteger) {
  EXPECT_EQ(format_count(15.6 * kTera), "15.6T");
  EXPECT_EQ(format_count(8.0), "8");
  EXPECT_EQ(format_count(419.0), "419");
  EXPECT_EQ(format_count(16384.0), "16.4k");
  EXPECT_EQ(format_percent(0.38), "38.0%");
  EXPECT_EQ(format_percent(0.0), "0%");
  EXPECT_EQ(format_integer(16384), "16,384");
  EXPECT_EQ(format_integer(999), "999");
  EXPECT_EQ(format_integer(1'000'000), "1,000,000");
  EXPECT_EQ(format_integer(-16384), "-16,384");
  EXPECT_EQ(format_integer(-999), "-999");
  EXPECT_EQ(format_integer(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(format_number(1.0 / 3.0), "0.333");
  EXPECT_EQ(format_number(1e-9), "1.00e-09");
  EXPECT_EQ(format_number(2.5, {5, true}), "2.5");
  EXPECT_EQ(format_number(std::numeric_limits<double>::infinity()), "inf");
}

TEST(FormatDateTime, IsIsoInUtc) {
  constexpr std::int64_t kApril2024 = 1'711'929'600;  // 19,814 days of 86,400 s
  EXPECT_EQ(format_date_time(0), "1970-01-01T00:00Z");
  EXPECT_EQ(format_date_time(kApril2024), "2024-04-01T00:00Z");
  EXPECT_EQ(format_date_time(kApril2024 + 61), "2024-04-01T00:01:01Z");
  EXPECT_EQ(format_date_time(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(format_date_time(std::numeric_limits<std::int64_t>::max()), "day 106751991167300");
  EXPECT_EQ(format_date_time(std::numeric_limits<std::int64_t>::min()), "day -106751991167301");
}

}  // namespace
}  // namespace orrery
