// Parts of a sweep: together they are the whole, and what is not one sweep is refused.

#include "sim/answer/sweep/shard.hpp"

#include <fmt/core.h>

#include "sim/answer/sweep/sweep_report.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

// Results that tell their point, without an evaluation.
std::vector<PointResult> results_of(const Sweep& part) {
  std::vector<PointResult> results;
  for (const Point& point : part.points) {
    PointResult result;
    result.cells.assign(part.columns.size(), std::stod(point[0]) / 3.0);
    result.files = {{"trace.csv", "0123"}};
    if (point[0] == "2") {
      result = {.status = Status::invalid, .reason = "no", .cells = {}, .files = {}};
    }
    results.push_back(result);
  }
  return results;
}

std::vector<PartFile> parts_of(const Sweep& whole, std::size_t count,
                               const std::string& version = "1") {
  std::vector<PartFile> files;
  for (std::size_t number = 1; number <= count; ++number) {
    const Shard shard{number, count};
    files.push_back(
        {fmt::format("{}.json", number),
         part_text(whole, small_scenario(), shard, results_of(part_of(whole, shard)), version)});
  }
  return files;
}

std::string problem_of(const std::vector<PartFile>& files) {
  Diagnostics diagnostics;
  EXPECT_FALSE(join_parts(files, diagnostics));
  return to_string(diagnostics);
}

TEST(Shard, IsAPartOfSoMany) {
  EXPECT_EQ(parse_shard("3/16")->number, 3U);
  EXPECT_EQ(parse_shard("3/16")->of, 16U);
  for (const char* wrong : {"", "3", "0/4", "5/4", "3/", "/4", "3/4/5", "-1/4", "a/b", "1/2 "}) {
    EXPECT_FALSE(parse_shard(wrong)) << wrong;
  }
}

// For any number of parts, more than there are points among them, and in any order.
TEST(Shard, PartsAreTogetherTheWholeSweep) {
  const Sweep whole = make_sweep({"capacity.spares=0:6:7", "batch.micro=1,2"});
  const std::vector<PointResult> results = results_of(whole);
  for (const std::size_t count : {1U, 3U, 14U, 17U}) {
    std::vector<PartFile> files = parts_of(whole, count);
    std::reverse(files.begin(), files.end());
    Diagnostics diagnostics;
    const auto joined = join_parts(files, diagnostics);
    ASSERT_TRUE(joined) << to_string(diagnostics);
    EXPECT_EQ(joined->results, results);
    EXPECT_EQ(to_csv(joined->sweep, joined->results), to_csv(whole, results));
    EXPECT_EQ(to_json(joined->sweep, joined->results), to_json(whole, results));
    EXPECT_EQ(to_text(joined->sweep, joined->results, {}), to_text(whole, results, {}));
  }
}

TEST(Shard, RefusesWhatIsNotOneSweep) {
  const Sweep whole = make_sweep({"capacity.spares=0:6:7"});
  const std::vector<PartFile> files = parts_of(whole, 3);
  EXPECT_EQ(problem_of({files[0], files[2]}), "3.json: error: part 2 of 3 is missing\n");
  EXPECT_EQ(problem_of({files[1]}), "2.json: error: parts 1, 3 of 3 are missing\n");
  EXPECT_EQ(problem_of({files[0], files[1], files[1], files[2]}),
            "2.json: error: is part 2 of 3, and so is 2.json (every part once)\n");
  EXPECT_EQ(problem_of({files[0], parts_of(whole, 3, "2")[1]}),
            "2.json: error: belongs to another sweep than 1.json (it differs in: version) (parts "
            "of one sweep)\n");
  const Sweep other = make_sweep({"capacity.spares=0:12:7"});
  EXPECT_EQ(problem_of({files[0], parts_of(other, 3)[1]}),
            "2.json: error: belongs to another sweep than 1.json (it differs in: values) (parts "
            "of one sweep)\n");
  EXPECT_EQ(problem_of({files[0], parts_of(whole, 2)[1]}),
            "2.json: error: is part 2 of 2 (parts of 3)\n");
  PartFile moved = files[1];
  moved.text.replace(moved.text.find("0123"), 4, "4567");
  EXPECT_EQ(problem_of({files[0], moved}),
            "2.json: error: belongs to another sweep (trace.csv was another file) (parts of one "
            "sweep)\n");
}

// Every prefix of a part, and every part with one byte of it changed, is refused or joined: nothing
// ends the program.
TEST(Shard, SurvivesPartsThatAreDamaged) {
  const std::vector<PartFile> files = parts_of(make_sweep({"capacity.spares=0,1"}), 1);
  const std::string& text = files[0].text;
  constexpr std::size_t kApart = 397;
  for (std::size_t at = 0; at < text.size(); at += kApart) {
    Diagnostics ignored;
    EXPECT_FALSE(join_parts(std::vector<PartFile>{{"cut", text.substr(0, at)}}, ignored));
    for (const char byte : {'0', '-', '"', '}', 'n'}) {
      std::string changed = text;
      changed[at] = byte;
      static_cast<void>(join_parts(std::vector<PartFile>{{"changed", changed}}, ignored));
    }
  }
}

}  // namespace
}  // namespace orrery::sweep::test
