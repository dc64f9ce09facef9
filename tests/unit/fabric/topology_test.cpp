#include "sim/fabric/topology.hpp"

#include <gtest/gtest.h>

#include "sim/fabric/channels.hpp"
#include "sim/fabric/progressive_filling.hpp"

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

std::vector<double> shares(const Topology& topology, const std::vector<Channel>& channels) {
  std::vector<FlowPath> paths;
  for (const Channel& channel : channels) {
    paths.push_back(channel.path);
  }
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
  const Channels channels(topology);
  std::vector<Channel> sent;
  for (std::int32_t node = 0; node < 7; ++node) {
    sent.push_back(channels.message({node, 0}, {7 + node, 0}, bytes(1.0)));
  }
  for (const double share : shares(topology, sent)) {
    EXPECT_NEAR(share, 1.0 / 7.0, 1e-12);
  }
  EXPECT_NEAR(shares(topology, {channels.message({0, 0}, {1, 0}, bytes(1.0))})[0], 1.0, 1e-12);
}

// 12 links below, 2 oversubscribed tiers: 4 nodes x 50 / 2, then 8 nodes x 50 / 2 / 3.
TEST(Topology, TapersMultiplyFromTierToTier) {
  TopologySpec spec = two_tiers(16, 4);
  spec.tiers = {
      {.nodes = 4, .oversubscription = 2.0}, {.nodes = 8, .oversubscription = 3.0}, {.nodes = 16}};
  const Topology topology(spec);
  const auto capacity = [&](std::size_t tier) {
    const LinkId link = topology.uplink(tier, {0, 0}, 0, 0, Direction::up);
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

// A flow sends half over each plane; a port that is down halts it, as in lockstep.
TEST(Topology, PlanesShareANic) {
  TopologySpec spec = two_tiers(4, 2);
  spec.planes = 2;
  const Topology topology(spec);
  const Channel sent = Channels(topology).message({0, 0}, {3, 0}, bytes(1.0));
  EXPECT_NEAR(shares(topology, {sent})[0], 1.0, 1e-12);
  std::vector<BytesPerSecond> halved = topology.capacities();
  halved[topology.nic({0, 0}, 1, Direction::up).index()] = bytes_per_second(kNic / 4.0);
  EXPECT_NEAR(
      in_bytes_per_second(progressive_filling(halved, std::vector<FlowPath>{sent.path})[0]) / kNic,
      0.5,
      1e-12);
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

TEST(Channels, ARingCrossesEachNicOnceAndALeafOncePerBoundary) {
  const Topology topology(two_tiers(8, 4));
  const std::vector<Port> ring = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}};
  const Channel channel = Channels(topology).ring_all_reduce(ring, bytes(800.0), 8, 2);
  EXPECT_DOUBLE_EQ(in_bytes(channel.bytes), 700.0);
  EXPECT_DOUBLE_EQ(in_bytes(Channels(topology).ring_gather(ring, bytes(800.0), 8, 2).bytes), 350.0);
  EXPECT_EQ(channel.path.hops.size(), 16U + 4U);
  EXPECT_NEAR(shares(topology, {channel, channel})[1], 0.5, 1e-12);
}

// The root of three has two children: its NIC carries two edges each way.
TEST(Channels, ATreeLoadsItsInnerNodesTwice) {
  const Topology topology(two_tiers(3, 3));
  const std::vector<Port> ports = {{0, 0}, {1, 0}, {2, 0}};
  const Channels channels(topology);
  EXPECT_NEAR(shares(topology, {channels.tree_all_reduce(ports, bytes(1.0), 1)})[0], 0.5, 1e-12);
  EXPECT_NEAR(shares(topology, {channels.switch_reduction(ports, bytes(1.0), 1)})[0], 1.0, 1e-12);
}

// Under a 4:1 taper a switch sends the sum of its four nodes up once.
TEST(Channels, ASwitchReductionPassesATaper) {
  TopologySpec spec = two_tiers(8, 4);
  spec.tiers[0].oversubscription = 4.0;
  const Topology topology(spec);
  const std::vector<Port> ports = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}};
  EXPECT_NEAR(
      shares(topology, {Channels(topology).switch_reduction(ports, bytes(1.0), 1)})[0], 1.0, 1e-12);
}

// One flow per port and block gives every port what a flow per pair would.
TEST(Channels, AnAllToAllIsSharedOutByBlocks) {
  TopologySpec spec = two_tiers(8, 4);
  spec.tiers[0].oversubscription = 2.0;
  const Topology topology(spec);
  const Channels channels(topology);
  std::vector<Port> far;
  for (std::int32_t node = 4; node < 8; ++node) {
    far.push_back({node, 0});
  }
  std::vector<Channel> blocks;
  for (std::int32_t node = 0; node < 4; ++node) {
    blocks.push_back(channels.all_to_all({node, 0}, far, bytes(800.0), 8));
    EXPECT_DOUBLE_EQ(in_bytes(blocks.back().bytes), 400.0);
  }
  for (const double share : shares(topology, blocks)) {
    EXPECT_NEAR(share, 0.5, 1e-12);
  }
}

TEST(Channels, PatSendsTwiceAsMuchTwiceAsFar) {
  const Topology topology(two_tiers(8, 8));
  const std::vector<Port> ports = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}};
  double sent = 0.0;
  for (const std::int32_t round : {0, 1, 2}) {
    const std::vector<Channel> flows = Channels(topology).pat_round(ports, bytes(8.0), round);
    EXPECT_NEAR(shares(topology, flows)[0], 1.0, 1e-12);
    sent += in_bytes(flows[0].bytes);
  }
  EXPECT_DOUBLE_EQ(sent, 7.0);  // S (n - 1) / n
}

// 8 nodes of 25 GB/s into storage of 100 GB/s: the storage holds them at half.
TEST(Channels, StorageIsALinkOfItsOwn) {
  TopologySpec spec = two_tiers(8, 8);
  spec.frontend_rate = bytes_per_second(kNic / 2.0);
  spec.storage_rate = bytes_per_second(2.0 * kNic);
  spec.gpus_per_node = 8;
  spec.nvlink_domain = 8;
  spec.nvlink_rate = bytes_per_second(9.0 * kNic);
  const Topology topology(spec);
  const Channels channels(topology);
  std::vector<Channel> flows;
  for (std::int32_t node = 0; node < 8; ++node) {
    flows.push_back(channels.storage_write(node, bytes(1.0)));
  }
  flows.push_back(channels.storage_read(0, bytes(1.0)));
  const std::vector<std::int32_t> gpus = {8, 9, 10, 11, 12, 13, 14, 15};
  flows.push_back(channels.nvls(gpus, bytes(1.0)));
  const std::vector<double> got = shares(topology, flows);
  EXPECT_NEAR(got[0], 0.25, 1e-12);
  EXPECT_NEAR(got[8], 0.5, 1e-12);
  EXPECT_NEAR(got[9], 9.0, 1e-12);
}

}  // namespace
}  // namespace orrery::fabric
