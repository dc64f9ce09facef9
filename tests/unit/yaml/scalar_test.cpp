#include "sim/base/yaml/scalar.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "sim/base/units.hpp"
#include "tests/unit/yaml/yaml_fixture.hpp"

namespace orrery::yaml {
namespace {

TEST(ParseCount, AcceptsPlainIntegersSuffixesAndExponents) {
  EXPECT_EQ(parse_count("0").value, 0);
  EXPECT_EQ(parse_count("8").value, 8);
  EXPECT_EQ(parse_count("-3").value, -3);
  EXPECT_EQ(parse_count("16384").value, 16384);
  EXPECT_EQ(parse_count("1k").value, 1'000);
  EXPECT_EQ(parse_count("2.5M").value, 2'500'000);
  EXPECT_EQ(parse_count("405B").value, 405'000'000'000);
  EXPECT_EQ(parse_count("15.6T").value, 15'600'000'000'000);
  EXPECT_EQ(parse_count("15.6 T").value, 15'600'000'000'000);
  EXPECT_EQ(parse_count("15e12").value, 15'000'000'000'000);
  EXPECT_EQ(parse_count("1.5e3").value, 1'500);
  EXPECT_EQ(parse_count("1200e-2").value, 12);
  EXPECT_EQ(parse_count("8.0").value, 8);
  EXPECT_EQ(parse_count("0e999999999999999999999").value, 0);
}

TEST(ParseCount, IsExactUpToTheLargestInteger) {
  EXPECT_EQ(parse_count("9223372036854775807").value, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_count("9007199254740993").value, 9'007'199'254'740'993);  // 2^53 + 1
  EXPECT_EQ(parse_count("-9223372036854775807").value, -std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(refusal(parse_count("9223372036854775808")),
            "`9223372036854775808` is beyond the largest count, 9223372036854775807");
  EXPECT_EQ(refusal(parse_count("1e19")),
            "`1e19` is beyond the largest count, 9223372036854775807");
  EXPECT_EQ(refusal(parse_count("1e99999999999999999999")),
            "`1e99999999999999999999` is beyond the largest count, 9223372036854775807");
}

TEST(ParseCount, RefusesEveryTrap) {
  EXPECT_EQ(refusal(parse_count("010")), "`010` has a leading zero");
  EXPECT_EQ(refusal(parse_count("00")), "`00` has a leading zero");
  EXPECT_EQ(refusal(parse_count("0x10")), "`0x10` is not a decimal number");
  EXPECT_EQ(refusal(parse_count("0o17")), "`0o17` is not a decimal number");
  EXPECT_EQ(refusal(parse_count("1_000")), "`1_000` has an underscore between digits");
  EXPECT_EQ(refusal(parse_count("1,000")), "`1,000` has a comma in the number");
  EXPECT_EQ(refusal(parse_count("1:30")), "`1:30` has a colon in the number");
  EXPECT_EQ(refusal(parse_count("-0")), "`-0` has a minus sign before zero");
  EXPECT_EQ(refusal(parse_count("+5")), "`+5` begins with a plus sign");
  EXPECT_EQ(refusal(parse_count("1.5")), "`1.5` is not a whole number");
  EXPECT_EQ(refusal(parse_count("1e-3")), "`1e-3` is not a whole number");
  EXPECT_EQ(refusal(parse_count("1.23456k")), "`1.23456k` is not a whole number");
  EXPECT_EQ(refusal(parse_count("1.")), "`1.` has no digit after the point");
  EXPECT_EQ(refusal(parse_count(".5")), "`.5` has no digit before the point");
  EXPECT_EQ(refusal(parse_count(".nan")), "`.nan` is not a finite number");
  EXPECT_EQ(refusal(parse_count("inf")), "`inf` is not a finite number");
  EXPECT_EQ(refusal(parse_count("no")), "`no` does not begin with a number");
  EXPECT_EQ(refusal(parse_count("")), "`` is empty");
  EXPECT_EQ(refusal(parse_count(" 8")), "` 8` does not begin with a number");
  EXPECT_EQ(refusal(parse_count("8 ")), "`8 ` has ` ` after the number");
  EXPECT_EQ(refusal(parse_count("1e3k")), "`1e3k` has both an exponent and a suffix");
}

TEST(ParseCount, SuggestsTheRightSuffix) {
  EXPECT_EQ(refusal(parse_count("405b")), "`405b` has the unknown suffix `b` (did you mean `B`?)");
  EXPECT_EQ(refusal(parse_count("4K")), "`4K` has the unknown suffix `K` (did you mean `k`?)");
  EXPECT_EQ(refusal(parse_count("4G")), "`4G` has the unknown suffix `G` (did you mean `B`?)");
  EXPECT_EQ(refusal(parse_count("80GiB")), "`80GiB` has `GiB` after the number");
  EXPECT_EQ(parse_count("8x").allowed,
            "a whole number such as 8, with k, M, B or T as in 15.6T, or with an exponent as in "
            "15e12");
}

TEST(ParseNumber, FollowsTheGrammarOfJson) {
  EXPECT_EQ(parse_number("0.38").value, 0.38);
  EXPECT_EQ(parse_number("-2").value, -2.0);
  EXPECT_EQ(parse_number("1e3").value, 1000.0);
  EXPECT_EQ(parse_number("1E+3").value, 1000.0);
  EXPECT_EQ(parse_number("1.7976931348623157e308").value, std::numeric_limits<double>::max());
  ASSERT_TRUE(parse_number("-0").value.has_value());
  EXPECT_FALSE(std::signbit(*parse_number("-0").value));
}

TEST(ParseNumber, RefusesWhatIsNoFiniteDecimal) {
  EXPECT_EQ(refusal(parse_number("1e999")), "`1e999` is outside the range of a double");
  EXPECT_EQ(refusal(parse_number("1e-999")), "`1e-999` is outside the range of a double");
  for (const char* text : {"nan", ".nan", ".NaN", "inf", "-inf", ".inf", "-.inf", "Infinity"}) {
    EXPECT_NE(refusal(parse_number(text)).find("is not a finite number"), std::string::npos)
        << text;
  }
  for (const char* text : {"01", "1.", ".5", "+1", "0x1p3", "1e", "1e+", "--1", "- 1", "1 000",
                           "1_0", "12abc", "true", "\xC2\xBD"}) {
    EXPECT_FALSE(parse_number(text).value.has_value()) << text;
  }
}

TEST(ParseBool, AcceptsOnlyTrueAndFalse) {
  EXPECT_EQ(parse_bool("true").value, true);
  EXPECT_EQ(parse_bool("false").value, false);
  for (const char* text : {"yes", "no", "on", "off", "y", "n", "True", "TRUE", "1", "0", ""}) {
    const auto parsed = parse_bool(text);
    EXPECT_FALSE(parsed.value.has_value()) << text;
    EXPECT_EQ(parsed.message, "`" + std::string(text) + "` is neither true nor false");
    EXPECT_EQ(parsed.allowed, "true or false, in lower case");
  }
}

TEST(ParseFraction, MakesPercentEqualToTheDecimal) {
  EXPECT_EQ(parse_fraction("38%").value, 0.38);
  EXPECT_EQ(parse_fraction("0.38").value, 0.38);
  EXPECT_EQ(parse_fraction("38 %").value, 0.38);
  EXPECT_EQ(parse_fraction("99.9%").value, 0.999);
  EXPECT_EQ(parse_fraction("0.7%").value, 0.007);
  EXPECT_EQ(parse_fraction("0").value, 0.0);
  EXPECT_EQ(parse_fraction("100%").value, 1.0);
  EXPECT_EQ(parse_fraction("1").value, 1.0);
  EXPECT_EQ(refusal(parse_fraction("38")), "`38` is above 1 (did you mean `38%`?)");
  EXPECT_EQ(refusal(parse_fraction("101%")), "`101%` is above the whole");
  EXPECT_EQ(refusal(parse_fraction("-0.1")), "`-0.1` is negative");
  EXPECT_EQ(refusal(parse_fraction("0.5x")), "`0.5x` has `x` after the number");
  EXPECT_EQ(refusal(parse_fraction("1e1%")), "`1e1%` has both an exponent and a percent sign");
}

TEST(ParseStepsOrTime, TellsStepsFromTimes) {
  const auto steps = parse_steps_or_time("1000 steps").value;
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(std::get<Steps>(*steps).count, 1000);
  EXPECT_EQ(std::get<Steps>(*parse_steps_or_time("1 step").value).count, 1);
  EXPECT_EQ(std::get<Steps>(*parse_steps_or_time("2k steps").value).count, 2000);
  EXPECT_EQ(std::get<Seconds>(*parse_steps_or_time("30min").value), minutes(30.0));
  EXPECT_EQ(refusal(parse_steps_or_time("1000")), "`1000` has no unit");
  EXPECT_EQ(refusal(parse_steps_or_time("0")), "`0` has no unit");
  EXPECT_EQ(refusal(parse_steps_or_time("0 steps")), "`0 steps` is less than one step");
  EXPECT_EQ(refusal(parse_steps_or_time("1.5 steps")), "`1.5` is not a whole number");
  EXPECT_EQ(refusal(parse_steps_or_time("steps")), "`` is empty");
  EXPECT_EQ(parse_steps_or_time("5m").allowed,
            "a number of steps such as `1000 steps`, or a time in ns us ms s min h d such as "
            "30min");
}

// Quantities with units; their rules are in sim/base/yaml/scalar.hpp.

TEST(ParseBytes, KnowsDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("80GiB").value, gibibytes(80.0));
  EXPECT_EQ(parse_bytes("80 GiB").value, gibibytes(80.0));
  EXPECT_EQ(parse_bytes("2TB").value, terabytes(2.0));
  EXPECT_EQ(parse_bytes("14B").value, bytes(14.0));
  EXPECT_EQ(parse_bytes("1.5kB").value, bytes(1500.0));
  EXPECT_EQ(parse_bytes("3MiB").value, mebibytes(3.0));
  EXPECT_EQ(parse_bytes("1e3MB").value, gigabytes(1.0));
  EXPECT_EQ(parse_bytes("1TiB").value, gibibytes(1024.0));
  EXPECT_EQ(parse_bytes("0").value, bytes(0.0));
}

TEST(ParseBytes, RefusesBareNumbersAndMisspeltUnits) {
  EXPECT_EQ(refusal(parse_bytes("80")), "`80` has no unit");
  EXPECT_EQ(refusal(parse_bytes("80 Gib")),
            "`80 Gib` has the unknown unit `Gib`: did you mean `GiB`?");
  EXPECT_EQ(refusal(parse_bytes("80gb")), "`80gb` has the unknown unit `gb`: did you mean `GB`?");
  EXPECT_EQ(refusal(parse_bytes("80KB")),
            "`80KB` has the unknown unit `KB`: write `kB` (decimal) or `KiB` (binary)");
  EXPECT_EQ(refusal(parse_bytes("80Gb")),
            "`80Gb` has the unknown unit `Gb`: a lower-case b is bits; write `GB` or `GiB`");
  EXPECT_EQ(refusal(parse_bytes("80G")), "`80G` has the unknown unit `G`: write `GB` or `GiB`");
  EXPECT_EQ(refusal(parse_bytes("80GB/s")), "`80GB/s` has the unknown unit `GB/s`");
  EXPECT_EQ(refusal(parse_bytes("80  GB")), "`80  GB` has the unknown unit ` GB`");
  EXPECT_EQ(refusal(parse_bytes("-1GB")), "`-1GB` is negative");
  EXPECT_EQ(refusal(parse_bytes("1e308TB")), "`1e308TB` is outside the range of a double");
  EXPECT_EQ(refusal(parse_bytes("GB")), "`GB` does not begin with a number");
  EXPECT_EQ(parse_bytes("80").allowed,
            "bytes in B kB MB GB TB PB or KiB MiB GiB TiB PiB, such as 80GiB");
}

TEST(ParseTime, KnowsSevenUnits) {
  EXPECT_EQ(parse_time("7ns").value, nanoseconds(7.0));
  EXPECT_EQ(parse_time("7us").value, microseconds(7.0));
  EXPECT_EQ(parse_time("250 ms").value, milliseconds(250.0));
  EXPECT_EQ(parse_time("105.22s").value, seconds(105.22));
  EXPECT_EQ(parse_time("12min").value, minutes(12.0));
  EXPECT_EQ(parse_time("3.09 h").value, hours(3.09));
  EXPECT_EQ(parse_time("54d").value, days(54.0));
  EXPECT_EQ(parse_time("0").value, seconds(0.0));
}

TEST(ParseTime, RefusesTheAmbiguousMinuteAndItsLike) {
  EXPECT_EQ(refusal(parse_time("5 m")),
            "`5 m` has the unknown unit `m`: `m` could be minutes or months; write `min`");
  EXPECT_EQ(refusal(parse_time("5")), "`5` has no unit");
  EXPECT_EQ(refusal(parse_time("5sec")), "`5sec` has the unknown unit `sec`: write `s`");
  EXPECT_EQ(refusal(parse_time("5 hours")), "`5 hours` has the unknown unit `hours`: write `h`");
  EXPECT_EQ(refusal(parse_time("2w")), "`2w` has the unknown unit `w`: write days, 7d for a week");
  EXPECT_EQ(refusal(parse_time("5\xC2\xB5s")),
            "`5\xC2\xB5s` has the unknown unit `\xC2\xB5s`: write `us`");
  EXPECT_EQ(refusal(parse_time("5MIN")), "`5MIN` has the unknown unit `MIN`: did you mean `min`?");
  EXPECT_EQ(refusal(parse_time("1h30min")), "`1h30min` has the unknown unit `h30min`");
  EXPECT_EQ(refusal(parse_time("00:30")), "`00:30` has a colon in the number");
  EXPECT_EQ(refusal(parse_time("-5s")), "`-5s` is negative");
}

TEST(ParseBandwidth, TellsBitsFromBytes) {
  EXPECT_EQ(parse_bandwidth("400Gbps").value, gigabits_per_second(400.0));
  EXPECT_EQ(parse_bandwidth("400 Gbit/s").value, gigabits_per_second(400.0));
  EXPECT_EQ(parse_bandwidth("400Gbps").value, gigabytes_per_second(50.0));
  EXPECT_EQ(parse_bandwidth("3.35TB/s").value, terabytes_per_second(3.35));
  EXPECT_EQ(parse_bandwidth("25 GB/s").value, gigabytes_per_second(25.0));
  EXPECT_EQ(refusal(parse_bandwidth("400Gb/s")),
            "`400Gb/s` has the unknown unit `Gb/s`: write `Gbps` for bits or `GB/s` for bytes");
  EXPECT_EQ(refusal(parse_bandwidth("25GBps")),
            "`25GBps` has the unknown unit `GBps`: write `GB/s` for bytes or `Gbps` for bits");
  EXPECT_EQ(refusal(parse_bandwidth("25")), "`25` has no unit");
}

TEST(ParseFlopRate, WantsFlopPerSecond) {
  EXPECT_EQ(parse_flop_rate("989TFLOP/s").value, teraflop_per_second(989.0));
  EXPECT_EQ(parse_flop_rate("2.25 PFLOP/s").value, teraflop_per_second(2250.0));
  EXPECT_EQ(parse_flop_rate("19500 GFLOP/s").value, teraflop_per_second(19.5));
  EXPECT_EQ(parse_flop_rate("1EFLOP/s").value, flop_per_second(kExa));
  EXPECT_EQ(refusal(parse_flop_rate("989TFLOPS")),
            "`989TFLOPS` has the unknown unit `TFLOPS`: write `TFLOP/s`");
  EXPECT_EQ(refusal(parse_flop_rate("989TFlop/s")),
            "`989TFlop/s` has the unknown unit `TFlop/s`: did you mean `TFLOP/s`?");
}

TEST(ParseMoney, WantsTheDollarSign) {
  EXPECT_EQ(parse_money("$46.1M").value, dollars(46.1 * kMega));
  EXPECT_EQ(parse_money("$12").value, dollars(12.0));
  EXPECT_EQ(parse_money("$65.5k").value, dollars(65.5 * kKilo));
  EXPECT_EQ(parse_money("0").value, dollars(0.0));
  EXPECT_EQ(parse_money("$0").value, dollars(0.0));
  EXPECT_EQ(refusal(parse_money("46.1M")), "`46.1M` has no dollar sign before the number");
  EXPECT_EQ(refusal(parse_money("$1,000")), "`$1,000` has a comma in the number");
  EXPECT_EQ(refusal(parse_money("-$5")), "`-$5` is negative");
  EXPECT_EQ(refusal(parse_money("$-5")), "`$-5` is negative");
  EXPECT_EQ(refusal(parse_money("$5m")), "`$5m` has the unknown unit `m`: write `M` for a million");
}

// $2.50/h over 1,000 h is $2,500.
TEST(ParsePriceRate, DividesByTheTime) {
  EXPECT_EQ(parse_price_rate("$2.50/h").value, dollars(2.5) / hours(1.0));
  EXPECT_NEAR(in_dollars(*parse_price_rate("$2.50/h").value * hours(1000.0)), 2500.0, 1e-9);
  EXPECT_EQ(parse_price_rate("$60 /d").value, dollars(60.0) / days(1.0));
  EXPECT_EQ(parse_price_rate("$65.5k/h").value, dollars(65.5 * kKilo) / hours(1.0));
  EXPECT_EQ(parse_price_rate("0").value, dollars_per_second(0.0));
  EXPECT_EQ(refusal(parse_price_rate("2.50/h")), "`2.50/h` has no dollar sign before the number");
  EXPECT_EQ(refusal(parse_price_rate("$2.50")), "`$2.50` has no time after the amount");
  EXPECT_EQ(refusal(parse_price_rate("$2.50/hour")),
            "`$2.50/hour` has the unknown unit `/hour`: write `/h`");
  EXPECT_EQ(refusal(parse_price_rate("$2.50/ms")), "`$2.50/ms` has the unknown unit `/ms`");
  EXPECT_EQ(refusal(parse_price_rate("$2.50/")), "`$2.50/` has the unknown unit `/`");
}

TEST(ParsePower, TakesWatts) {
  EXPECT_DOUBLE_EQ(*parse_power("10.2kW").value, 10'200.0);
  EXPECT_DOUBLE_EQ(*parse_power("700 W").value, 700.0);
  EXPECT_DOUBLE_EQ(*parse_power("1.5MW").value, 1.5 * kMega);
  EXPECT_EQ(refusal(parse_power("700")), "`700` has no unit");
  EXPECT_EQ(refusal(parse_power("10kw")), "`10kw` has the unknown unit `kw`: write `kW`");
}

TEST(ParseCarbonIntensity, TakesMassPerEnergy) {
  EXPECT_DOUBLE_EQ(*parse_carbon_intensity("400g/kWh").value, 0.4);
  EXPECT_DOUBLE_EQ(*parse_carbon_intensity("0.4kg/kWh").value, 0.4);
  EXPECT_EQ(refusal(parse_carbon_intensity("400g")),
            "`400g` has the unknown unit `g`: write `g/kWh`");
}

TEST(ParseEventRate, CountsPerTime) {
  EXPECT_EQ(parse_event_rate("0.0065/d").value, per_second(0.0065 * (1.0 / kSecondsPerDay)));
  EXPECT_EQ(parse_event_rate("3 /h").value, per_second(3.0 * (1.0 / kSecondsPerHour)));
  EXPECT_EQ(refusal(parse_event_rate("0.0065")), "`0.0065` has no unit");
  EXPECT_EQ(refusal(parse_event_rate("1/5d")), "`1/5d` has the unknown unit `/5d`");
}

// Oracle: POSIX days-from-epoch arithmetic; 2024-04-01 is day 19,814 (54 years of 365 days, 13 leap
// days from 1972 to 2020, then 31 + 29 + 31 days of 2024): 54 * 365 + 13 + 91 = 19,814.
TEST(ParseDateTime, CountsSecondsSinceTheEpoch) {
  constexpr std::int64_t kDay = 86'400;
  EXPECT_EQ(parse_date_time("1970-01-01").value, DateTime{0});
  EXPECT_EQ(parse_date_time("2024-04-01").value, DateTime{19'814 * kDay});
  EXPECT_EQ(parse_date_time("2024-04-01T00:00Z").value, DateTime{19'814 * kDay});
  EXPECT_EQ(parse_date_time("2024-04-01T23:59:58Z").value, DateTime{19'815 * kDay - 2});
  EXPECT_EQ(parse_date_time("1969-12-31T23:59Z").value, DateTime{-60});
  EXPECT_EQ(parse_date_time("2024-02-29").value, DateTime{(19'814 - 32) * kDay});
}

TEST(ParseDateTime, RefusesWhatIsNoDateInUtc) {
  EXPECT_EQ(refusal(parse_date_time("2023-02-29")), "`2023-02-29` is not a day of the calendar");
  EXPECT_EQ(refusal(parse_date_time("2024-13-01")), "`2024-13-01` is not a day of the calendar");
  EXPECT_EQ(refusal(parse_date_time("2024-04-01T24:00Z")),
            "`2024-04-01T24:00Z` is not a time of the day, 00:00 to 23:59");
  EXPECT_EQ(refusal(parse_date_time("2024-04-01T00:00")), "`2024-04-01T00:00` does not end in Z");
  EXPECT_EQ(refusal(parse_date_time("2024-04-01T00:00+02:00")),
            "`2024-04-01T00:00+02:00` is not in UTC, ending in Z");
  EXPECT_EQ(refusal(parse_date_time("2024-04-01 00:00Z")),
            "`2024-04-01 00:00Z` has a space where a T is needed");
  EXPECT_EQ(refusal(parse_date_time("2024-4-1")), "`2024-4-1` is not a date");
  EXPECT_EQ(refusal(parse_date_time("")), "`` is not a date");
  EXPECT_EQ(parse_date_time("x").allowed,
            "UTC, as a day such as 2026-11-01 or a minute such as 2024-04-01T00:00Z");
}

}  // namespace
}  // namespace orrery::yaml
