// One table in every form: what is absent or not finite, what has to be quoted, what fits.

#include "sim/answer/report/table.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace orrery::report {
namespace {

Table sample() {
  Table table;
  table.columns = {{"name", "name"}, {"time_s", "time", Dimension::time}, {"factor", "factor"}};
  table.rows = {{"a|b", 90.0, 1.5},
                {"say \"x\", y", Cell(), std::numeric_limits<double>::infinity()}};
  return table;
}

TEST(Table, AlignsTextInTheUnitOfTheColumn) {
  EXPECT_EQ(to_text(sample(), TextPage({})),
            "name          time  factor\n"
            "a|b         90.0 s     1.5\n"
            "say \"x\", y       -       -\n");
}

TEST(Table, LeavesOutColumnsThatDoNotFitThePage) {
  Table table = table_of({"a", "b", "c"});
  table.add(std::string(60, 'x'), std::string(30, 'y'), std::string(30, 'z'));
  const std::string text = to_text(table, TextPage({}));
  EXPECT_NE(text.find(std::string(60, 'x') + "  " + std::string(30, 'y') + "\n"),
            std::string::npos);
  EXPECT_EQ(text.find('z'), std::string::npos);
}

TEST(Table, ShowsNoControlCharactersInText) {
  Table table = table_of({"a"});
  table.add("\x1b[31mred");
  EXPECT_EQ(to_text(table, TextPage({})), "a\n?[31mred\n");
}

TEST(Table, QuotesCsvAndLeavesOutWhatIsNoNumber) {
  EXPECT_EQ(to_csv(sample()), "name,time_s,factor\na|b,90,1.5\n\"say \"\"x\"\", y\",,\n");
}

TEST(Table, KeepsMarkdownCellsInTheirTable) {
  Table table = table_of({"what", "n"});
  table.add("a|b\nc", 3);
  EXPECT_EQ(to_markdown(table), "| what | n |\n|---|---|\n| a\\|b c | 3 |\n");
}

TEST(Table, NamesTheMembersOfJson) {
  EXPECT_EQ(rows_json(sample()).dump(), R"([{"name":"a|b","time_s":90.0,"factor":1.5},)"
                                        R"({"name":"say \"x\", y","time_s":null,"factor":null}])");
}

}  // namespace
}  // namespace orrery::report
