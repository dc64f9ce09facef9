#include "sim/step/simulate/step_simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "sim/step/model/flops.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using schedule::ScheduleKind;

Case llama_70b() {
  Case what;
  what.model = "llama3-70b";
  what.nodes = 8;
  what.layout.tensor = 4;
  what.layout.sequence_parallel = true;
  what.layout.pipeline = 2;
  what.layout.sharding = layout::Sharding::zero1;
  what.batch = {.global = 128, .micro = 1};
  what.step.schedule = ScheduleKind::one_f_one_b;
  return what;
}

bool same(const Slice& a, const Slice& b) {
  return a.start == b.start && a.end == b.end && a.task.kind == b.task.kind &&
         a.task.device == b.task.device && a.task.chunk == b.task.chunk &&
         a.task.micro_batch == b.task.micro_batch && a.task.bucket == b.task.bucket;
}

TEST(StepSimulator, IsDeterministic) {
  const StepResult first = simulate(llama_70b());
  const StepResult second = simulate(llama_70b());
  EXPECT_EQ(first.step_time, second.step_time);
  EXPECT_EQ(first.ledger, second.ledger);
  EXPECT_EQ(first.stage_ledgers, second.stage_ledgers);
  EXPECT_EQ(first.by_source, second.by_source);
  EXPECT_TRUE(std::equal(first.slices.begin(), first.slices.end(), second.slices.begin(),
                         second.slices.end(), same));
  for (std::size_t i = 0; i < first.memory.size(); ++i) {
    EXPECT_EQ(first.memory[i].peak(), second.memory[i].peak());
  }
}

// Other costs on a shape that is known, other shapes in between: as if each were the first.
TEST(StepSimulator, KeptStructuresDoNotChangeTheAnswer) {
  StepSimulator kept;
  for (const std::int64_t micro : {1, 2, 1}) {
    for (const std::string gpu : {"h100-sxm-80gb", "a100-sxm-80gb"}) {
      Case what = llama_70b();
      what.gpu = gpu;
      what.batch.micro = micro;
      const Prepared prepared = prepare(what);
      const auto again = kept.simulate(prepared.input, prepared.costs);
      ASSERT_TRUE(std::holds_alternative<StepResult>(again));
      const StepResult first = simulate(prepared.input, prepared.costs);
      EXPECT_EQ(std::get<StepResult>(again).step_time, first.step_time);
      EXPECT_EQ(std::get<StepResult>(again).stage_ledgers, first.stage_ledgers);
    }
  }
}

TEST(StepSimulator, LeavesOutTimelineAndOperationsOnRequest) {
  const Prepared prepared = prepare(llama_70b());
  const StepResult full = simulate(prepared.input, prepared.costs);
  const auto bare = std::get<StepResult>(
      simulate_step(prepared.input, prepared.costs, {.timeline = false, .operations = false}));
  EXPECT_FALSE(full.slices.empty());
  EXPECT_FALSE(full.operations.empty());
  EXPECT_TRUE(bare.slices.empty());
  EXPECT_TRUE(bare.operations.empty());
  EXPECT_EQ(bare.step_time, full.step_time);
  EXPECT_EQ(bare.ledger, full.ledger);
}

TEST(StepSimulator, LedgerAddsUpToAllGpusOverTheStep) {
  const StepResult result = simulate(llama_70b());
  EXPECT_EQ(result.gpus, 64);
  EXPECT_EQ(result.ledger.total(), Int128{64} * Int128{result.step_time.ns});
  ASSERT_EQ(result.stage_ledgers.size(), 2U);
  for (const StepLedger& stage : result.stage_ledgers) {
    EXPECT_EQ(stage.total(), Int128{32} * Int128{result.step_time.ns});
  }
}

TEST(StepSimulator, SourcesAddUpToAllGpusOverTheStep) {
  const StepResult result = simulate(llama_70b());
  Seconds sum;
  for (const Seconds part : result.by_source) {
    EXPECT_GE(part, Seconds{});
    sum += part;
  }
  EXPECT_NEAR(in_seconds(sum) / (64.0 * step_seconds(result)), 1.0, 1e-12);
}

// A device computes one thing at a time, and so does its stream of collectives.
TEST(StepSimulator, SlicesOfOneStreamFollowOneAnother) {
  const StepResult result = simulate(llama_70b());
  std::map<std::pair<int, schedule::Stream>, SimTime> free_at;
  SimTime last;
  for (const Slice& slice : result.slices) {
    if (slice.task.stream == schedule::Stream::p2p) {
      continue;
    }
    SimTime& cursor = free_at[{slice.task.device, slice.task.stream}];
    EXPECT_GE(slice.start, cursor);
    EXPECT_GT(slice.end, slice.start);
    cursor = slice.end;
    last = std::max(last, slice.end);
  }
  EXPECT_EQ(last, result.step_time);
  EXPECT_EQ(free_at.size(), 4U);
}

// Every product, kernel and collective of one micro-batch on the device that waits least, times the
// micro-batches, is what its passes take. Host floor, jitter, stretch and hidden collectives are
// set aside: they are no operations.
TEST(StepSimulator, OperationsAddUpToTheBusyTimeOfTheirDevice) {
  Prepared prepared = prepare(llama_70b());
  prepared.costs = with_software(prepared.costs, [](auto& software) {
    software.host_layer_time = exactly(Seconds{});
    software.jitter_per_doubling = exactly(0.0);
    software.fixed_step_time = exactly(Seconds{});
    software.hides_tensor_backward = false;
    software.tensor_exposed = exactly(1.0);
    software.communication_slowdown = exactly(0.0);
  });
  const StepResult result = simulate(prepared.input, prepared.costs);
  Seconds operations;
  for (const OperationShare& line : result.operations) {
    operations += line.time;
  }
  std::vector<SimTime> busy(result.stage_ledgers.size());
  for (const Slice& slice : result.slices) {
    if (slice.task.stream == schedule::Stream::compute &&
        slice.task.kind != schedule::TaskKind::optimizer) {
      busy[static_cast<std::size_t>(slice.task.device)] += slice.end - slice.start;
    }
  }
  double closest = 1.0;
  for (const SimTime device : busy) {
    closest = std::min(closest, std::abs(operations / to_seconds(device) - 1.0));
  }
  EXPECT_LT(closest, 1e-6);
  EXPECT_TRUE(std::is_sorted(result.operations.begin(), result.operations.end(),
                             [](const auto& a, const auto& b) { return a.time > b.time; }));
}

// On one GPU the operations of a step are the model's FLOP: 6 N + 12 L H Q T a token.
TEST(StepSimulator, OperationsHoldTheFlopOfTheModel) {
  Ideal ideal;
  ideal.gpus_per_node = 1;
  const cost::CostModel costs = ideal_costs(ideal);
  Case what;
  what.model_spec = shipped::model("gpt3-175b");
  what.model_spec->causal = false;
  what.batch = {.global = 3, .micro = 1};
  const StepInput input = input_of(what, costs);
  double flop = 0.0;
  for (const OperationShare& line : simulate(input, costs).operations) {
    flop += line.flop;
  }
  const double tokens = 3.0 * static_cast<double>(input.model.sequence_length);
  const double model =
      in_flop(model::model_flop_per_token(input.model, model::FlopConvention::palm)) * tokens;
  EXPECT_NEAR(flop / model, 1.0, 1e-3);  // norms and biases are in N, but are no products
}

TEST(StepSimulator, TwiceTheRatesHalveTheStep) {
  Ideal ideal;
  ideal.gpus_per_node = 1;
  ideal.memory_rate = gigabytes_per_second(10.0);
  Case what;
  what.model_spec = ideal_model(4);
  what.batch = {.global = 3, .micro = 1};
  const cost::CostModel slow = ideal_costs(ideal);
  ideal.rate = ideal.rate * 2.0;
  ideal.memory_rate = ideal.memory_rate * 2.0;
  const cost::CostModel fast = ideal_costs(ideal);
  const auto slow_ns = simulate(input_of(what, slow), slow).step_time.ns;
  const auto fast_ns = simulate(input_of(what, fast), fast).step_time.ns;
  EXPECT_NEAR(static_cast<double>(slow_ns), 2.0 * static_cast<double>(fast_ns), 100.0);  // rounding
}

TEST(StepSimulator, WithoutPipelineThereIsNoBubble) {
  Case what = llama_70b();
  what.layout.pipeline = 1;
  what.layout.tensor = 8;
  what.step.schedule = ScheduleKind::none;
  const StepResult result = simulate(what);
  EXPECT_EQ(result.ledger.gpu_nanoseconds(StepCategory::bubble), 0);
  EXPECT_EQ(result.ledger.gpu_nanoseconds(StepCategory::exposed_pipeline), 0);
}

TEST(StepSimulator, OverlapHidesDataParallelCommunication) {
  Case what = llama_70b();
  const StepResult overlapped = simulate(what);
  what.step.overlap.data = false;
  const StepResult exposed = simulate(what);
  EXPECT_GT(exposed.step_time, overlapped.step_time);
  EXPECT_GT(exposed.ledger.share(StepCategory::exposed_data),
            2.0 * overlapped.ledger.share(StepCategory::exposed_data));
}

// Without overlap each device gathers and reduces everything while it computes nothing.
TEST(StepSimulator, WithoutOverlapAllDataParallelCommunicationIsExposed) {
  Case what = llama_70b();
  what.step.overlap.data = false;
  const StepResult result = simulate(what);
  std::vector<SimTime> communicating(2);
  for (const Slice& slice : result.slices) {
    if (slice.task.stream == schedule::Stream::data_parallel_comm) {
      communicating[static_cast<std::size_t>(slice.task.device)] += slice.end - slice.start;
    }
  }
  // The device whose reductions end last waits for all of its own.
  const auto exposed = [&](std::size_t device) {
    return result.stage_ledgers[device].gpu_nanoseconds(StepCategory::exposed_data);
  };
  EXPECT_TRUE(exposed(0) == Int128{32} * Int128{communicating[0].ns} ||
              exposed(1) == Int128{32} * Int128{communicating[1].ns});
}

TEST(StepSimulator, RefusesASchedulesRuleWithItsNumbers) {
  Case what = llama_70b();
  what.step.schedule = ScheduleKind::interleaved;
  const Prepared prepared = prepare(what);
  const auto outcome = simulate_step(prepared.input, prepared.costs);
  ASSERT_TRUE(std::holds_alternative<StepProblem>(outcome));
  const auto& problem = std::get<StepProblem>(outcome);
  EXPECT_EQ(problem.key, "layout.schedule");
  EXPECT_EQ(problem.message, "interleaved needs virtual stages (v >= 2): v = 1");
  EXPECT_EQ(problem.allowed, "v = 2, or 1f1b for v = 1");
}

// A stage with more layers than the others sets the pace of all: 80 layers as 30, 50.
TEST(StepSimulator, UnevenStagesAreSlowerThanEvenOnes) {
  Case what = llama_70b();
  const StepResult even = simulate(what);
  what.layout.stage_layers = std::vector<std::int64_t>{30, 50};
  const StepResult uneven = simulate(what);
  EXPECT_NEAR(step_seconds(uneven) / step_seconds(even), 50.0 / 40.0, 0.05);
}

}  // namespace
}  // namespace orrery::step::test
