// What holds for every step, on random valid ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/engine/replay.hpp"
#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/replay/attribution.hpp"
#include "sim/step/simulate/replay/paced_replay.hpp"
#include "sim/step/simulate/replay/task_times.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "tests/event_replay.hpp"
#include "tests/property/random_steps.hpp"

namespace orrery::step::test {
namespace {

constexpr std::uint64_t kSeed = 20261121;
constexpr int kRounds = 300;

Int128 gpu_time(std::int64_t gpus, SimTime time) { return Int128{gpus} * Int128{time.ns}; }

TEST(StepProperty, LedgersAddUpToGpusTimesStepToTheNanosecond) {
  RandomSteps steps(kSeed);
  std::map<schedule::ScheduleKind, int> seen;
  for (int round = 0; round < kRounds; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kSeed, steps, round));
    const StepResult result = simulate(step.input, step.costs);
    const layout::Layout& layout = step.input.layout;
    ASSERT_GT(result.step_time, SimTime{});
    ASSERT_EQ(result.gpus, layout.gpus);
    ASSERT_EQ(result.stage_ledgers.size(), static_cast<std::size_t>(layout.pipeline));
    for (const StepLedger& stage : result.stage_ledgers) {
      ASSERT_EQ(stage.total(), gpu_time(layout.gpus / layout.pipeline, result.step_time));
      for (std::size_t c = 0; c < kStepCategories; ++c) {
        ASSERT_GE(stage.gpu_nanoseconds(static_cast<StepCategory>(c)), Int128{0});
      }
    }
    ASSERT_EQ(result.ledger.total(), gpu_time(layout.gpus, result.step_time));
    ++seen[step.input.spec.schedule];
  }
  EXPECT_EQ(seen.size(), 9U) << "the rounds should meet every schedule";
}

// Categories that a step cannot have are empty.
TEST(StepProperty, CategoriesAppearOnlyWithTheirCause) {
  RandomSteps steps(kSeed + 1);
  for (int round = 0; round < kRounds; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kSeed, steps, round));
    const StepResult result = simulate(step.input, step.costs);
    const layout::Layout& layout = step.input.layout;
    const auto empty = [&result](StepCategory category) {
      return result.ledger.gpu_nanoseconds(category) == 0;
    };
    EXPECT_EQ(empty(StepCategory::exposed_tensor), layout.tensor == 1);
    EXPECT_EQ(empty(StepCategory::exposed_context), layout.context == 1);
    EXPECT_EQ(empty(StepCategory::bubble), layout.pipeline == 1);
    EXPECT_EQ(empty(StepCategory::recompute),
              step.input.spec.recompute.policy == model::Recompute::none ||
                  step.input.spec.recompute.layers == 0);
    EXPECT_TRUE(layout.pipeline > 1 || empty(StepCategory::exposed_pipeline));
    const bool copies = layout.pipeline > 1 &&
                        (step.input.spec.schedule == schedule::ScheduleKind::dualpipe ||
                         model::shared_table_shard_parameters(step.input.model, layout) > 0.0);
    EXPECT_TRUE(layout.data * layout.context > 1 || copies || empty(StepCategory::exposed_data));
    EXPECT_TRUE(step.input.model.moe || empty(StepCategory::exposed_expert));
    EXPECT_FALSE(empty(StepCategory::compute));
  }
}

schedule::P2pMode random_mode(RandomStream& random, const StepInput& input) {
  if (input.layout.pipeline == 1) {
    return schedule::P2pMode::none;
  }
  for (;;) {
    const auto mode =
        static_cast<schedule::P2pMode>(random.uniform_int(schedule::kP2pModeNames.size()));
    if (schedule::p2p_mode_applies(mode, input.spec.schedule)) {
      return mode;
    }
  }
}

schedule::DataParallelComm random_comm(RandomStream& random, const StepInput& input) {
  if (input.layout.data * input.layout.context == 1) {
    return {};
  }
  const auto coin = [&random] { return random.uniform_int(2) == 1; };
  return {.gradients = static_cast<schedule::GradientReduction>(random.uniform_int(3)),
          .overlap_gradients = coin(),
          .parameters = static_cast<schedule::ParameterGather>(random.uniform_int(3)),
          .overlap_parameters = coin(),
          .prefetch = static_cast<int>(random.uniform_int(4))};
}

// A pass is longer by the slow-down of just the time that collectives of its device run beside it.
// Returns whether any is.
bool is_stretched_by_what_it_shares(const schedule::StepGraph& graph, const engine::Timing& timing,
                                    const TaskTimes& times, double slowdown) {
  bool stretched = false;
  for (std::size_t i = 0; i < times.stretch().size(); ++i) {
    const schedule::StepTask& task = graph.tasks[i];
    SimTime shared;
    for (std::size_t c = 0; c < graph.tasks.size(); ++c) {
      const schedule::StepTask& other = graph.tasks[c];
      if (task.stream == schedule::Stream::compute && other.device == task.device &&
          other.stream == schedule::Stream::data_parallel_comm) {
        shared += std::max(
            std::min(timing.end[i], timing.end[c]) - std::max(timing.start[i], timing.start[c]),
            SimTime{});
      }
    }
    EXPECT_EQ(times.stretch()[i], to_sim_time(to_seconds(shared) * slowdown)) << "task " << i;
    stretched = stretched || shared > SimTime{};
  }
  return stretched;
}

// The same graph, durations and delays through all passes, with and without the stretch.
TEST(StepProperty, LinearAndEventDrivenPassAgreeOnRealStepGraphs) {
  RandomSteps steps(kSeed + 2);
  RandomStream random(kSeed + 2, 1, Purpose::property_test);
  int graphs = 0;
  int stretched = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kSeed, steps, round));
    const layout::Layout& layout = step.input.layout;
    const auto plan = std::get<schedule::Schedule>(
        schedule::generate({.kind = step.input.spec.schedule,
                            .devices = static_cast<int>(layout.pipeline),
                            .chunks = static_cast<int>(layout.virtual_stages),
                            .micro_batches = static_cast<int>(layout.micro_batches),
                            .group_size = {}}));
    const auto buckets = buckets_per_chunk(step.input);
    const auto built = schedule::build_step_graph(plan, {.p2p = random_mode(random, step.input),
                                                         .buckets = buckets,
                                                         .comm = random_comm(random, step.input),
                                                         .optimizer = true});
    if (!std::holds_alternative<schedule::StepGraph>(built)) {
      continue;  // blocking transfers deadlock in some schedules
    }
    ++graphs;
    const auto& graph = std::get<schedule::StepGraph>(built);
    const StageCosts costs = stage_costs(step.input, step.costs, buckets);
    TaskTimes times(graph, costs);
    engine::Timing linear;
    engine::Timing events;
    for (const double slowdown : {0.0, 0.3}) {
      PacedReplay(graph, slowdown).run(times, linear);
      engine::replay_events(graph.graph, times.durations(), times.delays(), events);
      ASSERT_EQ(linear.makespan, events.makespan);
      ASSERT_EQ(linear.start, events.start);
      ASSERT_EQ(linear.end, events.end);
      stretched += is_stretched_by_what_it_shares(graph, linear, times, slowdown) ? 1 : 0;
    }
    // Whatever the mode, every nanosecond is booked: attribute_step checks the sum of each device.
    const auto ledgers = attribute_step({.step = {.graph = graph,
                                                  .timing = linear,
                                                  .delays = times.delays(),
                                                  .parts = times.parts(),
                                                  .stretch = times.stretch(),
                                                  .devices = layout.pipeline},
                                         .gpus_per_device = 3})
                             .ledgers;
    for (const StepLedger& ledger : ledgers) {
      ASSERT_EQ(ledger.total(), gpu_time(3, linear.makespan));
    }
  }
  EXPECT_GT(graphs, kRounds * 3 / 4);
  EXPECT_GT(stretched, kRounds / 4);
}

// Without interference of overlapped communication nothing in a step gets slower when a part of the
// machine gets faster: orders are static. Rounding moves a task by at most 1 ns per part.
TEST(StepProperty, AFasterMachineIsNeverSlower) {
  RandomSteps steps(kSeed + 3);
  RandomStream random(kSeed + 3, 1, Purpose::property_test);
  for (int round = 0; round < kRounds; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kSeed, steps, round));
    const cost::CostModel base = with_software(step.costs, [](auto& software) {
      software.communication_slowdown = {0.0, {}};
    });
    const auto time_of = [&step](const cost::CostModel& costs) {
      return std::get<StepResult>(
                 simulate_step(step.input, costs, {.timeline = false, .operations = false}))
          .step_time;
    };
    const auto scaled = [](auto& coefficient, double factor) {
      coefficient = {coefficient.value() * factor, coefficient.source()};
    };
    const double factor = 1.0 + 3.0 * random.uniform01();
    const SimTime before = time_of(base);
    const SimTime slack{1000};
    EXPECT_LE(time_of(with_software(base, [&](auto& s) { scaled(s.gemm_efficiency, factor); })),
              before + slack);
    EXPECT_LE(
        time_of(with_software(base, [&](auto& s) { scaled(s.attention_efficiency, factor); })),
        before + slack);
    EXPECT_LE(time_of(with_software(base, [&](auto& s) { scaled(s.memory_efficiency, factor); })),
              before + slack);
    EXPECT_LE(time_of(with_software(base, [&](auto& s) { scaled(s.network_efficiency, factor); })),
              before + slack);
    EXPECT_LE(time_of(with_software(base, [&](auto& s) { scaled(s.nvlink_efficiency, factor); })),
              before + slack);
    EXPECT_GE(
        time_of(with_software(base, [&](auto& s) { scaled(s.network_efficiency, 1.0 / factor); })),
        before - slack);
    EXPECT_GE(time_of(with_software(base, [&](auto& s) { scaled(s.kernel_gap, factor); })),
              before - slack);
  }
}

TEST(StepProperty, PeakMemoryFallsWithShardingAndRecomputation) {
  RandomSteps steps(kSeed + 4);
  for (int round = 0; round < kRounds; ++round) {
    const Prepared step = steps.next();
    SCOPED_TRACE(steps_in_round(kSeed, steps, round));
    const auto memory_of = [&step](const StepInput& input) {
      return std::get<StepResult>(
                 simulate_step(input, step.costs, {.timeline = false, .operations = false}))
          .memory;
    };
    StepInput input = step.input;
    input.spec.recompute = {};
    const auto none = memory_of(input);
    input.spec.recompute.policy = model::Recompute::selective;
    const auto selective = memory_of(input);
    input.spec.recompute.policy = model::Recompute::full;
    const auto full = memory_of(input);
    for (std::size_t device = 0; device < none.size(); ++device) {
      EXPECT_LE(full[device].activations, selective[device].activations);
      EXPECT_LE(selective[device].activations, none[device].activations);
      EXPECT_LE(in_bytes(full[device].peak()), in_bytes(none[device].peak()) * (1.0 + 1e-12));
    }
    input.layout.shard_group = input.layout.data * input.layout.context;
    input.choices.reduction = hardware::GradientReduction::per_micro_batch;
    std::vector<StageMemory> before;
    for (const layout::Sharding sharding : {layout::Sharding::none, layout::Sharding::zero1,
                                            layout::Sharding::zero2, layout::Sharding::zero3}) {
      input.layout.sharding = sharding;
      const auto memory = memory_of(input);
      for (std::size_t device = 0; device < before.size(); ++device) {
        const auto states = [](const StageMemory& m) {
          return m.parameters + m.gradients + m.optimizer;
        };
        EXPECT_LE(states(memory[device]), states(before[device]));
      }
      before = memory;
    }
  }
}

}  // namespace
}  // namespace orrery::step::test
