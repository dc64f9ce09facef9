// The operations within the tasks of a step: they must add up to what the ledger says, to the
// nanosecond, whatever the layout.

#include "sim/step/simulate/operations/operation_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "sim/step/model/flops.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/operations/operation_tree.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using schedule::ScheduleKind;
using schedule::Stream;
using schedule::TaskKind;

std::optional<StepResult> with_timeline(const StepInput& input, const cost::CostModel& costs) {
  auto result = simulate_step(input, costs, {.operation_timeline = true});
  if (!std::holds_alternative<StepResult>(result)) {
    return std::nullopt;
  }
  return std::get<StepResult>(std::move(result));
}

StepResult with_timeline(const Case& what) {
  const Prepared prepared = prepare(what);
  auto result = with_timeline(prepared.input, prepared.costs);
  EXPECT_TRUE(result.has_value());
  return result ? *std::move(result) : StepResult{};
}

Case llama_on(std::int64_t nodes, std::int64_t tensor, std::int64_t pipeline, std::int64_t global) {
  Case what;
  what.nodes = nodes;
  what.layout.tensor = tensor;
  what.layout.pipeline = pipeline;
  what.step.schedule = pipeline > 1 ? ScheduleKind::one_f_one_b : ScheduleKind::none;
  what.batch = {.global = global, .micro = 1};
  return what;
}

std::string description(const Slice& slice) {
  return "kind " + std::to_string(static_cast<int>(slice.task.kind)) + " of device " +
         std::to_string(slice.task.device) + ", chunk " + std::to_string(slice.task.chunk) +
         ", bucket " + std::to_string(slice.task.bucket);
}

// Every task: booked parts follow each other from its start to its end.
void expect_tasks_to_be_tiled(const StepResult& result) {
  const OperationTimeline& timeline = *result.operation_timeline;
  ASSERT_EQ(timeline.runs.size(), result.slices.size());
  for (std::size_t i = 0; i < result.slices.size(); ++i) {
    const Slice& slice = result.slices[i];
    SimTime cursor;
    std::array<SimTime, kStepCategories> sums{};
    for (const PlacedOperation& placed : place_operations(timeline, timeline.runs[i])) {
      ASSERT_EQ(placed.booked_from, cursor) << description(slice);
      ASSERT_GE(placed.booked, SimTime{});
      const SimTime taken = placed.booked + placed.slowed;
      if (taken > SimTime{}) {
        ASSERT_LE(placed.start, placed.booked_from) << description(slice);
        ASSERT_GE(placed.end, placed.booked_from + taken) << description(slice);
      }
      cursor += taken;
      sums[static_cast<std::size_t>(placed.category)] += placed.booked;
      sums[static_cast<std::size_t>(StepCategory::exposed_expert)] += placed.slowed;
    }
    ASSERT_EQ(cursor.ns, (slice.end - slice.start).ns) << description(slice);
    const TaskKindOperations& kind = timeline.kinds[timeline.runs[i].kind];
    sums[static_cast<std::size_t>(StepCategory::exposed_data)] -= timeline.runs[i].stretch;
    ASSERT_EQ(sums, kind.by_category) << description(slice);
  }
}

// Tasks on the compute stream of a device and its waits fill the step and make its ledger.
void expect_ledgers_to_be_met(const StepResult& result) {
  const OperationTimeline& timeline = *result.operation_timeline;
  const std::size_t devices = result.stage_ledgers.size();
  std::vector<std::array<std::int64_t, kStepCategories>> sums(devices);
  for (std::size_t i = 0; i < result.slices.size(); ++i) {
    const Slice& slice = result.slices[i];
    if (slice.task.stream == Stream::compute) {
      for (const PlacedOperation& placed : place_operations(timeline, timeline.runs[i])) {
        sums[static_cast<std::size_t>(slice.task.device)]
            [static_cast<std::size_t>(placed.category)] += placed.booked.ns;
        sums[static_cast<std::size_t>(slice.task.device)]
            [static_cast<std::size_t>(StepCategory::exposed_expert)] += placed.slowed.ns;
      }
    }
  }
  for (const DeviceWait& wait : timeline.waits) {
    sums[static_cast<std::size_t>(wait.device)][static_cast<std::size_t>(wait.category)] +=
        (wait.end - wait.start).ns;
  }
  const auto gpus = result.gpus / static_cast<std::int64_t>(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    std::int64_t all = 0;
    for (std::size_t c = 0; c < kStepCategories; ++c) {
      const auto category = static_cast<StepCategory>(c);
      ASSERT_TRUE(result.stage_ledgers[d].gpu_nanoseconds(category) ==
                  static_cast<Int128>(gpus) * static_cast<Int128>(sums[d][c]))
          << "device " << d << ", " << to_string(category);
      all += sums[d][c];
    }
    ASSERT_EQ(all, result.step_time.ns);
  }
}

void expect_tree_to_add_up(const StepResult& result) {
  const std::vector<OperationNode> tree = operation_tree(result);
  std::size_t stages = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].level == TreeLevel::stage) {
      ++stages;
      ASSERT_EQ(tree[i].time, result.step_time) << tree[i].name;
    }
    SimTime below;
    for (std::uint32_t child = static_cast<std::uint32_t>(i) + 1; child < tree[i].end;
         child = tree[child].end) {
      ASSERT_EQ(tree[child].parent, i);
      below += tree[child].time;
    }
    if (tree[i].level != TreeLevel::operation) {
      ASSERT_EQ(below, tree[i].time) << tree[i].name;
    }
  }
  ASSERT_EQ(stages, result.stage_ledgers.size());
  for (std::size_t d = 0; d < stages; ++d) {
    SimTime sum;
    for (const OperationNode& total : operation_totals(result, static_cast<std::int64_t>(d))) {
      sum += total.time;
    }
    ASSERT_EQ(sum, result.step_time);
  }
}

void expect_consistent(const StepResult& result) {
  expect_tasks_to_be_tiled(result);
  expect_ledgers_to_be_met(result);
  expect_tree_to_add_up(result);
}

TEST(OperationTimeline, IsAbsentUnlessAskedForAndChangesNothing) {
  const Case what = llama_on(2, 2, 2, 64);
  const StepResult plain = simulate(what);
  const StepResult detailed = with_timeline(what);
  EXPECT_EQ(plain.operation_timeline, nullptr);
  ASSERT_NE(detailed.operation_timeline, nullptr);
  EXPECT_EQ(plain.step_time, detailed.step_time);
  EXPECT_EQ(plain.slices.size(), detailed.slices.size());
}

TEST(OperationTimeline, AddsUpOnAPlainLayout) {
  expect_consistent(with_timeline(llama_on(2, 2, 2, 64)));
}

TEST(OperationTimeline, RunsTheLayersOfItsStageInOrder) {
  const StepResult result = with_timeline(llama_on(2, 2, 2, 64));
  const OperationTimeline& timeline = *result.operation_timeline;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < result.slices.size(); ++i) {
    const schedule::StepTask& task = result.slices[i].task;
    if (task.kind != TaskKind::forward || task.bucket != schedule::kWholeChunk) {
      continue;
    }
    std::vector<std::int32_t> layers;
    for (const PlacedOperation& placed : place_operations(timeline, timeline.runs[i])) {
      if (placed.layer >= 0 && (layers.empty() || layers.back() != placed.layer)) {
        layers.push_back(placed.layer);
      }
    }
    ASSERT_EQ(layers.size(), 16U);  // 32 layers on two stages
    EXPECT_EQ(layers.front(), task.device * 16);
    EXPECT_TRUE(std::is_sorted(layers.begin(), layers.end()));
    ++seen;
  }
  EXPECT_GT(seen, 0U);
}

// The products of one layer, forward and backward, are 6 FLOP per parameter and token and GPU.
TEST(OperationTimeline, CountsTheWorkOfTheModel) {
  Case what = llama_on(1, 1, 1, 64);
  what.sequence_length = 2048;
  const StepResult result = with_timeline(what);
  double products = 0.0;
  for (const OperationNode& total : operation_totals(result, 0)) {
    if (total.kind == OperationKind::gemm) {
      products += total.flop;
    }
  }
  const model::ParameterCounts counts = model::count_parameters(model_of(what));
  const double multiplied =
      static_cast<double>(counts.total) - 128256.0 * 4096.0 - 65.0 * 4096.0;  // table, norms
  const double tokens = 64.0 / 8.0 * 2048.0;
  EXPECT_NEAR(products / (6.0 * multiplied * tokens), 1.0, 1e-3);
}

TEST(OperationTimeline, SharesSequencesBetweenLayers) {
  Case what = llama_on(4, 1, 4, 256);
  const StepResult result = with_timeline(what);
  const OperationTimeline& timeline = *result.operation_timeline;
  EXPECT_LT(timeline.sequences.size(), 200U);
  EXPECT_LT(timeline.operations.size(), 200U);
  expect_consistent(result);
}

TEST(OperationTimeline, SaysWhereMessagesComeFrom) {
  for (const ScheduleKind kind : {ScheduleKind::one_f_one_b, ScheduleKind::gpipe}) {
    Case what = llama_on(1, 2, 4, 16);
    what.step.schedule = kind;
    const StepResult result = with_timeline(what);
    const OperationTimeline& timeline = *result.operation_timeline;
    // Each of 16 micro-batches crosses 3 borders, forth and back.
    EXPECT_EQ(timeline.messages.size(), 16U * 3U * 2U) << schedule::to_string(kind);
    for (const MessageRun& message : timeline.messages) {
      const Slice& from = result.slices[message.from];
      const Slice& to = result.slices[message.to];
      EXPECT_EQ(from.task.micro_batch, to.task.micro_batch);
      EXPECT_EQ(std::abs(from.task.device - to.task.device), 1);
      EXPECT_LE(from.end, message.start);
      EXPECT_LE(message.end, to.start);
    }
  }
}

TEST(OperationTimeline, HidesWhatOverlaps) {
  Case what = llama_on(1, 8, 1, 16);
  what.layout.sequence_parallel = true;
  const StepResult serial = with_timeline(what);
  what.step.overlap.tensor = true;
  const StepResult overlapped = with_timeline(what);
  const auto tensor = [](const StepResult& result) {
    std::pair<SimTime, SimTime> sums;
    for (const OperationNode& total : operation_totals(result, 0)) {
      if (total.stream == OperationStream::tensor) {
        sums.first += total.time;
        sums.second += total.hidden;
      }
    }
    return sums;
  };
  EXPECT_LT(tensor(overlapped).first, tensor(serial).first);
  EXPECT_GT(tensor(overlapped).second, tensor(serial).second);
  expect_consistent(overlapped);
}

Case experts_on(ScheduleKind schedule) {
  Case what;
  what.model = "deepseek-v2";
  what.gpu = "h800-sxm";
  what.nodes = 16;
  what.layout.pipeline = 4;
  what.layout.virtual_stages = 2;
  what.layout.expert = 16;
  what.layout.sharding = layout::Sharding::zero1;
  what.batch = {.global = 32 * 16, .micro = 1};
  what.step.schedule = schedule;
  return what;
}

// What a combined step draws: neither stream runs two things at once, all of it lies in the task,
// compute stands still only while an all-to-all runs, and no pass runs ahead of itself.
void expect_two_streams(const StepResult& result, const TaskRun& run, std::int64_t slack) {
  const OperationTimeline& timeline = *result.operation_timeline;
  std::array<SimTime, kOperationStreams> reached{};
  std::map<PartPass, SimTime> ready;
  SimTime expert;
  SimTime waited;
  for (const PlacedOperation& placed : place_operations(timeline, run)) {
    const Operation& operation = timeline.operations[placed.operation];
    const bool exchange = operation.stream == OperationStream::expert;
    ASSERT_GE(placed.start, SimTime{}) << operation.name;
    ASSERT_LE(placed.end, timeline.kinds[run.kind].total + run.stretch) << operation.name;
    if (exchange || operation.stream == OperationStream::compute) {
      SimTime& before = reached[static_cast<std::size_t>(operation.stream)];
      ASSERT_GE(placed.start, before) << operation.name;
      before = placed.end;
    }
    // Weight gradients wait for compute alone, and nothing of the step waits for them.
    const bool weight = operation.name.ends_with("wgrad");
    if (!weight && (exchange || operation.stream == OperationStream::compute)) {
      SimTime& before = ready[placed.pass];
      ASSERT_GE(placed.start.ns + slack, before.ns)
          << full_name(timeline, placed) << " runs ahead of what it waits for";
      before = std::max(before, placed.end);
    }
    expert += exchange ? placed.end - placed.start : SimTime{};
    waited += placed.category == StepCategory::exposed_expert ? placed.booked : SimTime{};
    waited += placed.slowed;
  }
  EXPECT_GT(expert, waited) << "some of it is hidden";
  EXPECT_EQ(
      waited,
      timeline.kinds[run.kind].by_category[static_cast<std::size_t>(StepCategory::exposed_expert)]);
}

// The clock of the streams is whole nanoseconds per node, that of the task per category.
constexpr std::int64_t kRoundingSlack = 100;

TEST(OperationTimeline, RunsBothPassesOfACombinedStepOnTwoStreams) {
  for (const ScheduleKind kind :
       {ScheduleKind::dualpipe, ScheduleKind::dualpipev, ScheduleKind::interleaved_combined}) {
    SCOPED_TRACE(schedule::to_string(kind));
    const StepResult result = with_timeline(experts_on(kind));
    const OperationTimeline& timeline = *result.operation_timeline;
    expect_consistent(result);
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < result.slices.size(); ++i) {
      if (result.slices[i].task.kind == TaskKind::overlapped &&
          seen.insert(timeline.runs[i].kind).second) {
        expect_two_streams(result, timeline.runs[i], kRoundingSlack);
      }
    }
    EXPECT_GE(seen.size(), 4U);
  }
}

// Up the layers forward and down backward, a layer of each in turn.
TEST(OperationTimeline, TakesTurnsBetweenThePassesOfACombinedStep) {
  const StepResult result = with_timeline(experts_on(ScheduleKind::dualpipe));
  const OperationTimeline& timeline = *result.operation_timeline;
  const auto combined =
      std::find_if(result.slices.begin(), result.slices.end(), [](const Slice& slice) {
        return slice.task.kind == TaskKind::overlapped && slice.task.device == 1;
      });
  ASSERT_NE(combined, result.slices.end());
  const TaskRun& run = timeline.runs[static_cast<std::size_t>(combined - result.slices.begin())];
  std::map<PartPass, std::vector<std::int32_t>> layers;
  int turns = 0;
  PartPass latest = PartPass::whole_task;
  for (const PlacedOperation& placed : place_operations(timeline, run)) {
    const Operation& operation = timeline.operations[placed.operation];
    if (operation.stream != OperationStream::expert || placed.layer < 0) {
      continue;
    }
    std::vector<std::int32_t>& of_pass = layers[placed.pass];
    if (of_pass.empty() || of_pass.back() != placed.layer) {
      of_pass.push_back(placed.layer);
    }
    turns += placed.pass == latest ? 0 : 1;
    latest = placed.pass;
  }
  const std::vector<std::int32_t>& forward = layers[PartPass::forward];
  const std::vector<std::int32_t>& backward = layers[PartPass::backward];
  EXPECT_GT(forward.size(), 5U);
  EXPECT_TRUE(std::is_sorted(forward.begin(), forward.end()));
  EXPECT_TRUE(std::is_sorted(backward.rbegin(), backward.rend()));
  EXPECT_GE(turns, static_cast<int>(2 * forward.size()));
}

// Slower kernels stretch the clock of the streams; the ledger still adds up.
TEST(OperationTimeline, DrawsCombinedStepsOfUnequalGpus) {
  Case what = experts_on(ScheduleKind::dualpipev);
  what.step.variation.gpu_sigma = 0.05;
  what.step.variation.draws = 3;
  const StepResult result = with_timeline(what);
  expect_consistent(result);
  const OperationTimeline& timeline = *result.operation_timeline;
  for (std::size_t i = 0; i < result.slices.size(); ++i) {
    if (result.slices[i].task.kind == TaskKind::overlapped) {
      expect_two_streams(result, timeline.runs[i], kRoundingSlack);
      break;
    }
  }
}

// The tree has the layers of the backward below the chunk of the backward.
TEST(OperationTimeline, CountsBothPassesOfACombinedStepToTheirChunks) {
  const StepResult result = with_timeline(experts_on(ScheduleKind::dualpipev));
  std::string chunk;
  std::map<std::string, std::set<std::string>> layers;
  const std::vector<OperationNode> tree = operation_tree(result);
  for (std::size_t i = 0; i < tree[0].end; ++i) {
    if (tree[i].level == TreeLevel::chunk) {
      chunk = tree[i].name;
    } else if (tree[i].level == TreeLevel::layer) {
      layers[chunk].insert(tree[i].name);
    }
  }
  ASSERT_EQ(layers.size(), 2U);
  for (const std::string& layer : layers["chunk 0"]) {
    EXPECT_FALSE(layers["chunk 1"].contains(layer)) << layer;
  }
}

// Many layouts, schedules and choices at random; those that break a rule are passed over.
TEST(OperationTimeline, AddsUpOnRandomScenarios) {
  constexpr unsigned kSeed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const auto pick = [&random](auto... values) {
    const std::array all{values...};
    return all[random() % all.size()];
  };
  int tried = 0;
  std::set<ScheduleKind> schedules;
  for (int round = 0; round < 400 && tried < 60; ++round) {
    Case what;
    const bool experts = random() % 3 == 0;
    what.model = experts ? "mixtral-8x7b" : "llama3-8b";
    what.software = pick("megatron-core", "torchtitan-fsdp2", "megatron-deepspeed");
    what.nodes = pick(1, 2, 4);
    what.sequence_length = pick(2048, 4096);
    what.layout.tensor = pick(1, 2, 4);
    what.layout.context = pick(1, 1, 2);
    what.layout.pipeline = pick(1, 2, 4);
    what.layout.virtual_stages = pick(1, 1, 2);
    what.layout.expert = experts ? pick(1, 2, 4) : 1;
    what.layout.sequence_parallel = random() % 2 == 0;
    what.layout.sharding = pick(layout::Sharding::none, layout::Sharding::zero1,
                                layout::Sharding::zero2, layout::Sharding::zero3);
    what.batch = {.global = pick(32, 64), .micro = pick(1, 2)};
    what.step.schedule = pick(ScheduleKind::none, ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                              ScheduleKind::interleaved, ScheduleKind::zb_h1, ScheduleKind::zb_v,
                              ScheduleKind::dualpipev, ScheduleKind::interleaved_combined);
    what.step.recompute.policy =
        pick(model::Recompute::none, model::Recompute::selective, model::Recompute::full);
    what.step.overlap.tensor = random() % 2 == 0;
    what.step.overlap.data = random() % 2 == 0;
    what.step.overlap.pipeline = random() % 2 == 0;
    if (random() % 3 == 0) {
      what.step.variation.gpu_sigma = 0.02;
      what.step.variation.draws = 3;
    }
    if (random() % 4 == 0) {
      what.step.bucket = gigabytes(0.4);
    }
    if (random() % 5 == 0) {
      what.step.offload.activations = 0.5;
    }
    const cost::CostModel costs = costs_of(what);
    const auto shape = hardware::cluster_shape(costs.cluster(), costs.gpu().nvlink.has_value());
    auto layout = layout::resolve_layout(what.layout, what.batch, model_of(what), shape,
                                         schedule::traits_of(what.step.schedule).placement);
    if (!std::holds_alternative<layout::Layout>(layout)) {
      continue;
    }
    const StepInput input = settled(
        {model_of(what), std::get<layout::Layout>(std::move(layout)), shape, what.step}, costs);
    const auto result = with_timeline(input, costs);
    if (!result) {
      continue;
    }
    SCOPED_TRACE("round " + std::to_string(round));
    expect_consistent(*result);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
    schedules.insert(what.step.schedule);
    ++tried;
  }
  EXPECT_GE(tried, 30);
  EXPECT_GE(schedules.size(), 5U);
}

TEST(OperationTimeline, NamesLayerAndOperation) {
  const StepResult result = with_timeline(llama_on(1, 8, 1, 8));
  const OperationTimeline& timeline = *result.operation_timeline;
  std::set<std::string> names;
  for (std::size_t i = 0; i < result.slices.size(); ++i) {
    for (const PlacedOperation& placed : place_operations(timeline, timeline.runs[i])) {
      names.insert(full_name(timeline, placed));
    }
  }
  for (const char* name :
       {"layer 12 · mlp_up fprop", "layer 12 · mlp_up dgrad", "layer 31 · attention backward",
        "layer 0 · tensor_all_reduce", "head · logits fprop", "optimizer update"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace orrery::step::test
