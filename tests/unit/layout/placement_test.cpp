#include "sim/layout/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "sim/base/random.hpp"
#include "sim/layout/sharding.hpp"
#include "sim/model/presets.hpp"

namespace orrery::layout {
namespace {

Layout layout_of(std::int64_t tensor,
                 std::int64_t pipeline,
                 std::int64_t data,
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
const std::vector<Axis> kPipelineBeforeData = {
    Axis::tensor, Axis::context, Axis::pipeline, Axis::data};

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
    for (const GroupKind kind : {GroupKind::tensor,
                                 GroupKind::context,
                                 GroupKind::pipeline,
                                 GroupKind::data,
                                 GroupKind::data_context,
                                 GroupKind::expert,
                                 GroupKind::expert_tensor,
                                 GroupKind::expert_data,
                                 GroupKind::expert_shard,
                                 GroupKind::expert_replica,
                                 GroupKind::shard,
                                 GroupKind::replica}) {
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
  EXPECT_TRUE(tensor.inside_nvlink_domain());
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
