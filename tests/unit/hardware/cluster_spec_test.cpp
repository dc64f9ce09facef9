#include "sim/step/hardware/cluster_spec.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/shipped_presets.hpp"

namespace orrery::hardware {
namespace {

TEST(NetworkPresets, AreCompleteAndNamedOnce) {
  const std::vector<std::string> listed = shipped::names(scenario::PresetKind::networks);
  const std::set<std::string, std::less<>> names(listed.begin(), listed.end());
  for (const std::string& name : listed) {
    SCOPED_TRACE(name);
    const auto preset = shipped::preset(scenario::PresetKind::networks, name);
    EXPECT_EQ(preset->network.preset, name);
    EXPECT_GT(preset->summary.size(), 20U);
    EXPECT_GE(preset->source.size(), 10U);
  }
  for (const std::string_view name :
       {"clos-400g", "infiniband-400g", "infiniband-200g", "infiniband-hdr-8x200", "ethernet-100g",
        "ethernet-25g", "omnipath-100g-4", "aws-efa-p4d", "aws-efa-p5", "nvl72", "roce-8x400g",
        "gaudi2-roce", "gaudi3-roce", "single-node"}) {
    EXPECT_TRUE(names.count(name) == 1) << name;
  }
}

TEST(NetworkPresets, TiersGrowAndRatesAreThoseOfTheFabric) {
  for (const std::string& name : shipped::names(scenario::PresetKind::networks)) {
    SCOPED_TRACE(name);
    ClusterSpec cluster;
    cluster.nodes = name == "single-node" ? 1 : 64;
    cluster.network = shipped::network(name);
    EXPECT_EQ(network_problem(cluster), std::nullopt);
    for (const NetworkTier& tier : cluster.network.tiers) {
      EXPECT_GE(tier.oversubscription, 1.0);
      EXPECT_LT(in_microseconds(tier.latency), 10.0);
    }
  }
}

// Bytes per second of one node: NICs x rate. BLOOM: 4 x 100 Gbit/s; p4d 400 Gbit/s; p5 3,200.
TEST(NetworkPresets, NodeBandwidthMatchesThePublishedFigure) {
  const auto node_gigabits = [](std::string_view name) {
    const NetworkSpec network = shipped::network(name);
    return in_gigabits_per_second(network.nic_rate) * static_cast<double>(network.nics_per_node);
  };
  EXPECT_DOUBLE_EQ(node_gigabits("clos-400g"), 3200.0);
  EXPECT_DOUBLE_EQ(node_gigabits("infiniband-200g"), 1600.0);
  EXPECT_DOUBLE_EQ(node_gigabits("omnipath-100g-4"), 400.0);
  EXPECT_DOUBLE_EQ(node_gigabits("gaudi2-roce"), 2400.0);  // 8 x 3 x 100 Gbit/s
  EXPECT_DOUBLE_EQ(node_gigabits("gaudi3-roce"), 4800.0);
  EXPECT_DOUBLE_EQ(node_gigabits("aws-efa-p4d"), 400.0);
  EXPECT_DOUBLE_EQ(node_gigabits("aws-efa-p5"), 3200.0);
  EXPECT_DOUBLE_EQ(node_gigabits("nvl72"), 1600.0);
  EXPECT_DOUBLE_EQ(node_gigabits("aws-efa-p5en"), 3200.0);
  EXPECT_DOUBLE_EQ(node_gigabits("aws-efa-p6-b200"), 3200.0);
  EXPECT_DOUBLE_EQ(node_gigabits("aws-efa-p6-b300"), 6400.0);
  EXPECT_DOUBLE_EQ(node_gigabits("gcp-a3-high"), 800.0);
  EXPECT_DOUBLE_EQ(node_gigabits("gcp-a3-mega"), 1600.0);
  EXPECT_DOUBLE_EQ(node_gigabits("infiniband-800g"), 6400.0);
}

// Llama 3: pods of 3,072 GPUs = 384 nodes of 8 at full bisection, 1:7 towards the core.
TEST(NetworkPresets, ClosPodHolds3072Gpus) {
  const NetworkSpec spec = shipped::network("clos-400g");
  ASSERT_EQ(spec.tiers.size(), 3U);
  EXPECT_EQ(spec.tiers[0].nodes * 8, 16);
  EXPECT_EQ(spec.tiers[1].nodes * 8, 3072);
  EXPECT_EQ(spec.tiers[2].nodes * 8, 24576);
  EXPECT_DOUBLE_EQ(spec.tiers[0].oversubscription, 1.0);
  EXPECT_DOUBLE_EQ(spec.tiers[1].oversubscription, 7.0);
}

TEST(ClusterShape, TakesTheNvlinkDomainFromTheNodeUnlessStated) {
  ClusterSpec cluster;
  cluster.nodes = 2048;
  cluster.gpus_per_node = 8;
  cluster.network = shipped::network("clos-400g");
  const layout::ClusterShape shape = cluster_shape(cluster, true);
  EXPECT_EQ(shape.gpus, 16384);
  EXPECT_EQ(shape.gpus_per_node, 8);
  EXPECT_EQ(shape.nvlink_domain, 8);
  EXPECT_EQ(shape.tier_nodes, (std::vector<std::int64_t>{2, 384, 3072}));
  cluster.network.nvlink_domain = 4;
  EXPECT_EQ(cluster_shape(cluster, true).nvlink_domain, 4);
  EXPECT_EQ(cluster_shape(cluster, false).nvlink_domain, 1);
}

TEST(ClusterShape, Nvl72SpansEighteenTrays) {
  ClusterSpec cluster;
  cluster.nodes = 36;
  cluster.gpus_per_node = 4;
  cluster.network = shipped::network("nvl72");
  const layout::ClusterShape shape = cluster_shape(cluster, true);
  EXPECT_EQ(shape.gpus, 144);
  EXPECT_EQ(shape.nvlink_domain, 72);
  EXPECT_EQ(shape.tier_nodes.front() * cluster.gpus_per_node, shape.nvlink_domain);
}

TEST(NetworkProblem, NamesMissingNicsAndTiersOutOfOrder) {
  ClusterSpec cluster;
  cluster.nodes = 2;
  cluster.network = shipped::network("single-node");
  EXPECT_EQ(network_problem(cluster),
            "2 nodes need a network, but this one has 0 NICs a node of 0 Gbit/s");
  cluster.nodes = 1;
  EXPECT_EQ(network_problem(cluster), std::nullopt);
  cluster.network = {};
  cluster.network.tiers = {{"leaf", 32, 1.0, Seconds{}}, {"spine", 32, 1.0, Seconds{}}};
  EXPECT_EQ(network_problem(cluster),
            "tier spine holds 32 nodes, the one below it 32: list the lowest tier first, each "
            "larger");
  cluster.network.tiers = {{"leaf", 32, 0.0, Seconds{}}};
  EXPECT_EQ(network_problem(cluster),
            "tier leaf has an oversubscription of 0, needs more than 0 (1 is none)");
}

}  // namespace
}  // namespace orrery::hardware
