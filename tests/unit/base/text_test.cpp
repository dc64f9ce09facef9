#include "sim/base/text/text.hpp"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace orrery
