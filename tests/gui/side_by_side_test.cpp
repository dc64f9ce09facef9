// Timelines on one axis: every slice keeps its row, its length and its place in its window.

#include "gui/timeline/side_by_side.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::timeline {
namespace {

using trace::testing::KinetoWriter;

// "stage 0" with compute [100, 300), [300, 500) and a message from the first to the second, a
// counter and a mark.
std::shared_ptr<const Store> small_store() {
  StoreBuilder builder;
  const RowId stage = builder.group("stage 0");
  const RowId row = builder.row("compute", stage);
  const PendingSlice first =
      builder.add(row, {100, 300, builder.name("forward"), Category::forward});
  const PendingSlice second =
      builder.add(row, {300, 500, builder.name("backward"), Category::backward});
  builder.flow(first, second, FlowKind::message);
  builder.counter("memory", "GB", {{100, 1.0}, {300, 2.0}}, stage);
  builder.mark(400, MarkKind::checkpoint, "save");
  return builder.build();
}

std::vector<std::string> row_names(const Store& store) {
  std::vector<std::string> names;
  for (const Row& row : store.rows()) {
    names.push_back(std::string(row.depth * 2, ' ') + row.name);
  }
  return names;
}

TEST(SideBySide, PutsStoresBelowOneAnotherFromZero) {
  const auto store = small_store();
  SideBySide sides;
  sides.add({"A", store, {100, 500}});
  sides.add({"B", store, {200, 400}});
  const auto both = sides.build();
  EXPECT_EQ(row_names(*both),
            (std::vector<std::string>{"A", "  stage 0", "    compute", "    memory", "B",
                                      "  stage 0", "    compute", "    memory"}));
  ASSERT_EQ(both->slices().size(), 4U);
  EXPECT_EQ(both->slices_of(0)[0].begin(), 0);
  EXPECT_EQ(both->end_of(both->slices_of(0)[1]), 400);
  // B is cut at both ends of its window.
  EXPECT_EQ(both->slices_of(1)[0].begin(), 0);
  EXPECT_EQ(both->end_of(both->slices_of(1)[0]), 100);
  EXPECT_EQ(both->end_of(both->slices_of(1)[1]), 200);
  EXPECT_EQ(both->flows().size(), 2U);
  ASSERT_EQ(both->marks().size(), 2U);
  EXPECT_EQ(both->names()[both->marks()[0].name], "B: save");
  EXPECT_EQ(both->counters()[1].value_at(100), 2.0);
}

// Slices of one name may have different notes on the two sides; ranks come along.
TEST(SideBySide, KeepsNotesAndRanks) {
  const auto noted = [](const std::string& note) {
    StoreBuilder builder;
    const RowId stage = builder.group("stage 0");
    const RowId row = builder.row("compute", stage);
    const NameId name = builder.name("qkv fprop", note);
    builder.add(row, {0, 10, name, Category::forward});
    builder.set_ranks(stage, {0, 1});
    return builder.build();
  };
  SideBySide sides;
  sides.add({"A", noted("400 TFLOP/s"), {0, 10}});
  sides.add({"B", noted("500 TFLOP/s"), {0, 10}});
  const auto both = sides.build();
  ASSERT_EQ(both->slices().size(), 2U);
  EXPECT_EQ(both->note_of(both->slices()[0]), "400 TFLOP/s");
  EXPECT_EQ(both->note_of(both->slices()[1]), "500 TFLOP/s");
  EXPECT_EQ(both->name_of(both->slices()[1]), "qkv fprop");
  EXPECT_EQ(both->ranks_of(1).size(), 2U);
}

TEST(SideBySide, MakesNoRowsForWhatLiesOutsideTheWindow) {
  StoreBuilder builder;
  builder.add(builder.row("early"), {0, 10, builder.name("a"), Category::other});
  builder.add(builder.row("late"), {100, 110, builder.name("b"), Category::other});
  SideBySide sides;
  sides.add({"A", builder.build(), {50, 200}});
  EXPECT_EQ(row_names(*sides.build()), (std::vector<std::string>{"A", "  late"}));
}

TEST(SideBySide, AMeasuredRankHasTheRowsOfASimulatedStep) {
  KinetoWriter writer;
  writer.kernel("gemm", 10.0, 20.0)
      .kernel("ncclDevKernel_AllReduce", 15.0, 30.0, {.stream = 20})
      .kernel("ncclDevKernel_AllGather", 20.0, 5.0, {.stream = 21, .description = "mesh_tp"})
      .kernel("Memcpy HtoD (Pinned -> Device)", 40.0, 5.0, {.category = "gpu_memcpy"})
      .kernel("gemm", 90.0, 20.0);
  trace::AxisFinder axes({}, {});
  SideBySide sides;
  sides.add({"measured", writer.trace(), 0, {10'000, 80'000}}, axes);
  const auto store = sides.build();
  EXPECT_EQ(row_names(*store),
            (std::vector<std::string>{"measured", "  compute", "  tensor communication",
                                      "  data communication", "  copies"}));
  EXPECT_EQ(store->slices_of(0)[0].begin(), 0);
  EXPECT_EQ(store->duration_of(store->slices_of(0)[0]), 20'000);
  EXPECT_EQ(store->slices_of(1)[0].category(), Category::tensor);
  EXPECT_EQ(store->slices_of(2)[0].category(), Category::data_reduce);
  EXPECT_EQ(store->slices_of(3)[0].category(), Category::copy);
}

}  // namespace
}  // namespace orrery::timeline
