#include "sim/step/cost/measured_collectives.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "sim/step/cost/collective.hpp"
#include "tests/unit/cost/cost_fixture.hpp"

namespace orrery::cost {
namespace {

using hardware::CollectiveTable;
using hardware::CollectiveTables;
using model::CollectiveKind;
using model::Dtype;

// An all-reduce of 16 H100 on 2 nodes over eight 400G NICs, as a table of the same machines.
CollectiveTable table_of_two_nodes(double factor, const hardware::ClusterSpec& cluster) {
  CollectiveTable table;
  table.rig = "ours";
  table.gpu = "h100-sxm-80gb";
  table.nvlink = gigabytes_per_second(450.0);
  table.nvls = true;
  table.ranks = 16;
  table.nodes = 2;
  table.nic_rate = cluster.network.nic_rate;
  table.nics_per_node = cluster.network.nics_per_node;
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  for (const double size : {1.0, 16.0, 256.0, 4096.0}) {
    const Bytes bytes = mebibytes(size);
    const Seconds modelled = collective_time(CollectiveKind::all_reduce, bytes, bytes, Dtype::bf16,
                                             testing::group(16, 2), gpu, cluster)
                                 .total();
    table.points.push_back({bytes, modelled * factor});
  }
  hardware::finish_table(table);
  return table;
}

class MeasuredCollectives : public ::testing::Test {
 protected:
  MeasuredCollectives() {
    with_table = cluster;
    CollectiveTables tables;
    tables.tables.push_back(table_of_two_nodes(1.5, cluster));
    with_table.network.tables = std::make_shared<const CollectiveTables>(std::move(tables));
  }

  [[nodiscard]] CollectiveTime time(const hardware::ClusterSpec& where, Bytes size,
                                    const layout::GroupPlacement& group,
                                    CollectiveKind kind = CollectiveKind::all_reduce) const {
    return collective_time(kind, size, size, Dtype::bf16, group, gpu, where);
  }

  [[nodiscard]] double ratio(Bytes size, const layout::GroupPlacement& group,
                             CollectiveKind kind = CollectiveKind::all_reduce) const {
    return time(with_table, size, group, kind).total() / time(cluster, size, group, kind).total();
  }

  hardware::GpuProfile gpu = testing::gpu_profile("h100-sxm-80gb");
  hardware::ClusterSpec cluster = testing::cluster({.nodes = 2});
  hardware::ClusterSpec with_table;
};

TEST_F(MeasuredCollectives, OnItsOwnFabricATableIsTheAnswer) {
  const CollectiveTable& table = with_table.network.tables->tables.front();
  for (const auto& point : table.points) {
    const CollectiveTime answer = time(with_table, point.size, testing::group(16, 2));
    EXPECT_NEAR(answer.total() / point.time, 1.0, 1e-3);
    EXPECT_EQ(answer.table, &table);
    EXPECT_FALSE(answer.extrapolated);
  }
}

// Past the last point the ratio of measured to modelled time goes on, a little weaker with every
// doubling: ln 1.5 * w / (w + 1/1.44), w = 1/d^2.
TEST_F(MeasuredCollectives, BeyondATableItsRatioIsCarriedOn) {
  const auto group = testing::group(16, 2);
  const double inside = ratio(gibibytes(4.0), group);
  const double just_out = ratio(gibibytes(4.0 * 1.001), group);
  EXPECT_NEAR(just_out, inside, 2e-3);
  const double d = 0.2 * 2.0;
  const double weight = 1.0 / (d * d);
  EXPECT_NEAR(ratio(gibibytes(16.0), group), std::pow(1.5, weight / (weight + 1.0 / 1.44)), 1e-6);
}

TEST_F(MeasuredCollectives, OtherNodeCountsKeepAShareOfTheRatio) {
  double before = ratio(gibibytes(1.0), testing::group(16, 2));
  for (const std::int64_t nodes : {4, 8, 32, 128}) {
    const double here = ratio(gibibytes(1.0), testing::group(8 * nodes, nodes));
    EXPECT_LT(here, before) << nodes;
    EXPECT_GT(here, 1.0) << nodes;
    before = here;
  }
}

TEST_F(MeasuredCollectives, ATableSaysNothingAboutOtherOperationsLinksOrDomains) {
  EXPECT_EQ(ratio(gibibytes(1.0), testing::group(16, 2), CollectiveKind::all_gather), 1.0);
  EXPECT_EQ(ratio(gibibytes(1.0), testing::group(8, 1)), 1.0);
  gpu = testing::gpu_profile("a100-sxm-80gb");
  EXPECT_EQ(ratio(gibibytes(1.0), testing::group(16, 2)), 1.0);
}

TEST_F(MeasuredCollectives, AStatedRigComesBeforeOthers) {
  CollectiveTables tables;
  tables.tables.push_back(table_of_two_nodes(1.5, cluster));
  tables.tables.push_back(table_of_two_nodes(3.0, cluster));
  tables.tables.back().rig = "theirs";
  with_table.network.tables = std::make_shared<const CollectiveTables>(std::move(tables));
  const auto group = testing::group(16, 2);
  EXPECT_NEAR(ratio(gibibytes(4.0), group), std::sqrt(1.5 * 3.0), 1e-2);
  with_table.network.rig = "theirs";
  EXPECT_NEAR(ratio(gibibytes(4.0), group), 3.0, 2e-2);
}

TEST_F(MeasuredCollectives, ADegradedRigIsEvidenceForItselfAlone) {
  CollectiveTables tables;
  tables.tables.push_back(table_of_two_nodes(4.0, cluster));
  tables.tables.back().degraded = true;
  with_table.network.tables = std::make_shared<const CollectiveTables>(std::move(tables));
  EXPECT_EQ(ratio(gibibytes(4.0), testing::group(16, 2)), 1.0);
  with_table.network.rig = "ours";
  EXPECT_NEAR(ratio(gibibytes(4.0), testing::group(16, 2)), 4.0, 1e-2);
}

// Sharing acts through the model: with 8 groups of one rank a node, the ratio of the two models is
// carried over, so slower NICs stay slower.
TEST_F(MeasuredCollectives, TheStacksNicsPerRingStillCount) {
  const auto group = testing::group(16, 2);
  const Bytes size = gibibytes(4.0);
  const auto total = [&](const hardware::ClusterSpec& where) {
    return collective_time(CollectiveKind::all_reduce, size, size, Dtype::bf16, group, gpu, where,
                           0.0)
        .total();
  };
  EXPECT_NEAR(total(with_table) / total(cluster), 1.5, 1e-3);
}

}  // namespace
}  // namespace orrery::cost
