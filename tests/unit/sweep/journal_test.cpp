// The journal: what a killed sweep leaves behind, and what of it counts.

#include "sim/sweep/journal.hpp"

#include <cmath>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

using JournalTest = FolderTest;

constexpr std::size_t kMostBytes = 1'000'000;
const std::string kHeader = R"({"schema":"orrery-sweep-journal/1","version":"1","trials":null})";

std::string refusal_of(const std::filesystem::path& path, const std::string& header, bool resume) {
  try {
    const Journal journal(path, header, resume);
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
    result.cells = {std::exp(200.0 * (random.uniform01() - 0.5)),
                    std::nullopt,
                    std::numeric_limits<double>::denorm_min(),
                    -0.1};
    const Point point = {"30min", "[tp, dp]"};
    const std::string line = journal_line(point, result);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto entry = read_journal_line(line);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->point, point);
    EXPECT_EQ(entry->result, result);
  }
}

// Whatever is left of it, resuming ends with the same results, and evaluates only what is missing.
TEST_F(JournalTest, ResumesFromAnyPrefixWithoutLosingOrRepeatingAPoint) {
  const Sweep sweep = make_sweep({"capacity.spares=0,1,2", "checkpoint.interval=20min,1h"});
  const std::string header = journal_header(sweep, "1");
  ThreadCrew crew;
  SweepOutcome whole;
  {
    Journal journal(path("whole"), header, false);
    whole = run_sweep(sweep, crew, {.journal = &journal, .threads = 1});
  }
  ASSERT_TRUE(whole.complete);
  const std::string text = read_file(path("whole"), kMostBytes);
  std::vector<std::size_t> cuts = {0, header.size(), header.size() + 1, text.size() - 1};
  RandomStream random(5, 0, Purpose::property_test);
  for (int i = 0; i < 40; ++i) {
    cuts.push_back(random.uniform_int(text.size() + 1));
  }
  for (const std::size_t cut : cuts) {
    SCOPED_TRACE(cut);
    const std::string left = text.substr(0, cut);
    const auto lines = static_cast<std::int64_t>(std::count(left.begin(), left.end(), '\n'));
    write_file_atomically(path("cut"), left);
    Journal journal(path("cut"), header, true);
    const SweepOutcome outcome = run_sweep(sweep, crew, {.journal = &journal, .threads = 2});
    EXPECT_EQ(outcome.results, whole.results);
    EXPECT_EQ(outcome.reused, std::max<std::int64_t>(0, lines - 1));
    const std::string after = read_file(path("cut"), kMostBytes);
    EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 7);  // header and 6 points, once each
    EXPECT_TRUE(after.starts_with(left.substr(0, left.rfind('\n') + 1)));
  }
}

TEST_F(JournalTest, RefusesWhatBelongsToSomethingElse) {
  const std::string name = path("j").string();
  write_file_atomically(name, kHeader + "\n");
  const std::string other = R"({"schema":"orrery-sweep-journal/1","version":"2","trials":5})";
  EXPECT_EQ(refusal_of(name, other, true),
            name +
                ": belongs to another sweep (it differs in: version, trials): remove it, or "
                "choose another");
  write_file_atomically(name, "point,status\n1,ok\n");
  EXPECT_EQ(refusal_of(name, kHeader, true),
            name + ": is no journal of a sweep: choose another file");
  EXPECT_EQ(read_file(name, kMostBytes), "point,status\n1,ok\n");
  EXPECT_EQ(refusal_of(path("none") / "j", kHeader, true),
            (path("none") / "j").string() + ": cannot open: No such file or directory");
}

TEST_F(JournalTest, RefusesToStartOverFinishedPointsUnlessAsked) {
  const std::string name = path("j").string();
  write_file_atomically(name, kHeader + "\n" + journal_line({"1"}, {}) + "\n");
  EXPECT_EQ(refusal_of(name, kHeader, false),
            name +
                ": holds 1 points of a sweep that did not end: --resume continues it, or remove "
                "it");
  EXPECT_EQ(refusal_of(name, kHeader, true), "accepted");
}

TEST_F(JournalTest, RefusesDamageAnywhereButAtTheEnd) {
  const std::string name = path("j").string();
  write_file_atomically(name, kHeader + "\nscratched\n" + journal_line({"1"}, {}));
  EXPECT_EQ(refusal_of(name, kHeader, true),
            name + ": line 2 is damaged: remove the line, or the journal");
}

TEST_F(JournalTest, RefusesASecondWriter) {
  const std::string name = path("j").string();
  const Journal first(name, kHeader, false);
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
