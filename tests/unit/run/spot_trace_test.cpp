// Reading spot traces, with exact messages, and walking along them.

#include <gtest/gtest.h>

#include <string>

#include "sim/run/capacity/capacity_spec.hpp"
#include "sim/run/capacity/spot_supply.hpp"
#include "sim/scenario/logs/spot_trace_file.hpp"

namespace orrery::run {
namespace {

std::optional<SpotTrace> read(const std::string& text, std::string& problems) {
  Diagnostics diagnostics;
  auto trace = scenario::read_spot_trace_text(text, "a.csv", {"s.yaml", 3, 9}, "key", diagnostics);
  problems = to_string(diagnostics);
  return trace;
}

SpotTrace trace_of(const std::string& text) {
  std::string problems;
  const std::optional<SpotTrace> trace = read(text, problems);
  EXPECT_TRUE(trace.has_value()) << problems;
  return trace.value_or(SpotTrace{});
}

struct Refused {
  std::string text;
  std::int64_t line;
  std::string message;
  std::string allowed;
};

TEST(SpotTrace, RowsOfEqualNeighboursAreOneAndTheLastRowEndsTheTrace) {
  const SpotTrace trace =
      trace_of("# nodes of 8 V100\n time , available \r\n0,4\n60,4\n\n120,2\n180,6\n240,99\n");
  ASSERT_EQ(trace.rows.size(), 3U);
  EXPECT_EQ(trace.rows[0], (SpotRow{SimTime{}, 4, std::nullopt}));
  EXPECT_EQ(trace.rows[1], (SpotRow{to_sim_time(seconds(120.0)), 2, std::nullopt}));
  EXPECT_EQ(trace.rows[2].available, 6);
  EXPECT_EQ(trace.length, to_sim_time(seconds(240.0)));
}

TEST(SpotTrace, PricesArePartOfARow) {
  const SpotTrace trace = trace_of("time,available,price\n0,4,1.5\n60,4,2.5\n120,0,0\n");
  ASSERT_EQ(trace.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(in_dollars_per_hour(*trace.rows[1].price), 2.5);
}

TEST(SpotTrace, RefusesWithLineAndReason) {
  const Refused cases[] = {
      {"", 0, "is empty", "a header `time,available` and at least two rows"},
      {"time,available\n0,1\n", 0, "has 1 rows after its header",
       "at least two: the last one ends the trace"},
      {"t,n\n", 1, "the first line is no header of a trace",
       "time,available or time,available,price"},
      {"time,available\n5,1\n9,1\n", 2, "the trace begins at 5 s", "0"},
      {"time,available\n0,1\n9,1\n9,2\n", 4, "time 9 does not come after the row before",
       "ascending times, at least a nanosecond apart"},
      {"time,available\n0,1\n1e-12,1\n",  // the trace would have no length
       3, "time 1e-12 does not come after the row before",
       "ascending times, at least a nanosecond apart"},
      {"time,available\n0,1\n5,2\n5.0000000001,3\n9,1\n", 4,
       "time 5.0000000001 does not come after the row before",
       "ascending times, at least a nanosecond apart"},
      {"time,available,price\n0,1,1e308\n9,1,1\n", 2, "`1e308` is no price",
       "dollars per GPU-hour, 0 to 1,000,000,000"},
      {"time,available\n0,1\nx,1\n", 3, "`x` is no time", "seconds from 0 to 2,000,000,000"},
      {"time,available\n0,1.5\n", 2, "`1.5` is no number of nodes",
       "a whole number from 0 to 1000000"},
      {"time,available\n0,-1\n", 2, "`-1` is no number of nodes",
       "a whole number from 0 to 1000000"},
      {"time,available\n0,1,2\n", 2, "has 3 fields", "2, as in the header"},
      {"time,available,price\n0,1,2,3\n", 2, "has more than three fields", "time,available,price"},
      {"time,available,price\n0,1,$2\n", 2, "`$2` is no price",
       "dollars per GPU-hour, 0 to 1,000,000,000"},
  };
  for (const Refused& refused : cases) {
    std::string problems;
    EXPECT_FALSE(read(refused.text, problems)) << refused.text;
    const std::string at = refused.line == 0 ? "" : ":" + std::to_string(refused.line);
    EXPECT_EQ(problems, "s.yaml:3:9: error: key: a.csv" + at + ": " + refused.message + " (" +
                            refused.allowed + ")\n");
  }
}

PlannedSpot spot_on(std::int64_t nodes, std::vector<SpotTrace> traces) {
  PlannedSpot spot;
  spot.nodes = nodes;
  spot.traces = std::move(traces);
  return spot;
}

// Four nodes are wanted. At 100 s zone a drops to 2 (a loss) and the job moves to b, which drops at
// 300 s (another) so that it moves back: two losses in 400 s. Each zone alone has one.
TEST(TracedLossRate, FollowsTheJobFromZoneToZone) {
  const SpotTrace a = trace_of("time,available\n0,4\n100,2\n200,4\n400,0\n");
  const SpotTrace b = trace_of("time,available\n0,3\n50,4\n300,1\n400,0\n");
  EXPECT_DOUBLE_EQ(in_per_second(traced_loss_rate(spot_on(4, {a, b}))), 2.0 / 400.0);
  EXPECT_DOUBLE_EQ(in_per_second(traced_loss_rate(spot_on(4, {a}))), 1.0 / 400.0);
  EXPECT_DOUBLE_EQ(in_per_second(traced_loss_rate(spot_on(4, {b}))), 1.0 / 400.0);
}

TEST(TracedLossRate, AZoneThatTheJobNeverNeedsCountsForNothing) {
  const SpotTrace steady = trace_of("time,available\n0,8\n100,4\n200,6\n400,0\n");
  const SpotTrace restless = trace_of("time,available\n0,4\n10,1\n20,4\n30,1\n40,4\n400,0\n");
  EXPECT_EQ(traced_loss_rate(spot_on(4, {steady, restless})), PerSecond{});
  // Alone, each drop below what is held counts once, however many nodes go.
  EXPECT_DOUBLE_EQ(in_per_second(traced_loss_rate(spot_on(4, {restless}))), 2.0 / 400.0);
}

TEST(TraceWalk, RepeatsForEverFromAnyOffset) {
  const SpotTrace trace = trace_of("time,available\n0,4\n100,2\n150,6\n200,0\n");
  TraceWalk walk(trace, to_sim_time(seconds(320.0)));  // 120 s into the second round
  EXPECT_EQ(walk.available(), 2);
  EXPECT_EQ(walk.available_next(), 6);
  const double changes[] = {30.0, 80.0, 180.0, 230.0, 280.0};
  const std::int64_t after[] = {6, 4, 2, 6, 4};
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(walk.next(), to_sim_time(seconds(changes[i])));
    walk.step();
    EXPECT_EQ(walk.available(), after[i]);
  }
}

TEST(TraceWalk, ATraceOfOneRowNeverChanges) {
  const SpotTrace trace = trace_of("time,available\n0,4\n100,4\n");
  TraceWalk walk(trace, to_sim_time(seconds(1.0e6)));
  EXPECT_EQ(walk.available(), 4);
  EXPECT_EQ(walk.next(), kForever);
}

}  // namespace
}  // namespace orrery::run
