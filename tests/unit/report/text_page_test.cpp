// The page: columns, wrapping, bars, colour, and no control characters from files.

#include "sim/answer/report/text/text_page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace orrery::report {
namespace {

constexpr TextStyle kPlain = {.colour = false, .unicode = true};
constexpr TextStyle kAscii = {.colour = false, .unicode = false};
constexpr TextStyle kColour = {.colour = true, .unicode = true};

TEST(TextPage, ColumnsCountCodePointsWithoutEscapes) {
  EXPECT_EQ(text_columns("abc"), 3U);
  EXPECT_EQ(text_columns("é█"), 2U);
  EXPECT_EQ(text_columns("\x1b[1;31mred\x1b[0m"), 3U);
}

TEST(TextPage, PaddingNeverCuts) {
  EXPECT_EQ(pad_right("ab", 4), "ab  ");
  EXPECT_EQ(pad_left("ab", 4), "  ab");
  EXPECT_EQ(pad_left("abcde", 4), "abcde");
  EXPECT_EQ(pad_right("\x1b[1mab\x1b[0m", 4), "\x1b[1mab\x1b[0m  ");
}

TEST(TextPage, BarsGrowInEighthsOfAColumn) {
  const TextPage page(kPlain);
  EXPECT_EQ(page.bar(0.0, 10), "");
  EXPECT_EQ(page.bar(1.0, 3), "███");
  EXPECT_EQ(page.bar(0.5, 1), "▌");
  EXPECT_EQ(page.bar(0.0001, 10), "▏");
  EXPECT_EQ(page.bar(7.0, 2), "██");
}

TEST(TextPage, BarsHaveAnAsciiForm) {
  const TextPage page(kAscii);
  EXPECT_EQ(page.bar(0.5, 10), "#####");
  EXPECT_EQ(page.bar(0.0001, 10), "#");
}

TEST(TextPage, ColourIsOnlyThereWhenAskedFor) {
  EXPECT_EQ(TextPage(kPlain).paint(Ink::bad, "x"), "x");
  EXPECT_EQ(TextPage(kColour).paint(Ink::good, "x"), "\x1b[32mx\x1b[0m");
  EXPECT_EQ(TextPage(kColour).paint(Ink::plain, "x"), "x");
}

TEST(TextPage, LongLinesWrapWithinThePage) {
  TextPage page(kPlain);
  std::string words;
  for (int i = 0; i < 60; ++i) {
    words += "word ";
  }
  page.section("TITLE", words);
  page.line(words, 4);
  std::istringstream in(page.text());
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    EXPECT_LE(text_columns(line), kPageWidth);
    EXPECT_FALSE(line.ends_with(' '));
  }
  EXPECT_GT(lines, 6U);
}

TEST(TextPage, AWordLongerThanThePageIsNotLost) {
  TextPage page(kPlain);
  const std::string word(300, 'x');
  page.line(word);
  EXPECT_NE(page.text().find(word), std::string::npos);
}

// 40 words of 4 letters after a name of 30 columns: they continue below their cell; without cells
// two columns behind the indent. Words and line ends stay as they are.
TEST(WrapLines, ContinuesBelowTheLastCell) {
  std::string words;
  for (int i = 0; i < 40; ++i) {
    words += i == 0 ? "word" : " word";
  }
  const std::string table = wrap_lines("  rate" + std::string(24, ' ') + words + "\nshort\n");
  EXPECT_NE(table.find("word\n" + std::string(30, ' ') + "word"), std::string::npos) << table;
  const std::string formula = wrap_lines("  " + words);
  EXPECT_NE(formula.find("word\n    word"), std::string::npos) << formula;
  for (const std::string& wrapped : {table, formula}) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < wrapped.size();) {
      const std::size_t end = std::min(wrapped.find('\n', at), wrapped.size());
      EXPECT_LE(end - at, kPageWidth);
      for (std::size_t word = wrapped.find("word", at); word < end;
           word = wrapped.find("word", word + 1)) {
        ++count;
      }
      at = end + 1;
    }
    EXPECT_EQ(count, 40U);
  }
  EXPECT_TRUE(table.ends_with("\nshort\n"));
  EXPECT_EQ(wrap_lines("a\n\nb"), "a\n\nb");
}

TEST(TextPage, FilesCannotSpeakToTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(printable("Größe"), "Größe");
}

}  // namespace
}  // namespace orrery::report
