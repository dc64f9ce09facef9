// A step and a run as traces: what causes what, counters, money.

#include "sim/answer/report/export/step_trace.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sim/answer/report/export/run_trace.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

using schedule::Stream;
using schedule::TaskKind;

step::Slice slice(TaskKind kind, Stream stream, int device, std::int64_t start, std::int64_t end) {
  schedule::StepTask task;
  task.kind = kind;
  task.stream = stream;
  task.device = static_cast<std::int16_t>(device);
  task.micro_batch = 3;
  task.chunk = static_cast<std::int16_t>(device);
  return {.task = task, .start = {start}, .end = {end}};
}

// Two devices: a gather, forward, message, forward and backward, message, backward, reduction,
// optimizer.
std::vector<step::Slice> small_step() {
  return {slice(TaskKind::parameter_gather, Stream::data_parallel_comm, 0, 0, 10),
          slice(TaskKind::forward, Stream::compute, 0, 10, 20),
          slice(TaskKind::send_receive, Stream::p2p, 0, 20, 25),
          slice(TaskKind::forward, Stream::compute, 1, 25, 35),
          slice(TaskKind::backward, Stream::compute, 1, 35, 55),
          slice(TaskKind::send_receive, Stream::p2p, 1, 55, 60),
          slice(TaskKind::backward, Stream::compute, 0, 60, 80),
          slice(TaskKind::gradient_reduce, Stream::data_parallel_comm, 0, 80, 90),
          slice(TaskKind::optimizer, Stream::compute, 0, 90, 100)};
}

TEST(StepFlows, MessagesGradientsAndGathersLeadFromCauseToEffect) {
  using Kind = StepFlow::Kind;
  std::vector<std::pair<Kind, std::vector<std::size_t>>> found;
  for (const StepFlow& flow : step_flows(small_step())) {
    found.emplace_back(flow.kind, flow.slices);
  }
  const std::vector<std::pair<Kind, std::vector<std::size_t>>> expected = {
      {Kind::gather, {0, 1}},
      {Kind::message, {1, 2, 3}},
      {Kind::message, {4, 5, 6}},
      {Kind::gradients, {6, 7, 8}}};
  EXPECT_EQ(found, expected);
}

TEST(StepFlows, WithoutCauseOrEffectThereIsNoFlow) {
  EXPECT_TRUE(step_flows({}).empty());
  EXPECT_TRUE(step_flows({slice(TaskKind::send_receive, Stream::p2p, 0, 0, 5),
                          slice(TaskKind::parameter_gather, Stream::data_parallel_comm, 0, 5, 6)})
                  .empty());
}

std::map<std::int64_t, double> samples_of(const Trace& trace, std::string_view path) {
  std::map<std::int64_t, double> samples;
  for (const TraceSample& sample : trace.samples) {
    if (trace.path_of(sample.counter) == path) {
      samples[sample.at.ns] = sample.value;
    }
  }
  return samples;
}

TEST(StepTrace, CountsTransfersInFlightOfEachDevice) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.step.slices = small_step();
  const Trace trace = step_trace(evaluation);
  const std::map<std::int64_t, double> expected = {{0, 1},  {10, 0}, {20, 1},
                                                   {25, 0}, {80, 1}, {90, 0}};
  EXPECT_EQ(samples_of(trace, "pipeline device 0/transfers in flight"), expected);
}

// One node of 8 GPUs at $2/h is $16/h. Both devices wait until 10, one computes until 20, none
// until 25, one until 55, none until 60, one to the end at 100.
TEST(StepTrace, PricesTheDevicesThatComputeNothing) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.echo.nodes = 1;
  evaluation.step.slices = small_step();
  const auto samples = samples_of(step_trace(evaluation), "job/dollars that wait");
  const std::map<std::int64_t, double> expected = {{0, 16}, {10, 8},  {20, 16}, {25, 8},  {55, 16},
                                                   {60, 8}, {80, 16}, {90, 8},  {100, 16}};
  ASSERT_EQ(samples.size(), expected.size());
  for (const auto& [time, value] : expected) {
    EXPECT_NEAR(samples.at(time), value, 1e-9) << time;
  }
}

TEST(StepTrace, ATaskOfNoDeviceIsAMark) {
  Evaluation evaluation = testing::sample_step_evaluation();
  evaluation.step.slices = small_step();
  evaluation.step.slices.push_back(slice(TaskKind::join, Stream::compute, -1, 90, 90));
  const Trace trace = step_trace(evaluation);
  EXPECT_EQ(trace.slices.size(), small_step().size());
  ASSERT_EQ(trace.marks.size(), 1U);
  EXPECT_EQ(trace.name(trace.marks[0].name), "gradient norm of all stages");
}

TEST(RunTrace, AFailureLeadsFromTheTrainingItTookToTheTrainingAfterIt) {
  Evaluation evaluation = testing::sample_evaluation();
  using run::RunActivity;
  evaluation.timeline.add({{0}, {100}, RunActivity::training, -1});
  evaluation.timeline.add({{100}, {110}, RunActivity::checkpoint, -1});
  evaluation.timeline.add({{110}, {150}, RunActivity::lost_training, -1});
  evaluation.timeline.add({{150}, {150}, RunActivity::failure, 0});
  evaluation.timeline.add({{150}, {160}, RunActivity::detection, 0});
  evaluation.timeline.add({{160}, {180}, RunActivity::load, 0});
  evaluation.timeline.add({{180}, {300}, RunActivity::training, -1});
  evaluation.timeline.record_nodes(
      {{.at = {150}, .cause = 0, .node = 7, .leaves = true, .successor = 9, .back = {210}}}, 10);
  evaluation.timeline.hold({.begin = {0}, .end = {150}, .job = 1, .spares = 1});
  evaluation.timeline.hold({.begin = {150}, .end = {300}, .job = 1, .repair = 1});
  const Trace trace = run_trace(evaluation);
  ASSERT_EQ(trace.flows.size(), 1U);
  std::vector<std::string> through;
  for (const SliceId id : trace.slices_of(trace.flows[0])) {
    through.push_back(trace.path_of(trace.slices[id].track) + ": " +
                      trace.name(trace.slices[id].name));
  }
  EXPECT_EQ(through, (std::vector<std::string>{"job/training: lost work", "job/recovery: detection",
                                               "job/recovery: load", "job/training: training"}));
  EXPECT_EQ(samples_of(trace, "job/spare nodes"),
            (std::map<std::int64_t, double>{{0, 1.0}, {150, 0.0}}));
  EXPECT_EQ(samples_of(trace, "job/nodes in the job"), (std::map<std::int64_t, double>{{0, 1.0}}));
  EXPECT_EQ(trace.path_of(trace.marks.at(0).track), "job/failures");
  std::map<std::string, std::int64_t> arguments;
  for (const TraceArgument& argument : trace.arguments_of(trace.marks.at(0))) {
    arguments[trace.name(argument.key)] = argument.value;
  }
  EXPECT_EQ(arguments, (std::map<std::string, std::int64_t>{{"node", 7}, {"replaced_by", 9}}));
  const std::vector<Stop> stops = stops_of(evaluation);
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(nodes_text(stops[0].nodes), "node 7, replaced by node 9, back after 60 ns");
  EXPECT_EQ(trace.path_of(trace.slices.at(3).track), "job/checkpoints");
}

}  // namespace
}  // namespace orrery::report
