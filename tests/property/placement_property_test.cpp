// Groups and their placements against definitions taken literally: look at every rank.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/layout/placement.hpp"
#include "sim/step/layout/sharding.hpp"

namespace orrery::layout {
namespace {

constexpr std::uint64_t kPlacementSeed = 20261121;

constexpr std::array<GroupKind, 12> kKinds = {
    GroupKind::tensor,         GroupKind::context,      GroupKind::pipeline,
    GroupKind::data,           GroupKind::data_context, GroupKind::expert,
    GroupKind::expert_tensor,  GroupKind::expert_data,  GroupKind::expert_shard,
    GroupKind::expert_replica, GroupKind::shard,        GroupKind::replica};

// Do two ranks belong to the same group? As the header of placement.hpp and the layout rules say.
bool same_group(const Layout& layout, GroupKind kind, const RankCoordinates& a,
                const RankCoordinates& b) {
  if (kind == GroupKind::pipeline) {
    return a.tensor == b.tensor && a.context == b.context && a.data == b.data;
  }
  if (a.pipeline != b.pipeline) {
    return false;
  }
  const auto position = [&layout](const RankCoordinates& c) {
    return c.tensor + layout.tensor * (c.context + layout.context * c.data);
  };
  const auto replica = [&layout](const RankCoordinates& c) {
    return c.context + layout.context * c.data;
  };
  const std::int64_t et = layout.expert_tensor;
  const std::int64_t experts = et * layout.expert;
  switch (kind) {
    case GroupKind::tensor:
      return replica(a) == replica(b);
    case GroupKind::context:
      return a.tensor == b.tensor && a.data == b.data;
    case GroupKind::data:
      return a.tensor == b.tensor && a.context == b.context;
    case GroupKind::data_context:
      return a.tensor == b.tensor;
    case GroupKind::expert:
      return position(a) / experts == position(b) / experts && position(a) % et == position(b) % et;
    case GroupKind::expert_tensor:
      return position(a) / et == position(b) / et;
    case GroupKind::expert_data:
      return position(a) % experts == position(b) % experts;
    case GroupKind::expert_shard:
      return position(a) % experts == position(b) % experts &&
             position(a) / experts / expert_shard(layout).ranks ==
                 position(b) / experts / expert_shard(layout).ranks;
    case GroupKind::expert_replica:
      return position(a) % experts == position(b) % experts &&
             position(a) / experts % expert_shard(layout).ranks ==
                 position(b) / experts % expert_shard(layout).ranks;
    case GroupKind::shard:
      return a.tensor == b.tensor &&
             replica(a) / layout.shard_group == replica(b) / layout.shard_group;
    case GroupKind::replica:
      return a.tensor == b.tensor &&
             replica(a) % layout.shard_group == replica(b) % layout.shard_group;
    case GroupKind::pipeline:
      break;
  }
  return false;
}

std::int64_t random_divisor(RandomStream& random, std::int64_t value) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= value; ++d) {
    if (value % d == 0) {
      divisors.push_back(d);
    }
  }
  return divisors[random.uniform_int(divisors.size())];
}

Layout random_layout(RandomStream& random) {
  const auto degree = [&random] {
    constexpr std::array<std::int64_t, 8> kDegrees = {1, 1, 2, 2, 3, 4, 6, 8};
    return kDegrees[random.uniform_int(kDegrees.size())];
  };
  Layout layout;
  layout.tensor = degree();
  layout.context = degree();
  layout.pipeline = degree();
  layout.data = degree();
  layout.gpus = layout.tensor * layout.context * layout.pipeline * layout.data;
  layout.order = {Axis::tensor, Axis::context, Axis::pipeline, Axis::data};
  for (std::size_t i = layout.order.size(); i > 1; --i) {
    std::swap(layout.order[i - 1], layout.order[random.uniform_int(i)]);
  }
  const std::int64_t pool = layout.tensor * layout.context * layout.data;
  layout.expert_tensor = random_divisor(random, pool);
  layout.expert = random_divisor(random, pool / layout.expert_tensor);
  layout.expert_data = pool / (layout.expert_tensor * layout.expert);
  layout.shard_group = random_divisor(random, layout.context * layout.data);
  layout.sharding = random.uniform_int(2) == 0 ? Sharding::none : Sharding::zero1;
  return layout;
}

std::string describe(const Layout& layout, GroupKind kind) {
  std::string text = "seed " + std::to_string(kPlacementSeed) + ", kind " +
                     std::to_string(static_cast<int>(kind)) + ", order";
  for (const Axis axis : layout.order) {
    text += " " + std::to_string(static_cast<int>(axis));
  }
  for (const std::int64_t value : {layout.tensor, layout.context, layout.pipeline, layout.data,
                                   layout.expert_tensor, layout.expert, layout.shard_group}) {
    text += " " + std::to_string(value);
  }
  return text;
}

std::vector<RankId> literal_group(const RankMap& map, const Layout& layout, GroupKind kind,
                                  RankId member) {
  std::vector<RankId> ranks;
  for (std::int32_t rank = 0; rank < layout.gpus; ++rank) {
    if (same_group(layout, kind, map.coordinates(member), map.coordinates({rank}))) {
      ranks.push_back({rank});
    }
  }
  return ranks;
}

TEST(PlacementProperty, GroupsAndRunsListTheRanksOfTheDefinition) {
  RandomStream random(kPlacementSeed, 0, Purpose::property_test);
  int runs = 0;
  for (int round = 0; round < 300; ++round) {
    const Layout layout = random_layout(random);
    const RankMap map(layout);
    for (const GroupKind kind : kKinds) {
      SCOPED_TRACE(describe(layout, kind));
      const RankId member{
          static_cast<std::int32_t>(random.uniform_int(static_cast<std::uint64_t>(layout.gpus)))};
      const std::vector<RankId> expected = literal_group(map, layout, kind, member);
      ASSERT_EQ(map.group(kind, member), expected);
      if (const auto run = map.run(kind, member)) {
        ++runs;
        ASSERT_EQ(run->count, static_cast<std::int64_t>(expected.size()));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(run->first + static_cast<std::int64_t>(i) * run->stride, expected[i].value);
        }
      }
    }
  }
  EXPECT_GT(runs, 2400);  // of 3600: most groups stand at equal distances
}

// Fewest members on a block of `size` ranks, and the number of blocks.
std::pair<std::int64_t, std::int64_t> blocks(const std::vector<RankId>& ranks, std::int64_t size) {
  std::map<std::int64_t, std::int64_t> members;
  for (const RankId rank : ranks) {
    ++members[rank.value / size];
  }
  std::int64_t smallest = members.begin()->second;
  for (const auto& [block, count] : members) {
    smallest = std::min(smallest, count);
  }
  return {static_cast<std::int64_t>(members.size()), smallest};
}

// The placement reported is that of one of the groups, and none of those probed is worse.
TEST(PlacementProperty, PlacementsCountTheBlocksThatTheRanksTouch) {
  RandomStream random(kPlacementSeed, 1, Purpose::property_test);
  for (int round = 0; round < 300; ++round) {
    const Layout layout = random_layout(random);
    const RankMap map(layout);
    constexpr std::array<std::int64_t, 6> kSizes = {1, 2, 3, 4, 6, 8};
    ClusterShape cluster;
    cluster.gpus = layout.gpus;
    cluster.gpus_per_node = kSizes[random.uniform_int(kSizes.size())];
    cluster.nvlink_domain = kSizes[random.uniform_int(kSizes.size())];
    for (const GroupKind kind : kKinds) {
      SCOPED_TRACE(describe(layout, kind));
      const GroupPlacement placed = place_group(map, layout, kind, cluster);
      bool found = false;
      std::int64_t most_domains = 0;
      for (const std::int64_t probe :
           {std::int64_t{0}, layout.gpus - 1, (layout.gpus - 1) / 2, (layout.gpus - 1) / 3}) {
        const auto ranks = literal_group(map, layout, kind, {static_cast<std::int32_t>(probe)});
        const auto [nodes, on_node] = blocks(ranks, cluster.gpus_per_node);
        const auto [domains, in_domain] = blocks(ranks, cluster.nvlink_domain);
        most_domains = std::max(most_domains, domains);
        found = found || (placed.ranks == static_cast<std::int64_t>(ranks.size()) &&
                          placed.nodes == nodes && placed.ranks_per_node == on_node &&
                          placed.domains == domains && placed.ranks_per_domain == in_domain);
      }
      EXPECT_TRUE(found);
      EXPECT_EQ(placed.domains, most_domains);
    }
  }
}

}  // namespace
}  // namespace orrery::layout
