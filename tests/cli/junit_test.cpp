// JUnit from odd names, and the progress line, without running anything.

#include <gtest/gtest.h>

#include "sim/cli/check/check_reports.hpp"
#include "sim/cli/frame/progress.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli {
namespace {

using testing::has;

TEST(Junit, NamesAreEscapedAndControlCharactersReplaced) {
  const std::string xml = to_junit(
      {.files = {{.file = "a<b>&\"\x01\xff.yaml", .evaluation = {}, .problem = "line\ntwo é"}}});
  EXPECT_TRUE(has(xml, "name=\"a&lt;b&gt;&amp;&quot;??.yaml\""));
  EXPECT_TRUE(has(xml, "message=\"line&#10;two é\""));
  EXPECT_TRUE(has(xml, "errors=\"1\""));
}

TEST(Junit, NoFilesIsAnEmptyReport) {
  EXPECT_TRUE(has(to_junit({}), "tests=\"0\" failures=\"0\" errors=\"0\""));
}

TEST(Junit, UndecidedIsAFailureOfItsOwnKind) {
  report::Evaluation evaluation;
  evaluation.expectations.push_back({.text = "p50(goodput) > 0.9",
                                     .verdict = report::Verdict::undecided,
                                     .detail = "cannot be decided",
                                     .value = 0.9,
                                     .where = {}});
  const std::string xml = to_junit({.files = {{.file = "x.yaml", .evaluation = evaluation}}});
  EXPECT_TRUE(has(xml, "<failure type=\"undecided\" message=\"cannot be decided\"/>"));
}

TEST(Progress, LineShowsShareAndCounts) {
  EXPECT_EQ(progress_text("x", 500, 1000),
            "x [===============               ]  50%  500 / 1,000 trials");
  EXPECT_EQ(progress_text("x", 0, 0), "x [                              ]   0%  0 / 0 trials");
}

}  // namespace
}  // namespace orrery::cli
