// The innermost level of the timeline, on a step made by hand: two stages, one micro-batch.

#include "gui/timeline/store/operation_level.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "gui/timeline/finding.hpp"
#include "gui/timeline/store/evaluation_levels.hpp"
#include "gui/timeline/view.hpp"
#include "sim/answer/report/export/step_counters.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::timeline {
namespace {

using schedule::Stream;
using schedule::TaskKind;
using step::OperationKind;
using step::OperationStream;
using step::StepCategory;

constexpr std::int64_t kMicrosecond = 1000;

step::Slice slice(TaskKind kind, std::int16_t device, std::int64_t begin, std::int64_t end) {
  step::Slice made;
  made.task.kind = kind;
  made.task.stream = Stream::compute;
  made.task.device = device;
  made.start = {begin * kMicrosecond};
  made.end = {end * kMicrosecond};
  return made;
}

// Of both stages: 60 us of a product, an all-reduce of 60 us of which 40 are waited for, its rest
// beside 100 us of another product. Stage 1 runs 30 us after stage 0: the message takes that long.
report::Evaluation two_stages() {
  report::Evaluation evaluation;
  evaluation.step.gpus = 16;
  evaluation.step.step_time = {430 * kMicrosecond};
  evaluation.step.stage_ledgers.resize(2);
  evaluation.step.slices = {slice(TaskKind::forward, 0, 0, 200),
                            slice(TaskKind::forward, 1, 230, 430)};
  auto timeline = std::make_shared<step::OperationTimeline>();
  timeline->operations = {
      {.name = "qkv fprop", .kind = OperationKind::gemm, .flop = 6e10, .bytes = bytes(1e8)},
      {.name = "tensor_all_reduce",
       .kind = OperationKind::collective,
       .stream = OperationStream::tensor,
       .bytes = bytes(6e6),
       .ranks = 8},
      {.name = "mlp_up fprop", .kind = OperationKind::gemm, .flop = 1e11},
      {.name = "activations to stage 1",
       .kind = OperationKind::message,
       .stream = OperationStream::pipeline,
       .bytes = bytes(3e5),
       .ranks = 2,
       .nodes = 2}};
  timeline->sequences = {
      {{0, StepCategory::compute, microseconds(60.0), {}, false},
       {1, StepCategory::exposed_tensor, microseconds(40.0), microseconds(20.0), false},
       {2, StepCategory::compute, microseconds(100.0), {}, false}}};
  step::TaskKindOperations kind;
  kind.total = {200 * kMicrosecond};
  kind.by_category[static_cast<std::size_t>(StepCategory::compute)] = {160 * kMicrosecond};
  kind.by_category[static_cast<std::size_t>(StepCategory::exposed_tensor)] = {40 * kMicrosecond};
  kind.parts = {{0, 12}};
  timeline->kinds = {kind};
  kind.parts = {{0, 13}};
  timeline->kinds.push_back(kind);
  timeline->runs = {{0, {}, {}}, {1, {}, {}}};
  timeline->messages = {{.operation = 3,
                         .is_slice = false,
                         .from = 0,
                         .to = 1,
                         .start = {200 * kMicrosecond},
                         .end = {230 * kMicrosecond}}};
  timeline->paces = {{}, {1.1, 1.02}};
  evaluation.step.operation_timeline = std::move(timeline);
  return evaluation;
}

const Row* find_row(const Store& store, std::string_view name, std::size_t nth = 0) {
  for (const Row& row : store.rows()) {
    if (row.name.starts_with(name) && nth-- == 0) {
      return &row;
    }
  }
  return nullptr;
}

std::span<const Slice> slices_of(const Store& store, std::string_view row, std::size_t nth = 0) {
  const Row* found = find_row(store, row, nth);
  return found != nullptr && found->tracks > 0 ? store.slices_of(found->first_track)
                                               : std::span<const Slice>();
}

TEST(OperationLevel, IsAbsentWithoutOperations) {
  report::Evaluation evaluation = two_stages();
  evaluation.step.operation_timeline.reset();
  EXPECT_FALSE(operation_level(evaluation, 0.0).has_value());
}

TEST(OperationLevel, PutsOperationsOnTheRowsOfTheirStreams) {
  const auto level = operation_level(two_stages(), 0.0);
  ASSERT_TRUE(level.has_value());
  const Store& store = *level->store;
  const auto compute = slices_of(store, "compute", 1);  // of stage 1
  ASSERT_EQ(compute.size(), 3U);
  EXPECT_EQ(store.name_of(compute[0]), "layer 13 · qkv fprop");
  EXPECT_EQ(compute[0].begin(), 230 * kMicrosecond);
  EXPECT_EQ(compute[1].category(), Category::wait_tensor) << "what nothing hides";
  EXPECT_EQ(compute[1].begin(), 290 * kMicrosecond);
  EXPECT_EQ(store.duration_of(compute[1]), 40 * kMicrosecond);
  EXPECT_EQ(compute[2].begin(), 330 * kMicrosecond);
  EXPECT_EQ(compute[0].category(), Category::forward);
  const auto tensor = slices_of(store, "tensor communication");
  ASSERT_EQ(tensor.size(), 1U);
  EXPECT_EQ(tensor[0].begin(), 60 * kMicrosecond);
  EXPECT_EQ(store.duration_of(tensor[0]), 60 * kMicrosecond);
  const auto pipeline = slices_of(store, "pipeline");
  ASSERT_EQ(pipeline.size(), 1U);
  EXPECT_EQ(pipeline[0].begin(), 200 * kMicrosecond);
}

TEST(OperationLevel, SaysWhatAnOperationDoes) {
  const auto level = operation_level(two_stages(), 0.0);
  const Store& store = *level->store;
  EXPECT_EQ(store.note_of(slices_of(store, "compute")[0]),
            "60.0 GFLOP at 1.00 PFLOP/s\n100 MB through memory at 1.67 TB/s\n"
            "14.0% of the step in 1 run");
  EXPECT_EQ(store.note_of(slices_of(store, "tensor communication")[0]),
            "8 ranks of one node, each sends 6.00 MB at 100 GB/s\n"
            "compute waits 40.0 us for it, 20.0 us are hidden\n9.30% of the step in 1 run");
}

// Ranks that are alike share rows; where they are not, the one that the others wait for is apart
// and marked.
TEST(OperationLevel, ShowsTheSlowestRankWhereRanksAreUnequal) {
  const auto level = operation_level(two_stages(), 0.0);
  const Store& store = *level->store;
  EXPECT_NE(find_row(store, "stage 0 (8 ranks alike)"), nullptr);
  EXPECT_NE(find_row(store, "stage 1 (8 ranks, their mean)"), nullptr);
  const auto slowest = slices_of(store, "slowest rank");
  ASSERT_EQ(slowest.size(), 1U);
  EXPECT_TRUE(slowest[0].is(kAbnormal));
  EXPECT_EQ(slowest[0].begin(), 230 * kMicrosecond);
}

TEST(OperationLevel, ConnectsMessagesAndCollectives) {
  const auto level = operation_level(two_stages(), 0.0);
  const Store& store = *level->store;
  std::size_t messages = 0;
  std::size_t collectives = 0;
  for (const Flow& flow : store.flows()) {
    (flow.kind == FlowKind::message ? messages : collectives) += 1;
  }
  EXPECT_EQ(messages, 2U);     // pass > message > pass
  EXPECT_EQ(collectives, 2U);  // what it waits for; what is beside its rest does not wait
}

// Attention of layer 1 forward beside an all-to-all of layer 9 backward, which is waited for at its
// end; then the experts of layer 9 backward and their weight gradients.
report::Evaluation combined_step() {
  report::Evaluation evaluation = two_stages();
  evaluation.step.stage_ledgers.resize(1);
  evaluation.step.slices = {slice(TaskKind::overlapped, 0, 0, 130)};
  auto timeline = std::make_shared<step::OperationTimeline>();
  timeline->operations = {{.name = "norm", .kind = OperationKind::memory},
                          {.name = "expert_combine_backward",
                           .kind = OperationKind::collective,
                           .stream = OperationStream::expert},
                          {.name = "expert_down dgrad", .kind = OperationKind::gemm},
                          {.name = "expert_down wgrad", .kind = OperationKind::gemm}};
  const auto compute = [](std::uint32_t operation, double us) {
    return step::Sequence{{operation, StepCategory::compute, microseconds(us), {}, false}};
  };
  timeline->sequences = {compute(0, 60.0), compute(1, 80.0), compute(2, 20.0), compute(3, 30.0)};
  const auto part = [](std::uint32_t sequence, step::PartPass pass, step::PartTime time) {
    return step::TaskPart{sequence, pass == step::PartPass::forward ? 1 : 9, pass,
                          std::optional(time)};
  };
  const auto us = [](std::int64_t value) { return SimTime{value * kMicrosecond}; };
  step::TaskKindOperations kind;
  kind.parts = {
      part(0, step::PartPass::forward, {.start = us(0), .end = us(60)}),
      part(1, step::PartPass::backward,
           {.start = us(0), .end = us(80), .exposed = us(20), .exchange = true}),
      part(2, step::PartPass::backward, {.start = us(80), .end = us(100)}),
      part(3, step::PartPass::backward, {.start = us(100), .end = us(130)}),
  };
  kind.total = us(130);
  kind.by_category[static_cast<std::size_t>(StepCategory::compute)] = us(110);
  kind.by_category[static_cast<std::size_t>(StepCategory::exposed_expert)] = us(20);
  timeline->kinds = {kind};
  timeline->runs = {{0, {}, {}}};
  evaluation.step.operation_timeline = std::move(timeline);
  return evaluation;
}

TEST(OperationLevel, DrawsBothPassesOfACombinedStepWhereTheyRun) {
  const auto level = operation_level(combined_step(), 0.0);
  ASSERT_TRUE(level.has_value());
  const Store& store = *level->store;
  const auto compute = slices_of(store, "compute");
  ASSERT_EQ(compute.size(), 4U);
  EXPECT_EQ(compute[0].category(), Category::forward);
  EXPECT_EQ(compute[1].category(), Category::wait_expert);
  EXPECT_EQ(compute[2].category(), Category::input_gradient);
  EXPECT_EQ(compute[2].begin(), 80 * kMicrosecond);
  const auto exchange = slices_of(store, "expert communication");
  ASSERT_EQ(exchange.size(), 1U);
  EXPECT_EQ(exchange[0].begin(), 0);
  EXPECT_EQ(store.duration_of(exchange[0]), 80 * kMicrosecond);
  // The kernel beside it belongs to the other pass: only what waits for it hangs on it.
  ASSERT_EQ(store.flows().size(), 1U);
  EXPECT_EQ(store.name_of(store.slices()[store.flows()[0].from]),
            "layer 9 · expert_combine_backward");
  EXPECT_EQ(store.name_of(store.slices()[store.flows()[0].to]), "layer 9 · expert_down dgrad");
}

TEST(OperationLevel, AStageShowsWhatItWaitsForOnItsOneLine) {
  report::Evaluation evaluation = two_stages();
  auto timeline = std::make_shared<step::OperationTimeline>(*evaluation.step.operation_timeline);
  timeline->waits = {{0, StepCategory::bubble, {200 * kMicrosecond}, {430 * kMicrosecond}},
                     {1, StepCategory::exposed_pipeline, {0}, {230 * kMicrosecond}}};
  evaluation.step.operation_timeline = timeline;
  const Levels levels = levels_of(evaluation);
  for (const Level& level : levels) {
    const auto first = slices_of(*level.store, "compute", 0);
    EXPECT_EQ(first.back().category(), Category::wait_bubble) << level.name;
    const auto second = slices_of(*level.store, "compute", 1);
    EXPECT_EQ(second.front().category(), Category::wait_pipeline) << level.name;
    View view({level});
    view.resize(1000, 200);
    view.frame_all();
    ASSERT_EQ(view.rows().scrolled().size(), 2U) << "a line for each stage";
    const Hit hit = view.pick(900.0, view.rows().row_height() * 0.5);
    ASSERT_TRUE(hit.slice);
    EXPECT_EQ(level.store->slices()[*hit.slice].category(), Category::wait_bubble);
  }
}

TEST(OperationLevel, CountsWhatLinksCarry) {
  const std::vector<report::LinkSample> use = report::link_use_over_time(two_stages(), 0);
  ASSERT_EQ(use.size(), 5U);
  EXPECT_EQ(use[0].from.ns, 0);
  EXPECT_NEAR(in_gigabytes_per_second(use[1].inside), 100.0, 1e-9);  // 6 MB in 60 us
  EXPECT_EQ(use[2].from.ns, 120 * kMicrosecond);
  EXPECT_EQ(in_bytes_per_second(use[2].inside), 0.0);
  EXPECT_NEAR(in_gigabytes_per_second(use[3].outside), 10.0, 1e-9);  // 300 kB in 30 us
  EXPECT_EQ(in_bytes_per_second(use[4].outside), 0.0);
  EXPECT_NE(find_row(*operation_level(two_stages(), 0.0)->store, "NVLink use"), nullptr);
}

// What is offered beyond the rate follows: 300 kB at 4 GB/s take 75 us.
TEST(OperationLevel, ANicCarriesNoMoreThanItsRate) {
  const auto offered = report::link_use_over_time(two_stages(), 0);
  const auto use = report::link_use_over_time(two_stages(), 0, gigabytes_per_second(4.0));
  ASSERT_EQ(use.size(), offered.size() + 1);
  EXPECT_NEAR(in_gigabytes_per_second(use[3].outside), 4.0, 1e-9);
  EXPECT_EQ(use[3].from, offered[3].from);
  EXPECT_EQ(in_bytes_per_second(use.back().outside), 0.0);
  EXPECT_NEAR(static_cast<double>((use.back().from - use[3].from).ns), 75e3, 1.0);
}

// Ranks of a stage by the rank map: tensor fastest, then pipeline, then data. Where GPUs are
// unequal the rows are those of the mean, and no rank is said to have them.
TEST(OperationLevel, KnowsTheRanksThatShareTheRowsOfAStage) {
  report::Evaluation evaluation = two_stages();
  layout::Layout& layout = evaluation.echo.layout;
  layout.gpus = 8;
  layout.tensor = 2;
  layout.pipeline = 2;
  layout.data = 2;
  layout.order = {layout::Axis::tensor, layout::Axis::context, layout::Axis::pipeline,
                  layout::Axis::data};
  EXPECT_EQ(ranks_of(evaluation, 0), (std::vector<std::int32_t>{0, 1, 4, 5}));
  EXPECT_FALSE(are_unequal(evaluation, 0));
  EXPECT_TRUE(are_unequal(evaluation, 1)) << "no rank is said to have the rows of the mean";
  const Levels levels = levels_of(evaluation);
  for (const Level& level : levels) {
    EXPECT_EQ(level.store->ranks_of(0).size(), 4U) << level.name;
  }
}

// Zooming in goes from the step to its operations, zooming out goes back.
TEST(OperationLevel, ComesUpWhenTheWindowIsShort) {
  const report::Evaluation evaluation = two_stages();
  View view(levels_of(evaluation));
  ASSERT_EQ(view.levels().size(), 2U);
  view.resize(200, 400.0);
  view.frame_all();
  EXPECT_EQ(view.level(), 0U);
  for (int i = 0; i < 20 && view.level() == 0; ++i) {
    view.zoom_at(60.0, 0.8);
  }
  EXPECT_EQ(view.level(), 1U);
  EXPECT_LE(view.window().length(), longest_window(view.levels()[1]));
  EXPECT_EQ(view.path().back(), "operations");
  for (int i = 0; i < 20; ++i) {
    view.zoom_at(60.0, 1.25);
  }
  EXPECT_EQ(view.level(), 0U);
  view.go_to_level(1);
  EXPECT_EQ(view.level(), 1U);
}

TEST(OperationLevel, IsSearchedFromTheOuterLevels) {
  const Levels levels = levels_of(two_stages());
  const auto found = find_in_levels(levels, {.text = "MLP_UP", .level = 0, .after = {}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->level, 1U);
  EXPECT_EQ(found->found, 2U);
  const Store& store = *levels[1].store;
  EXPECT_EQ(store.name_of(store.slices()[found->slice]), "layer 12 · mlp_up fprop");
  const auto next = find_in_levels(levels, {.text = "mlp_up", .level = 1, .after = found->slice});
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(store.name_of(store.slices()[next->slice]), "layer 13 · mlp_up fprop");
  EXPECT_FALSE(find_in_levels(levels, {.text = "nothing like it", .level = 0, .after = {}}));
}

}  // namespace
}  // namespace orrery::timeline
