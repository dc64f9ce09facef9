#include "sim/step/cost/nccl_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::cost {
namespace {

using hardware::GpuArch;
using model::CollectiveKind;
using model::Dtype;

// 8 H100 of one host: 24 rings over 370 GB/s of links, NVLink SHARP with 8 heads of 40 GB/s.
NcclGraph eight_h100() {
  NcclGraph graph;
  graph.ranks = 8;
  graph.nodes = 1;
  graph.ranks_per_node = 8;
  graph.arch = GpuArch::hopper;
  graph.nvls = true;
  graph.ring_channels = 24.0;
  graph.intra = gigabytes_per_second(370.0);
  graph.nvls_heads = 8.0;
  graph.nvls_speed = gigabytes_per_second(40.0);
  return graph;
}

NcclGraph hosts_of_h100(std::int64_t nodes) {
  NcclGraph graph = eight_h100();
  graph.nodes = nodes;
  graph.ranks = 8 * nodes;
  graph.ring_channels = 16.0;
  graph.inter = gigabytes_per_second(384.0);
  return graph;
}

NcclEstimate entry(CollectiveKind kind, Algorithm a, Protocol p, Bytes size, const NcclGraph& g) {
  return nccl_estimate(kind, a, p, size, Dtype::bf16, g).value();
}

// busBw 370, 2(n-1) = 14 steps: 370 * 8 / 14 = 211.43 GB/s. Latency 8.4 + 14 * 3.4 = 56 us.
TEST(NcclModel, RingSimpleInsideAHostIsBaseStepsAndTheBusOverTwoPasses) {
  const NcclEstimate ring = entry(CollectiveKind::all_reduce, Algorithm::ring, Protocol::simple,
                                  gibibytes(1.0), eight_h100());
  EXPECT_NEAR(in_gigabytes_per_second(ring.bandwidth), 370.0 * 8.0 / 14.0, 1e-9);
  EXPECT_NEAR(in_microseconds(ring.latency), 56.0, 1e-9);
}

// LL: min(141, 185) * 8 / 14; latency 6.6 + 14 * 0.6. LL128: 0.92 * 370 * 8 / 14; 14 + 14 * 1.9.
TEST(NcclModel, LowLatencyProtocolsTradeBandwidthForLatency) {
  const NcclGraph graph = eight_h100();
  const NcclEstimate ll =
      entry(CollectiveKind::all_reduce, Algorithm::ring, Protocol::ll, mebibytes(1.0), graph);
  EXPECT_NEAR(in_gigabytes_per_second(ll.bandwidth), 141.0 * 8.0 / 14.0, 1e-9);
  EXPECT_NEAR(in_microseconds(ll.latency), 15.0, 1e-9);
  const NcclEstimate ll128 =
      entry(CollectiveKind::all_reduce, Algorithm::ring, Protocol::ll128, mebibytes(1.0), graph);
  EXPECT_NEAR(in_gigabytes_per_second(ll128.bandwidth), 0.92 * 370.0 * 8.0 / 14.0, 1e-9);
  EXPECT_NEAR(in_microseconds(ll128.latency), 40.6, 1e-9);
}

// 8 heads * 40 * 0.85 * 7/8 * 2 = 476 GB/s on the bus, the plateau that hosts measure (474-480).
TEST(NcclModel, NvlinkSharpOfEightH100ReachesThePublishedPlateauOnTheBus) {
  const NcclEstimate nvls = entry(CollectiveKind::all_reduce, Algorithm::nvls, Protocol::simple,
                                  gibibytes(1.0), eight_h100());
  EXPECT_NEAR(in_gigabytes_per_second(nvls.bandwidth) * 14.0 / 8.0, 476.0, 1e-9);
  EXPECT_NEAR(in_microseconds(nvls.latency), 25.0, 1e-9);
}

// The search gives 8 heads 370.8 / 8 = 46.35 -> 40 on Hopper and 721.8 / 8 = 90.2 -> 90 on
// Blackwell.
TEST(NcclModel, SharpSpeedIsTheFastestOfTheListThatTheLinksCarry) {
  EXPECT_DOUBLE_EQ(
      in_gigabytes_per_second(nccl_nvls_speed(GpuArch::hopper, gigabytes_per_second(450.0), 8)),
      40.0);
  EXPECT_DOUBLE_EQ(
      in_gigabytes_per_second(nccl_nvls_speed(GpuArch::blackwell, gigabytes_per_second(900.0), 8)),
      90.0);
  EXPECT_DOUBLE_EQ(
      in_gigabytes_per_second(nccl_nvls_speed(GpuArch::hopper, gigabytes_per_second(450.0), 4)),
      60.0);
}

// Tree across 4 hosts, LL: 6.8 + 2 (7 * 0.6 + 2 * 5) = 35.2 us.
TEST(NcclModel, TreeLatencyGrowsWithTheLogarithmOfTheHosts) {
  const NcclEstimate tree = entry(CollectiveKind::all_reduce, Algorithm::tree, Protocol::ll,
                                  bytes(64.0), hosts_of_h100(4));
  EXPECT_NEAR(in_microseconds(tree.latency), 35.2, 1e-9);
}

// 4 hosts, Simple: 62 steps of which 6 cross; inside max(3.4, 3 * 1.0); x 1.4 beyond the plateau:
// 1.4 * (8.4 + 56 * 3.4 + 6 * 14) = 395.92 us. Bandwidth C * bwInter * 32 / 62.
TEST(NcclModel, RingAcrossHostsPaysTheNetworkTwicePerHostButOne) {
  const NcclEstimate ring = entry(CollectiveKind::all_reduce, Algorithm::ring, Protocol::simple,
                                  gibibytes(1.0), hosts_of_h100(4));
  EXPECT_NEAR(in_microseconds(ring.latency), 395.92, 1e-6);
  EXPECT_NEAR(in_gigabytes_per_second(ring.bandwidth), 384.0 * 32.0 / 62.0, 1e-9);
}

// A switch latency of 2 us is paid once per crossing by LL and twice (flush) by Simple.
TEST(NcclModel, FabricLatencyIsPaidTwiceBySimple) {
  NcclGraph graph = hosts_of_h100(4);
  const auto latency = [&graph](Protocol protocol) {
    return in_microseconds(
        entry(CollectiveKind::all_gather, Algorithm::ring, protocol, gibibytes(1.0), graph)
            .latency);
  };
  const double ll = latency(Protocol::ll);
  const double simple = latency(Protocol::simple);
  graph.inter_latency = microseconds(2.0);
  EXPECT_NEAR(latency(Protocol::ll) - ll, 3.0 * 2.0, 1e-9);
  EXPECT_NEAR(latency(Protocol::simple) - simple, 3.0 * 4.0, 1e-9);
}

TEST(NcclModel, SmallMessagesUseLowLatencyAndLargeOnesTheSwitches) {
  const NcclGraph graph = eight_h100();
  const auto small = nccl_choice(CollectiveKind::all_reduce, kibibytes(64.0), Dtype::bf16, graph);
  EXPECT_EQ(small.protocol, Protocol::ll);
  // ml-engineering: Ring with LL to 1 MiB, NVLS with Simple from 2 MiB on 8 H200.
  const auto two = nccl_choice(CollectiveKind::all_reduce, mebibytes(2.0), Dtype::bf16, graph);
  EXPECT_EQ(two.algorithm, Algorithm::nvls);
  EXPECT_EQ(two.protocol, Protocol::simple);
}

TEST(NcclModel, GathersAndScattersStayOnTheRingInsideAHost) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::broadcast}) {
    const auto choice = nccl_choice(kind, gibibytes(1.0), Dtype::bf16, eight_h100());
    EXPECT_EQ(choice.algorithm, Algorithm::ring);
  }
}

TEST(NcclModel, TwoHostsJoinTheirSwitchesAndFourUseTheRingForLargeMessages) {
  EXPECT_EQ(nccl_choice(CollectiveKind::all_reduce, gibibytes(4.0), Dtype::bf16, hosts_of_h100(2))
                .algorithm,
            Algorithm::nvls_tree);
  EXPECT_EQ(nccl_choice(CollectiveKind::all_reduce, gibibytes(4.0), Dtype::bf16, hosts_of_h100(4))
                .algorithm,
            Algorithm::ring);
}

TEST(NcclModel, EightBitAllReduceAvoidsSwitchesAndBeyondEightRanksTheRing) {
  EXPECT_EQ(
      nccl_choice(CollectiveKind::all_reduce, gibibytes(1.0), Dtype::fp8, eight_h100()).algorithm,
      Algorithm::ring);
  EXPECT_EQ(nccl_choice(CollectiveKind::all_reduce, gibibytes(1.0), Dtype::fp8, hosts_of_h100(2))
                .algorithm,
            Algorithm::tree);
}

TEST(NcclModel, PairsThatNcclRulesOutHaveNoEntry) {
  const NcclGraph one = eight_h100();
  const NcclGraph four = hosts_of_h100(4);
  const auto missing = [](CollectiveKind kind, Algorithm a, Protocol p, const NcclGraph& g) {
    return !nccl_estimate(kind, a, p, mebibytes(1.0), Dtype::bf16, g).has_value();
  };
  EXPECT_TRUE(missing(CollectiveKind::all_gather, Algorithm::tree, Protocol::simple, one));
  EXPECT_TRUE(missing(CollectiveKind::all_reduce, Algorithm::nvls, Protocol::ll, one));
  EXPECT_TRUE(missing(CollectiveKind::all_reduce, Algorithm::nvls, Protocol::simple, four));
  EXPECT_TRUE(missing(CollectiveKind::all_reduce, Algorithm::nvls_tree, Protocol::simple, one));
  EXPECT_TRUE(missing(CollectiveKind::all_gather, Algorithm::pat, Protocol::simple, four));
  NcclGraph pcie = one;
  pcie.nvlink = false;
  pcie.nvls = false;
  EXPECT_TRUE(missing(CollectiveKind::all_reduce, Algorithm::ring, Protocol::ll128, pcie));
}

TEST(NcclModel, TimeNeverFallsWithSizeForOneEntry) {
  const NcclGraph graph = hosts_of_h100(4);
  Seconds before;
  for (int doubling = 0; doubling < 34; ++doubling) {
    const Bytes size = bytes(std::ldexp(1.0, doubling));
    const Seconds now =
        entry(CollectiveKind::all_gather, Algorithm::ring, Protocol::ll, size, graph).time;
    EXPECT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace orrery::cost
