#include <gtest/gtest.h>

#include "sim/answer/report/table.hpp"

namespace orrery::report {
namespace {

TEST(CsvCell, QuotesOnlyWhatMustBeQuoted) {
  EXPECT_EQ(csv_cell("tp8 pp16"), "tp8 pp16");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
}

TEST(XmlText, KeepsTheDocumentWellFormed) {
  EXPECT_EQ(xml_text("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(xml_text("one\ntwo\tthree"), "one&#10;two\tthree");
  EXPECT_EQ(xml_text("caf\xc3\xa9 \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xf0\x9f\x98\x80");
}

// No document may hold these: a control character, half a code point, an overlong slash.
TEST(XmlText, ReplacesWhatNoDocumentMayHold) {
  EXPECT_EQ(xml_text("a\x01z"), "a?z");
  EXPECT_EQ(xml_text("a\xc3"), "a?");
  EXPECT_EQ(xml_text("\xc0\xaf"), "??");
  EXPECT_EQ(xml_text("a\xef\xbf\xbf\xef\xbf\xbe"), "a??");             // U+FFFF, U+FFFE
  EXPECT_EQ(xml_text("a\xc2\x9b\xe2\x80\xae\xed\xa0\x80"), "a?????");  // C1, U+202E, a surrogate
}

}  // namespace
}  // namespace orrery::report
