// Closed forms that collectives must approach when only bandwidth counts. Latency and fill fall as
// 1 / S, so at 256 GiB the time over S is the bandwidth term to better than 1e-3.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "sim/step/cost/collective.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"

namespace orrery::cost {
namespace {

using model::CollectiveKind;

constexpr double kHuge = 256.0;  // GiB

hardware::GpuProfile ring_only(const char* name) {
  Diagnostics diagnostics;
  auto gpu = hardware::load_gpu_profile(
      std::string(kSourceDir) + "/scenarios/profiles/gpu/" + name + ".yaml", {}, {}, "gpu",
      diagnostics);
  gpu.value().nvlink->nvls = false;
  return *std::move(gpu);
}

layout::GroupPlacement spread(std::int64_t ranks, std::int64_t nodes) {
  return {.ranks = ranks,
          .nodes = nodes,
          .ranks_per_node = ranks / nodes,
          .domains = nodes,
          .ranks_per_domain = ranks / nodes,
          .sharing_node = 8 / (ranks / nodes),
          .tier = 0};
}

hardware::ClusterSpec hosts(std::int64_t nodes) {
  hardware::ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.network.nic_rate = gigabits_per_second(200.0);
  return cluster;
}

double seconds_of(CollectiveKind kind, const layout::GroupPlacement& group,
                  const hardware::GpuProfile& gpu, const hardware::ClusterSpec& cluster) {
  const Bytes size = gibibytes(kHuge);
  return in_seconds(
      collective_time(kind, size, size, model::Dtype::bf16, group, gpu, cluster).total());
}

// Ring all-reduce: every rank sends 2(n-1)/n of the buffer over its slowest wire. Ring all-gather
// and reduce-scatter: (n-1)/n each, so their sum is one all-reduce.
TEST(CollectiveOracle, RingSendsTwiceAndGatherPlusScatterSendTheSame) {
  const auto gpu = ring_only("a100-sxm-80gb");
  for (const std::int64_t nodes : {1, 4, 16}) {
    for (const std::int64_t per_node : {2, 4, 8}) {
      const std::int64_t n = nodes * per_node;
      const auto group = spread(n, nodes);
      const auto cluster = hosts(nodes);
      const double wire = nodes == 1
                              ? in_bytes_per_second(group_fabric(group, gpu, cluster).graph.intra)
                              : 23.0 * kGiga * static_cast<double>(per_node);
      const double reduce = seconds_of(CollectiveKind::all_reduce, group, gpu, cluster);
      const double expected = 2.0 * static_cast<double>(n - 1) / static_cast<double>(n) *
                              in_bytes(gibibytes(kHuge)) / wire;
      EXPECT_NEAR(reduce / expected, 1.0, 2e-3) << n << " ranks on " << nodes;
      const double gather = seconds_of(CollectiveKind::all_gather, group, gpu, cluster);
      const double scatter = seconds_of(CollectiveKind::reduce_scatter, group, gpu, cluster);
      EXPECT_NEAR((gather + scatter) / reduce, 1.0, 2e-3);
    }
  }
}

// ZeRO-1 and 2: reduce-scatter + all-gather of P. ZeRO-3: all-gather in forward and in backward and
// reduce-scatter: 3 (n-1)/n P, 1.5 times as much.
TEST(CollectiveOracle, Zero3MovesHalfAsMuchAgainAsZero1) {
  const auto gpu = ring_only("a100-sxm-80gb");
  const auto group = spread(64, 8);
  const auto cluster = hosts(8);
  const double gather = seconds_of(CollectiveKind::all_gather, group, gpu, cluster);
  const double scatter = seconds_of(CollectiveKind::reduce_scatter, group, gpu, cluster);
  EXPECT_NEAR((2.0 * gather + scatter) / (gather + scatter), 1.5, 1e-3);
}

// Two-level all-reduce over k hosts of g GPUs: reduce-scatter inside, all-reduce of S / g between
// hosts, all-gather inside. The bandwidth bound of the flat ring is k-independent on the NICs,
// 2 S (n-1) / n over g NICs; the two-level form sends 2 (S/g) (k-1)/k over each NIC.
TEST(CollectiveOracle, TwoLevelSendsLessOverTheNicsThanTheFlatRing) {
  const auto gpu = ring_only("a100-sxm-80gb");
  const auto cluster = hosts(4);
  const double flat = seconds_of(CollectiveKind::all_reduce, spread(32, 4), gpu, cluster);
  const Bytes shard = gibibytes(kHuge / 8.0);
  const double rails = in_seconds(collective_time(CollectiveKind::all_reduce, shard, shard,
                                                  model::Dtype::bf16, spread(4, 4), gpu, cluster)
                                      .total());
  // (2 * 3/4 / 8) / (2 * 31/32 / 8) = 24/31.
  EXPECT_NEAR(rails / flat, 24.0 / 31.0, 5e-3);
}

// All-to-all over k hosts of g GPUs with one NIC each: S (n-g)/n over the NIC, so the bus bandwidth
// is bounded by NIC (n-1)/(n-g): 1.875, 1.292 and 1.125 NICs for k = 2, 4, 8 and g = 8.
TEST(CollectiveOracle, AllToAllIsBoundedByTheBytesThatLeaveTheHost) {
  const auto gpu = ring_only("a100-sxm-80gb");
  const double nic = 23.0 * kGiga;
  for (const auto& [nodes, ceiling] :
       {std::pair<std::int64_t, double>{2, 1.875}, {4, 31.0 / 24.0}, {8, 63.0 / 56.0}}) {
    const auto group = spread(8 * nodes, nodes);
    const double time = seconds_of(CollectiveKind::all_to_all, group, gpu, hosts(nodes));
    const double bus =
        in_bytes(gibibytes(kHuge)) / time * bus_factor(CollectiveKind::all_to_all, group.ranks);
    EXPECT_NEAR(bus / nic, ceiling, 1e-3) << nodes;
  }
}

// A NIC at a fraction of its rate, or shared by twice as many groups, stretches the bandwidth term
// by exactly that factor.
TEST(CollectiveOracle, HalfTheNicIsTwiceTheTime) {
  const auto gpu = ring_only("a100-sxm-80gb");
  auto slow = hosts(4);
  slow.network.nic_rate = gigabits_per_second(100.0);
  const auto group = spread(4, 4);
  const double ratio = seconds_of(CollectiveKind::all_reduce, group, gpu, slow) /
                       seconds_of(CollectiveKind::all_reduce, group, gpu, hosts(4));
  EXPECT_NEAR(ratio, 2.0, 1e-3);
}

}  // namespace
}  // namespace orrery::cost
