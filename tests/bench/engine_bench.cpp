// Speed of the engine against the limits of the machine and against a peer.
//
// Hold model (pop one event, schedule one after an exponential delay) at a constant number of
// pending events; limit: one dependent load at the footprint of the queue. Peer:
// std::priority_queue of a plain struct. Replays of a 1F1B pipeline graph; limit: the bytes of the
// linear pass at the bandwidth of the triad, both with write-allocate. Time and `ns` are per hold
// or per task.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/engine/event_queue.hpp"
#include "sim/step/engine/replay.hpp"
#include "sim/step/engine/task_graph.hpp"
#include "tests/bench/limits.hpp"
#include "tests/event_replay.hpp"

namespace orrery::bench {
namespace {

using engine::Event;
using engine::EventQueue;
using engine::TaskGraph;

constexpr std::size_t kSampleEvents = 400'000;
constexpr std::size_t kSampleTasks = 1'000'000;

// Exponential delays with a mean of 1 ms, from a table small enough to stay in the cache.
class DelayTable {
 public:
  DelayTable() : delays_(kSize) {
    RandomStream random(1, 0, Purpose::property_test);
    for (SimTime& delay : delays_) {
      delay = to_sim_time(random.exponential(milliseconds(1.0)));
    }
  }

  SimTime next() { return delays_[position_++ % kSize]; }

 private:
  static constexpr std::size_t kSize = std::size_t{1} << 16;
  std::vector<SimTime> delays_;
  std::size_t position_ = 0;
};

struct ReplaceTop {
  static constexpr std::size_t kEventBytes = sizeof(engine::detail::EventKey);
  EventQueue queue;

  void hold(DelayTable& delays) {
    const Event event = queue.top();
    queue.replace_top(event.time + delays.next(), event.priority, event.payload);
  }
};

struct PopPush {
  static constexpr std::size_t kEventBytes = sizeof(engine::detail::EventKey);
  EventQueue queue;

  void hold(DelayTable& delays) {
    const Event event = queue.pop();
    queue.push(event.time + delays.next(), event.priority, event.payload);
  }
};

struct PlainEvent {
  std::int64_t ns = 0;
  std::uint64_t sequence = 0;
  std::uint32_t payload = 0;

  friend bool operator>(const PlainEvent& a, const PlainEvent& b) {
    return a.ns != b.ns ? a.ns > b.ns : a.sequence > b.sequence;
  }
};

struct StandardQueue {
  static constexpr std::size_t kEventBytes = sizeof(PlainEvent);

  struct Queue : std::priority_queue<PlainEvent, std::vector<PlainEvent>, std::greater<>> {
    std::uint64_t sequence = 0;

    void push(SimTime time, std::uint8_t /*priority*/, std::uint32_t payload) {
      priority_queue::push({time.ns, sequence++, payload});
    }

    void reserve(std::size_t count) { c.reserve(count); }
  };

  Queue queue;

  void hold(DelayTable& delays) {
    const PlainEvent event = queue.top();
    queue.pop();
    queue.push(SimTime{event.ns} + delays.next(), 0, event.payload);
  }
};

template <typename Subject>
void hold(benchmark::State& state) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  DelayTable delays;
  Subject subject;
  subject.queue.reserve(pending);
  for (std::size_t i = 0; i < pending; ++i) {
    subject.queue.push(delays.next(), 0, static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < 2 * pending; ++i) {
    subject.hold(delays);  // until the heap has the shape of the steady state
  }
  PointerChase chase(pending * Subject::kEventBytes);
  compare_with_limit(
      state,
      [&] {
        const double begin = thread_cpu_ns();
        for (std::size_t i = 0; i < kSampleEvents; ++i) {
          subject.hold(delays);
        }
        return (thread_cpu_ns() - begin) / static_cast<double>(kSampleEvents);
      },
      [&] { return chase.sample(kSampleEvents); });
}

struct Pipeline {
  std::int32_t stages = 0;
  std::int32_t batches = 0;
};

Pipeline pipeline(const benchmark::State& state) {
  return {static_cast<std::int32_t>(state.range(0)), static_cast<std::int32_t>(state.range(1))};
}

// One forward and one backward in turn once `stages - stage - 1` forwards are in flight; messages
// between neighbours take delay 0 (forward) or 1 (backward).
TaskGraph build(Pipeline shape) {
  engine::GraphBuilder builder;
  const auto tasks =
      static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.batches);
  builder.reserve(2 * tasks, 2 * tasks);
  std::vector<TaskId> forward;
  std::vector<TaskId> backward(tasks);
  forward.reserve(tasks);
  for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
    std::int32_t backwards = 0;
    const std::size_t first =
        static_cast<std::size_t>(stage) * static_cast<std::size_t>(shape.batches);
    const auto add_backward = [&] {
      backward[first + static_cast<std::size_t>(backwards++)] = builder.add_task(stage);
    };
    for (std::int32_t i = 0; i < shape.batches; ++i) {
      forward.push_back(builder.add_task(stage));
      if (i >= shape.stages - stage - 1) {
        add_backward();
      }
    }
    while (backwards < shape.batches) {
      add_backward();
    }
  }
  const auto batches = static_cast<std::size_t>(shape.batches);
  for (std::size_t i = 0; i + batches < tasks; ++i) {
    builder.add_edge(forward[i], forward[i + batches], 0);
    builder.add_edge(backward[i + batches], backward[i], 1);
  }
  return std::get<TaskGraph>(std::move(builder).finish());
}

std::vector<SimTime> jittered_durations(const TaskGraph& graph) {
  RandomStream random(2, 0, Purpose::property_test);
  std::vector<SimTime> durations(graph.task_count());
  for (SimTime& duration : durations) {
    duration = to_sim_time(milliseconds(1.0 + random.uniform01()));
  }
  return durations;
}

std::vector<SimTime> message_delays() {
  return {to_sim_time(microseconds(30.0)), to_sim_time(microseconds(40.0))};
}

// Measures a replay of `tasks` tasks per call beside the time its bytes take at triad bandwidth.
void replay(benchmark::State& state, std::size_t tasks, const std::function<void()>& evaluate) {
  // Per task: 12 bytes of node, 8 of duration, 8 of end written and fetched before.
  constexpr double kBytesPerTask = sizeof(engine::PackedNode) + 3 * sizeof(SimTime);
  constexpr std::size_t kFootprintPerTask = sizeof(engine::PackedNode) + 2 * sizeof(SimTime);
  const std::size_t rounds = std::max<std::size_t>(kSampleTasks / tasks, 1);
  Triad triad(kFootprintPerTask * tasks);
  evaluate();
  compare_with_limit(
      state,
      [&] {
        const double begin = thread_cpu_ns();
        for (std::size_t round = 0; round < rounds; ++round) {
          evaluate();
        }
        return (thread_cpu_ns() - begin) / static_cast<double>(rounds * tasks);
      },
      [&] { return kBytesPerTask * triad.sample(rounds); });
}

void packed_pass(benchmark::State& state) {
  const TaskGraph graph = build(pipeline(state));
  std::vector<SimTime> durations;
  std::vector<SimTime> delays;
  engine::pack_durations(graph, jittered_durations(graph), durations);
  engine::pack_delays(graph, message_delays(), delays);
  std::vector<SimTime> end(graph.nodes().size());
  replay(state, graph.task_count(),
         [&] { benchmark::DoNotOptimize(engine::replay_packed(graph, durations, delays, end)); });
}

void linear_pass(benchmark::State& state) {
  const TaskGraph graph = build(pipeline(state));
  const std::vector<SimTime> durations = jittered_durations(graph);
  const std::vector<SimTime> delays = message_delays();
  engine::Timing timing;
  replay(state, graph.task_count(), [&] {
    engine::replay_linear(graph, durations, delays, timing);
    benchmark::DoNotOptimize(timing.makespan);
  });
}

void event_pass(benchmark::State& state) {
  const TaskGraph graph = build(pipeline(state));
  const std::vector<SimTime> durations = jittered_durations(graph);
  const std::vector<SimTime> delays = message_delays();
  engine::EventReplay events(graph);
  engine::Timing timing;
  replay(state, graph.task_count(), [&] {
    events.run(durations, delays, timing);
    benchmark::DoNotOptimize(timing.makespan);
  });
}

void build_graph(benchmark::State& state) {
  const Pipeline shape = pipeline(state);
  const std::size_t tasks = build(shape).task_count();
  replay(state, tasks, [&] { benchmark::DoNotOptimize(build(shape).task_count()); });
}

constexpr int kSamples = 15;

void pending_events(benchmark::internal::Benchmark* bench) {
  for (const int pending : {3, 100, 10'000, 1'000'000}) {
    bench->Arg(pending);
  }
  bench->ArgName("pending")->Iterations(kSamples)->UseManualTime();
}

void pipelines(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"stages", "batches"});
  bench->Args({16, 128})->Args({64, 8192});  // 4,096 and 1,048,576 tasks
  bench->Iterations(kSamples)->UseManualTime();
}

// Also 16,777,216 tasks, 470 MB: beyond any cache.
void pipelines_and_huge(benchmark::internal::Benchmark* bench) {
  pipelines(bench);
  bench->Args({128, 65'536});
}

BENCHMARK(hold<ReplaceTop>)->Apply(pending_events);
BENCHMARK(hold<PopPush>)->Apply(pending_events);
BENCHMARK(hold<StandardQueue>)->Apply(pending_events);
BENCHMARK(packed_pass)->Apply(pipelines_and_huge);
BENCHMARK(linear_pass)->Apply(pipelines);
BENCHMARK(event_pass)->Apply(pipelines);
BENCHMARK(build_graph)->Apply(pipelines);

}  // namespace
}  // namespace orrery::bench
