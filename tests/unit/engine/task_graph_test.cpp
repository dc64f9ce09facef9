#include "sim/step/engine/task_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/unit/engine/random_graph.hpp"

namespace orrery::engine {
namespace {

std::vector<Predecessor> predecessors(const TaskGraph& graph, TaskId task) {
  const auto span = graph.predecessors(task);
  return {span.begin(), span.end()};
}

std::size_t hidden_nodes(const TaskGraph& graph) {
  const auto tasks = graph.tasks_of_nodes();
  return static_cast<std::size_t>(std::count(tasks.begin(), tasks.end(), TaskGraph::kHidden)) - 1;
}

TEST(TaskGraph, AnEmptyGraphHasNoTasks) {
  const auto result = GraphBuilder{}.finish();
  const auto& graph = std::get<TaskGraph>(result);
  EXPECT_EQ(graph.task_count(), 0U);
  EXPECT_EQ(graph.nodes().size(), 1U);
  EXPECT_EQ(TaskGraph{}.nodes().size(), 1U);
}

TEST(TaskGraph, TasksOfOneResourceFollowTheOrderOfAddition) {
  GraphBuilder builder;
  const TaskId a = builder.add_task(3);
  const TaskId other = builder.add_task(0);
  const TaskId b = builder.add_task(3);
  const TaskId free = builder.add_task(kNoResource);
  const TaskId c = builder.add_task(3);
  builder.add_edge(other, c, 2);
  builder.add_edge(free, c);
  const auto result = std::move(builder).finish();
  const auto& graph = std::get<TaskGraph>(result);
  EXPECT_EQ(graph.task_count(), 5U);
  EXPECT_EQ(graph.resource(b), 3);
  EXPECT_EQ(graph.resource(free), kNoResource);
  EXPECT_EQ(graph.delay_count(), 3U);
  EXPECT_TRUE(graph.predecessors(a).empty());
  EXPECT_TRUE(graph.predecessors(free).empty());
  EXPECT_EQ(predecessors(graph, b), (std::vector<Predecessor>{{a, kNoDelay, true}}));
  EXPECT_EQ(
      predecessors(graph, c),
      (std::vector<Predecessor>{{b, kNoDelay, true}, {other, 2, false}, {free, kNoDelay, false}}));
}

TEST(TaskGraph, NodesComeAfterTheirPredecessorsOnRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomStream random(seed, 2, Purpose::property_test);
    const RandomCase input = random_case(random);
    const auto result = build(input);
    ASSERT_TRUE(std::holds_alternative<TaskGraph>(result));
    const auto& graph = std::get<TaskGraph>(result);
    std::vector<int> seen(graph.task_count(), 0);
    for (std::size_t node = 1; node < graph.nodes().size(); ++node) {
      ASSERT_LT(graph.nodes()[node].plain, node);
      ASSERT_LT(graph.nodes()[node].delayed, node);
      ASSERT_LE(graph.nodes()[node].delay, graph.delay_count());
      if (graph.tasks_of_nodes()[node] != TaskGraph::kHidden) {
        ++seen[static_cast<std::size_t>(graph.tasks_of_nodes()[node])];
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), std::ssize(seen));
  }
}

TEST(TaskGraph, OnePlainAndOneDelayedPredecessorNeedNoJoin) {
  GraphBuilder builder;
  const TaskId a = builder.add_task(0);
  const TaskId b = builder.add_task(1);
  const TaskId c = builder.add_task(0);
  builder.add_edge(b, c, 0);
  builder.add_edge(a, c);  // repeats the order edge
  const auto result = std::move(builder).finish();
  EXPECT_EQ(hidden_nodes(std::get<TaskGraph>(result)), 0U);
}

// A node takes one delayed predecessor and each join passes its result on as a plain one, so d
// delayed and k plain predecessors take max(d, d + k - 1) nodes, of which the last is the task.
TEST(TaskGraph, MorePredecessorsBecomeHiddenJoins) {
  for (std::size_t plain = 0; plain <= 4; ++plain) {
    for (std::size_t delayed = 0; delayed <= 4; ++delayed) {
      GraphBuilder builder;
      const TaskId last = builder.add_task(kNoResource);
      for (std::size_t i = 0; i < plain + delayed; ++i) {
        builder.add_edge(builder.add_task(kNoResource), last, i < plain ? kNoDelay : 0);
      }
      const auto result = std::move(builder).finish();
      const std::size_t with_plain = plain + delayed == 0 ? 0 : plain + delayed - 1;
      const std::size_t nodes = std::max({std::size_t{1}, delayed, with_plain});
      EXPECT_EQ(hidden_nodes(std::get<TaskGraph>(result)), nodes - 1)
          << plain << " plain, " << delayed << " delayed";
    }
  }
}

TEST(DependencyCycle, NamesItsTasksInOrderAndWhatCanStillComplete) {
  GraphBuilder builder;
  const TaskId start = builder.add_task(kNoResource);
  const TaskId a = builder.add_task(0);
  const TaskId b = builder.add_task(1);
  const TaskId c = builder.add_task(2);
  const TaskId behind = builder.add_task(2);
  const TaskId apart = builder.add_task(3);
  builder.add_edge(start, a);
  builder.add_edge(b, a, 0);  // a -> c -> b -> a
  builder.add_edge(a, c);
  builder.add_edge(c, b, 1);
  builder.add_edge(start, apart);
  const auto result = std::move(builder).finish();
  ASSERT_TRUE(std::holds_alternative<DependencyCycle>(result));
  const auto& cycle = std::get<DependencyCycle>(result);
  EXPECT_EQ(cycle.tasks, (std::vector<TaskId>{a, c, b}));
  EXPECT_EQ(cycle.can_complete, (std::vector<bool>{true, false, false, false, false, true}));
  EXPECT_EQ(behind.index(), 4U);
}

// Two devices that both want to receive before they send: each waits for the other for ever.
TEST(DependencyCycle, RunsThroughTheOrderOfAResource) {
  GraphBuilder builder;
  const TaskId receive_a = builder.add_task(0);
  const TaskId send_a = builder.add_task(0);
  const TaskId receive_b = builder.add_task(1);
  const TaskId send_b = builder.add_task(1);
  builder.add_edge(send_a, receive_b, 0);
  builder.add_edge(send_b, receive_a, 0);
  const auto result = std::move(builder).finish();
  const auto& cycle = std::get<DependencyCycle>(result);
  EXPECT_EQ(cycle.tasks, (std::vector<TaskId>{receive_a, send_a, receive_b, send_b}));
}

TEST(DependencyCycle, OfASingleTask) {
  GraphBuilder builder;
  builder.add_task(0);
  const TaskId self = builder.add_task(0);
  builder.add_edge(self, self);
  const auto result = std::move(builder).finish();
  const auto& cycle = std::get<DependencyCycle>(result);
  EXPECT_EQ(cycle.tasks, (std::vector<TaskId>{self}));
  EXPECT_EQ(cycle.can_complete, (std::vector<bool>{true, false}));
}

// Every named task must wait for the one named before it, whatever the graph.
TEST(DependencyCycle, IsRealOnRandomGraphsWithEdgesTurnedRound) {
  int cycles = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomStream random(seed, 3, Purpose::property_test);
    RandomCase input = random_case(random);
    for (RawEdge& edge : input.edges) {
      if (random.uniform_int(20) == 0) {
        std::swap(edge.before, edge.after);
      }
    }
    const auto result = build(input);
    if (std::holds_alternative<TaskGraph>(result)) {
      continue;
    }
    ++cycles;
    const std::vector<TaskId>& tasks = std::get<DependencyCycle>(result).tasks;
    ASSERT_FALSE(tasks.empty());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::size_t before = tasks[(i + tasks.size() - 1) % tasks.size()].index();
      const std::size_t after = tasks[i].index();
      const auto same_edge = [&](const RawEdge& edge) {
        return edge.before == before && edge.after == after;
      };
      const bool by_edge = std::any_of(input.edges.begin(), input.edges.end(), same_edge);
      const bool by_resource = input.resources[before] != kNoResource && before < after &&
                               input.resources[before] == input.resources[after];
      ASSERT_TRUE(by_edge || by_resource) << before << " -> " << after;
    }
  }
  EXPECT_GT(cycles, 300);
}

TEST(GraphBuilderDeathTest, EdgesBetweenUnknownTasksAreRejected) {
  GraphBuilder builder;
  const TaskId task = builder.add_task(0);
  EXPECT_DEATH(builder.add_edge(task, {1}), "an edge from task 0 to task 1 in a graph of 1 tasks");
  EXPECT_DEATH(builder.add_edge(task, task, -2), "delay index -2");
  EXPECT_DEATH(builder.add_task(-2), "resource -2");
}

}  // namespace
}  // namespace orrery::engine
