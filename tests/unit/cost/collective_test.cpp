#include "sim/step/cost/collective.hpp"

#include <gtest/gtest.h>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/cost/fair_share.hpp"
#include "sim/step/cost/hierarchical_exchange.hpp"
#include "sim/step/cost/link_rates.hpp"
#include "tests/unit/cost/cost_fixture.hpp"

namespace orrery::cost {
namespace {

using model::CollectiveKind;
using model::Dtype;

double bus_gigabytes(CollectiveKind kind, Bytes size, const layout::GroupPlacement& group,
                     const hardware::GpuProfile& gpu, const hardware::ClusterSpec& cluster,
                     Dtype dtype = Dtype::bf16) {
  const Seconds time = collective_time(kind, size, size, dtype, group, gpu, cluster).total();
  return in_gigabytes_per_second(size / time) * bus_factor(kind, group.ranks);
}

// Published plateaus (nccl-tests logs, see docs/collectives.md).
TEST(Collective, ReachesThePublishedPlateausOfOneHost) {
  const auto one = testing::cluster({});
  const auto eight = testing::group(8, 1);
  const Bytes large = gibibytes(8.0);
  const auto all_reduce = CollectiveKind::all_reduce;
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, eight, testing::gpu_profile("h100-sxm-80gb"), one),
              478.0, 8.0);
  auto h200 = testing::gpu_profile("h200-sxm");
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, eight, h200, one), 480.0, 8.0);
  h200.nvlink->nvls = false;
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, eight, h200, one), 367.0, 4.0);
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, eight, testing::gpu_profile("a100-sxm-80gb"), one),
              232.0, 4.0);
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, eight, testing::gpu_profile("b200-sxm"), one), 842.0,
              10.0);
  EXPECT_NEAR(bus_gigabytes(CollectiveKind::all_to_all, large, eight,
                            testing::gpu_profile("h100-sxm-80gb"), one),
              342.0, 8.0);
}

// A mesh: two MI300X read 47.7 GB/s, eight 312.9 to 319 (ml-engineering, network; AMD's RCCL blog).
TEST(Collective, InAMeshASmallGroupHasFewLinks) {
  const auto mi300x = testing::gpu_profile("mi300x");
  const auto one = testing::cluster({});
  const auto all_reduce = CollectiveKind::all_reduce;
  const Bytes large = gibibytes(4.0);
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, testing::group(8, 1), mi300x, one), 317.0, 8.0);
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, testing::group(2, 1), mi300x, one), 47.7, 3.0);
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, testing::group(4, 1), mi300x, one), 3 * 45.6, 6.0);
  // One message takes one link, whatever else the GPU has.
  const auto pair = collective_time(CollectiveKind::send_receive, large, large, Dtype::bf16,
                                    testing::group(8, 1), mi300x, one);
  EXPECT_NEAR(in_gigabytes_per_second(large / pair.total()), 46.7, 1.0);
  EXPECT_EQ(pair.limit, "Infinity Fabric");
  const auto gaudi = testing::gpu_profile("gaudi3");
  EXPECT_NEAR(bus_gigabytes(all_reduce, large, testing::group(8, 1), gaudi, one), 513.0, 12.0);
}

TEST(Collective, ReachesThePublishedPlateausAcrossHosts) {
  const auto h100 = testing::gpu_profile("h100-sxm-80gb");
  const auto two = testing::cluster({.nodes = 2});
  const auto four = testing::cluster({.nodes = 4});
  const Bytes large = gibibytes(8.0);
  EXPECT_NEAR(bus_gigabytes(CollectiveKind::all_reduce, large, testing::group(16, 2), h100, two),
              455., 15.);
  EXPECT_NEAR(bus_gigabytes(CollectiveKind::all_reduce, large, testing::group(32, 4), h100, four),
              348.0, 20.0);
  EXPECT_NEAR(bus_gigabytes(CollectiveKind::all_to_all, large, testing::group(16, 2), h100, two),
              83., 5.);
}

// The trees over three nodes are chains: the busiest node sends 1.5 S, one of a larger tree 2 S.
TEST(Collective, ThreeRacksShareTheirLinksLessThanFour) {
  const auto gb200 = testing::gpu_profile("gb200");
  const auto rate_of = [&gb200](std::int64_t racks) {
    const layout::GroupPlacement group{.ranks = 72 * racks,
                                       .nodes = 18 * racks,
                                       .ranks_per_node = 4,
                                       .domains = racks,
                                       .ranks_per_domain = 72,
                                       .sharing_node = 1,
                                       .tier = 0};
    const auto cluster =
        testing::cluster({.nodes = 18 * racks, .gpus_per_node = 4, .nics_per_node = 4});
    const auto time = collective_time(CollectiveKind::all_reduce, gibibytes(4.0), gibibytes(4.0),
                                      Dtype::fp32, group, gb200, cluster);
    EXPECT_EQ(time.limit, "NVSwitch tree") << racks;
    return in_gigabytes_per_second(time.bandwidth);
  };
  EXPECT_NEAR(rate_of(3) / rate_of(4), 2.0 * 287.0 / 288.0 / 1.5, 1e-6);
}

TEST(Collective, AGroupOfOneTakesNoTime) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto time = collective_time(CollectiveKind::all_reduce, gibibytes(1.0), gibibytes(1.0),
                                    Dtype::bf16, testing::group(1, 1), gpu, testing::cluster({}));
  EXPECT_EQ(time.total(), Seconds());
}

// 8 groups with one rank on each host, 8 NICs: one NIC each; one such group alone has no more.
TEST(Collective, SiblingGroupsShareTheNicsOfAHost) {
  const auto cluster = testing::cluster({.nodes = 4});
  const double one = in_gigabytes_per_second(node_nic_rate(1, 8, 1, cluster));
  EXPECT_DOUBLE_EQ(one, 46.0);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(node_nic_rate(1, 1, 1, cluster)), one);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(node_nic_rate(8, 1, 1, cluster)), 8.0 * one);
  const auto few = testing::cluster({.nodes = 4, .nics_per_node = 4});
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(node_nic_rate(1, 8, 1, few)), 0.5 * one);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(node_nic_rate(8, 1, 1, few)), 4.0 * one);
}

// With all groups of a host at work, k ranks per host and g / k siblings, each ring has k NICs.
TEST(Collective, MoreRanksOnAHostMeanMoreNicsForTheRing) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  const auto cluster = testing::cluster({.nodes = 8, .nic_gigabits = 200.0});
  double before = 0.0;
  for (const std::int64_t per_node : {1, 2, 4, 8}) {
    auto group = testing::group(8 * per_node, 8);
    group.sharing_node = 8 / per_node;
    const double bus =
        bus_gigabytes(CollectiveKind::all_gather, gibibytes(8.0), group, gpu, cluster);
    const double expected = 23.0 * static_cast<double>(per_node);
    EXPECT_NEAR(bus, expected, 0.06 * expected) << per_node;
    EXPECT_GT(bus, before);
    before = bus;
  }
}

// 8 ranks on a host with 8 NICs: 8^0 = 1, 8^0.5 = 2.83, 8^1 = 8 NICs carry the ring; an all-to-all
// has no rings and keeps all of them.
TEST(Collective, TheStackSaysHowManyNicsARingUses) {
  const auto cluster = testing::cluster({.nodes = 4});
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(node_nic_rate(8, 1, 1, cluster, 0.0)), 46.0);
  EXPECT_NEAR(in_gigabytes_per_second(node_nic_rate(8, 1, 1, cluster, 0.5)), 130.1, 0.1);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(node_nic_rate(8, 1, 1, cluster, 1.0)), 368.0);
  auto stack = testing::neutral_stack();
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto time = [&](CollectiveKind kind) {
    const Bytes size = gibibytes(8.0);
    return collective_cost(kind, size, size, Dtype::bf16, testing::group(32, 4), gpu, stack,
                           cluster)
        .time;
  };
  const Seconds gather = time(CollectiveKind::all_gather);
  const Seconds scatter = time(CollectiveKind::all_to_all);
  stack.ring_nic_exponent = {0.0, {SourceKind::assumed, "one NIC"}};
  EXPECT_NEAR(time(CollectiveKind::all_gather) / gather, 8.0, 0.8);
  EXPECT_EQ(time(CollectiveKind::all_to_all), scatter);
}

// A ring with one or all GPUs of a node keeps to its rail; with 2 or 4 of 8 it does not.
TEST(Collective, OnlyRingsWithAPartOfANodePayForCrossingRails) {
  const auto cluster = testing::cluster({.nodes = 4});
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  const auto seconds_of = [&](std::int64_t per_node, double efficiency) {
    auto stack = testing::neutral_stack();
    stack.cross_rail_efficiency = {efficiency, {SourceKind::assumed, "test"}};
    const Bytes size = gibibytes(8.0);
    return in_seconds(collective_cost(CollectiveKind::all_reduce, size, size, Dtype::bf16,
                                      testing::group(4 * per_node, 4), gpu, stack, cluster)
                          .time);
  };
  for (const std::int64_t all_or_one : {1, 8}) {
    EXPECT_EQ(seconds_of(all_or_one, 0.25), seconds_of(all_or_one, 1.0));
  }
  for (const std::int64_t some : {2, 4}) {
    EXPECT_NEAR(seconds_of(some, 0.25) / seconds_of(some, 1.0), 4.0, 0.05);
  }
}

hardware::ClusterSpec pods() {
  auto cluster = testing::cluster({.nodes = 64});
  cluster.network.tiers = {{"pod", 8, 7.0, Seconds()}, {"core", 64, 1.0, microseconds(3.0)}};
  return cluster;
}

// 8 pods of 8 hosts, 7:1 above a pod. A ring over all 64 hosts leaves a pod once per ring, and 8
// hosts of the pod share the work of the crossing: 7 / 8 < 1, no loss. One host in each pod:
// loss 7.
TEST(Collective, OversubscriptionHurtsARingOnlyWhenFewOfItsHostsShareAnUplink) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  auto wide = testing::group(512, 64);
  wide.tier = 1;
  EXPECT_DOUBLE_EQ(group_fabric(wide, gpu, pods()).ring_taper, 1.0);
  auto thin = testing::group(64, 8);
  thin.tier = 1;
  EXPECT_DOUBLE_EQ(group_fabric(thin, gpu, pods()).ring_taper, 7.0);
  auto inside = thin;
  inside.tier = 0;
  EXPECT_DOUBLE_EQ(group_fabric(inside, gpu, pods()).ring_taper, 1.0);
}

// Of 64 hosts 56 lie in other pods: 7 * (1 - 8/64) = 6.125 of the uplink's share.
TEST(Collective, AllToAllSendsMostOfItsBytesThroughTheTaper) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  auto wide = testing::group(512, 64);
  wide.tier = 1;
  EXPECT_DOUBLE_EQ(group_fabric(wide, gpu, pods()).scatter_taper, 6.125);
}

TEST(Collective, TierLatencyIsPaid) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  auto group = testing::group(512, 64);
  group.tier = 1;
  EXPECT_DOUBLE_EQ(in_microseconds(group_fabric(group, gpu, pods()).graph.inter_latency), 3.0);
}

TEST(Collective, AHostWithoutNvlinkTalksPcie) {
  auto gpu = testing::gpu_profile("rtx-a6000");
  ASSERT_FALSE(gpu.nvlink.has_value());
  layout::GroupPlacement pair = testing::group(2, 1);
  pair.domains = 2;
  pair.ranks_per_domain = 1;
  const auto cluster = testing::cluster({.gpus_per_node = 2});
  const auto time = collective_time(CollectiveKind::all_reduce, gibibytes(1.0), gibibytes(1.0),
                                    Dtype::bf16, pair, gpu, cluster);
  EXPECT_EQ(time.limit, "PCIe");
  EXPECT_FALSE(time.crosses_nodes);
  // 2(n-1)/n = 1 for a pair: the bus is the PCIe link.
  EXPECT_NEAR(in_gigabytes_per_second(time.bandwidth),
              0.95 * in_gigabytes_per_second(gpu.pcie_bandwidth.value()), 1e-6);
}

TEST(Collective, StackEfficiencyStretchesTheTransferAndOverheadIsAGap) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto cluster = testing::cluster({});
  auto stack = testing::neutral_stack();
  const auto cost = [&] {
    return collective_cost(CollectiveKind::all_reduce, gibibytes(1.0), gibibytes(1.0), Dtype::bf16,
                           testing::group(8, 1), gpu, stack, cluster);
  };
  const Cost ideal = cost();
  stack.nvlink_efficiency = {0.5, {SourceKind::assumed, "half"}};
  stack.collective_overhead = {microseconds(10.0), {SourceKind::assumed, "host"}};
  const Cost real = cost();
  const Seconds transfer = gibibytes(1.0) / gigabytes_per_second(0.61 * 450.0);
  EXPECT_NEAR(in_microseconds(real.time - ideal.time), in_microseconds(transfer) + 10.0, 1e-6);
  EXPECT_EQ(real.gap, microseconds(10.0));
  EXPECT_GT(real.by_source[static_cast<std::size_t>(SourceKind::assumed)], transfer);
  Seconds sum;
  for (const Seconds part : real.by_source) {
    sum += part;
  }
  EXPECT_NEAR(in_seconds(sum), in_seconds(real.time), 1e-12);
}

TEST(Collective, ExplainNamesAlgorithmTermsAndTheTable) {
  const CostModel costs(testing::gpu_profile("h100-sxm-80gb"), testing::neutral_stack(),
                        testing::cluster({.nodes = 2}));
  const std::string text =
      costs.explain_collective(CollectiveKind::all_reduce, gibibytes(1.0), gibibytes(1.0),
                               Dtype::bf16, testing::group(16, 2));
  EXPECT_NE(text.find("all-reduce of 1024.000 MiB, ranks: 16, hosts: 2 with 8 ranks each"),
            std::string::npos);
  EXPECT_NE(text.find("NVLSTree with Simple"), std::string::npos);
  EXPECT_NE(text.find("NCCL 2.28.9 expects:"), std::string::npos);
  EXPECT_NE(text.find("LL128"), std::string::npos);
}

// 256 experts on 8 nodes, 8 chosen: one node is missed with C(224,8)/C(256,8) =
// 224/256 * 223/255 * ... * 217/249 = 0.33892, so 8 * (1 - 0.33892) = 5.2886 nodes. With at most
// four nodes the eight are among the 128 experts of these: 4 * (1 - C(96,8)/C(128,8)) = 3.6290.
TEST(HierarchicalExchange, CountsTheNodesThatATokenReaches) {
  double missed = 1.0;
  for (int i = 0; i < 8; ++i) {
    missed *= (224.0 - i) / (256.0 - i);
  }
  const Routing routing{.experts = 256, .top_k = 8, .nodes = 8, .node_limit = {}};
  EXPECT_DOUBLE_EQ(distinct_nodes(routing), 8.0 * (1.0 - missed));
  Routing limited = routing;
  limited.node_limit = 4;
  double missed_of_four = 1.0;
  for (int i = 0; i < 8; ++i) {
    missed_of_four *= (96.0 - i) / (128.0 - i);
  }
  EXPECT_DOUBLE_EQ(distinct_nodes(limited), 4.0 * (1.0 - missed_of_four));
  limited.node_limit = 8;  // all of them
  EXPECT_DOUBLE_EQ(distinct_nodes(limited), 8.0 * (1.0 - missed));
  EXPECT_DOUBLE_EQ(distinct_nodes({.experts = 8, .top_k = 8, .nodes = 4, .node_limit = {}}), 4.0);
  EXPECT_DOUBLE_EQ(distinct_nodes({.experts = 64, .top_k = 1, .nodes = 4, .node_limit = {}}), 1.0);
}

// 128 experts on 8 ranks of one NVLink domain, 8 chosen: 8 * (1 - C(112,8)/C(128,8)) ranks, 7/8 of
// them elsewhere, where a copy for every expert would be 7.
TEST(HierarchicalExchange, SendsOneCopyPerRankOverNvlink) {
  double missed = 1.0;
  for (int i = 0; i < 8; ++i) {
    missed *= (112.0 - i) / (128.0 - i);
  }
  const Routing routing{.experts = 128, .top_k = 8, .nodes = 1, .node_limit = {}};
  const ExchangeBytes sent = routed_bytes(1000.0, bytes(100.0), routing, 8);
  EXPECT_NEAR(in_bytes(sent.over_links), 1e5 * 8.0 * (1.0 - missed) * 7.0 / 8.0, 1e-6);
  EXPECT_DOUBLE_EQ(in_bytes(sent.over_network), 0.0);
}

TEST(HierarchicalExchange, SendsOneCopyPerNodeOverTheNic) {
  const Routing routing{.experts = 64, .top_k = 1, .nodes = 4, .node_limit = {}};
  const ExchangeBytes sent = routed_bytes(1000.0, bytes(100.0), routing, 8);
  EXPECT_DOUBLE_EQ(in_bytes(sent.over_network), 0.75e5);
  EXPECT_DOUBLE_EQ(in_bytes(sent.over_links), 0.875e5);
}

// At large sizes only the slower leg counts: NIC 50 GB/s * 0.92, NVLink 450 GB/s * 0.75.
TEST(HierarchicalExchange, TakesTheLongerOfItsTwoLegs) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto cluster = testing::cluster({.nodes = 8});
  const auto group = testing::group(64, 8);
  const auto by_nic = hierarchical_exchange_time(
      {.over_network = gibibytes(4.0), .over_links = gibibytes(4.0)}, group, gpu, cluster);
  EXPECT_EQ(by_nic.limit, "NICs");
  EXPECT_NEAR(in_gigabytes_per_second(by_nic.bandwidth), 50.0 * kNicShare, 1e-9);
  const auto by_link = hierarchical_exchange_time(
      {.over_network = gibibytes(0.1), .over_links = gibibytes(4.0)}, group, gpu, cluster);
  EXPECT_EQ(by_link.limit, "NVLink");
  EXPECT_NEAR(in_gigabytes_per_second(by_link.bandwidth), 337.5, 1e-9);
  EXPECT_LT(by_link.total(), by_nic.total());
}

TEST(HierarchicalExchange, PaysMessagesPerNodeNotPerRank) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const ExchangeBytes nothing{.over_network = bytes(8.0), .over_links = bytes(8.0)};
  const auto latency = [&](std::int64_t nodes) {
    return in_microseconds(hierarchical_exchange_time(nothing, testing::group(8 * nodes, nodes),
                                                      gpu, testing::cluster({.nodes = nodes}))
                               .latency);
  };
  EXPECT_DOUBLE_EQ(latency(1), 8.0);
  EXPECT_DOUBLE_EQ(latency(8) - latency(2), 6.0 * 5.0);
}

// The solver of sim/step/fabric gives the same: tests/unit/fabric/fluid_flows_test.cpp.
TEST(FairShare, ASecondFlowAtMostDoublesTheTime) {
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(100.0), seconds(40.0)), 1.4);
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(1.0), Seconds{}), 1.0);
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(1.0), seconds(9.0)), 2.0);
}

// Exact values; 4 flows on 4 links: P(max = 1) = 24/256, and so on.
TEST(HashCollisions, TheFullestLinkCarriesMoreThanItsShare) {
  EXPECT_NEAR(expected_worst_load(4, 4), 2.125, 0.0005);
  EXPECT_NEAR(expected_worst_load(8, 8), 2.597, 0.0005);
  EXPECT_NEAR(expected_worst_load(16, 16), 3.078, 0.0005);
  EXPECT_NEAR(expected_worst_load(32, 32), 3.533, 0.0005);
  EXPECT_NEAR(expected_worst_load(8, 16), 2.063, 0.0005);
  EXPECT_NEAR(expected_worst_load(16, 8), 4.201, 0.0005);
  EXPECT_NEAR(expected_worst_load(32, 16), 4.830, 0.0005);
  EXPECT_DOUBLE_EQ(expected_worst_load(5, 1), 5.0);
  EXPECT_DOUBLE_EQ(expected_worst_load(1, 9), 1.0);
}

TEST(HashCollisions, TheFormulaForManyFlowsJoinsTheExactOne) {
  const double exact = expected_worst_load(64, 64);
  const double many = expected_worst_load(65, 65);
  EXPECT_NEAR(many / exact, 1.0, 0.03);
}

}  // namespace
}  // namespace orrery::cost
