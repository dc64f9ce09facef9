#include "sim/base/yaml/scalar.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

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

}  // namespace
}  // namespace orrery::yaml
