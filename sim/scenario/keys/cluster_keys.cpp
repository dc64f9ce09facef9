// Keys of `cluster`: GPUs, nodes and the network between them.

#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/table/limits.hpp"
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

void add_machines(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "cluster",
                              .meaning = "Which machines the job runs on; spares come on top "
                                         "(capacity.spares).",
                              .example = "{preset: dgx-h100, nodes: 8}",
                              .required = true}));
  keys.push_back(preset_key(
      {.path = "cluster.preset",
       .note = "the cluster is spelled out",
       .meaning = "A machine as it is sold or rented: its GPU, node and network, and its price "
                  "where it has one; keys stated here replace its own.",
       .example = "dgx-h100"},
      PresetKind::clusters,
      {[](Draft& draft, const PresetPtr& preset) {
         draft.scenario.cluster = preset->cluster;
         draft.offered = preset->prices.spec;
       },
       [](Draft& draft) { return draft.scenario.cluster.preset; }}));
  keys.push_back(
      text_key({.path = "cluster.gpu",
                .note = "the preset's; required without one",
                .meaning = "A GPU profile: a name that `orrery list` shows, or the path of a file.",
                .example = "h100-sxm-80gb"},
               ORRERY_AT(scenario.cluster.gpu)));
  keys.push_back(count_key({.path = "cluster.nodes",
                            .aliases = {"num_nodes"},
                            .note = "gpus / gpus_per_node; one of nodes and gpus is required",
                            .meaning = "Hosts that the job runs on.",
                            .example = "2048"},
                           {1, kMostNodes}, ORRERY_AT(nodes)));
  keys.push_back(count_key({.path = "cluster.gpus",
                            .aliases = {"count", "num_gpus", "world_size"},
                            .note = "nodes x gpus_per_node",
                            .meaning = "GPUs of all nodes, as another way to give the nodes.",
                            .example = "16384"},
                           {1, kMostGpus}, ORRERY_AT(gpus)));
  keys.push_back(count_key({.path = "cluster.gpus_per_node",
                            .aliases = {"num_gpus_per_node"},
                            .note = "the preset's; else 4 for GB200 and GB300, 8 for others",
                            .meaning = "GPUs of one host.",
                            .example = "4"},
                           {1, kMostGpusPerNode}, ORRERY_AT(scenario.cluster.gpus_per_node)));
}

void add_mixed(std::vector<Key>& keys) {
  keys.push_back(list_key({.path = "cluster.mixed",
                           .note = "all nodes hold cluster.gpu",
                           .meaning = "Nodes with other GPUs: the last ones, in this order. Groups "
                                      "over several types run at the slowest.",
                           .example = "[{gpu: a100-sxm-80gb, nodes: 4}]"},
                          ORRERY_AT(scenario.cluster.mixed)));
  keys.push_back(text_key({.path = "cluster.mixed[].gpu",
                           .meaning = "Their GPU profile.",
                           .example = "a100-sxm-80gb",
                           .required = true},
                          ORRERY_AT(scenario.cluster.mixed.back().gpu)));
  keys.push_back(count_key({.path = "cluster.mixed[].nodes",
                            .meaning = "How many of the nodes.",
                            .example = "4",
                            .required = true},
                           {1, kMostNodes}, ORRERY_AT(scenario.cluster.mixed.back().nodes)));
}

void add_network(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "cluster.network",
                              .note = "none: only a single node can do without",
                              .meaning = "A preset, or nic_rate and nics_per_node; keys beside a "
                                         "preset replace its own.",
                              .example = "{nic_rate: 200Gbps, nics_per_node: 8}"}));
  keys.push_back(preset_key({.path = "cluster.network.preset",
                             .note = "the network is spelled out",
                             .meaning = "A published network; `orrery list` shows their sources.",
                             .example = "infiniband-400g"},
                            PresetKind::networks,
                            {[](Draft& draft, const PresetPtr& preset) {
                               draft.scenario.cluster.network = preset->network;
                             },
                             [](Draft& draft) { return draft.scenario.cluster.network.preset; }}));
  keys.push_back(
      count_key({.path = "cluster.network.nvlink_domain",
                 .note = "the preset's; else gpus_per_node where the GPU has NVLink (72 for GB200 "
                         "and GB300 where "
                         "gpus_per_node is not stated), else 1",
                 .meaning = "GPUs that reach one another over NVLink, in one host or in a rack.",
                 .example = "72"},
                {1, 65'536}, ORRERY_AT(scenario.cluster.network.nvlink_domain)));
  keys.push_back(count_key(
      {.path = "cluster.network.domain_gpus",
       .note = "as many as whole groups fill, alike in all domains: 64 of 72 with powers of two",
       .meaning = "GPUs that the job uses of each NVLink domain of several hosts; where stated, "
                  "groups may lie across domains.",
       .example = "64"},
      {1, 65'536}, ORRERY_AT(scenario.cluster.network.domain_gpus)));
  keys.push_back(value_key<kind::Bandwidth>({.path = "cluster.network.nic_rate",
                                             .note = "the preset's; required without one",
                                             .meaning = "Line rate of one NIC in one direction.",
                                             .example = "200Gbps",
                                             .idle = {kOneNode}},
                                            {}, ORRERY_AT(scenario.cluster.network.nic_rate)));
  keys.push_back(count_key({.path = "cluster.network.nics_per_node",
                            .note = "the preset's; required without one",
                            .meaning = "NICs of one host that the job uses.",
                            .example = "4",
                            .idle = {kOneNode}},
                           {0, kMostGpusPerNode},
                           ORRERY_AT(scenario.cluster.network.nics_per_node)));
}

template <typename E, std::size_t N>
std::vector<yaml::Choice<E>> choices_of(const std::array<hardware::NamedValue<E>, N>& names) {
  std::vector<yaml::Choice<E>> choices;
  for (const hardware::NamedValue<E>& named : names) {
    choices.push_back({named.name, named.value});
  }
  return choices;
}

// How the wires behave beyond their rates.
void add_fabric(std::vector<Key>& keys) {
  keys.push_back(choice_key<hardware::FabricKind>(
      {.path = "cluster.network.fabric",
       .note = "the preset's; else infiniband",
       .meaning = "Transport of the NICs: its latency, and which measured collectives are near.",
       .example = "roce",
       .idle = {kOneNode}},
      choices_of(hardware::kFabricNames), ORRERY_AT(scenario.cluster.network.fabric)));
  keys.push_back(choice_key<hardware::Routing>(
      {.path = "cluster.network.routing",
       .fallback = "adaptive",
       .meaning = "How flows are spread over the uplinks of a switch: static_ecmp hashes each flow "
                  "to one link, and a collective runs at the pace of the fullest.",
       .example = "static_ecmp",
       .idle = {kOneNode, ORRERY_WHEN(is_one_switch(d) && d.scenario.cluster.network.routing ==
                                                              hardware::Routing::static_ecmp,
                                      "without tiers one switch holds every node")}},
      choices_of(hardware::kRoutingNames), ORRERY_AT(scenario.cluster.network.routing)));
  keys.push_back(choice_key<hardware::CrossRail>(
      {.path = "cluster.network.cross_rail",
       .fallback = "leaf",
       .meaning =
           "How an all-to-all reaches NICs of another number: leaf (one switch holds all NICs "
           "of a node), pxn (rails; over NVLink to the GPU on that rail) or spine (rails; "
           "through the next level of switches).",
       .example = "pxn",
       .idle = {kOneNode, ORRERY_WHEN(is_one_switch(d) && d.scenario.cluster.network.cross_rail ==
                                                              hardware::CrossRail::spine,
                                      "without tiers there is no switch above the rails")}},
      choices_of(hardware::kCrossRailNames), ORRERY_AT(scenario.cluster.network.cross_rail)));
  keys.push_back(choice_key<hardware::CollectiveAlgorithm>(
      {.path = "cluster.network.algorithm",
       .fallback = "automatic",
       .meaning = "NCCL_ALGO: one algorithm for every collective that it can do.",
       .example = "ring"},
      choices_of(hardware::kForcedAlgorithms), ORRERY_AT(scenario.cluster.network.algorithm)));
  keys.push_back(
      text_key({.path = "cluster.network.collectives",
                .note = "the shipped tables",
                .meaning = "A file of collectives measured on this cluster (orrery-collectives/1), "
                           "taken before the shipped tables; none: NCCL's model alone.",
                .example = "./our-collectives.yaml"},
               ORRERY_AT(scenario.cluster.network.collectives)));
}

void add_sharp(std::vector<Key>& keys) {
  keys.push_back(flag_key(
      {.path = "cluster.network.sharp",
       .fallback = "false",
       .meaning = "The switches of the fabric reduce (InfiniBand SHARP), so that NVLS spans nodes.",
       .example = "true",
       .idle = {kOneNode}},
      ORRERY_AT(scenario.cluster.network.sharp)));
}

void add_links_down(std::vector<Key>& keys) {
  keys.push_back(list_key(
      {.path = "cluster.network.links_down",
       .note = "every link works",
       .meaning = "Nodes with broken NICs: synchronous collectives run at the pace of the worst.",
       .example = "[{node: 17, nics: 1}]",
       .idle = {kOneNode}},
      ORRERY_AT(scenario.cluster.network.links_down)));
  keys.push_back(count_key({.path = "cluster.network.links_down[].node",
                            .meaning = "Number of the node, from 0.",
                            .example = "17",
                            .required = true},
                           {0, kMostNodes},
                           ORRERY_AT(scenario.cluster.network.links_down.back().node)));
  keys.push_back(count_key({.path = "cluster.network.links_down[].nics",
                            .fallback = "1",
                            .meaning = "Its NICs that do not work.",
                            .example = "1"},
                           {1, kMostGpusPerNode},
                           ORRERY_AT(scenario.cluster.network.links_down.back().nics)));
}

constexpr Idle kNoFlows =
    ORRERY_WHEN(d.scenario.cluster.network.detail == hardware::NetworkDetail::groups,
                "only cluster.network.detail: flows and ranks know single links");

void add_flows(std::vector<Key>& keys) {
  keys.push_back(choice_key<hardware::NetworkDetail>(
      {.path = "cluster.network.detail",
       .fallback = "groups",
       .meaning =
           "How traffic meets on the network: each collective is priced by itself and met by "
           "factors (groups), or collectives and messages are flows that share every link, one "
           "replica for all (flows) or each kind of replica for itself (ranks).",
       .example = "flows",
       .idle = {kOneNode}},
      choices_of(hardware::kNetworkDetails), ORRERY_AT(scenario.cluster.network.detail)));
}

#define ORRERY_FAULT(field) ORRERY_AT(scenario.cluster.network.faults.back().field)

void add_faults(std::vector<Key>& keys) {
  keys.push_back(list_key(
      {.path = "cluster.network.faults",
       .note = "every link has its rate",
       .meaning = "Links that run at a share of their rate, from a time of the step on: the NICs "
                  "of a node, or the links of a switch.",
       .example = "[{node: 17, nic: 3, share: 0.5}, {tier: leaf, block: 2, share: 0.5}]",
       .idle = {kOneNode, kNoFlows}},
      ORRERY_AT(scenario.cluster.network.faults)));
  keys.push_back(count_key({.path = "cluster.network.faults[].node",
                            .note = "a switch is meant: tier and block",
                            .meaning = "Node whose NICs are slow, from 0.",
                            .example = "17"},
                           {0, kMostNodes}, ORRERY_FAULT(node)));
  keys.push_back(count_key({.path = "cluster.network.faults[].nic",
                            .note = "all NICs of the node",
                            .meaning = "Number of the NIC in the node, from 0.",
                            .example = "3"},
                           {0, kMostGpusPerNode}, ORRERY_FAULT(nic)));
  keys.push_back(text_key({.path = "cluster.network.faults[].tier",
                           .note = "a node is meant",
                           .meaning = "Level of the switch, by its name in tiers.",
                           .example = "leaf"},
                          ORRERY_FAULT(tier)));
  keys.push_back(count_key({.path = "cluster.network.faults[].block",
                            .fallback = "0",
                            .meaning = "Number of the switch block on its level, from 0.",
                            .example = "2"},
                           {0, kMostNodes}, ORRERY_FAULT(block)));
  keys.push_back(count_key({.path = "cluster.network.faults[].rail",
                            .note = "all rails",
                            .meaning = "Rail or plane whose switch is meant, from 0, where each "
                                       "has one (cross_rail: pxn or spine).",
                            .example = "3"},
                           {0, kMostGpusPerNode}, ORRERY_FAULT(rail)));
  keys.push_back(count_key({.path = "cluster.network.faults[].uplinks",
                            .note = "all uplinks of the switch",
                            .meaning = "Uplinks of the switch that are slow: one cable, or some.",
                            .example = "1"},
                           {1, kMostNodes}, ORRERY_FAULT(uplinks)));
  keys.push_back(choice_key<hardware::FaultyPart>(
      {.path = "cluster.network.faults[].part",
       .fallback = "uplinks",
       .meaning = "What of the switch is slow: its uplinks to the next level, or all its links "
                  "(switch).",
       .example = "switch"},
      choices_of(hardware::kFaultyParts), ORRERY_FAULT(part)));
  keys.push_back(value_key<kind::Number>({.path = "cluster.network.faults[].share",
                                          .meaning = "Share of its rate that a link still has.",
                                          .example = "0.5",
                                          .required = true},
                                         between(0.001, 1.0), ORRERY_FAULT(share)));
  keys.push_back(value_key<kind::Time>({.path = "cluster.network.faults[].from",
                                        .fallback = "0",
                                        .meaning = "When in the step it begins.",
                                        .example = "2s"},
                                       {}, ORRERY_FAULT(from)));
  keys.push_back(value_key<kind::Time>({.path = "cluster.network.faults[].until",
                                        .note = "to the end of the step",
                                        .meaning = "When in the step it ends.",
                                        .example = "4s"},
                                       {}, ORRERY_FAULT(until)));
}

#undef ORRERY_FAULT

void add_network_tiers(std::vector<Key>& keys) {
  Key tiers = list_key({.path = "cluster.network.tiers",
                        .note = "the preset's; else one switch above all nodes",
                        .meaning = "Switch levels, the lowest first.",
                        .example = "[{name: leaf, nodes: 32}, {name: spine, nodes: 256}]",
                        .idle = {kOneNode}},
                       ORRERY_AT(scenario.cluster.network.tiers));
  tiers.begin_list = [](Reading& reading) { reading.draft.scenario.cluster.network.tiers.clear(); };
  keys.push_back(std::move(tiers));
  keys.push_back(text_key({.path = "cluster.network.tiers[].name",
                           .meaning = "What reports call the level.",
                           .example = "leaf",
                           .required = true},
                          ORRERY_AT(scenario.cluster.network.tiers.back().name)));
  keys.push_back(count_key(
      {.path = "cluster.network.tiers[].nodes",
       .meaning = "Nodes below one switch block of the level; more than the level below.",
       .example = "32",
       .required = true},
      {1, kMostNodes * kMostGpusPerNode}, ORRERY_AT(scenario.cluster.network.tiers.back().nodes)));
  keys.push_back(value_key<kind::Number>(
      {.path = "cluster.network.tiers[].oversubscription",
       .fallback = "1",
       .meaning = "Capacity towards the nodes / capacity towards the next level.",
       .example = "7"},
      between(1.0, 100.0), ORRERY_AT(scenario.cluster.network.tiers.back().oversubscription)));
  keys.push_back(value_key<kind::Time>({.path = "cluster.network.tiers[].latency",
                                        .fallback = "0",
                                        .meaning = "One-way latency that crossing the level adds.",
                                        .example = "2us"},
                                       yaml::at_most(seconds(1.0)),
                                       ORRERY_AT(scenario.cluster.network.tiers.back().latency)));
}

}  // namespace

std::vector<Key> cluster_keys() {
  std::vector<Key> keys;
  add_machines(keys);
  add_mixed(keys);
  add_network(keys);
  add_network_tiers(keys);
  add_fabric(keys);
  add_sharp(keys);
  add_links_down(keys);
  add_flows(keys);
  add_faults(keys);
  return keys;
}

}  // namespace orrery::scenario
