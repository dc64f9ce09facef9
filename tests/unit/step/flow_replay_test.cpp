#include "sim/step/simulate/shared_links/flow_replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "tests/progressive_filling.hpp"

namespace orrery::step {
namespace {

using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

constexpr double kRate = 1e9;  // bytes per second of every link

SimTime ms(double value) { return to_sim_time(milliseconds(value)); }

// A flow that takes `alone` on a link of its own.
NetworkPiece piece(SimTime before, SimTime alone, std::uint32_t path, SimTime lead = {}) {
  return {before, lead, alone, in_seconds(to_seconds(alone)) * kRate, path};
}

// A step whose tasks have pieces of their own.
class HandMadeStep {
 public:
  std::int32_t add(StepTask task, TaskNetwork network, const std::vector<std::int32_t>& after = {},
                   std::int32_t resource = engine::kNoResource) {
    const TaskId id = builder_.add_task(resource);
    for (const std::int32_t before : after) {
      builder_.add_edge(TaskId{before}, id);
    }
    TaskParts parts;
    parts.total = network.behind;
    for (const NetworkPiece& each : network.pieces) {
      parts.total += each.before + each.alone - each.lead;
    }
    graph_.tasks.push_back(task);
    graph_.classes.push_back({task, 1});
    graph_.class_of.push_back(static_cast<std::uint32_t>(graph_.class_of.size()));
    parts_.push_back(parts);
    work_.of_class.push_back(std::move(network));
    return id.value;
  }

  FlowJob job(std::size_t paths, double slowdown = 0.0) {
    work_.paths.resize(paths);
    graph_.graph = std::get<engine::TaskGraph>(std::move(builder_).finish());
    for (const TaskParts& parts : parts_) {
      pointers_.push_back(&parts);
    }
    return {graph_, pointers_, work_, slowdown};
  }

 private:
  engine::GraphBuilder builder_;
  schedule::StepGraph graph_;
  std::deque<TaskParts> parts_;
  std::vector<const TaskParts*> pointers_;
  NetworkWork work_;
};

constexpr StepTask kCompute{.kind = TaskKind::forward};
constexpr StepTask kMessage{.kind = TaskKind::send_receive, .stream = Stream::p2p, .message = 0};
constexpr StepTask kReduce{.kind = TaskKind::gradient_reduce, .stream = Stream::data_parallel_comm};

FoldedFabric links(std::vector<std::vector<fabric::Hop>> paths, std::size_t count = 1) {
  FoldedFabric fabric;
  fabric.capacities.assign(count, bytes_per_second(kRate));
  fabric.links.resize(count);
  fabric.paths = std::move(paths);
  return fabric;
}

double lost(const FlowRun& run, std::size_t victim, std::size_t culprit) {
  return in_seconds(run.lost[victim][culprit]);
}

// A reduction of 10 ms, and at 2 ms a message of 1 ms on its NIC: both have half of it from 2 to 4.
TEST(FlowReplay, SharesTheNicOfAReductionWithAMessage) {
  HandMadeStep step;
  step.add(kReduce, {{piece({}, ms(10.0), 0)}, {}});
  const std::int32_t compute = step.add(kCompute, {{}, ms(2.0)});
  step.add(kMessage, {{piece({}, ms(1.0), 0)}, {}}, {compute});
  const FlowJob job = step.job(1);
  const FoldedFabric fabric = links({{{{0}, 1.0}}});
  const FlowRun run = FlowReplay(fabric, {&job, 1}, fabric::compare_with_full_solve).run();
  EXPECT_EQ(run.jobs[0].timing.end[2], ms(4.0));
  EXPECT_EQ(run.jobs[0].timing.end[0], ms(11.0));
  const auto data = static_cast<std::size_t>(Traffic::data);
  const auto messages = static_cast<std::size_t>(Traffic::messages);
  EXPECT_NEAR(lost(run, data, messages), 1e-3, 1e-12);
  EXPECT_NEAR(lost(run, messages, data), 1e-3, 1e-12);
  EXPECT_NEAR(in_bytes(run.carried[0]), 11e-3 * kRate, 1e-3);
}

// What a link carries over time adds up to its bytes, and is never more than its rate.
TEST(FlowReplay, KeepsTheLoadOfALinkOverTime) {
  HandMadeStep step;
  step.add(kReduce, {{piece({}, ms(10.0), 0)}, {}});
  const std::int32_t compute = step.add(kCompute, {{}, ms(2.0)});
  step.add(kMessage, {{piece({}, ms(1.0), 0)}, {}}, {compute});
  const FlowJob job = step.job(1);
  const FoldedFabric fabric = links({{{{0}, 1.0}}});
  FlowReplay replay(fabric, {&job, 1});
  replay.keep_loads();
  const FlowRun run = replay.run();
  ASSERT_EQ(run.loads.size(), 1U);
  double carried = 0.0;
  for (std::size_t i = 0; i < run.loads[0].size(); ++i) {
    const SimTime until =
        i + 1 < run.loads[0].size() ? run.loads[0][i + 1].from : run.jobs[0].timing.makespan;
    EXPECT_LE(run.loads[0][i].load, 1.0 + 1e-12);
    carried += run.loads[0][i].load * in_seconds(to_seconds(until - run.loads[0][i].from)) *
               in_bytes_per_second(fabric.capacities[0]);
  }
  EXPECT_NEAR(carried, in_bytes(run.carried[0]), 1e-3);
}

// A piece with a lead runs beside the end of its gap: alone it costs only what is not hidden.
TEST(FlowReplay, HidesTheLeadOfAPiece) {
  HandMadeStep step;
  step.add(kCompute, {{piece(ms(5.0), ms(4.0), 0, ms(3.0))}, ms(1.0)});
  const FlowJob job = step.job(1);
  const FoldedFabric fabric = links({{{{0}, 1.0}}});
  EXPECT_EQ(FlowReplay(fabric, {&job, 1}).run().jobs[0].timing.makespan, ms(7.0));
}

// A link of half the rate from 2 ms on: 4 ms of work take 2 + 4.
TEST(FlowReplay, ChangesALinkInTheStep) {
  HandMadeStep step;
  step.add(kMessage, {{piece({}, ms(4.0), 0)}, {}});
  const FlowJob job = step.job(1);
  FoldedFabric fabric = links({{{{0}, 1.0}}});
  fabric.changes = {{ms(2.0), {0}, 0.5}};
  const FlowRun run = FlowReplay(fabric, {&job, 1}).run();
  EXPECT_EQ(run.jobs[0].timing.makespan, ms(6.0));
  EXPECT_NEAR(lost(run, static_cast<std::size_t>(Traffic::messages), kTraffics), 2e-3, 1e-12);
  fabric.changes.push_back({ms(4.0), {0}, 1.0});
  EXPECT_EQ(FlowReplay(fabric, {&job, 1}).run().jobs[0].timing.makespan, ms(5.0));
}

// Compute beside a reduction runs at half its pace, also while others keep that one waiting.
TEST(FlowReplay, SlowsComputeBesideAReductionAsPacedReplayDoes) {
  HandMadeStep step;
  step.add(kReduce, {{piece(ms(1.0), ms(3.0), 0)}, {}});
  step.add(kCompute, {{}, ms(6.0)}, {}, 0);
  const FlowJob job = step.job(1, 0.5);
  const FlowRun run = FlowReplay(links({{{{0}, 1.0}}}), {&job, 1}).run();
  EXPECT_EQ(run.jobs[0].timing.end[0], ms(4.0));
  EXPECT_EQ(run.jobs[0].timing.end[1], ms(8.0));
}

// Jobs of compute c and communication m, d apart: with d' = min(d, c + m - d) the period is
// max(c + 2 m - d', c + m, 2 m).
TEST(FlowReplay, TwoJobsBeatAtTheKnownPeriod) {
  constexpr double kCompute_ = 10.0;
  constexpr double kSend = 4.0;
  for (const double apart : {0.0, 1.0, 3.0, 5.0, 7.0}) {
    HandMadeStep steps[2];
    std::vector<FlowJob> jobs;
    for (HandMadeStep& step : steps) {
      const std::int32_t compute = step.add(kCompute, {{}, ms(kCompute_)});
      step.add(kReduce, {{piece({}, ms(kSend), 0)}, {}}, {compute});
      jobs.push_back(step.job(1));
      jobs.back().steps = 12;
    }
    jobs[1].start = ms(apart);
    const FoldedFabric fabric = links({{{{0}, 1.0}}, {{{0}, 1.0}}});
    const FlowRun run = FlowReplay(fabric, jobs, fabric::compare_with_full_solve).run();
    const double nearer = std::min(apart, kCompute_ + kSend - apart);
    const double period =
        std::max({kCompute_ + 2.0 * kSend - nearer, kCompute_ + kSend, 2.0 * kSend});
    const std::vector<SimTime>& ends = run.jobs[0].step_ends;
    EXPECT_NEAR(static_cast<double>((ends[9] - ends[3]).ns) / 6e6, period, 1e-5) << apart;
    // What each lost is what its steps took longer, and all of it to the other.
    const auto of = [](std::size_t job) {
      return job * kTraffics + static_cast<std::size_t>(Traffic::data);
    };
    for (const std::size_t victim : {0U, 1U}) {
      const SimTime took = run.jobs[victim].step_ends.back() - jobs[victim].start;
      const double longer = in_seconds(to_seconds(took)) - 12.0 * (kCompute_ + kSend) * 1e-3;
      EXPECT_NEAR(lost(run, of(victim), of(1 - victim)), longer, 1e-8) << apart;
    }
  }
}

// Losses by link and by culprit are two sums of the same seconds.
TEST(FlowReplay, LossesAddUpEitherWay) {
  HandMadeStep step;
  for (std::int32_t i = 0; i < 6; ++i) {
    step.add(i % 2 == 0 ? kReduce : kMessage,
             {{piece(ms(0.3 * i), ms(2.0 + i), static_cast<std::uint32_t>(i % 3)),
               piece(ms(0.1), ms(1.0), static_cast<std::uint32_t>((i + 1) % 3))},
              {}});
  }
  const FlowJob job = step.job(3);
  const FoldedFabric fabric = links({{{{0}, 1.0}}, {{{0}, 0.5}, {{1}, 1.0}}, {{{1}, 2.0}}}, 2);
  const FlowRun run = FlowReplay(fabric, {&job, 1}, fabric::compare_with_full_solve).run();
  Seconds by_culprit;
  Seconds by_link;
  for (const auto& row : run.lost) {
    for (const Seconds each : row) {
      by_culprit += each;
    }
  }
  for (const auto& link : run.lost_on_link) {
    for (const Seconds each : link) {
      by_link += each;
    }
  }
  EXPECT_GT(by_link, milliseconds(5.0));
  EXPECT_NEAR(in_seconds(by_culprit), in_seconds(by_link), 1e-12);
}

}  // namespace
}  // namespace orrery::step
