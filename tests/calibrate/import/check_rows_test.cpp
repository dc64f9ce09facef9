// Logs that cannot be true are refused with the line and the reason; doubtful ones are warned of.

#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/import/import_report.hpp"
#include "tests/calibrate/import/sample_log.hpp"

namespace orrery::calibration_import::testing {
namespace {

struct Outcome {
  bool sound = false;
  std::string messages;
};

Outcome check(const std::string& text, bool in_place = false) {
  Diagnostics diagnostics;
  RigOptions options;
  options.rig = "rig";
  const auto logs = read_text(text, diagnostics, "a.log");
  Outcome outcome;
  if (!logs.empty()) {
    const auto resolved = resolve_log(logs.front(), options, shipped_search(), diagnostics);
    outcome.sound = resolved && check_rows(*resolved, in_place, diagnostics);
  }
  outcome.messages = to_string(diagnostics);
  return outcome;
}

std::string with(std::string text, const std::string& old, const std::string& replacement) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  text.replace(at, old.size(), replacement);
  return text;
}

void expect_refused(const Outcome& outcome, const std::string& message) {
  EXPECT_FALSE(outcome.sound);
  EXPECT_EQ(outcome.messages, message);
}

TEST(CheckRows, SoundLogsPassInSilence) {
  for (const std::int64_t ranks : {2, 4, 8}) {
    const auto n = static_cast<double>(ranks);
    const Outcome outcome = check(log_text({.ranks = ranks, .factor = 2.0 * (n - 1.0) / n}));
    EXPECT_TRUE(outcome.sound);
    EXPECT_EQ(outcome.messages, "");
  }
}

TEST(CheckRows, WrongValuesAreRefused) {
  expect_refused(check(with(log_text({}), "235.64  412.36       0", "235.64  412.36      17")),
                 "a.log:19:1: error: 17 values were wrong at 256MiB\n");
  expect_refused(check(with(log_text({}), "values : 0 OK", "values : 3 FAILED")),
                 "a.log:1:1: error: 3 values were out of bounds: the data did not arrive\n");
}

TEST(CheckRows, AlgbwMustBeSizeOverTime) {
  expect_refused(
      check(with(log_text({}), "1139.20  235.64  412.36", "1339.20  235.64  412.36")),
      "a.log:19:1: error: algbw is 235.64 GB/s, but 256MiB in 1339.2 us are 200.4 GB/s\n");
}

TEST(CheckRows, BusbwMustFitTheRanks) {
  // Figures of sixteen ranks under a list of eight.
  expect_refused(check(log_text({.factor = 1.875, .rows = {{1073741824, 4038.8}}})),
                 "a.log:18:1: error: busbw is 498.48 GB/s, but algbw 265.86 x 1.75 of all_reduce "
                 "on 8 ranks is "
                 "465.3 (its figures fit 16 ranks)\n");
  // Figures of an all-gather.
  const Outcome gather = check(log_text({.factor = 0.875, .rows = {{1073741824, 4038.8}}}));
  EXPECT_FALSE(gather.sound);
}

TEST(CheckRows, TimesMustBeAboveZeroAndGrow) {
  expect_refused(check(with(log_text({}), "   40.50   25.89   45.31", "    0.00   25.89   45.31")),
                 "a.log:18:1: error: a time of 0 us\n");
  expect_refused(check(log_text({.rows = {{1048576, 95.0}, {268435456, 94.0}}})),
                 "a.log:19:1: error: the time does not grow with the size: 95 us for 1MiB, 94 us "
                 "for 256MiB\n");
}

TEST(CheckRows, TimesOfTheCpuAreRefused) {
  expect_refused(
      check(with(log_text({}), "root     time", "root  cputime")),
      "a.log:1:1: error: has the times of the CPU, not of the collective (run it with -C 0)\n");
}

TEST(CheckRows, ATestWithoutResultsIsRefused) {
  expect_refused(check(head_text({})), "a.log:1:1: error: the test printed no result\n");
}

TEST(CheckRows, ManyErrorsOfOneLogAreCut) {
  SampleLog sample{.factor = 1.875, .rows = {}};
  for (std::int64_t size = 67108864; size <= 68719476736; size *= 2) {
    sample.rows.push_back({size, static_cast<double>(size) / 200000.0});
  }
  const std::string messages = check(log_text(sample)).messages;
  EXPECT_EQ(std::count(messages.begin(), messages.end(), '\n'), 6);
  EXPECT_TRUE(messages.ends_with("a.log:1:1: error: and 6 more\n"));
}

TEST(CheckRows, WarnsOfNoiseAndOfRowsWithoutASize) {
  const Outcome noisy =
      check(log_text({.rows = {{16777216, 304.3}, {33554432, 176.9}, {1073741824, 4038.8}}}));
  EXPECT_TRUE(noisy.sound);
  EXPECT_EQ(noisy.messages,
            "a.log:18:1: warning: 304.3 us for 16MiB are more than 176.9 us for 32MiB: a noisy "
            "point, kept as measured\n");
  const std::string zero =
      "           0             0     float     sum      -1    12.34    0.00    "
      "0.00       0    12.30    0.00    0.00       0\n";
  for (const std::string size : {"           0 ", "          -1 "}) {
    std::string text = log_text({});
    text.insert(text.find("     1048576"), size + zero.substr(size.size()));
    const Outcome outcome = check(text);
    EXPECT_TRUE(outcome.sound);
    EXPECT_EQ(outcome.messages, "a.log:1:1: warning: 1 row without a size: left out\n");
  }
}

TEST(CheckRows, WarnsOfAveragesGroupsAndBatches) {
  const std::string command = "mpirun build/all_reduce_perf -b 1M -a 2\n";
  EXPECT_EQ(check(command + log_text({})).messages,
            "a.log:2:1: warning: -a 2: times of the fastest rank, not the mean over the ranks\n");
  EXPECT_EQ(check(with(log_text({}), "agg iters: 1", "agg iters: 4")).messages,
            "a.log:1:1: warning: 4 operations in one launch: small sizes look faster than they are "
            "alone\n");
  std::string groups = log_text({.ranks = 8, .factor = 1.5});
  for (const std::string rank : {"4", "5", "6", "7"}) {
    groups = with(groups, "Rank  " + rank + " Group  0", "Rank  " + rank + " Group  1");
  }
  EXPECT_EQ(check(groups).messages,
            "a.log:1:1: warning: 2 groups ran at once: the times hold their sharing of the "
            "network, which a scenario adds once more\n");
}

TEST(CheckRows, InPlaceNeedsTimesInPlace) {
  EXPECT_TRUE(check(log_text({}), true).sound);
  std::string text = head_text({}) + table_text({});
  text = text.substr(0, text.find("     1048576"));
  text += "  1073741824     268435456     float     sum      -1   4038.8  265.86  465.25       0\n";
  expect_refused(check(text + tail_text(), true), "a.log:1:1: error: no row has a time in place\n");
}

}  // namespace
}  // namespace orrery::calibration_import::testing
