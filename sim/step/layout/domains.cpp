#include "sim/step/layout/domains.hpp"

#include <fmt/core.h>

#include <numeric>
#include <string>

#include "sim/step/layout/placement.hpp"

namespace orrery::layout {

namespace {

constexpr const char* kKey = "cluster.network.domain_gpus";

struct NamedKind {
  GroupKind kind;
  const char* name;
};

constexpr std::array<NamedKind, 4> kKinds = {{{GroupKind::tensor, "tensor"},
                                              {GroupKind::context, "tensor x context"},
                                              {GroupKind::expert_tensor, "expert_tensor"},
                                              {GroupKind::expert, "expert x expert_tensor"}}};

// What the groups ask of a number of GPUs.
struct Blocks {
  std::int64_t unit = 1;             // it must be a multiple of this
  std::vector<std::int64_t> larger;  // and divide these
  std::string text;                  // the groups inside a domain, "tensor of 8, ..."
};

Blocks blocks_of(const Layout& layout, const ClusterShape& cluster) {
  const RankMap map(layout);
  Blocks blocks{cluster.gpus_per_node, {}, {}};
  for (const NamedKind& group : kKinds) {
    const auto run = map.run(group.kind, RankId{0});
    if (!run || run->count == 1) {
      continue;
    }
    const std::int64_t block = run->stride * run->count;
    if (block <= cluster.nvlink_domain) {
      blocks.unit = std::lcm(blocks.unit, block);
      blocks.text += fmt::format("{}{} of {}", blocks.text.empty() ? "" : ", ", group.name, block);
    } else if (run->count > cluster.nvlink_domain) {
      blocks.larger.push_back(block);
    }
  }
  return blocks;
}

bool cuts_evenly(const Blocks& blocks, std::int64_t used) {
  for (const std::int64_t block : blocks.larger) {
    if (block % used != 0) {
      return false;
    }
  }
  return true;
}

std::optional<std::int64_t> find_used(const Blocks& blocks, const ClusterShape& cluster) {
  std::optional<std::int64_t> largest;
  const std::int64_t most = cluster.nvlink_domain / blocks.unit * blocks.unit;
  for (std::int64_t used = most; used > 0; used -= blocks.unit) {
    if (!cuts_evenly(blocks, used)) {
      continue;
    }
    if (cluster.gpus % used == 0 && 2 * used >= cluster.nvlink_domain) {
      return used;
    }
    largest = largest ? largest : used;
  }
  return largest;
}

LayoutProblem straddles(const Blocks& blocks, const ClusterShape& cluster) {
  const std::string larger =
      blocks.larger.empty()
          ? std::string()
          : fmt::format("{}a group of {}", blocks.text.empty() ? "" : ", ", blocks.larger.front());
  return {
      kKey,
      fmt::format("no number of GPUs of an NVLink domain of {} in hosts of {} keeps every group "
                  "inside a domain or cuts it evenly ({}{})",
                  cluster.nvlink_domain, cluster.gpus_per_node, blocks.text, larger),
      fmt::format("other degrees, or domain_gpus: {} to let groups lie across domains",
                  cluster.nvlink_domain / cluster.gpus_per_node * cluster.gpus_per_node)};
}

// Tiers of whole domains hold as many of them as before.
ClusterShape with_used(ClusterShape cluster, std::int64_t used) {
  const std::int64_t hosts = cluster.nvlink_domain / cluster.gpus_per_node;
  for (std::int64_t& nodes : cluster.tier_nodes) {
    if (nodes % hosts == 0) {
      nodes = nodes / hosts * (used / cluster.gpus_per_node);
    }
  }
  cluster.nvlink_domain = used;
  return cluster;
}

}  // namespace

std::variant<ClusterShape, LayoutProblem> use_domains(const Layout& layout,
                                                      const ClusterShape& cluster,
                                                      std::optional<std::int64_t> asked) {
  const bool of_hosts = cluster.nvlink_domain > cluster.gpus_per_node;
  if (asked &&
      (!of_hosts || *asked > cluster.nvlink_domain || *asked % cluster.gpus_per_node != 0)) {
    return LayoutProblem{
        kKey,
        of_hosts ? fmt::format("{} GPUs are no whole hosts of {} in an NVLink domain of {}", *asked,
                               cluster.gpus_per_node, cluster.nvlink_domain)
                 : fmt::format("an NVLink domain of {} GPUs is no larger than a host",
                               cluster.nvlink_domain),
        of_hosts
            ? fmt::format("multiples of {} up to {}", cluster.gpus_per_node, cluster.nvlink_domain)
            : std::string("leave it out")};
  }
  if (asked) {
    return with_used(cluster, *asked);
  }
  if (!of_hosts || cluster.gpus <= cluster.nvlink_domain) {
    return cluster;
  }
  const Blocks blocks = blocks_of(layout, cluster);
  const std::optional<std::int64_t> used = find_used(blocks, cluster);
  if (!used) {
    return straddles(blocks, cluster);
  }
  return with_used(cluster, *used);
}

}  // namespace orrery::layout
