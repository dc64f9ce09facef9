#include "sim/step/layout/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <variant>

#include "sim/base/random.hpp"
#include "sim/step/layout/sharding.hpp"

namespace orrery::layout {
namespace {

Layout layout_of(std::int64_t tensor, std::int64_t pipeline, std::int64_t data,
                 std::vector<Axis> order) {
  Layout layout;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.data = data;
  layout.gpus = tensor * pipeline * data;
  layout.order = std::move(order);
  return layout;
}

const std::vector<Axis> kMegatronOrder = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};
const std::vector<Axis> kPipelineBeforeData = {Axis::tensor, Axis::context, Axis::pipeline,
                                               Axis::data};

TEST(RankMap, OrderDecidesTheStrides) {
  // tp fastest, then dp, then pp: rank = t + 2 (d + 4 p)
  const RankMap map(layout_of(2, 3, 4, kMegatronOrder));
  EXPECT_EQ(map.rank({.tensor = 1, .context = 0, .pipeline = 2, .data = 3}).value,
            1 + 2 * (3 + 4 * 2));
  const RankMap other(layout_of(2, 3, 4, kPipelineBeforeData));
  EXPECT_EQ(other.rank({.tensor = 1, .context = 0, .pipeline = 2, .data = 3}).value,
            1 + 2 * (2 + 3 * 3));
}

TEST(RankMap, CoordinatesInvertRanks) {
  const RankMap map(layout_of(4, 6, 5, kMegatronOrder));
  for (std::int32_t r = 0; r < 120; ++r) {
    EXPECT_EQ(map.rank(map.coordinates({r})).value, r);
  }
}

TEST(RankMap, GroupsOfEveryKindPartitionTheRanks) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int round = 0; round < 60; ++round) {
    const auto pick = [&random] { return std::int64_t{1} << random.uniform_int(3); };
    Layout layout =
        layout_of(pick(), pick(), pick(), round % 2 == 0 ? kMegatronOrder : kPipelineBeforeData);
    layout.context = pick();
    layout.gpus *= layout.context;
    layout.shard_group = std::int64_t{1} << random.uniform_int(2);
    layout.shard_group = std::min(layout.shard_group, layout.data * layout.context);
    layout.expert_tensor = layout.tensor;
    layout.expert = std::min<std::int64_t>(2, layout.data * layout.context);
    layout.expert_data = layout.data * layout.context / layout.expert;
    layout.sharding = round % 3 == 0 ? Sharding::none : Sharding::zero3;
    const RankMap map(layout);
    for (const GroupKind kind :
         {GroupKind::tensor, GroupKind::context, GroupKind::pipeline, GroupKind::data,
          GroupKind::data_context, GroupKind::expert, GroupKind::expert_tensor,
          GroupKind::expert_data, GroupKind::expert_shard, GroupKind::expert_replica,
          GroupKind::shard, GroupKind::replica}) {
      std::set<std::vector<RankId>> groups;
      for (std::int32_t r = 0; r < layout.gpus; ++r) {
        const auto group = map.group(kind, {r});
        EXPECT_TRUE(std::find(group.begin(), group.end(), RankId{r}) != group.end());
        groups.insert(group);
      }
      std::size_t members = 0;
      for (const auto& group : groups) {
        members += group.size();
        EXPECT_EQ(group.size(), groups.begin()->size());
      }
      EXPECT_EQ(members, static_cast<std::size_t>(layout.gpus));
    }
  }
}

TEST(PlaceGroup, TensorGroupFillsANodeAndDataGroupCrossesAll) {
  const Layout layout = layout_of(8, 16, 128, kPipelineBeforeData);
  const ClusterShape cluster = {
      .gpus = 16384, .gpus_per_node = 8, .nvlink_domain = 8, .tier_nodes = {2, 384}};
  const RankMap map(layout);
  const GroupPlacement tensor = place_group(map, layout, GroupKind::tensor, cluster);
  EXPECT_EQ(tensor.domains, 1);
  EXPECT_EQ(tensor.ranks, 8);
  const GroupPlacement data = place_group(map, layout, GroupKind::data, cluster);
  EXPECT_EQ(data.ranks, 128);
  EXPECT_EQ(data.nodes, 128);
  EXPECT_EQ(data.ranks_per_node, 1);
  EXPECT_EQ(data.sharing_node, 8);
  EXPECT_EQ(data.tier, 2U);  // spans pods of 384 nodes: the core
}

TEST(PlaceGroup, FourGpuNodesPutTensorGroupAcrossTwoNodes) {
  const Layout layout = layout_of(8, 2, 2, kMegatronOrder);
  const ClusterShape cluster = {
      .gpus = 32, .gpus_per_node = 4, .nvlink_domain = 4, .tier_nodes = {}};
  const GroupPlacement tensor = place_group(RankMap(layout), layout, GroupKind::tensor, cluster);
  EXPECT_EQ(tensor.nodes, 2);
  EXPECT_EQ(tensor.ranks_per_node, 4);
  EXPECT_EQ(tensor.domains, 2);
}

// Counted rank by rank.
GroupPlacement counted(const RankMap& map, GroupKind kind, std::int64_t member,
                       const ClusterShape& cluster) {
  std::map<std::int64_t, std::int64_t> nodes;
  std::map<std::int64_t, std::int64_t> domains;
  const std::vector<RankId> ranks = map.group(kind, {static_cast<std::int32_t>(member)});
  for (const RankId rank : ranks) {
    ++nodes[rank.value / cluster.gpus_per_node];
    ++domains[rank.value / cluster.nvlink_domain];
  }
  const auto fewest = [](const std::map<std::int64_t, std::int64_t>& members) {
    std::int64_t least = members.begin()->second;
    for (const auto& [unit, count] : members) {
      least = std::min(least, count);
    }
    return least;
  };
  GroupPlacement placement;
  placement.ranks = static_cast<std::int64_t>(ranks.size());
  placement.nodes = static_cast<std::int64_t>(nodes.size());
  placement.ranks_per_node = fewest(nodes);
  placement.domains = static_cast<std::int64_t>(domains.size());
  placement.ranks_per_domain = fewest(domains);
  placement.sharing_node =
      nodes.size() > 1 ? std::max<std::int64_t>(1, std::min(cluster.gpus_per_node, cluster.gpus) /
                                                       placement.ranks_per_node)
                       : 1;
  while (placement.tier < cluster.tier_nodes.size() &&
         nodes.begin()->first / cluster.tier_nodes[placement.tier] !=
             nodes.rbegin()->first / cluster.tier_nodes[placement.tier]) {
    ++placement.tier;
  }
  return placement;
}

TEST(PlaceGroup, IsWhatCountingRankByRankGives) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const auto one_of = [&random](std::vector<std::int64_t> values) {
    return values[random() % values.size()];
  };
  std::vector<Axis> order = {Axis::tensor, Axis::context, Axis::pipeline, Axis::data};
  std::sort(order.begin(), order.end());
  do {
    for (int i = 0; i < 40; ++i) {
      Layout layout =
          layout_of(one_of({1, 2, 3, 4, 8}), one_of({1, 2, 3, 4}), one_of({1, 2, 4, 6, 12}), order);
      layout.context = one_of({1, 2, 3, 4});
      layout.gpus *= layout.context;
      layout.sharding = Sharding::zero1;
      layout.shard_group = one_of({1, layout.context, layout.data, layout.data * layout.context});
      layout.expert_tensor = one_of({1, layout.tensor});
      layout.expert = one_of({1, layout.data});
      layout.expert_data =
          layout.tensor * layout.context * layout.data / (layout.expert_tensor * layout.expert);
      const ClusterShape cluster = {.gpus = layout.gpus,
                                    .gpus_per_node = one_of({2, 4, 8}),
                                    .nvlink_domain = one_of({1, 4, 8, 16}),
                                    .tier_nodes = {2, 8}};
      const RankMap map(layout);
      for (const GroupKind kind : {GroupKind::tensor, GroupKind::context, GroupKind::pipeline,
                                   GroupKind::data, GroupKind::data_context, GroupKind::expert,
                                   GroupKind::expert_data, GroupKind::shard, GroupKind::replica}) {
        const std::int64_t last = layout.gpus - 1;
        GroupPlacement worst = counted(map, kind, 0, cluster);
        for (const std::int64_t probe : {last, last / 2, last / 3}) {
          const GroupPlacement other = counted(map, kind, probe, cluster);
          if (std::tuple(other.domains, other.nodes, other.tier) >
              std::tuple(worst.domains, worst.nodes, worst.tier)) {
            worst = other;
          }
        }
        const GroupPlacement placed = place_group(map, layout, kind, cluster);
        EXPECT_EQ(placed, worst) << "kind " << static_cast<int>(kind) << " t " << layout.tensor
                                 << " c " << layout.context << " p " << layout.pipeline << " d "
                                 << layout.data << " nodes of " << cluster.gpus_per_node
                                 << " domains of " << cluster.nvlink_domain;
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(PlaceHop, StaysInsideTheNodeWhenTheStageIsSmall) {
  const Layout layout = layout_of(2, 4, 1, kPipelineBeforeData);
  const ClusterShape cluster = {
      .gpus = 8, .gpus_per_node = 8, .nvlink_domain = 8, .tier_nodes = {}};
  const RankMap map(layout);
  EXPECT_TRUE(place_hop(map, layout, 0, cluster).same_node);
  const ClusterShape halves = {.gpus = 8, .gpus_per_node = 4, .nvlink_domain = 4, .tier_nodes = {}};
  EXPECT_TRUE(place_hop(map, layout, 0, halves).same_node);
  EXPECT_FALSE(place_hop(map, layout, 1, halves).same_node);
  EXPECT_FALSE(place_hop(map, layout, 3, halves).same_node);  // the wrap
}

// Mixed-precision Adam with 16-bit gradients: 2 + 2 + 12 = 16 bytes per parameter.
TEST(StateBytes, SixteenBytesPerParameterAndZeroStages) {
  model::PrecisionSpec precision;
  precision.gradient = model::Dtype::bf16;
  const model::ShardParameters stage = {.dense = kGiga, .expert = 0.0};
  Layout layout;
  layout.data = 8;
  const auto total = [&](Sharding sharding) {
    layout.sharding = sharding;
    layout.shard_group = sharding == Sharding::none ? 1 : 8;
    const StateBytes s = state_bytes(stage, precision, layout);
    return in_gigabytes(s.parameters + s.gradients + s.optimizer);
  };
  EXPECT_DOUBLE_EQ(total(Sharding::none), 16.0);
  EXPECT_DOUBLE_EQ(total(Sharding::zero1), 2.0 + 2.0 + 12.0 / 8.0);
  EXPECT_DOUBLE_EQ(total(Sharding::zero2), 2.0 + 2.0 / 8.0 + 12.0 / 8.0);
  EXPECT_DOUBLE_EQ(total(Sharding::zero3), 16.0 / 8.0);
}

// Mixtral on 128 GPUs, tensor 8, expert 4, expert_tensor 1: 32 ranks hold the same experts. ZeRO
// over all replicas shards over all 32; a shard group of 4 replicas holds 8 x 4 / 4 = 8 of them.
TEST(ExpertShard, FollowsTheShardGroup) {
  Layout layout = layout_of(8, 1, 16, kMegatronOrder);
  layout.expert = 4;
  layout.expert_tensor = 1;
  layout.expert_data = 32;
  layout.sharding = Sharding::zero1;
  layout.shard_group = 16;
  EXPECT_EQ(expert_shard(layout).ranks, 32);
  EXPECT_EQ(expert_shard(layout).replicas, 1);
  layout.sharding = Sharding::hsdp;
  layout.shard_group = 4;
  EXPECT_EQ(expert_shard(layout).ranks, 8);
  EXPECT_EQ(expert_shard(layout).replicas, 4);
  layout.sharding = Sharding::none;
  EXPECT_EQ(expert_shard(layout).ranks, 1);
}

}  // namespace
}  // namespace orrery::layout
