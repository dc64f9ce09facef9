// The journal: what a killed sweep leaves behind, and what of it counts.

#include "sim/answer/sweep/journal.hpp"

#include <cmath>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/files/journal_file.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/base/disk_model.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

using JournalTest = FolderTest;

constexpr std::size_t kMostBytes = 1'000'000;
constexpr LineShape kShape = {.values = 1, .cells = 2};
const std::string kHeader = R"({"schema":"orrery-sweep-journal/2","version":"1","trials":null})";

std::string a_line() { return sealed(journal_line({"1"}, {.cells = {1.0, std::nullopt}})); }

std::string refusal_of(const std::filesystem::path& path, const std::string& header, bool resume) {
  try {
    const Journal journal(path, header, kShape, resume);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
  return "accepted";
}

// Bit for bit, with numbers that have no short decimal form.
TEST(JournalLine, BringsBackWhatWasWritten) {
  RandomStream random(11, 0, Purpose::property_test);
  for (int i = 0; i < 1000; ++i) {
    PointResult result;
    result.status = static_cast<Status>(random.uniform_int(4));
    result.reason = "a \"reason\"\nof two lines, \xC3\xA9";
    result.files = {{"/a/trace \"b\".csv", "0123"}};
    if (result.status != Status::invalid) {
      result.cells = {std::exp(200.0 * (random.uniform01() - 0.5)), std::nullopt,
                      std::numeric_limits<double>::denorm_min(), -0.1};
    }
    const Point point = {"30min", "[tp, dp]"};
    const std::string line = journal_line(point, result);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const JournalEntry entry =
        read_journal_line(line, {.values = 2, .cells = result.status == Status::invalid ? 9U : 4U});
    EXPECT_EQ(entry.problem, "");
    EXPECT_EQ(entry.point, point);
    EXPECT_EQ(entry.result, result);
  }
}

// Whatever is left of it, resuming ends with the same results, and evaluates only what is missing.
TEST_F(JournalTest, ResumesFromAnyPrefixWithoutLosingOrRepeatingAPoint) {
  const Sweep sweep = make_sweep({"capacity.spares=0,1,2", "checkpoint.interval=20min,1h"});
  const std::string header = journal_header(sweep, "1");
  Team alone;
  SweepOutcome whole;
  {
    Journal journal(path("whole"), header, line_shape(sweep), false);
    whole = run_sweep(sweep, alone, {.journal = &journal, .threads = 1});
  }
  ASSERT_TRUE(whole.complete);
  const std::string text = read_file(path("whole"), kMostBytes);
  const std::size_t first = text.find('\n');
  std::vector<std::size_t> cuts = {0, first, first + 1, text.size() - 1};
  RandomStream random(5, 0, Purpose::property_test);
  for (int i = 0; i < 40; ++i) {
    cuts.push_back(random.uniform_int(text.size() + 1));
  }
  for (const std::size_t cut : cuts) {
    SCOPED_TRACE(cut);
    const std::string left = text.substr(0, cut);
    const auto lines = static_cast<std::int64_t>(std::count(left.begin(), left.end(), '\n'));
    write_file_atomically(path("cut"), left);
    Journal journal(path("cut"), header, line_shape(sweep), true);
    const SweepOutcome outcome = run_sweep(sweep, alone, {.journal = &journal, .threads = 2});
    EXPECT_EQ(outcome.results, whole.results);
    EXPECT_EQ(outcome.reused, std::max<std::int64_t>(0, lines - 1));
    const std::string after = read_file(path("cut"), kMostBytes);
    EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 7);  // header and 6 points, once each
    EXPECT_TRUE(after.starts_with(left.substr(0, left.rfind('\n') + 1)));
  }
}

TEST_F(JournalTest, RefusesWhatBelongsToSomethingElse) {
  const std::string name = path("j").string();
  write_file_atomically(name, sealed(kHeader) + "\n");
  const std::string other = R"({"schema":"orrery-sweep-journal/2","version":"2","trials":5})";
  EXPECT_EQ(refusal_of(name, other, true),
            name +
                ": belongs to another sweep (it differs in: version, trials): remove it, or "
                "choose another");
  write_file_atomically(name, "point,status\n1,ok\n");
  EXPECT_EQ(refusal_of(name, kHeader, true),
            name + ": is no journal of a sweep by this version: choose another file");
  EXPECT_EQ(read_file(name, kMostBytes), "point,status\n1,ok\n");
  EXPECT_EQ(refusal_of(path("none") / "j", kHeader, true),
            (path("none") / "j").string() + ": cannot open: No such file or directory");
}

TEST_F(JournalTest, RefusesToStartOverFinishedPointsUnlessAsked) {
  const std::string name = path("j").string();
  write_file_atomically(name, sealed(kHeader) + "\n" + a_line() + "\n");
  EXPECT_EQ(refusal_of(name, kHeader, false),
            name +
                ": holds 1 points of a sweep that did not end: --resume continues it, or remove "
                "it");
  EXPECT_EQ(refusal_of(name, kHeader, true), "accepted");
}

TEST_F(JournalTest, RefusesDamageAnywhereButAtTheEnd) {
  const std::string name = path("j").string();
  write_file_atomically(name, sealed(kHeader) + "\nscratched\n" + a_line());
  EXPECT_EQ(refusal_of(name, kHeader, true),
            name + ": line 2 is damaged: remove the line, or the journal");
}

// Lines whose checksum fits and that are not those of this sweep: a program or a person wrote them.
TEST_F(JournalTest, RefusesLinesOfAnotherShape) {
  const std::string name = path("j").string();
  const auto refusal = [&name](const std::string& line) {
    write_file_atomically(name, sealed(kHeader) + "\n" + sealed(line) + "\n");
    std::string why = refusal_of(name, kHeader, true);
    const std::string where = name + ": line 2: ";
    const std::string what = ": remove the line, or the journal";
    EXPECT_TRUE(why.starts_with(where) && why.ends_with(what)) << why;
    return why.substr(where.size(), why.size() - where.size() - what.size());
  };
  const auto line = [](const std::string& cells, const std::string& status = "ok") {
    return R"({"point":["1"],"status":")" + status + R"(","reason":"","cells":)" + cells +
           R"(,"files":{}})";
  };
  EXPECT_EQ(refusal(line("[1,2,3]")), "has 3 figures where 2 are needed");
  EXPECT_EQ(refusal(line("[1]")), "has 1 figures where 2 are needed");
  EXPECT_EQ(refusal(line("[1,true]")), "a figure is no number");
  EXPECT_EQ(refusal(line(R"([1,"2"])")), "a figure is no number");
  EXPECT_EQ(refusal(line("[1,2]", "invalid")), "has 2 figures where 0 are needed");
  EXPECT_EQ(refusal(line("[1,2]", "fine")), "its status is none");
  EXPECT_EQ(refusal(R"({"point":["1","2"],"status":"ok","reason":"","cells":[1,2],"files":{}})"),
            "its point has not the 1 values of this sweep");
  EXPECT_EQ(refusal(R"({"point":["1"],"status":"ok","reason":"","files":{}})"), "has no `cells`");
  EXPECT_EQ(refusal(R"({"point":["1"],"status":5,"reason":"","cells":[1,2],"files":{}})"),
            "its status is none");
  EXPECT_EQ(refusal(R"({"point":["1"],"status":"ok","reason":"","cells":[1,2],"files":{"a":1}})"),
            "its files are no files");
}

TEST_F(JournalTest, RefusesAHeaderOfAnotherType) {
  const std::string name = path("j").string();
  for (const char* header : {R"({"schema":5})", R"({"schema":null})", "[]", "5", "\"schema\""}) {
    write_file_atomically(name, std::string(header) + "\n");
    EXPECT_EQ(refusal_of(name, kHeader, true),
              name + ": is no journal of a sweep by this version: choose another file");
  }
}

// Whatever bit of a journal turns over: the same points, fewer of them, or a refusal.
TEST_F(JournalTest, NeverReadsAnotherTableFromOneChangedBit) {
  const std::string name = "/model/journal";
  std::map<Point, PointResult> whole;
  orrery::test::DiskModel disk;
  {
    Journal journal(name, kHeader, kShape, false, disk);
    for (int i = 1; i <= 3; ++i) {
      PointResult result{.status = static_cast<Status>(i - 1),
                         .reason = i == 1 ? "" : "because",
                         .cells = {i / 3.0, std::nullopt}};
      result.files = {};
      journal.append({std::to_string(i)}, result);
      whole[{std::to_string(i)}] = result;
    }
    journal.close();
  }
  const std::string text = disk.content(name);
  int refused = 0;
  int fewer = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
      disk.put(name, changed);
      try {
        const Journal journal(name, kHeader, kShape, true, disk);
        fewer += journal.finished().size() < whole.size() ? 1 : 0;
        for (const auto& [point, result] : journal.finished()) {
          ASSERT_TRUE(whole.contains(point)) << at << " " << bit;
          ASSERT_EQ(result, whole[point]) << at << " " << bit;
        }
        ASSERT_LT(journal.finished().size(), whole.size()) << "a change was not seen";
      } catch (const Error& error) {
        ++refused;
      }
    }
  }
  EXPECT_EQ(refused + fewer, static_cast<int>(8 * text.size()));
  EXPECT_GT(fewer, 0);
}

// A point that read a file goes on counting only while the file says the same.
TEST_F(JournalTest, RefusesPointsWhoseFilesHaveChanged) {
  const std::string name = path("j").string();
  const std::string trace = path("trace.csv").string();
  write_file_atomically(trace, "time,available\n0,1\n");
  PointResult result{.cells = {1.0, 2.0}};
  result.files = {stamp_of(trace, read_file(trace, kMostBytes))};
  write_file_atomically(name, sealed(kHeader) + "\n" + sealed(journal_line({"1"}, result)) + "\n");
  EXPECT_EQ(refusal_of(name, kHeader, true), "accepted");
  write_file_atomically(trace, "time,available\n0,2\n");
  EXPECT_EQ(refusal_of(name, kHeader, true), name + ": belongs to another sweep (" + trace +
                                                 " has changed): remove it, or choose another");
  std::filesystem::remove(trace);
  EXPECT_EQ(refusal_of(name, kHeader, true), name + ": belongs to another sweep (" + trace +
                                                 " cannot be read): remove it, or choose another");
}

TEST_F(JournalTest, EvaluatesInvalidPointsAgain) {
  const std::string name = path("j").string();
  write_file_atomically(name, sealed(kHeader) + "\n" +
                                  sealed(journal_line({"1"}, {.status = Status::invalid})) + "\n");
  const Journal journal(name, kHeader, kShape, true);
  EXPECT_TRUE(journal.finished().empty());
}

TEST_F(JournalTest, RefusesASecondWriter) {
  const std::string name = path("j").string();
  const Journal first(name, kHeader, kShape, false);
  EXPECT_EQ(refusal_of(name, kHeader, true),
            name + ": another sweep writes this journal at the moment");
}

TEST_F(JournalTest, ChangesWithEverythingThatDecidesTheFigures) {
  const Sweep sweep = make_sweep({"capacity.spares=0,1"});
  const std::string header = journal_header(sweep, "1");
  EXPECT_EQ(header, journal_header(make_sweep({"capacity.spares=0,5"}), "1"));
  EXPECT_NE(header, journal_header(sweep, "2"));
  EXPECT_NE(header, journal_header(make_sweep({"checkpoint.mode=sync"}), "1"));
  EXPECT_NE(header,
            journal_header(make_sweep({"capacity.spares=0"}, small_scenario() + "\n"), "1"));
  Sweep changed = sweep;
  changed.trials = 5;
  EXPECT_NE(header, journal_header(changed, "1"));
  changed = sweep;
  changed.columns.pop_back();
  EXPECT_NE(header, journal_header(changed, "1"));
  changed = sweep;
  changed.search.directories = {path("")};
  EXPECT_NE(header, journal_header(changed, "1"));
}

}  // namespace
}  // namespace orrery::sweep::test
