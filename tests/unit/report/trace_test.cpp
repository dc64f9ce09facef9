// The description of a trace and what is chosen from it.

#include "sim/answer/report/export/trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/answer/report/export/trace_choice.hpp"
#include "sim/answer/report/files/flat_report.hpp"
#include "tests/unit/report/sample_evaluation.hpp"
#include "tests/unit/report/trace_sample.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::random_trace;
using testing::small_trace;

TEST(Trace, WordsAreKeptOnceAndSlicesStandInTheOrderOfDrawing) {
  const Trace trace = small_trace();
  EXPECT_EQ(std::set<std::string>(trace.names.begin(), trace.names.end()).size(),
            trace.names.size());
  for (std::size_t i = 1; i < trace.slices.size(); ++i) {
    const TraceSlice& a = trace.slices[i - 1];
    const TraceSlice& b = trace.slices[i];
    EXPECT_LE(a.track, b.track);
    if (a.track == b.track) {
      EXPECT_LE(a.begin, b.begin);
      EXPECT_TRUE(a.begin < b.begin || a.end >= b.end) << "what encloses comes first";
    }
  }
  EXPECT_EQ(trace.path_of(5), "stage 1/compute/operations");
  EXPECT_EQ(trace.process_of(5), 1U);
}

TEST(Trace, FlowsFollowTheirSlicesThroughTheSort) {
  const Trace trace = small_trace();
  ASSERT_EQ(trace.flows.size(), 1U);
  const auto slices = trace.slices_of(trace.flows[0]);
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(trace.slices[slices[0]].end, SimTime{1'234'567});
  EXPECT_EQ(trace.name(trace.slices[slices[1]].name), "send 0");
  EXPECT_EQ(trace.slices[slices[2]].begin, SimTime{3'000});
  const FlowsBySlice by_slice = flows_by_slice(trace);
  EXPECT_EQ(by_slice.of(slices[0]).size(), 1U);
  EXPECT_FALSE(by_slice.of(slices[0])[0].last);
  EXPECT_TRUE(by_slice.of(slices[2])[0].last);
}

TEST(TraceChoice, EverythingFitsIsUnchanged) {
  const Trace trace = small_trace();
  const ChosenTrace chosen = choose_trace(trace, {}, 100);
  EXPECT_EQ(chosen.trace.slices.size(), trace.slices.size());
  EXPECT_EQ(chosen.trace.flows.size(), 1U);
  EXPECT_EQ(chosen.merged, 0U);
  EXPECT_EQ(chosen.outside, 0U);
}

// The window [1,500 ns, 2,500 ns) meets the first pass, which runs on, and the message.
TEST(TraceChoice, AWindowKeepsWhatOverlapsItAsLongAsItIs) {
  const ChosenTrace chosen = choose_trace(small_trace(), {{1'500}, {2'500}}, 0);
  ASSERT_EQ(chosen.trace.slices.size(), 2U);
  EXPECT_EQ(chosen.trace.slices[0].begin, SimTime{0});
  EXPECT_EQ(chosen.outside, 3U);
  EXPECT_TRUE(chosen.trace.marks.empty());
  ASSERT_EQ(chosen.trace.flows.size(), 1U);
  EXPECT_EQ(chosen.trace.flows[0].count, 2U);
  // Counters begin with the value that they have when the window opens.
  ASSERT_EQ(chosen.trace.samples.size(), 2U);
  EXPECT_EQ(chosen.trace.samples[0].at, SimTime{1'500});
  EXPECT_DOUBLE_EQ(chosen.trace.samples[0].value, 8.5);
  EXPECT_DOUBLE_EQ(chosen.trace.samples[1].value, 2.25);
}

TEST(TraceChoice, AWindowBesideTheTraceIsEmpty) {
  const ChosenTrace chosen = choose_trace(small_trace(), {{5'000'000}, {6'000'000}}, 0);
  EXPECT_TRUE(chosen.trace.slices.empty());
  EXPECT_TRUE(chosen.trace.flows.empty());
}

// Slices of one track are nested or apart.
void expect_nesting(const Trace& trace) {
  std::vector<SimTime> open;
  TrackId track = kNoTrack;
  for (const TraceSlice& slice : trace.slices) {
    if (slice.track != track) {
      open.clear();
      track = slice.track;
    }
    while (!open.empty() && open.back() <= slice.begin) {
      open.pop_back();
    }
    if (!open.empty()) {
      ASSERT_LE(slice.end, open.back()) << "at " << slice.begin.ns;
    }
    open.push_back(slice.end);
  }
}

// Time on each track during which anything runs.
std::map<TrackId, std::int64_t> busy(const Trace& trace) {
  std::map<TrackId, std::int64_t> sum;
  std::map<TrackId, SimTime> until;
  for (const TraceSlice& slice : trace.slices) {
    SimTime& end = until[slice.track];
    const SimTime begin = std::max(end, slice.begin);
    if (slice.end > begin) {
      sum[slice.track] += (slice.end - begin).ns;
      end = slice.end;
    }
  }
  return sum;
}

TEST(TraceChoice, MergingKeepsLongSlicesNestingAndBusyTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = random_trace(seed, 3, 400);
    expect_nesting(trace);
    for (const std::size_t most : {1000U, 300U, 60U, 3U}) {
      const ChosenTrace chosen = choose_trace(trace, {}, most);
      expect_nesting(chosen.trace);
      EXPECT_LE(chosen.trace.slices.size(), most);
      EXPECT_EQ(chosen.trace.slices.size() + chosen.merged, trace.slices.size());
      std::multiset<std::pair<std::int64_t, std::int64_t>> kept;
      for (const TraceSlice& slice : chosen.trace.slices) {
        kept.insert({slice.begin.ns, slice.end.ns});
      }
      for (const TraceSlice& slice : trace.slices) {
        if (slice.end - slice.begin >= chosen.finest) {
          EXPECT_TRUE(kept.contains({slice.begin.ns, slice.end.ns}));
        }
      }
      const auto before = busy(trace);
      for (const auto& [track, time] : busy(chosen.trace)) {
        EXPECT_GE(time, before.at(track));
      }
      for (const TraceFlow& flow : chosen.trace.flows) {
        EXPECT_GE(flow.count, 2U);
        for (const SliceId slice : chosen.trace.slices_of(flow)) {
          EXPECT_LT(slice, chosen.trace.slices.size());
        }
      }
    }
  }
}

// Two slices of 10 ns right after each other and one of 1 ms: a limit of 2 joins the short ones.
TEST(TraceChoice, ShortNeighboursBecomeOneSliceThatSaysHowMany) {
  TraceBuilder builder("x");
  const TrackId track = builder.thread(builder.process("p"), "t", 0);
  builder.slice({track, {0}, {10}, "a", "pass"});
  builder.slice({track, {10}, {20}, "b", "pass"});
  builder.slice({track, {20}, {1'000'020}, "long", "pass"});
  const ChosenTrace chosen = choose_trace(std::move(builder).build(), {}, 2);
  ASSERT_EQ(chosen.trace.slices.size(), 2U);
  EXPECT_EQ(chosen.trace.name(chosen.trace.slices[0].name), "2 slices");
  EXPECT_EQ(chosen.trace.slices[0].end, SimTime{20});
  EXPECT_EQ(chosen.trace.name(chosen.trace.slices[1].name), "long");
  EXPECT_EQ(chosen.finest, SimTime{1024});
}

TEST(TraceChoice, MoreTracksThanSlicesGivesOneSliceOfEach) {
  TraceBuilder builder("x");
  const TrackId process = builder.process("p");
  for (int i = 0; i < 5; ++i) {
    const TrackId track = builder.thread(process, "t", i);
    builder.slice({track, {0}, {10}, "a", ""});
    builder.slice({track, {10}, {20}, "a", ""});
  }
  EXPECT_EQ(choose_trace(std::move(builder).build(), {}, 2).trace.slices.size(), 5U);
}

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

TEST(JsonLines, EveryPartOfATraceIsALineOfItsOwn) {
  const auto lines = lines_of(to_json_lines(small_trace()));
  ASSERT_EQ(lines.size(), 5U + 1U + 3U + 1U);
  EXPECT_EQ(lines[0]["track"], "stage 0/compute");
  EXPECT_EQ(lines[0]["duration_ns"], 1'234'567);
  EXPECT_EQ(lines[0]["arguments"]["after"], "a \"quoted\" word");
  EXPECT_EQ(lines[5]["type"], "mark");
  EXPECT_EQ(lines[8]["unit"], "bytes");
  EXPECT_EQ(lines[9]["slices"], Json::parse("[0, 2, 3]"));
}

TEST(JsonLines, TablesHoldTheNumbersOfTheReport) {
  const Evaluation evaluation = testing::sample_evaluation();
  const auto metrics = lines_of(metrics_lines(evaluation));
  EXPECT_EQ(metrics[0]["scenario"], evaluation.echo.name);
  EXPECT_EQ(metrics[0]["metric"], "step_time_s");
  EXPECT_DOUBLE_EQ(metrics[0]["value"].get<double>(), 10.0);
  const auto ledger = lines_of(ledger_lines(evaluation));
  EXPECT_EQ(ledger[0]["ledger"], "step");
  EXPECT_EQ(ledger.back()["ledger"], "run");
  EXPECT_EQ(lines_of(memory_lines(evaluation)).size(), 2U);
}

}  // namespace
}  // namespace orrery::report
