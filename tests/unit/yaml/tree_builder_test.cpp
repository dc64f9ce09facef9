// The limits of the reader: hostile input is refused quickly and with a reason.

#include "sim/base/yaml/tree_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/base/yaml/document.hpp"
#include "tests/unit/yaml/yaml_fixture.hpp"

namespace orrery::yaml {
namespace {

bool accepts(std::string_view text, const Limits& limits = {}) {
  Diagnostics diagnostics;
  const bool accepted = parse(text, "a.yaml", limits, diagnostics).has_value();
  EXPECT_EQ(accepted, to_string(diagnostics).empty()) << to_string(diagnostics);
  return accepted;
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

TEST(ReaderLimits, AcceptExactlySixtyFourLevels) {
  EXPECT_TRUE(accepts(repeat("[", 64) + repeat("]", 64)));
  EXPECT_EQ(
      errors(repeat("[", 65) + repeat("]", 65)),
      "a.yaml:1:65: error: " + repeat("[0]", 64) + ": nested too deeply (at most 64 levels)\n");
  EXPECT_TRUE(accepts(repeat("- ", 64) + "x\n"));
  EXPECT_NE(errors(repeat("- ", 65) + "x\n").find("nested too deeply"), std::string::npos);
}

// An unclosed bracket is one level, as a closed one is.
TEST(ReaderLimits, CountUnclosedBracketsOnce) {
  EXPECT_EQ(errors(repeat("[", 64)),
            "a.yaml:1:1: error: a comma or the closing `]` is missing after this ([a, b])\n");
  EXPECT_NE(errors(repeat("[", 65)).find("nested too deeply (at most 64 levels)"),
            std::string::npos);
}

TEST(ReaderLimits, RefuseMegabytesOfOpenBracketsInBoundedMemory) {
  for (const char* unit : {"[", "{a: ", "[\n", "- ", "? ", "{? "}) {
    const std::string text = repeat(unit, (std::size_t{3} << 20U) / std::string(unit).size());
    EXPECT_NE(errors(text).find("error"), std::string::npos) << unit;
  }
}

TEST(ReaderLimits, RefuseAValueThatNeverEnds) {
  EXPECT_EQ(errors("[" + repeat("1, ", 400'000) + "1]"),
            "a.yaml:1:1: error: the value after this one does not end within 1048576 bytes (close "
            "the bracket or quote, or split the value)\n");
  EXPECT_EQ(errors("a: 1\nb: \"" + repeat("1, ", 400'000) + "1\"\n"),
            "a.yaml:2:1: error: the value after this one does not end within 1048576 bytes (close "
            "the bracket or quote, or split the value)\n");
  EXPECT_TRUE(accepts("- [" + repeat("1, ", 300'000) + "1]\n- 2\n"));
}

// Nine references per level, nine levels: 9^9 = 387,420,489 values if nobody counted.
TEST(ReaderLimits, StopABillionLaughs) {
  std::string text = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'i'; ++c) {
    const std::string previous(1, static_cast<char>(c - 1));
    text += std::string(1, c) + ": &" + c + " [" + repeat("*" + previous + ", ", 8) + "*" +
            previous + "]\n";
  }
  EXPECT_NE(errors(text).find("anchors and aliases expand to too much (at most 100000 values and "
                              "4194304 bytes of text in a file)"),
            std::string::npos);
}

TEST(ReaderLimits, StopAliasesOfALongText) {
  const std::string text =
      "a: &a " + std::string(100'000, 'x') + "\nb:\n" + repeat("  - *a\n", 100);
  EXPECT_NE(errors(text).find("anchors and aliases expand to too much"), std::string::npos);
}

// Each alias adds three levels: without the check on expanded depth the tree could get as deep as
// the number of aliases, and its destructor would overflow the stack.
TEST(ReaderLimits, CountTheDepthBehindAliases) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string n = std::to_string(i);
    text += "a" + n + ": &a" + n + " [[[*a" + std::to_string(i - 1) + "]]]\n";
  }
  EXPECT_NE(errors(text).find("nested too deeply once the alias is expanded (at most 64 levels)"),
            std::string::npos);
}

TEST(ReaderLimits, RefuseAnAliasInsideItsOwnAnchor) {
  EXPECT_EQ(errors("a: &x {b: *x}\n"),
            "a.yaml:1:11: error: a.b: an alias of the value it stands in (an anchor that is "
            "complete before it)\n");
}

TEST(ReaderLimits, CountValuesAndKeyLength) {
  EXPECT_TRUE(accepts("[1, 2, 3]", {.max_nodes = 4}));
  EXPECT_EQ(errors("[1, 2, 3]", {.max_nodes = 3}),
            "a.yaml:1:8: error: [2]: too many values (at most 3 in a file)\n");
  EXPECT_TRUE(accepts(std::string(256, 'k') + ": 1\n"));
  EXPECT_EQ(errors(std::string(257, 'k') + ": 1\n"),
            "a.yaml:1:1: error: a key of 257 bytes (at most 256)\n");
}

TEST(ReaderLimits, StopAfterManyProblems) {
  const std::string text = errors("x: 1\n" + repeat("x: 1\n", 1000), {.max_problems = 5});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
  EXPECT_NE(text.find("too many problems, reading stops here"), std::string::npos);
}

TEST(ReaderLimits, ReadManyKeysWithoutQuadraticTime) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) {
    text += "key" + std::to_string(i) + ": 1\n";
  }
  EXPECT_TRUE(accepts(text));
}

TEST(ReaderLimits, RefuseControlCharactersInKeysOnlyWhenEscaped) {
  EXPECT_EQ(errors("\"a\\nb\": 1\n"),
            "a.yaml:1:1: error: key `a\\x0Ab` holds a control character (plain text)\n");
}

}  // namespace
}  // namespace orrery::yaml
