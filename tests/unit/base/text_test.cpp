#include "sim/base/text/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/files/journal_file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LowerCase, ChangesNothingButAsciiLetters) {
  EXPECT_EQ(lower_case("H100-SXM5 80GB_x"), "h100-sxm5 80gb_x");
  EXPECT_EQ(lower_case("\xc3\x84@[`{"), "\xc3\x84@[`{");
  EXPECT_EQ(lower_case('Z'), 'z');
}

TEST(LinesOf, LastLineEndStartsNoFurtherLine) {
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("a"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n\n"), ElementsAre("a", ""));
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b"));
}

TEST(Printable, KeepsWhatAReaderSees) {
  EXPECT_EQ(printable("Größe 10 µs, 訓練 \xF0\x9F\x9A\x80"), "Größe 10 µs, 訓練 \xF0\x9F\x9A\x80");
  EXPECT_EQ(printable(""), "");
}

// A terminal obeys C0 and C1 controls; overrides make `exe.yaml` of `lmay.exe`.
TEST(Printable, ReplacesWhatSteersATerminalOrHidesTheText) {
  EXPECT_EQ(printable("a\x1b[31mb\x7f\tc\nd"), "a?[31mb??c?d");
  EXPECT_EQ(printable("a\xC2\x9B"
                      "31mb"),
            "a?31mb");  // U+009B, CSI
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b\xE2\x81\xA6"
                      "c"),
            "a?b?c");  // U+202E, U+2066
  EXPECT_EQ(printable("a\xE2\x80\xA8\xD8\x9C\xE2\x80\x8F"
                      "b"),
            "a???b");
  EXPECT_EQ(printable("a\xEF\xBF\xBE\xEF\xBF\xBF"
                      "b"),
            "a??b");  // U+FFFE, U+FFFF
  EXPECT_EQ(printable("a\xF3\xA0\x80\x81"
                      "b"),
            "a?b");                                                 // a tag, U+E0001
  EXPECT_EQ(printable("\xC3\xFF\xED\xA0\x80\xC0\xAF"), "???????");  // no UTF-8, a surrogate
  EXPECT_EQ(printable_lines("one\ntwo\x1b\r\n"), "one\ntwo??\n");
}

TEST(Printable, IsHowDiagnosticsAreShown) {
  EXPECT_EQ(to_string(Diagnostic{.where = {"a\x1b]0;b.yaml", 3, 1},
                                 .key = "name",
                                 .message = "is \xE2\x80\xAE"
                                            "bad",
                                 .allowed = {}}),
            "a?]0;b.yaml:3:1: error: name: is ?bad");
}

TEST(Utf8, GivesTheCharacterOfItsBytes) {
  EXPECT_EQ(code_point("A", 1), 0x41U);
  EXPECT_EQ(code_point("\xC3\xA9", 2), 0xE9U);
  EXPECT_EQ(code_point("\xE2\x80\xAE", 3), 0x202EU);
  EXPECT_EQ(code_point("\xF0\x9F\x9A\x80", 4), 0x1F680U);
}

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

// What is absent or not finite is null, quantities are in base units, bytes that are no UTF-8 end
// no document.

TEST(JsonText, WritesNullForWhatIsNotThere) {
  EXPECT_EQ(json_line({{"none", std::optional<double>()},
                       {"some", std::optional(1.5)},
                       {"infinite", std::numeric_limits<double>::infinity()}}),
            R"({"none":null,"some":1.5,"infinite":null})");
}

TEST(JsonText, WritesQuantitiesInBaseUnits) {
  EXPECT_EQ(json_line({{"time_s", milliseconds(250.0)},
                       {"size_bytes", std::optional(kibibytes(2.0))},
                       {"none", std::optional<Dollars>()}}),
            R"({"time_s":0.25,"size_bytes":2048.0,"none":null})");
}

TEST(JsonText, MakesAListOfItems) {
  const std::vector<int> items = {1, 2};
  EXPECT_EQ(json_text(json_list(items,
                                [](int item) {
                                  return Json{{"i", item}};
                                })),
            "[\n  {\n    \"i\": 1\n  },\n  {\n    \"i\": 2\n  }\n]\n");
  EXPECT_EQ(json_line(json_list(std::vector<int>(), [](int item) { return Json(item); })), "[]");
}

TEST(JsonText, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(json_line(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(UntrustedJson, ReadsWhatIsWithinItsLimits) {
  const auto read = read_json(R"({"a": [1, "]]]]{", {"b": null}]})", {.levels = 3, .values = 8});
  ASSERT_TRUE(read.ok()) << read.problem.what;
  EXPECT_EQ(read.value["a"].size(), 3U);
  EXPECT_EQ(text_member(read.value, "a"), "");
  EXPECT_EQ(text_member(read.value, "none"), "");
  EXPECT_EQ(text_member(read.value["a"], "a"), "");
}

TEST(UntrustedJson, SaysWhereItEnds) {
  const auto deep = read_json("{\"a\": [[[1]]]}", {.levels = 3, .values = 100});
  EXPECT_EQ(deep.problem.what, "has more than 3 levels of brackets");
  EXPECT_EQ(deep.problem.byte, 8U);
  EXPECT_TRUE(deep.value.is_null());
  EXPECT_EQ(read_json("[1,2,3,4]", {.levels = 3, .values = 3}).problem.what,
            "holds more than 3 values");
  EXPECT_EQ(read_json("[1, 2").problem.what, "the JSON is cut off");
  EXPECT_EQ(read_json("").problem.what, "the JSON is cut off");
  EXPECT_EQ(read_json("[1, x]").problem.what, "not valid JSON");
  EXPECT_FALSE(read_json("[1e999]").ok());
  EXPECT_FALSE(read_json("\"\xff\"").ok());
}

// The stack of a thread holds some hundred thousand calls; nothing of the kind may be needed.
TEST(UntrustedJson, RefusesAMillionLevels) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(read_json(deep).problem.what, "has more than 64 levels of brackets");
  EXPECT_EQ(read_json(std::string(1'000'000, '[')).problem.byte, 64U);
}

// As zlib.crc32 of Python gives it.
TEST(SealedLine, CarriesTheChecksumOfTheObject) {
  EXPECT_EQ(sealed("{}"), R"({"crc32":"a3a6bf43"})" + std::string());
  EXPECT_EQ(unsealed(sealed("{}")), "{}");
  EXPECT_EQ(unsealed(sealed(R"({"a":[1,2],"b":"x"})")), R"({"a":[1,2],"b":"x"})");
}

TEST(SealedLine, RefusesEveryChangeOfOneByte) {
  const std::string line = sealed(R"({"point":["1"],"cells":[0.25,null],"status":"ok"})");
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = line;
      changed[at] = static_cast<char>(value);
      EXPECT_EQ(unsealed(changed).has_value(), changed == line) << at << " " << value;
    }
    EXPECT_FALSE(unsealed(line.substr(0, at)));
    EXPECT_FALSE(unsealed(line.substr(at + 1)));
  }
  EXPECT_FALSE(unsealed(R"({"a":1})"));
  EXPECT_FALSE(unsealed(""));
}

}  // namespace
}  // namespace orrery
