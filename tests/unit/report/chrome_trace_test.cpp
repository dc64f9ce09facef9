// Traces: valid JSON of the Chrome format, exact times, no overlap on one thread.

#include "sim/answer/report/export/chrome_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/export/step_trace.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using schedule::Stream;
using schedule::TaskKind;

step::Slice slice(TaskKind kind, Stream stream, int device, std::int64_t start, std::int64_t end) {
  schedule::StepTask task;
  task.kind = kind;
  task.stream = stream;
  task.device = static_cast<std::int16_t>(device);
  task.micro_batch = 3;
  return {.task = task, .start = {start}, .end = {end}};
}

Evaluation with_slices() {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.step.slices = {slice(TaskKind::forward, Stream::compute, 0, 0, 1'234'567),
                            slice(TaskKind::send_receive, Stream::p2p, 0, 1'000'000, 3'000'000),
                            slice(TaskKind::send_receive, Stream::p2p, 0, 2'000'000, 4'000'000),
                            slice(TaskKind::send_receive, Stream::p2p, 0, 3'000'000, 5'000'000),
                            slice(TaskKind::backward, Stream::compute, 1, 2'000'000, 9'000'000)};
  return evaluation;
}

std::vector<Json> events_of(const Json& trace, std::string_view phase) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) {
      events.push_back(event);
    }
  }
  return events;
}

// Slices by thread in ticks of a nanosecond.
void expect_no_overlap(const Json& trace) {
  std::map<std::pair<int, int>, std::int64_t> busy_until;
  for (const Json& event : events_of(trace, "X")) {
    const std::pair<int, int> thread(event["pid"].get<int>(), event["tid"].get<int>());
    const auto start = std::llround(event["ts"].get<double>() * 1000.0);
    const auto end = start + std::llround(event["dur"].get<double>() * 1000.0);
    EXPECT_GE(start, busy_until[thread]) << event.dump();
    busy_until[thread] = end;
  }
}

TEST(ChromeTrace, StepHasTheArrayFormAndExactTimes) {
  const std::string text = to_chrome_trace(step_trace(with_slices()));
  const Json trace = Json::parse(text);
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  const auto slices = events_of(trace, "X");
  ASSERT_EQ(slices.size(), 5U);
  EXPECT_EQ(slices[0]["name"], "forward 3");
  EXPECT_EQ(slices[0]["args"]["micro_batch"], 3);
  EXPECT_NE(text.find("\"ts\":0,\"dur\":1234.567,"), std::string::npos);
}

TEST(ChromeTrace, MessagesInFlightTogetherGetLanesOfTheirOwn) {
  const Json trace = Json::parse(to_chrome_trace(step_trace(with_slices())));
  expect_no_overlap(trace);
  std::map<int, int> lanes;
  for (const Json& event : events_of(trace, "X")) {
    if (event["name"] == "send 3") {
      ++lanes[event["tid"].get<int>()];
    }
  }
  EXPECT_EQ(lanes, (std::map<int, int>{{200, 2}, {201, 1}}));
}

TEST(ChromeTrace, EveryProcessAndThreadHasAName) {
  const Json trace = Json::parse(to_chrome_trace(step_trace(with_slices())));
  std::set<int> processes;
  std::set<std::pair<int, int>> threads;
  for (const Json& event : events_of(trace, "M")) {
    if (event["name"] == "process_name") {
      processes.insert(event["pid"].get<int>());
    } else if (event["name"] == "thread_name") {
      threads.insert({event["pid"].get<int>(), event["tid"].get<int>()});
    }
  }
  for (const Json& event : events_of(trace, "X")) {
    EXPECT_TRUE(processes.contains(event["pid"].get<int>()));
    EXPECT_TRUE(threads.contains({event["pid"].get<int>(), event["tid"].get<int>()}));
  }
}

TEST(ChromeTrace, StepWithoutSlicesIsStillATrace) {
  const Json trace = Json::parse(to_chrome_trace(step_trace(testing::sample_evaluation())));
  EXPECT_TRUE(events_of(trace, "X").empty());
}

TEST(ChromeTrace, RunShowsIntervalsInSimulatedTimeAndFailuresByCause) {
  Evaluation evaluation = testing::sample_evaluation();
  const auto at = [](double h) { return to_sim_time(hours(h)); };
  using run::RunActivity;
  evaluation.timeline.add({at(0.0), at(1.0), RunActivity::training, -1});
  evaluation.timeline.add({at(1.0), at(1.5), RunActivity::checkpoint, -1});
  evaluation.timeline.add({at(1.5), at(2.0), RunActivity::lost_training, -1});
  evaluation.timeline.add({at(2.0), at(2.0), RunActivity::failure, 0});
  evaluation.timeline.add({at(2.0), at(2.25), RunActivity::detection, 0});
  evaluation.timeline.record_nodes({{.at = at(2.0), .cause = 0, .node = 7}}, 8);
  const Json trace = Json::parse(to_chrome_trace(run_trace(evaluation)));
  expect_no_overlap(trace);
  auto slices = events_of(trace, "X");
  ASSERT_EQ(slices.size(), 4U);
  // They stand track by track.
  std::sort(slices.begin(), slices.end(), [](const Json& a, const Json& b) {
    return a["ts"].get<double>() < b["ts"].get<double>();
  });
  EXPECT_EQ(slices[1]["name"], "checkpoint");
  EXPECT_DOUBLE_EQ(slices[1]["ts"].get<double>(), 3600e6);
  EXPECT_DOUBLE_EQ(slices[1]["dur"].get<double>(), 1800e6);
  EXPECT_EQ(slices[3]["args"]["after"], "GPU \"fell off\"");
  const auto failures = events_of(trace, "i");
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0]["name"], "GPU \"fell off\"");
  EXPECT_DOUBLE_EQ(failures[0]["ts"].get<double>(), 7200e6);
  EXPECT_EQ(failures[0]["args"]["node"], 7);
}

}  // namespace
}  // namespace orrery::report
