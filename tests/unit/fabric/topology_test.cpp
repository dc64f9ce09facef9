#include "sim/step/fabric/topology.hpp"

#include <gtest/gtest.h>

#include "tests/progressive_filling.hpp"

namespace orrery::fabric {
namespace {

constexpr double kNic = 50e9;

TopologySpec two_tiers(std::int32_t nodes, std::int32_t leaf) {
  TopologySpec spec;
  spec.nodes = nodes;
  spec.nic_rate = bytes_per_second(kNic);
  spec.tiers = {{.nodes = leaf}, {.nodes = nodes}};
  return spec;
}

FlowPath between(const Topology& topology, Port from, Port to) {
  FlowPath path{
      {{topology.nic(from, Direction::up), 1.0}, {topology.nic(to, Direction::down), 1.0}}};
  topology.add_climb(from, to, 1.0, path.hops);
  return path;
}

std::vector<double> shares(const Topology& topology, const std::vector<FlowPath>& paths) {
  std::vector<double> shares;
  for (const BytesPerSecond rate : progressive_filling(topology.capacities(), paths)) {
    shares.push_back(in_bytes_per_second(rate) / kNic);
  }
  return shares;
}

TEST(Topology, ATaperedLeafSharesItsUplinks) {
  TopologySpec spec = two_tiers(14, 7);
  spec.tiers[0].oversubscription = 7.0;
  const Topology topology(spec);
  std::vector<FlowPath> sent;
  for (std::int32_t node = 0; node < 7; ++node) {
    sent.push_back(between(topology, {node, 0}, {7 + node, 0}));
  }
  for (const double share : shares(topology, sent)) {
    EXPECT_NEAR(share, 1.0 / 7.0, 1e-12);
  }
  EXPECT_NEAR(shares(topology, {between(topology, {0, 0}, {1, 0})})[0], 1.0, 1e-12);
}

// 12 links below, 2 oversubscribed tiers: 4 nodes x 50 / 2, then 8 nodes x 50 / 2 / 3.
TEST(Topology, TapersMultiplyFromTierToTier) {
  TopologySpec spec = two_tiers(16, 4);
  spec.tiers = {
      {.nodes = 4, .oversubscription = 2.0}, {.nodes = 8, .oversubscription = 3.0}, {.nodes = 16}};
  const Topology topology(spec);
  const auto capacity = [&](std::size_t tier) {
    const LinkId link = topology.uplink(tier, {0, 0}, 0, Direction::up);
    return in_bytes_per_second(topology.capacities()[link.index()]) / kNic;
  };
  EXPECT_NEAR(capacity(0), 2.0, 1e-12);
  EXPECT_NEAR(capacity(1), 8.0 / 6.0, 1e-12);
  EXPECT_EQ(topology.common_tier({0, 0}, {3, 0}), 0U);
  EXPECT_EQ(topology.common_tier({0, 0}, {4, 0}), 1U);
  EXPECT_EQ(topology.common_tier({0, 0}, {8, 0}), 2U);
}

TEST(Topology, OtherRailsLieBehindTheSpine) {
  TopologySpec spec = two_tiers(8, 8);
  spec.nics_per_node = 4;
  EXPECT_EQ(Topology(spec).common_tier({0, 0}, {1, 1}), 0U);
  spec.tiers[0].by_rail = true;
  EXPECT_EQ(Topology(spec).common_tier({0, 0}, {1, 0}), 0U);
  EXPECT_EQ(Topology(spec).common_tier({0, 0}, {1, 1}), 1U);
}

struct Collisions {
  double fullest = 0.0;  // mean over seeds
  double speed = 0.0;    // mean of 1 / fullest
};

Collisions collisions(std::int32_t flows, std::int32_t links, std::int32_t paths) {
  constexpr int kSeeds = 8000;
  TopologySpec spec = two_tiers(2 * flows, flows);
  spec.tiers[0].links = links;
  spec.routing = Spreading::hashed;
  spec.paths_per_flow = paths;
  Collisions mean;
  for (int seed = 0; seed < kSeeds; ++seed) {
    spec.seed = static_cast<std::uint64_t>(seed);
    const Topology topology(spec);
    std::vector<double> load(topology.capacities().size(), 0.0);
    std::vector<Hop> hops;
    for (std::int32_t node = 0; node < flows; ++node) {
      topology.add_climb({node, 0}, {flows + node, 0}, 1.0, hops);
    }
    for (const Hop& hop : hops) {
      load[hop.link.index()] += hop.weight;
    }
    const double fullest = *std::max_element(load.begin(), load.end());
    mean.fullest += fullest / kSeeds;
    mean.speed += 1.0 / fullest / kSeeds;
  }
  return mean;
}

// Exact means of balls in bins; 8,000 seeds leave a standard error below 0.01 and 0.003.
TEST(Topology, HashedFlowsCollideAsBallsInBins) {
  struct Case {
    std::int32_t flows, links;
    double fullest, speed;
  };

  for (const Case& table : std::vector<Case>{{2, 2, 1.5, 0.75},
                                             {4, 4, 2.125, 0.5117},
                                             {4, 8, 1.6484, 0.6955},
                                             {8, 8, 2.5972, 0.4100},
                                             {8, 16, 2.0629, 0.5310},
                                             {16, 16, 3.0782, 0.3445}}) {
    const Collisions mean = collisions(table.flows, table.links, 1);
    EXPECT_NEAR(mean.fullest, table.fullest, 0.04) << table.flows << " on " << table.links;
    EXPECT_NEAR(mean.speed, table.speed, 0.012) << table.flows << " on " << table.links;
  }
}

// 16 NICs with 4 queue pairs each on 16 uplinks: 64 quarters, fullest 1.96 of the mean.
TEST(Topology, QueuePairsEvenCollisionsOut) {
  EXPECT_NEAR(collisions(16, 16, 4).fullest, 1.96, 0.04);
}

}  // namespace
}  // namespace orrery::fabric
