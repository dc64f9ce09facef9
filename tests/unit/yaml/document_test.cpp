#include "sim/base/yaml/document.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/yaml/text_check.hpp"
#include "sim/base/yaml/tree_builder.hpp"
#include "tests/support.hpp"
#include "tests/unit/yaml/yaml_fixture.hpp"

namespace orrery::yaml {
namespace {

std::optional<Value> parse_text(std::string_view text, Diagnostics& diagnostics) {
  return parse(text, "a.yaml", Limits{}, diagnostics);
}

// The tree, or a null value after a test failure.
Value parsed(std::string_view text) {
  Diagnostics diagnostics;
  auto value = parse_text(text, diagnostics);
  EXPECT_EQ(to_string(diagnostics), "");
  return value.value_or(Value{});
}

std::string at(const SourceLocation& where) {
  return where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
}

TEST(Document, KeepsScalarsAsTheyAreWritten) {
  const Value root =
      parsed("a: no\nb: 010\nc: 1e3\nd: 'yes'\ne: \"x\\ty\"\nf: 2024-04-01T00:00Z\n");
  ASSERT_EQ(root.entries.size(), 6U);
  EXPECT_EQ(root.entries[0].value.text, "no");
  EXPECT_EQ(root.entries[1].value.text, "010");
  EXPECT_EQ(root.entries[2].value.text, "1e3");
  EXPECT_EQ(root.entries[3].value.text, "yes");
  EXPECT_TRUE(root.entries[3].value.quoted);
  EXPECT_EQ(root.entries[4].value.text, "x\ty");
  EXPECT_EQ(root.entries[5].value.text, "2024-04-01T00:00Z");
  EXPECT_FALSE(root.entries[5].value.quoted);
}

TEST(Document, PlacesKeysAndValuesOneBased) {
  const Value root = parsed("a: 1\nlist:\n  - x\n  - {k: v}\n");
  EXPECT_EQ(at(root.where), "a.yaml:1:1");
  EXPECT_EQ(at(root.entries[0].key_where), "a.yaml:1:1");
  EXPECT_EQ(at(root.entries[0].value.where), "a.yaml:1:4");
  const Value& list = root.entries[1].value;
  EXPECT_EQ(at(list.where), "a.yaml:3:3");
  EXPECT_EQ(at(list.items[0].where), "a.yaml:3:5");
  EXPECT_EQ(at(list.items[1].where), "a.yaml:4:5");
  EXPECT_EQ(at(list.items[1].entries[0].value.where), "a.yaml:4:9");
}

TEST(Document, CountsColumnsInCharactersNotBytes) {
  const Value root = parsed("[\xC3\xA9\xC3\xA9, x]\n");  // two letters of two bytes each
  EXPECT_EQ(at(root.items[1].where), "a.yaml:1:6");
}

TEST(Document, IgnoresAByteOrderMarkAndCarriageReturns) {
  const Value root = parsed(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n");
  ASSERT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(at(root.entries[0].key_where), "a.yaml:1:1");
  EXPECT_EQ(root.entries[0].value.text, "1");
  EXPECT_EQ(at(root.entries[1].value.where), "a.yaml:2:4");
}

TEST(Document, PlacesAnEmptyValueAtItsKey) {
  const Value root = parsed("a:\nb: ~\n");
  EXPECT_EQ(root.entries[0].value.kind, Value::Kind::null);
  EXPECT_EQ(at(root.entries[0].value.where), "a.yaml:1:1");
  EXPECT_EQ(root.entries[1].value.kind, Value::Kind::null);
  EXPECT_EQ(at(root.entries[1].value.where), "a.yaml:2:4");
}

TEST(Document, ExpandsAliasesToCopiesThatPointAtTheAnchor) {
  const Value root = parsed("a: &x {k: [1, 2]}\nb: *x\n");
  ASSERT_EQ(root.entries.size(), 2U);
  const Value& copy = root.entries[1].value;
  ASSERT_EQ(copy.kind, Value::Kind::mapping);
  EXPECT_EQ(copy.entries[0].value.items[1].text, "2");
  EXPECT_EQ(at(copy.where), "a.yaml:1:4");
}

TEST(Document, ReadsMultiLineText) {
  const Value root = parsed("a: |\n  x\n  y\nb: >-\n  p\n  q\n");
  EXPECT_EQ(root.entries[0].value.text, "x\ny\n");
  EXPECT_EQ(root.entries[1].value.text, "p q");
}

TEST(Document, NamesBothLinesOfADuplicateKey) {
  EXPECT_EQ(errors("layout:\n  tp: 1\n  pp: 2\n  tp: 3\n  'tp': 4\n"),
            "a.yaml:4:3: error: layout.tp: duplicate key, first given in line 2 (give it once)\n"
            "a.yaml:5:3: error: layout.tp: duplicate key, first given in line 2 (give it once)\n");
}

TEST(Document, ReportsAllProblemsInTheOrderOfTheFile) {
  EXPECT_EQ(errors("a: 1\nb: !!int 5\na: 2\nc: {<<: 3}\n"),
            "a.yaml:2:4: error: b: tag `!!int` is not accepted (remove it; the "
            "key decides the type)\n"
            "a.yaml:3:1: error: a: duplicate key, first given in line 1 (give it once)\n"
            "a.yaml:4:5: error: c.<<: merge keys are not accepted (write the keys out, or use an "
            "alias for the whole value)\n");
}

TEST(Document, RefusesMergeKeysUnlessQuoted) {
  EXPECT_NE(errors("a: &x {k: 1}\nb: {<<: *x}\n").find("merge keys"), std::string::npos);
  EXPECT_EQ(parsed("'<<': 1\n").entries[0].key, "<<");
}

TEST(Document, FollowsMergeKeysOfForeignFiles) {
  Diagnostics problems;
  const auto tree = parse_foreign(
      "a: &x {k: 1, l: 2}\nb: &y {m: 3, l: 4}\nc:\n  l: 5\n  <<: [*x, *y]\nd: {<<: *y, m: 6}\n",
      "a.yaml", {}, problems);
  ASSERT_EQ(to_string(problems), "");
  const std::vector<Entry>& merged = tree->entries[2].value.entries;
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].key + merged[0].value.text, "l5");
  EXPECT_EQ(merged[1].key + merged[1].value.text, "k1");
  EXPECT_EQ(merged[2].key + merged[2].value.text, "m3");
  EXPECT_EQ(tree->entries[3].value.entries[0].value.text, "6");
  static_cast<void>(parse_foreign("a: 1\nb: {<<: 2}\n", "a.yaml", {}, problems));
  EXPECT_EQ(to_string(problems), "a.yaml:2:5: error: b.<<: merges what is no mapping (*alias)\n");
}

TEST(Document, TakesAKeyTwiceInForeignFilesWhereItsValuesAgree) {
  Diagnostics problems;
  EXPECT_TRUE(parse_foreign("a: 1\na: 1\n", "a.yaml", {}, problems).has_value());
  EXPECT_EQ(to_string(problems), "");
  EXPECT_FALSE(parse_foreign("a: 1\na: 2\n", "a.yaml", {}, problems).has_value());
}

TEST(Document, RefusesKeysThatAreNoText) {
  for (const char* text : {"[1]: 2\n", "? {a: 1}\n: 2\n", "~: 1\n", "null: 1\n", ": 1\n", "'': 1\n",
                           "a: &x k\n*x : 1\n"}) {
    EXPECT_NE(errors(text).find("a key must be plain text"), std::string::npos) << text;
  }
}

TEST(Document, RefusesASecondDocumentAndStrayText) {
  EXPECT_EQ(errors("a: 1\n---\nb: 2\n"),
            "a.yaml:2:1: error: a second document, or text after the end of the first (one per "
            "file)\n");
  EXPECT_EQ(errors("{a: 1} b\n"),
            "a.yaml:1:8: error: a second document, or text after the end of the first (one per "
            "file)\n");
  EXPECT_EQ(parsed("%YAML 1.2\n---\na: 1\n...\n").entries.size(), 1U);
}

TEST(Document, RefusesAnEmptyDocument) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(errors(text),
              "a.yaml:1:1: error: the document is empty (a mapping of keys to values)\n")
        << text;
  }
}

TEST(Document, ExplainsSyntaxErrorsWithOneDiagnostic) {
  EXPECT_EQ(errors("a: b: c\n"),
            "a.yaml:1:5: error: a `:` where no key can be (one `key: value` per line, no deeper "
            "than its neighbours; quotes around text that holds `: `)\n");
  EXPECT_EQ(errors("a: @x\n"),
            "a.yaml:1:4: error: a character that no value can begin with (quotes around the "
            "text)\n");
  EXPECT_EQ(errors("a: *x\n"),
            "a.yaml:1:4: error: an alias of an anchor that is not defined above (quotes around "
            "text that begins with `*`)\n");
  EXPECT_EQ(errors("a: 1\n- b\n"),
            "a.yaml:2:1: error: this does not continue the mapping above (`key: value` with the "
            "same indentation as the other keys)\n");
}

TEST(Document, PlacesAMissingBracketAtTheLastValueThatWasRead) {
  EXPECT_EQ(errors("a: [1, 2\nb: 3\n"),
            "a.yaml:1:8: error: a comma or the closing `]` is missing after this ([a, b])\n");
  EXPECT_EQ(errors("a: {b: \"x\"y}\n"),
            "a.yaml:1:8: error: a comma or the closing `}` is missing after this ({a: 1, b: 2})\n");
}

TEST(Document, SaysThatABracketIsMissingEvenWhereItLooksLikeAKey) {
  EXPECT_EQ(errors("{a: 1\n"),
            "a.yaml:1:5: error: a comma or the closing `}` is missing after this ({a: 1, b: 2})\n");
  EXPECT_EQ(errors("[x, 2\n"),
            "a.yaml:1:5: error: a comma or the closing `]` is missing after this ([a, b])\n");
}

// The parser library takes the end of the file for the closing quote: without care, b would be a
// part of a's text.
TEST(Document, RefusesAQuoteThatIsNotClosed) {
  for (const char* text : {"a: \"x\nb: 1\n", "a: 'x\nb: 1\n", "a: \"x", "a: 'x\n\n"}) {
    EXPECT_EQ(errors(text),
              "a.yaml:1:1: error: a quote opened after this is not closed (\"...\" or '...')\n")
        << text;
  }
  EXPECT_EQ(parsed("a: \"x\n  b: 1\"\nc: 2\n").entries.size(), 2U);
}

TEST(Document, ReadsFilesAndShowsTheGivenName) {
  const TempFolder folder;
  const std::filesystem::path path = folder.write("twice.yaml", "a: 1\na: 2\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_file(path, Limits{}, diagnostics, "shown.yaml").has_value());
  EXPECT_EQ(to_string(diagnostics),
            "shown.yaml:2:1: error: a: duplicate key, first given in line 1 (give it once)\n");
  Diagnostics too_large;
  EXPECT_FALSE(parse_file(path, Limits{.max_bytes = 5}, too_large, "s.yaml").has_value());
  EXPECT_EQ(to_string(too_large), "s.yaml: error: the file is too large (at most 5 bytes)\n");
}

TEST(Document, ThrowsWhenTheFileIsMissing) {
  Diagnostics diagnostics;
  try {
    static_cast<void>(parse_file("/nonexistent/a.yaml", Limits{}, diagnostics));
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

TEST(Display, EscapesControlCharactersAndCutsLongText) {
  EXPECT_EQ(display("a\nb\x1B"), "`a\\x0Ab\\x1B`");
  EXPECT_EQ(display("\xFF"), "`\\xFF`");
  EXPECT_EQ(display(std::string(41, 'x')), "`" + std::string(40, 'x') + "...`");
  EXPECT_EQ(display(std::string(40, 'x')), "`" + std::string(40, 'x') + "`");
}

// The limits of the reader: hostile input is refused quickly and with a reason.

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
