#include "sim/step/schedule/step_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/step/engine/replay.hpp"
#include "tests/event_replay.hpp"
#include "tests/unit/schedule/run_ticks.hpp"

namespace orrery::schedule {
namespace {

using Int = std::int64_t;

// Ticks of one bucket; a whole chunk takes as many times that as it has buckets.
struct BucketTicks {
  Int forward = 1;
  Int backward = 2;  // of split backwards: the input part, and as much again for the weights
  Int reduce = 1;
  Int gather = 1;
  Int optimizer = 0;
};

struct Executed {
  StepGraph graph;
  engine::Timing timing;

  [[nodiscard]] Int makespan() const { return timing.makespan.ns; }

  [[nodiscard]] std::vector<std::size_t> find(TaskKind kind, int device = 0) const {
    std::vector<std::size_t> ids;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      if (graph.tasks[i].kind == kind && graph.tasks[i].device == device) {
        ids.push_back(i);
      }
    }
    return ids;
  }
};

Int ticks_of(const StepTask& task, int buckets, const BucketTicks& ticks) {
  const Int parts = task.bucket == kWholeChunk ? buckets : 1;
  switch (task.kind) {
    case TaskKind::forward:
      return parts * ticks.forward;
    case TaskKind::backward:
    case TaskKind::backward_input:
    case TaskKind::backward_weight:
      return parts * ticks.backward;
    case TaskKind::overlapped:
      return parts * (ticks.forward + ticks.backward);
    case TaskKind::gradient_reduce:
      return ticks.reduce;
    case TaskKind::parameter_gather:
    case TaskKind::parameter_gather_again:
      return ticks.gather;
    case TaskKind::optimizer:
      return ticks.optimizer;
    case TaskKind::send_receive:
    case TaskKind::join:
      return 0;
  }
  return 0;
}

Executed execute(const Schedule& schedule, const DataParallelComm& comm, int buckets,
                 const BucketTicks& ticks, bool optimizer = false) {
  StepGraphOptions options;
  options.comm = comm;
  options.optimizer = optimizer;
  options.buckets.assign(static_cast<std::size_t>(schedule.devices),
                         std::vector<int>(static_cast<std::size_t>(schedule.chunks), buckets));
  Executed run{built(schedule, options), {}};
  std::vector<SimTime> durations;
  for (const StepTask& task : run.graph.tasks) {
    durations.push_back({ticks_of(task, buckets, ticks)});
  }
  const std::vector<SimTime> delays(run.graph.messages.size());
  engine::replay_linear(run.graph.graph, durations, delays, run.timing);
  engine::Timing events;
  engine::replay_events(run.graph.graph, durations, delays, events);
  EXPECT_EQ(run.timing.end, events.end);
  return run;
}

Schedule one_device(int micro_batches) { return generated({.micro_batches = micro_batches}); }

constexpr int kBuckets = 4;

std::vector<BucketTicks> tick_grid() {
  std::vector<BucketTicks> grid;
  for (const Int comm : {0, 1, 2, 3, 5, 9}) {
    for (const Int forward : {1, 2, 4}) {
      for (const Int backward : {2, 3, 7}) {
        grid.push_back({forward, backward, comm, comm, 0});
      }
    }
  }
  return grid;
}

// Only the last backward runs bucket by bucket: its first bucket computes alone, then B - 1 pairs
// of compute and reduction, then the last reduction alone.
TEST(GradientReduction, PerStepHidesAllButTheLastBucket) {
  for (const BucketTicks& t : tick_grid()) {
    for (int m = 1; m <= 3; ++m) {
      const Executed run = execute(
          one_device(m), {.gradients = GradientReduction::per_step, .overlap_gradients = true},
          kBuckets, t);
      EXPECT_EQ(run.makespan(), m * kBuckets * t.forward + (m - 1) * kBuckets * t.backward +
                                    t.backward + (kBuckets - 1) * std::max(t.backward, t.reduce) +
                                    t.reduce);
    }
  }
}

TEST(GradientReduction, WithoutOverlapFollowsTheLastBackward) {
  for (const BucketTicks& t : tick_grid()) {
    const Executed run =
        execute(one_device(3), {.gradients = GradientReduction::per_step}, kBuckets, t);
    EXPECT_EQ(run.makespan(), kBuckets * (3 * (t.forward + t.backward) + t.reduce));
  }
}

TEST(GradientReduction, PerMicroBatchWithoutOverlapStopsTheDeviceEachTime) {
  for (const BucketTicks& t : tick_grid()) {
    for (int m = 1; m <= 3; ++m) {
      const Executed run =
          execute(one_device(m), {.gradients = GradientReduction::per_micro_batch}, kBuckets, t);
      EXPECT_EQ(run.makespan(), m * kBuckets * (t.forward + t.backward + t.reduce));
      EXPECT_EQ(run.find(TaskKind::gradient_reduce).size(), static_cast<std::size_t>(m * kBuckets));
    }
  }
}

// The stream is either the bottleneck from the first reduction on, or only its last one shows.
TEST(GradientReduction, PerMicroBatchOverlapsWithTheNextOnes) {
  for (const BucketTicks& t : tick_grid()) {
    if (t.reduce <= t.backward) {
      const Executed run =
          execute(one_device(3),
                  {.gradients = GradientReduction::per_micro_batch, .overlap_gradients = true},
                  kBuckets, t);
      EXPECT_EQ(run.makespan(), 3 * kBuckets * (t.forward + t.backward) + t.reduce);
    }
  }
}

// Gathers of all buckets are queued at time zero: the mirror image of the reductions.
TEST(ParameterGather, PerStepHidesAllButTheFirstBucket) {
  for (const BucketTicks& t : tick_grid()) {
    const Executed run =
        execute(one_device(2),
                {.parameters = ParameterGather::per_step, .overlap_parameters = true}, kBuckets, t);
    EXPECT_EQ(run.makespan(), t.gather + (kBuckets - 1) * std::max(t.gather, t.forward) +
                                  t.forward + kBuckets * (t.forward + 2 * t.backward));
    const Executed exposed =
        execute(one_device(2), {.parameters = ParameterGather::per_step}, kBuckets, t);
    EXPECT_EQ(exposed.makespan(), kBuckets * (t.gather + 2 * t.forward + 2 * t.backward));
  }
}

// Every bucket is gathered before its forward and again before its backward.
TEST(ParameterGather, PerUseWithoutOverlapIsFullyExposed) {
  for (const BucketTicks& t : tick_grid()) {
    for (const bool overlap : {false, true}) {
      const Executed run = execute(one_device(2),
                                   {.parameters = ParameterGather::per_use,
                                    .overlap_parameters = overlap,
                                    .prefetch = overlap ? 0 : 5},
                                   kBuckets, t);
      EXPECT_EQ(run.makespan(), 2 * kBuckets * (2 * t.gather + t.forward + t.backward));
    }
  }
}

// One gather ahead hides all but the first when compute is longer, and leaves only the last compute
// visible when gathers are longer than every compute.
TEST(ParameterGather, PerUseWithPrefetchOverlapsGatherAndCompute) {
  for (const BucketTicks& t : tick_grid()) {
    const Executed run =
        execute(one_device(2),
                {.parameters = ParameterGather::per_use, .overlap_parameters = true, .prefetch = 1},
                kBuckets, t);
    const Int compute = 2 * kBuckets * (t.forward + t.backward);
    if (t.gather <= std::min(t.forward, t.backward)) {
      EXPECT_EQ(run.makespan(), t.gather + compute);
    } else if (t.gather >= std::max(t.forward, t.backward)) {
      EXPECT_EQ(run.makespan(), 4 * kBuckets * t.gather + t.backward);
    }
    EXPECT_GE(run.makespan(), t.gather + compute);
  }
}

// Memory: gather j waits until use j - P - 1 has given its bucket back.
TEST(ParameterGather, NeverHoldsMoreThanThePrefetchedBuckets) {
  for (int prefetch = 0; prefetch <= 3; ++prefetch) {
    const Executed run = execute(
        one_device(3),
        {.parameters = ParameterGather::per_use, .overlap_parameters = true, .prefetch = prefetch},
        kBuckets, {.forward = 3, .backward = 5, .gather = 1});
    std::vector<std::size_t> gathers = run.find(TaskKind::parameter_gather);
    const auto again = run.find(TaskKind::parameter_gather_again);
    gathers.insert(gathers.end(), again.begin(), again.end());
    std::sort(gathers.begin(), gathers.end());
    std::vector<std::size_t> uses = run.find(TaskKind::forward);
    const auto backwards = run.find(TaskKind::backward);
    uses.insert(uses.end(), backwards.begin(), backwards.end());
    std::sort(uses.begin(), uses.end());
    ASSERT_EQ(uses.size(), gathers.size());
    for (std::size_t j = 0; j < gathers.size(); ++j) {
      EXPECT_LE(run.timing.end[gathers[j]], run.timing.start[uses[j]]);
      const std::size_t ahead = static_cast<std::size_t>(prefetch) + 1;
      if (j >= ahead) {
        EXPECT_GE(run.timing.start[gathers[j]], run.timing.end[uses[j - ahead]]);
      }
    }
  }
}

// B buckets, one micro-batch, gathers g shorter than forwards f, g + r shorter than backwards b:
//   before  g + B f + B b + r                      the gather runs beside the backward before
//   after   g + B f + B (g + b) + r                it starts when that has ended; r beside the next
//   b none    g + B f + B (g + b) + (B - 1) r + r    and stands behind r kept    g + B f + B b + r
//   the backward gathers nothing
TEST(ParameterGather, BackwardPrefetchDecidesWhatIsExposed) {
  const BucketTicks t{.forward = 4, .backward = 8, .reduce = 3, .gather = 2};
  const auto makespan = [&t](BackwardPrefetch policy, bool gathers) {
    return execute(one_device(1),
                   {.gradients = GradientReduction::per_micro_batch,
                    .overlap_gradients = true,
                    .parameters = ParameterGather::per_use,
                    .overlap_parameters = true,
                    .prefetch = 1,
                    .backward_prefetch = policy,
                    .gather_for_backward = gathers},
                   kBuckets, t)
        .makespan();
  };
  const Int forward = t.gather + kBuckets * t.forward;
  const Int compute = kBuckets * t.backward;
  const Int gathers = kBuckets * t.gather;
  EXPECT_EQ(makespan(BackwardPrefetch::before, true), forward + compute + t.reduce);
  EXPECT_EQ(makespan(BackwardPrefetch::after, true), forward + gathers + compute + t.reduce);
  EXPECT_EQ(makespan(BackwardPrefetch::none, true),
            forward + gathers + compute + kBuckets * t.reduce);
  EXPECT_EQ(makespan(BackwardPrefetch::before, false), forward + compute + t.reduce);
}

TEST(StepGraph, SplitsOnlyWhereCommunicationInterleaves) {
  const auto splits = [](const DataParallelComm& comm) {
    const Executed run = execute(one_device(3), comm, kBuckets, {});
    return std::pair(run.find(TaskKind::forward).size(), run.find(TaskKind::backward).size());
  };
  using Counts = std::pair<std::size_t, std::size_t>;
  constexpr auto kPerStep = GradientReduction::per_step;
  EXPECT_EQ(splits({}), (Counts{3, 3}));
  EXPECT_EQ(splits({.gradients = kPerStep}), (Counts{3, 3}));
  EXPECT_EQ(splits({.gradients = kPerStep, .overlap_gradients = true}), (Counts{3, 2 + 4}));
  EXPECT_EQ(splits({.gradients = GradientReduction::per_micro_batch, .overlap_gradients = true}),
            (Counts{3, 12}));
  EXPECT_EQ(splits({.parameters = ParameterGather::per_step, .overlap_parameters = true}),
            (Counts{2 + 4, 3}));
  EXPECT_EQ(splits({.parameters = ParameterGather::per_use}), (Counts{12, 12}));
}

TEST(StepGraph, RunsBucketsForwardInOrderAndBackwardInReverse) {
  const Executed run =
      execute(one_device(1), {.parameters = ParameterGather::per_use}, kBuckets, {});
  std::vector<int> order;
  for (const StepTask& task : run.graph.tasks) {
    if (task.stream == Stream::compute) {
      order.push_back(task.bucket);
    }
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 3, 2, 1, 0}));
}

// Reductions of a split backward wait for the weight gradient, not for the input gradient.
TEST(StepGraph, ReducesAfterTheWeightGradient) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::zb_h1, .devices = 2, .micro_batches = 4});
  const Executed run =
      execute(schedule, {.gradients = GradientReduction::per_step, .overlap_gradients = true},
              kBuckets, {});
  for (int device = 0; device < 2; ++device) {
    const auto weights = run.find(TaskKind::backward_weight, device);
    EXPECT_EQ(weights.size(), 3U + kBuckets);
    EXPECT_EQ(run.find(TaskKind::backward_input, device).size(), 4U);
    const auto reductions = run.find(TaskKind::gradient_reduce, device);
    ASSERT_EQ(reductions.size(), static_cast<std::size_t>(kBuckets));
    for (int k = 0; k < kBuckets; ++k) {
      const auto i = static_cast<std::size_t>(k);
      EXPECT_EQ(run.graph.tasks[reductions[i]].bucket, kBuckets - 1 - k);
      EXPECT_GE(run.timing.start[reductions[i]], run.timing.end[weights[3 + i]]);
    }
  }
}

TEST(StepGraph, ReducesEveryChunkOfEveryScheduleOnce) {
  for (const ScheduleFamily& family : schedule_families()) {
    ScheduleRequest request{.kind = family.kind, .devices = 4, .chunks = 2, .micro_batches = 8};
    if (family.kind == ScheduleKind::none) {
      request.devices = 1;
    }
    if (family.validate(request)) {
      request.chunks = 1;
    }
    const Schedule schedule = generated(request);
    for (const bool overlap : {false, true}) {
      for (const auto gather :
           {ParameterGather::none, ParameterGather::per_step, ParameterGather::per_use}) {
        const Executed run = execute(schedule,
                                     {.gradients = GradientReduction::per_step,
                                      .overlap_gradients = overlap,
                                      .parameters = gather,
                                      .overlap_parameters = overlap},
                                     kBuckets, {}, true);
        for (int device = 0; device < request.devices; ++device) {
          std::map<std::pair<int, int>, int> reduced;
          for (const std::size_t id : run.find(TaskKind::gradient_reduce, device)) {
            ++reduced[{run.graph.tasks[id].chunk, run.graph.tasks[id].bucket}];
          }
          EXPECT_EQ(reduced.size(), static_cast<std::size_t>(request.chunks * kBuckets))
              << to_string(family.kind);
          EXPECT_TRUE(std::all_of(reduced.begin(), reduced.end(), [](const auto& count) {
            return count.second == 1;
          })) << to_string(family.kind);
        }
      }
    }
  }
}

// The global gradient norm: no device may step before the last has reduced its gradients.
TEST(Optimizer, StartsEverywhereAfterTheLastReductionAnywhere) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::one_f_one_b, .devices = 3, .micro_batches = 5});
  const Executed run =
      execute(schedule, {.gradients = GradientReduction::per_step, .overlap_gradients = true},
              kBuckets, {.forward = 2, .backward = 4, .reduce = 3, .optimizer = 7}, true);
  SimTime last;
  for (int device = 0; device < 3; ++device) {
    for (const std::size_t id : run.find(TaskKind::gradient_reduce, device)) {
      last = std::max(last, run.timing.end[id]);
    }
  }
  for (int device = 0; device < 3; ++device) {
    const auto optimizer = run.find(TaskKind::optimizer, device);
    ASSERT_EQ(optimizer.size(), 1U);
    EXPECT_EQ(run.timing.start[optimizer[0]], last);
  }
  EXPECT_EQ(run.makespan(), last.ns + 7);
}

TEST(Messages, AreClassedByHopAndPayload) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::interleaved, .devices = 4, .chunks = 2, .micro_batches = 8});
  StepGraphOptions options;
  options.p2p = P2pMode::latency;
  const StepGraph graph = built(schedule, options);
  EXPECT_EQ(graph.messages.size(), 8U);  // four hops with the wrap-around, two payloads
  EXPECT_EQ(std::count(graph.messages.begin(), graph.messages.end(), Message{3, 0, false}), 1);
  EXPECT_EQ(std::count(graph.messages.begin(), graph.messages.end(), Message{0, 3, true}), 1);
  EXPECT_EQ(graph.graph.delay_count(), 8U);
  options.p2p = P2pMode::none;
  EXPECT_TRUE(built(schedule, options).messages.empty());
}

TEST(Messages, StayOnTheDeviceWhereAVeeTurns) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::zb_v, .devices = 3, .chunks = 2, .micro_batches = 6});
  StepGraphOptions options;
  options.p2p = P2pMode::link;
  const StepGraph graph = built(schedule, options);
  const auto sent = std::count_if(graph.tasks.begin(), graph.tasks.end(), [](const StepTask& task) {
    return task.kind == TaskKind::send_receive;
  });
  EXPECT_EQ(sent, 2 * 6 * 4);  // forward and backward over 2 x 2 of the 5 hops between 6 stages
}

TEST(Deadlock, IsExplainedByDeviceAndOperation) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::one_f_one_b, .devices = 4, .micro_batches = 8});
  StepGraphOptions options;
  options.p2p = P2pMode::rendezvous;
  const auto result = build_step_graph(schedule, options);
  const auto* deadlock = std::get_if<Deadlock>(&result);
  ASSERT_NE(deadlock, nullptr);
  EXPECT_EQ(deadlock->message,
            "schedule 1f1b with p2p mode rendezvous deadlocks: device 0 waits at send F3 after 4 "
            "operations, device 1 waits at send F2 after 3 operations, device 2 waits at send F1 "
            "after 2 operations, device 3 waits at send B0 after 2 operations");
}

// Naive rendezvous: cycles for every p, m >= 2 of 1F1B, never for all-forward-all-backward.
TEST(Deadlock, OfNaiveRendezvousDependsOnTheSchedule) {
  StepGraphOptions options;
  options.p2p = P2pMode::rendezvous;
  for (int p = 1; p <= 6; ++p) {
    for (int m = 1; m <= 10; ++m) {
      const auto is_deadlock = [&](ScheduleKind kind) {
        return std::holds_alternative<Deadlock>(
            build_step_graph(generated({.kind = kind, .devices = p, .micro_batches = m}), options));
      };
      EXPECT_EQ(is_deadlock(ScheduleKind::one_f_one_b), p >= 2 && m >= 2) << p << " " << m;
      EXPECT_FALSE(is_deadlock(ScheduleKind::gpipe)) << p << " " << m;
    }
  }
}

TEST(Deadlock, MessageStopsAfterEightDevices) {
  StepGraphOptions options;
  options.p2p = P2pMode::rendezvous;
  const auto result = build_step_graph(
      generated({.kind = ScheduleKind::one_f_one_b, .devices = 12, .micro_batches = 24}), options);
  const std::string& message = std::get<Deadlock>(result).message;
  EXPECT_EQ(message.substr(message.size() - 12), ", and 4 more");
}

}  // namespace
}  // namespace orrery::schedule
