#include "sim/step/engine/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/event_replay.hpp"
#include "tests/unit/engine/random_graph.hpp"

namespace orrery::engine {
namespace {

TaskGraph finished(GraphBuilder&& builder) {
  return std::get<TaskGraph>(std::move(builder).finish());
}

// Evaluates with both passes, expects them to agree, and returns the timing.
Timing replay(const TaskGraph& graph, const std::vector<SimTime>& durations,
              const std::vector<SimTime>& delays) {
  Timing linear;
  Timing events;
  replay_linear(graph, durations, delays, linear);
  replay_events(graph, durations, delays, events);
  EXPECT_EQ(linear.start, events.start);
  EXPECT_EQ(linear.end, events.end);
  EXPECT_EQ(linear.makespan, events.makespan);
  return linear;
}

// The definition, on the raw edges in the known order of execution.
Timing reference(const RandomCase& input) {
  const std::size_t tasks = input.resources.size();
  Timing out;
  out.start.resize(tasks);
  out.end.resize(tasks);
  std::vector<SimTime> resource_free(tasks + 8);
  for (const std::size_t task : input.order) {
    SimTime start;
    for (const RawEdge& edge : input.edges) {
      if (edge.after == task) {
        const SimTime delay =
            edge.delay == kNoDelay ? SimTime{} : input.delays[static_cast<std::size_t>(edge.delay)];
        start = std::max(start, out.end[edge.before] + delay);
      }
    }
    if (input.resources[task] != kNoResource) {
      SimTime& free = resource_free[static_cast<std::size_t>(input.resources[task])];
      start = std::max(start, free);
      free = start + input.durations[task];
    }
    out.start[task] = start;
    out.end[task] = start + input.durations[task];
    out.makespan = std::max(out.makespan, out.end[task]);
  }
  return out;
}

TEST(Replay, AGraphWithoutTasksTakesNoTime) {
  EXPECT_EQ(replay(finished(GraphBuilder{}), {}, {}).makespan, SimTime{});
  EXPECT_EQ(replay(TaskGraph{}, {}, {}).makespan, SimTime{});
}

TEST(Replay, AChainTakesTheSumOfDurationsAndDelays) {
  GraphBuilder builder;
  std::vector<SimTime> durations;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    const TaskId task = builder.add_task(kNoResource);
    durations.push_back({i * i});
    sum += i * i;
    if (i > 0) {
      builder.add_edge({task.value - 1}, task, 0);
    }
  }
  const Timing timing = replay(finished(std::move(builder)), durations, {{7}});
  EXPECT_EQ(timing.makespan.ns, sum + 99 * 7);
  EXPECT_EQ(timing.start[1].ns, 7);
  EXPECT_EQ(timing.end[2].ns, 0 + 7 + 1 + 7 + 4);
}

// Fork-join: makespan = fork + max over branches (delay + branch) + join.
TEST(Replay, AForkJoinTakesTheLongestBranch) {
  GraphBuilder builder;
  const TaskId fork = builder.add_task(0);
  const TaskId join = builder.add_task(kNoResource);
  std::vector<SimTime> durations = {{10}, {3}};
  for (std::int32_t branch = 1; branch <= 20; ++branch) {
    const TaskId task = builder.add_task(branch);
    builder.add_edge(fork, task, branch % 2);
    builder.add_edge(task, join);
    durations.push_back({100 - branch});
  }
  const Timing timing = replay(finished(std::move(builder)), durations, {{5}, {1000}});
  EXPECT_EQ(timing.start[join.index()].ns, 10 + 1000 + 99);  // the first branch, delay 1
  EXPECT_EQ(timing.makespan.ns, 10 + 1000 + 99 + 3);
}

TEST(Replay, AResourceRunsItsTasksOneAtATime) {
  GraphBuilder builder;
  for (int i = 0; i < 4; ++i) {
    builder.add_task(0);
    builder.add_task(1);
  }
  const std::vector<SimTime> durations = {{10}, {1}, {20}, {2}, {30}, {3}, {40}, {4}};
  const Timing timing = replay(finished(std::move(builder)), durations, {});
  EXPECT_EQ(timing.makespan.ns, 10 + 20 + 30 + 40);
  EXPECT_EQ(timing.start[6].ns, 60);
  EXPECT_EQ(timing.end[7].ns, 1 + 2 + 3 + 4);
}

// GPipe with p stages, m micro-batches, forward f and backward b, free messages: the last forward
// ends after (m + p - 1) f and the backwards drain likewise: makespan (m + p - 1) (f + b).
TEST(Replay, AGpipeScheduleHasItsClosedForm) {
  constexpr std::int64_t kForward = 11;
  constexpr std::int64_t kBackward = 23;
  for (const std::int32_t stages : {1, 2, 4, 8}) {
    for (const std::int32_t batches : {1, 3, 16}) {
      GraphBuilder builder;
      std::vector<SimTime> durations;
      for (std::int32_t stage = 0; stage < stages; ++stage) {
        for (std::int32_t i = 0; i < 2 * batches; ++i) {
          builder.add_task(stage);
          durations.push_back({i < batches ? kForward : kBackward});
        }
      }
      for (std::int32_t stage = 0; stage + 1 < stages; ++stage) {
        for (std::int32_t i = 0; i < batches; ++i) {
          const TaskId here{stage * 2 * batches + i};
          const TaskId next{here.value + 2 * batches};
          builder.add_edge(here, next);
          builder.add_edge({next.value + batches}, {here.value + batches});
        }
      }
      const Timing timing = replay(finished(std::move(builder)), durations, {});
      EXPECT_EQ(timing.makespan.ns, (batches + stages - 1) * (kForward + kBackward))
          << stages << " stages, " << batches << " micro-batches";
    }
  }
}

TEST(Replay, LinearPassEventsAndDefinitionAgreeOnRandomGraphs) {
  Timing warm;  // one buffer for all graphs: what an earlier graph left must not matter
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomStream random(seed, 4, Purpose::property_test);
    RandomCase input = random_case(random);
    const auto result = build(input);
    ASSERT_TRUE(std::holds_alternative<TaskGraph>(result));
    const auto& graph = std::get<TaskGraph>(result);
    EventReplay events(graph);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Timing expected = reference(input);
      replay_linear(graph, input.durations, input.delays, warm);
      ASSERT_EQ(warm.start, expected.start);
      ASSERT_EQ(warm.end, expected.end);
      ASSERT_EQ(warm.makespan, expected.makespan);
      events.run(input.durations, input.delays, warm);
      ASSERT_EQ(warm.start, expected.start);
      ASSERT_EQ(warm.end, expected.end);
      ASSERT_EQ(warm.makespan, expected.makespan);
      input.durations = random_times(random, input.durations.size());
      input.delays = random_times(random, input.delays.size());
    }
  }
}

TEST(Replay, ThePackedPassGivesTheSameEnds) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomStream random(seed, 5, Purpose::property_test);
    const RandomCase input = random_case(random);
    const auto result = build(input);
    const auto& graph = std::get<TaskGraph>(result);
    std::vector<SimTime> durations;
    std::vector<SimTime> delays;
    std::vector<SimTime> end(graph.nodes().size());
    pack_durations(graph, input.durations, durations);
    pack_delays(graph, input.delays, delays);
    const Timing expected = reference(input);
    EXPECT_EQ(replay_packed(graph, durations, delays, end), expected.makespan);
    for (std::size_t node = 0; node < end.size(); ++node) {
      const std::int32_t task = graph.tasks_of_nodes()[node];
      if (task != TaskGraph::kHidden) {
        ASSERT_EQ(end[node], expected.end[static_cast<std::size_t>(task)]);
      }
    }
  }
}

TEST(Replay, ReusesItsBuffers) {
  GraphBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.add_task(0);
  }
  const TaskGraph graph = finished(std::move(builder));
  const std::vector<SimTime> durations(10, {5});
  Timing timing;
  replay_linear(graph, durations, {}, timing);
  const SimTime* const start = timing.start.data();
  const SimTime* const end = timing.end.data();
  const SimTime* const node_end = timing.packed.end.data();
  replay_linear(graph, durations, {}, timing);
  EXPECT_EQ(timing.start.data(), start);
  EXPECT_EQ(timing.end.data(), end);
  EXPECT_EQ(timing.packed.end.data(), node_end);
  EXPECT_EQ(timing.makespan.ns, 50);
}

TEST(ReplayDeathTest, InputsOfTheWrongSizeOrSignAreRejected) {
  GraphBuilder builder;
  const TaskId a = builder.add_task(0);
  builder.add_edge(a, builder.add_task(1), 1);
  const TaskGraph graph = finished(std::move(builder));
  const std::vector<SimTime> durations = {{1}, {2}};
  const std::vector<SimTime> delays = {{3}, {4}};
  const std::vector<SimTime> one = {{1}};
  const std::vector<SimTime> negative = {{1}, {-2}};
  Timing out;
  EXPECT_DEATH(replay_linear(graph, one, delays, out), "1 durations for 2 tasks");
  EXPECT_DEATH(replay_linear(graph, durations, one, out), "1 delays for a graph that uses 2");
  EXPECT_DEATH(replay_linear(graph, durations, negative, out), "delay 1 is negative: -2 ns");
  EXPECT_DEATH(replay_linear(graph, negative, delays, out), "negative duration");
  EXPECT_DEATH(replay_events(graph, one, delays, out), "1 durations for 2 tasks");
  std::vector<SimTime> end(3);
  EXPECT_DEATH(replay_packed(graph, durations, delays, end), "2 durations and 3 ends for 3 nodes");
  EXPECT_DEATH(replay_packed(graph, end, delays, end), "2 packed delays for a graph that uses 2");
}

}  // namespace
}  // namespace orrery::engine
