// Keys of `cluster`: GPUs, nodes and the network between them.

#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/step/hardware/cluster_spec.hpp"

namespace orrery::scenario {

namespace {

using yaml::between;
namespace kind = yaml::kind;

constexpr std::int64_t kMostGpusPerNode = 1024;

bool is_one_switch(const Draft& draft) {
  return draft.scenario.cluster.nodes > 1 && draft.scenario.cluster.network.tiers.empty();
}

constexpr Idle kOneNode = ORRERY_WHEN(d.scenario.cluster.nodes == 1, "one node needs no network");

void add_machines(Rows& keys) {
  keys.section("cluster", "Which machines the job runs on; spares come on top (capacity.spares).",
               "{preset: dgx-h100, nodes: 8}", {.required = true});
  keys.preset("cluster.preset",
              "A machine as it is sold or rented: its GPU, node and network, and its price where "
              "it has one; keys stated here replace its own.",
              "dgx-h100", PresetKind::clusters,
              {[](Draft& draft, const PresetPtr& preset) {
                 draft.scenario.cluster = preset->cluster;
                 draft.offered = preset->prices.spec;
               },
               [](Draft& draft) { return draft.scenario.cluster.preset; }},
              {.note = "the cluster is spelled out"});
  keys.text("cluster.gpu", "A GPU profile: a name that `orrery list` shows, or the path of a file.",
            "h100-sxm-80gb", ORRERY_AT(scenario.cluster.gpu),
            {.note = "the preset's; required without one"});
  keys.count("cluster.nodes", "Hosts that the job runs on.", "2048", {1, kMostNodes},
             ORRERY_AT(nodes),
             {.aliases = {"num_nodes"},
              .note = "gpus / gpus_per_node; one of nodes and gpus is required"});
  keys.count("cluster.gpus", "GPUs of all nodes, as another way to give the nodes.", "16384",
             {1, kMostGpus}, ORRERY_AT(gpus),
             {.aliases = {"count", "num_gpus", "world_size"}, .note = "nodes x gpus_per_node"});
  keys.count("cluster.gpus_per_node", "GPUs of one host.", "4", {1, kMostGpusPerNode},
             ORRERY_AT(scenario.cluster.gpus_per_node),
             {.aliases = {"num_gpus_per_node"},
              .note = "the preset's; else 4 for GB200 and GB300, 8 for others"});
}

void add_mixed(Rows& keys) {
  keys.list("cluster.mixed",
            "Nodes with other GPUs: the last ones, in this order. Groups over several types run at "
            "the slowest.",
            "[{gpu: a100-sxm-80gb, nodes: 4}]", ORRERY_AT(scenario.cluster.mixed),
            {.note = "all nodes hold cluster.gpu"});
  keys.text("cluster.mixed[].gpu", "Their GPU profile.", "a100-sxm-80gb",
            ORRERY_AT(scenario.cluster.mixed.back().gpu), {.required = true});
  keys.count("cluster.mixed[].nodes", "How many of the nodes.", "4", {1, kMostNodes},
             ORRERY_AT(scenario.cluster.mixed.back().nodes), {.required = true});
}

void add_network(Rows& keys) {
  keys.section("cluster.network",
               "A preset, or nic_rate and nics_per_node; keys beside a preset replace its own.",
               "{nic_rate: 200Gbps, nics_per_node: 8}",
               {.note = "none: only a single node can do without"});
  keys.preset("cluster.network.preset", "A published network; `orrery list` shows their sources.",
              "infiniband-400g", PresetKind::networks,
              {[](Draft& draft, const PresetPtr& preset) {
                 draft.scenario.cluster.network = preset->network;
               },
               [](Draft& draft) { return draft.scenario.cluster.network.preset; }},
              {.note = "the network is spelled out"});
  keys.count("cluster.network.nvlink_domain",
             "GPUs that reach one another over NVLink, in one host or in a rack.", "72",
             {1, 65'536}, ORRERY_AT(scenario.cluster.network.nvlink_domain),
             {.note = "the preset's; else gpus_per_node where the GPU has NVLink (72 for GB200 and "
                      "GB300 where gpus_per_node is not stated), else 1"});
  keys.count(
      "cluster.network.domain_gpus",
      "GPUs that the job uses of each NVLink domain of several hosts; where stated, groups may lie "
      "across domains.",
      "64", {1, 65'536}, ORRERY_AT(scenario.cluster.network.domain_gpus),
      {.note = "as many as whole groups fill, alike in all domains: 64 of 72 with powers of two"});
  keys.value<kind::Bandwidth>("cluster.network.nic_rate", "Line rate of one NIC in one direction.",
                              "200Gbps", {}, ORRERY_AT(scenario.cluster.network.nic_rate),
                              {.note = "the preset's; required without one", .idle = {kOneNode}});
  keys.count("cluster.network.nics_per_node", "NICs of one host that the job uses.", "4",
             {0, kMostGpusPerNode}, ORRERY_AT(scenario.cluster.network.nics_per_node),
             {.note = "the preset's; required without one", .idle = {kOneNode}});
}

template <typename E, std::size_t N>
std::vector<yaml::Choice<E>> named_choices(const std::array<hardware::NamedValue<E>, N>& names) {
  std::vector<yaml::Choice<E>> choices;
  for (const hardware::NamedValue<E>& named : names) {
    choices.push_back({named.name, named.value});
  }
  return choices;
}

// How the wires behave beyond their rates.
void add_fabric(Rows& keys) {
  keys.choice<hardware::FabricKind>(
      "cluster.network.fabric",
      "Transport of the NICs: its latency, and which measured collectives are near.", "roce",
      named_choices(hardware::kFabricNames), ORRERY_AT(scenario.cluster.network.fabric),
      {.note = "the preset's; else infiniband", .idle = {kOneNode}});
  keys.choice<hardware::Routing>(
      "cluster.network.routing",
      "How flows are spread over the uplinks of a switch: static_ecmp hashes each flow to one "
      "link, and a collective runs at the pace of the fullest.",
      "static_ecmp", named_choices(hardware::kRoutingNames),
      ORRERY_AT(scenario.cluster.network.routing),
      {.fallback = "adaptive",
       .idle = {kOneNode, ORRERY_WHEN(is_one_switch(d) && d.scenario.cluster.network.routing ==
                                                              hardware::Routing::static_ecmp,
                                      "without tiers one switch holds every node")}});
  keys.choice<hardware::CrossRail>(
      "cluster.network.cross_rail",
      "How an all-to-all reaches NICs of another number: leaf (one switch holds all NICs of a "
      "node), pxn (rails; over NVLink to the GPU on that rail) or spine (rails; through the next "
      "level of switches).",
      "pxn", named_choices(hardware::kCrossRailNames),
      ORRERY_AT(scenario.cluster.network.cross_rail),
      {.fallback = "leaf",
       .idle = {kOneNode, ORRERY_WHEN(is_one_switch(d) && d.scenario.cluster.network.cross_rail ==
                                                              hardware::CrossRail::spine,
                                      "without tiers there is no switch above the rails")}});
  keys.choice<hardware::CollectiveAlgorithm>(
      "cluster.network.algorithm", "NCCL_ALGO: one algorithm for every collective that it can do.",
      "ring", named_choices(hardware::kForcedAlgorithms),
      ORRERY_AT(scenario.cluster.network.algorithm), {.fallback = "automatic"});
  keys.text("cluster.network.collectives",
            "A file of collectives measured on this cluster (orrery-collectives/1), taken before "
            "the shipped tables; none: NCCL's model alone.",
            "./our-collectives.yaml", ORRERY_AT(scenario.cluster.network.collectives),
            {.note = "the shipped tables"});
}

void add_sharp(Rows& keys) {
  keys.flag("cluster.network.sharp",
            "The switches of the fabric reduce (InfiniBand SHARP), so that NVLS spans nodes.",
            "true", ORRERY_AT(scenario.cluster.network.sharp),
            {.fallback = "false", .idle = {kOneNode}});
}

void add_links_down(Rows& keys) {
  keys.list("cluster.network.links_down",
            "Nodes with broken NICs: synchronous collectives run at the pace of the worst.",
            "[{node: 17, nics: 1}]", ORRERY_AT(scenario.cluster.network.links_down),
            {.note = "every link works", .idle = {kOneNode}});
  keys.count("cluster.network.links_down[].node", "Number of the node, from 0.", "17",
             {0, kMostNodes}, ORRERY_AT(scenario.cluster.network.links_down.back().node),
             {.required = true});
  keys.count("cluster.network.links_down[].nics", "Its NICs that do not work.", "1",
             {1, kMostGpusPerNode}, ORRERY_AT(scenario.cluster.network.links_down.back().nics),
             {.fallback = "1"});
}

constexpr Idle kNoFlows =
    ORRERY_WHEN(d.scenario.cluster.network.detail == hardware::NetworkDetail::groups,
                "only cluster.network.detail: flows and ranks know single links");

void add_flows(Rows& keys) {
  keys.choice<hardware::NetworkDetail>(
      "cluster.network.detail",
      "How traffic meets on the network: each collective is priced by itself and met by factors "
      "(groups), or collectives and messages are flows that share every link, one replica for all "
      "(flows) or each kind of replica for itself (ranks).",
      "flows", named_choices(hardware::kNetworkDetails), ORRERY_AT(scenario.cluster.network.detail),
      {.fallback = "groups", .idle = {kOneNode}});
}

#define ORRERY_FAULT(field) ORRERY_AT(scenario.cluster.network.faults.back().field)

void add_faults(Rows& keys) {
  keys.list("cluster.network.faults",
            "Links that run at a share of their rate, from a time of the step on: the NICs of a "
            "node, or the links of a switch.",
            "[{node: 17, nic: 3, share: 0.5}, {tier: leaf, block: 2, share: 0.5}]",
            ORRERY_AT(scenario.cluster.network.faults),
            {.note = "every link has its rate", .idle = {kOneNode, kNoFlows}});
  keys.count("cluster.network.faults[].node", "Node whose NICs are slow, from 0.", "17",
             {0, kMostNodes}, ORRERY_FAULT(node), {.note = "a switch is meant: tier and block"});
  keys.count("cluster.network.faults[].nic", "Number of the NIC in the node, from 0.", "3",
             {0, kMostGpusPerNode}, ORRERY_FAULT(nic), {.note = "all NICs of the node"});
  keys.text("cluster.network.faults[].tier", "Level of the switch, by its name in tiers.", "leaf",
            ORRERY_FAULT(tier), {.note = "a node is meant"});
  keys.count("cluster.network.faults[].block", "Number of the switch block on its level, from 0.",
             "2", {0, kMostNodes}, ORRERY_FAULT(block), {.fallback = "0"});
  keys.count("cluster.network.faults[].rail",
             "Rail or plane whose switch is meant, from 0, where each has one (cross_rail: pxn or "
             "spine).",
             "3", {0, kMostGpusPerNode}, ORRERY_FAULT(rail), {.note = "all rails"});
  keys.count("cluster.network.faults[].uplinks",
             "Uplinks of the switch that are slow: one cable, or some.", "1", {1, kMostNodes},
             ORRERY_FAULT(uplinks), {.note = "all uplinks of the switch"});
  keys.choice<hardware::FaultyPart>(
      "cluster.network.faults[].part",
      "What of the switch is slow: its uplinks to the next level, or all its links (switch).",
      "switch", named_choices(hardware::kFaultyParts), ORRERY_FAULT(part), {.fallback = "uplinks"});
  keys.value<kind::Number>("cluster.network.faults[].share",
                           "Share of its rate that a link still has.", "0.5", between(0.001, 1.0),
                           ORRERY_FAULT(share), {.required = true});
  keys.value<kind::Time>("cluster.network.faults[].from", "When in the step it begins.", "2s", {},
                         ORRERY_FAULT(from), {.fallback = "0"});
  keys.value<kind::Time>("cluster.network.faults[].until", "When in the step it ends.", "4s", {},
                         ORRERY_FAULT(until), {.note = "to the end of the step"});
}

#undef ORRERY_FAULT

void add_network_tiers(Rows& keys) {
  Key& tiers =
      keys.list("cluster.network.tiers", "Switch levels, the lowest first.",
                "[{name: leaf, nodes: 32}, {name: spine, nodes: 256}]",
                ORRERY_AT(scenario.cluster.network.tiers),
                {.note = "the preset's; else one switch above all nodes", .idle = {kOneNode}});
  tiers.begin_list = [](Reading& reading) { reading.draft.scenario.cluster.network.tiers.clear(); };
  keys.text("cluster.network.tiers[].name", "What reports call the level.", "leaf",
            ORRERY_AT(scenario.cluster.network.tiers.back().name), {.required = true});
  keys.count("cluster.network.tiers[].nodes",
             "Nodes below one switch block of the level; more than the level below.", "32",
             {1, kMostNodes * kMostGpusPerNode},
             ORRERY_AT(scenario.cluster.network.tiers.back().nodes), {.required = true});
  keys.value<kind::Number>(
      "cluster.network.tiers[].oversubscription",
      "Capacity towards the nodes / capacity towards the next level.", "7", between(1.0, 100.0),
      ORRERY_AT(scenario.cluster.network.tiers.back().oversubscription), {.fallback = "1"});
  keys.value<kind::Time>(
      "cluster.network.tiers[].latency", "One-way latency that crossing the level adds.", "2us",
      yaml::at_most(seconds(1.0)), ORRERY_AT(scenario.cluster.network.tiers.back().latency),
      {.fallback = "0"});
}

}  // namespace

void cluster_keys(Rows& keys) {
  add_machines(keys);
  add_mixed(keys);
  add_network(keys);
  add_network_tiers(keys);
  add_fabric(keys);
  add_sharp(keys);
  add_links_down(keys);
  add_flows(keys);
  add_faults(keys);
}

}  // namespace orrery::scenario
