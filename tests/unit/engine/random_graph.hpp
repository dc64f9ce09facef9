#pragma once

// Random task graphs for the property tests of the engine, kept beside their raw edges so that a
// reference evaluation needs nothing of what the engine computed.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/step/engine/task_graph.hpp"

namespace orrery::engine {

struct RawEdge {
  std::size_t before = 0;
  std::size_t after = 0;
  std::int32_t delay = kNoDelay;
};

struct RandomCase {
  std::vector<std::int32_t> resources;
  std::vector<RawEdge> edges;
  std::vector<std::size_t> order;  // one valid order of execution
  std::vector<SimTime> durations;
  std::vector<SimTime> delays;
};

inline std::size_t below(RandomStream& random, std::size_t bound) {
  return static_cast<std::size_t>(random.uniform_int(bound));
}

inline std::vector<SimTime> random_times(RandomStream& random, std::size_t count) {
  std::vector<SimTime> times(count);
  for (SimTime& time : times) {
    const std::uint64_t bound = random.uniform_int(2) == 0 ? 4 : 1'000'000;  // ties and zeros
    time.ns = static_cast<std::int64_t>(random.uniform_int(bound));
  }
  return times;
}

// Tasks in random order: task ids say nothing about the order of execution, except that tasks of
// one resource keep theirs. Edges point forwards in a hidden order of execution, so there is no
// cycle.
inline RandomCase random_case(RandomStream& random) {
  RandomCase result;
  const std::size_t tasks = 1 + below(random, 60);
  const std::size_t resources = 1 + below(random, 8);
  for (std::size_t task = 0; task < tasks; ++task) {
    const bool free = random.uniform_int(5) == 0;
    result.resources.push_back(free ? kNoResource
                                    : static_cast<std::int32_t>(below(random, resources)));
    result.order.push_back(task);
  }
  for (std::size_t i = tasks; i > 1; --i) {
    std::swap(result.order[i - 1], result.order[below(random, i)]);
  }
  for (std::size_t resource = 0; resource < resources; ++resource) {
    std::vector<std::size_t> places;
    std::vector<std::size_t> members;
    for (std::size_t place = 0; place < tasks; ++place) {
      if (result.resources[result.order[place]] == static_cast<std::int32_t>(resource)) {
        places.push_back(place);
        members.push_back(result.order[place]);
      }
    }
    std::sort(members.begin(), members.end());
    for (std::size_t i = 0; i < places.size(); ++i) {
      result.order[places[i]] = members[i];
    }
  }
  const std::size_t delays = below(random, 5);
  const std::size_t edges = tasks < 2 ? 0 : below(random, 4 * tasks);
  for (std::size_t i = 0; i < edges; ++i) {
    const std::size_t later = 1 + below(random, tasks - 1);
    const std::size_t earlier = below(random, later);
    const auto delay = static_cast<std::int32_t>(below(random, delays + 1)) - 1;
    result.edges.push_back({result.order[earlier], result.order[later], delay});
  }
  result.durations = random_times(random, tasks);
  result.delays = random_times(random, delays);
  return result;
}

inline std::variant<TaskGraph, DependencyCycle> build(const RandomCase& input) {
  GraphBuilder builder;
  for (const std::int32_t resource : input.resources) {
    builder.add_task(resource);
  }
  for (const RawEdge& edge : input.edges) {
    builder.add_edge({static_cast<std::int32_t>(edge.before)},
                     {static_cast<std::int32_t>(edge.after)}, edge.delay);
  }
  return std::move(builder).finish();
}

}  // namespace orrery::engine
