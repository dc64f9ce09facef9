#include "sim/base/yaml/text_check.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sim/base/yaml/document.hpp"
#include "tests/unit/yaml/yaml_fixture.hpp"

namespace orrery::yaml {
namespace {

using namespace std::string_literals;

TEST(TextCheck, RefusesNulAndControlCharactersWithTheirPosition) {
  EXPECT_EQ(errors("a: 1\nb: \0x\n"s),
            "a.yaml:2:4: error: control character 0x00 (only tab and line ends; in quotes write "
            "an escape such as \\t)\n");
  EXPECT_NE(errors("a: \x1B[31m\n").find("1:4: error: control character 0x1B"), std::string::npos);
  EXPECT_NE(errors("a: \x7F\n").find("control character 0x7F"), std::string::npos);
  EXPECT_NE(errors("a: \xC2\x9B\n").find("control character U+009B"), std::string::npos);
  EXPECT_NE(errors("a: 1\rb: 2\n")
                .find("1:5: error: control character 0x0D (end lines with a "
                      "line feed)"),
            std::string::npos);
}

// Overlong forms, surrogates, beyond U+10FFFF, stray and missing continuation bytes, UTF-16.
TEST(TextCheck, RefusesWhatIsNotUtf8) {
  for (const char* bad : {"\xC0\x80", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80",
                          "\xC3", "\xE2\x82", "\xFF\xFE", "\xF8\x88\x80\x80\x80"}) {
    EXPECT_NE(errors("\xC3\xA9: "s + bad).find("a.yaml:1:4: error: byte 0x"), std::string::npos);
    EXPECT_EQ(utf8_length(bad), 0U);
  }
  EXPECT_EQ(utf8_length("\xF0\x9F\xAA\x90"), 4U);
  EXPECT_EQ(utf8_length("\xED\x9F\xBF"), 3U);
}

TEST(LineIndex, TurnsBytesIntoCharacters) {
  const LineIndex lines(
      "ab\n\xC3\xA9\xE2\x82\xAC"
      "c\n");
  EXPECT_EQ(lines.location("f", 0, 1), (SourceLocation{"f", 1, 2}));
  EXPECT_EQ(lines.location("f", 1, 0), (SourceLocation{"f", 2, 1}));
  EXPECT_EQ(lines.location("f", 1, 2), (SourceLocation{"f", 2, 2}));
  EXPECT_EQ(lines.location("f", 1, 5), (SourceLocation{"f", 2, 3}));
  EXPECT_EQ(lines.location("f", 99, 99), (SourceLocation{"f", 3, 1}));  // clamped to the end
  EXPECT_EQ(lines.location("f", -1, -1), (SourceLocation{"f", 1, 1}));
}

}  // namespace
}  // namespace orrery::yaml
