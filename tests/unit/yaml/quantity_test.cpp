// Quantities with units; their rules are in sim/base/yaml/scalar.hpp.

#include <gtest/gtest.h>

#include <string>

#include "sim/base/units.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "tests/unit/yaml/yaml_fixture.hpp"

namespace orrery::yaml {
namespace {

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
