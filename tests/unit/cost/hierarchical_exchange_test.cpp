#include "sim/step/cost/hierarchical_exchange.hpp"

#include <gtest/gtest.h>

#include "sim/step/cost/link_rates.hpp"
#include "tests/unit/cost/cost_fixture.hpp"

namespace orrery::cost {
namespace {

// 256 experts on 8 nodes, 8 chosen: one node is missed with C(224,8)/C(256,8) =
// 224/256 * 223/255 * ... * 217/249 = 0.33892, so 8 * (1 - 0.33892) = 5.2886 nodes.
TEST(HierarchicalExchange, CountsTheNodesThatATokenReaches) {
  double missed = 1.0;
  for (int i = 0; i < 8; ++i) {
    missed *= (224.0 - i) / (256.0 - i);
  }
  const Routing routing{.experts = 256, .top_k = 8, .nodes = 8, .node_limit = {}};
  EXPECT_DOUBLE_EQ(distinct_nodes(routing), 8.0 * (1.0 - missed));
  Routing limited = routing;
  limited.node_limit = 4;
  EXPECT_DOUBLE_EQ(distinct_nodes(limited), 4.0);
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

}  // namespace
}  // namespace orrery::cost
