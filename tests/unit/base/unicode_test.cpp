#include <gtest/gtest.h>

#include "sim/base/diagnostics.hpp"
#include "sim/base/text/text.hpp"

namespace orrery {
namespace {

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

}  // namespace
}  // namespace orrery
