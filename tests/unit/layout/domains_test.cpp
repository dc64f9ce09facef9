#include "sim/step/layout/domains.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "sim/step/layout/placement.hpp"

namespace orrery::layout {
namespace {

// Racks of 18 hosts with 4 GPUs; 8 racks to a scalable unit.
ClusterShape racks(std::int64_t gpus) {
  return {.gpus = gpus, .gpus_per_node = 4, .nvlink_domain = 72, .tier_nodes = {18, 144}};
}

Layout layout_of(std::int64_t gpus, std::int64_t tensor, std::int64_t expert) {
  Layout layout;
  layout.gpus = gpus;
  layout.tensor = tensor;
  layout.data = gpus / tensor;
  layout.expert = expert;
  layout.expert_data = gpus / expert;
  layout.order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};
  return layout;
}

ClusterShape used(const Layout& layout, std::optional<std::int64_t> asked = {}) {
  const auto outcome = use_domains(layout, racks(layout.gpus), asked);
  EXPECT_TRUE(std::holds_alternative<ClusterShape>(outcome));
  return std::get<ClusterShape>(outcome);
}

LayoutProblem refusal(const Layout& layout, const ClusterShape& cluster,
                      std::optional<std::int64_t> asked = {}) {
  const auto outcome = use_domains(layout, cluster, asked);
  EXPECT_TRUE(std::holds_alternative<LayoutProblem>(outcome));
  return std::get<LayoutProblem>(outcome);
}

// 16 of 18 hosts, and as many racks to a scalable unit as before.
TEST(UseDomains, DegreesThatArePowersOfTwoLeaveTwoHostsOfARackAlone) {
  for (const std::int64_t expert : {1, 8, 16, 32, 64}) {
    const ClusterShape shape = used(layout_of(256, 4, expert));
    EXPECT_EQ(shape.nvlink_domain, 64) << expert;
    EXPECT_EQ(shape.tier_nodes, (std::vector<std::int64_t>{16, 128}));
  }
}

TEST(UseDomains, NoGroupOfUpToADomainLiesAcrossTwo) {
  for (const std::int64_t expert : {2, 3, 6, 8, 12, 16, 24, 36, 48, 64, 72}) {
    const Layout layout = layout_of(576, 1, expert);
    const ClusterShape shape = used(layout);
    const RankMap map(layout);
    for (std::int64_t member = 0; member < layout.gpus; member += expert) {
      const auto ranks = map.group(GroupKind::expert, RankId{static_cast<std::int32_t>(member)});
      EXPECT_EQ(ranks.front().value / shape.nvlink_domain, ranks.back().value / shape.nvlink_domain)
          << expert;
    }
  }
}

TEST(UseDomains, AJobOfWholeRacksFillsThem) {
  EXPECT_EQ(used(layout_of(288, 4, 1)).nvlink_domain, 72);
  EXPECT_EQ(used(layout_of(288, 4, 36)).nvlink_domain, 72);
  EXPECT_EQ(used(layout_of(288, 4, 48)).nvlink_domain, 48);
}

TEST(UseDomains, AGroupLargerThanADomainIsCutEvenly) {
  EXPECT_EQ(used(layout_of(256, 1, 128)).nvlink_domain, 64);
  EXPECT_EQ(used(layout_of(288, 1, 96)).nvlink_domain, 48);
}

TEST(UseDomains, OneDomainAndDomainsOfOneHostNeedNoRule) {
  EXPECT_EQ(used(layout_of(72, 1, 24)).nvlink_domain, 72);
  EXPECT_EQ(used(layout_of(64, 1, 16)).nvlink_domain, 72);
  const ClusterShape hosts = {.gpus = 96, .gpus_per_node = 8, .nvlink_domain = 8, .tier_nodes = {}};
  const auto outcome = use_domains(layout_of(96, 1, 12), hosts, {});
  EXPECT_EQ(std::get<ClusterShape>(outcome).nvlink_domain, 8);
}

TEST(UseDomains, RefusesGroupsThatLieAcrossDomainsUnlessAsked) {
  Layout layout = layout_of(1440, 16, 45);
  layout.expert_data = 32;
  const LayoutProblem problem = refusal(layout, racks(1440));
  EXPECT_EQ(problem.key, "cluster.network.domain_gpus");
  EXPECT_EQ(problem.message,
            "no number of GPUs of an NVLink domain of 72 in hosts of 4 keeps every group inside a "
            "domain or cuts it evenly (tensor of 16, expert x expert_tensor of 45)");
  EXPECT_EQ(problem.allowed, "other degrees, or domain_gpus: 72 to let groups lie across domains");
  EXPECT_EQ(used(layout, 72).nvlink_domain, 72);
}

TEST(UseDomains, AsksForWholeHostsOfADomain) {
  EXPECT_EQ(used(layout_of(256, 4, 16), 72).nvlink_domain, 72);
  EXPECT_EQ(refusal(layout_of(256, 4, 1), racks(256), 66).message,
            "66 GPUs are no whole hosts of 4 in an NVLink domain of 72");
  EXPECT_EQ(refusal(layout_of(256, 4, 1), racks(256), 76).allowed, "multiples of 4 up to 72");
  const ClusterShape hosts = {.gpus = 64, .gpus_per_node = 8, .nvlink_domain = 8, .tier_nodes = {}};
  EXPECT_EQ(refusal(layout_of(64, 4, 1), hosts, 8).message,
            "an NVLink domain of 8 GPUs is no larger than a host");
}

}  // namespace
}  // namespace orrery::layout
