// Switches from Slurm's topology.conf and NICs from NCCL's topology XML.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

// The tree of the manual page, with a rack that is not full and a speed that nothing reads.
constexpr const char* kTree = R"(# topology/tree
SwitchName=s0 Nodes=tux[0-3,12,18-20] LinkSpeed=900
SwitchName=s1 Nodes=tux[4-11]
switchname=s2 nodes=tux[13-17],login[01-02] \
  LinkSpeed=900
SwitchName=top Switches=s[0-2]
)";

TEST(SlurmTopology, LevelsOfSwitchesBecomeTiers) {
  const Imported tree = import_texts({{"topology.conf", kTree}});
  EXPECT_EQ(tree.problems(), "");
  EXPECT_EQ(tree.value("cluster.network.tiers"),
            "[{name: leaf, nodes: 8}, {name: spine, nodes: 23}]");
  EXPECT_EQ(tree.why("cluster.network.tiers"), "leaf: 7 to 8 nodes, the most taken");
  EXPECT_EQ(tree.line("cluster.network.tiers"), 2);
  EXPECT_EQ(tree.effect("SwitchName.s0.LinkSpeed"), "none");
  EXPECT_TRUE(tree.notes("oversubscription"));
  EXPECT_TRUE(tree.asks("cluster.nodes"));
}

TEST(SlurmTopology, ThreeLevelsAndAnEmptyOne) {
  const Imported tree =
      import_texts({{"topology.conf",
                     "SwitchName=a Nodes=n[001-064]\nSwitchName=b Nodes=n[065-128]\n"
                     "SwitchName=ab Switches=a,b\nSwitchName=up Switches=ab\n"
                     "SwitchName=c Nodes=n[129-192]\nSwitchName=core Switches=up,c\n"}});
  EXPECT_EQ(tree.value("cluster.network.tiers"),
            "[{name: leaf, nodes: 64}, {name: spine, nodes: 128}, {name: tier 4, nodes: 192}]");
}

TEST(SlurmTopology, BlocksBecomeOneTier) {
  const Imported blocks = import_texts(
      {{"topology.conf",
        "BlockName=b1 Nodes=rack1-[01-18]\nBlockName=b2 Nodes=rack2-[01-18]\nBlockSizes=16,32\n"}});
  EXPECT_EQ(blocks.problems(), "");
  EXPECT_EQ(blocks.value("cluster.network.tiers"), "[{name: block, nodes: 18}]");
  EXPECT_EQ(blocks.effect("BlockSizes"), "none");
}

// The example of the manual page: of several topologies the cluster's default counts.
constexpr const char* kYaml = R"(---
- topology: racks
  cluster_default: false
  block:
    block_sizes: [4, 16]
    blocks:
      - block: b1
        nodes: node[01-04]
      - block: b2
        nodes: node[05-08]
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: sw_root
        children: s[1-2]
      - switch: s1
        nodes: node[01-02]
      - switch: s2
        nodes: node[03-05]
)";

TEST(SlurmTopology, ComesAsYamlToo) {
  const Imported tree = import_texts({{"topology.yaml", kYaml}});
  EXPECT_EQ(tree.problems(), "");
  EXPECT_EQ(tree.value("cluster.network.tiers"),
            "[{name: leaf, nodes: 3}, {name: spine, nodes: 5}]");
  EXPECT_EQ(tree.line("cluster.network.tiers"), 16);
  std::string blocks = kYaml;
  blocks = blocks.substr(0, blocks.find("- topology: fabric"));
  const Imported one = import_texts({{"topology.yaml", blocks}});
  EXPECT_EQ(one.problems(), "");
  EXPECT_EQ(one.value("cluster.network.tiers"), "[{name: block, nodes: 4}]");
  EXPECT_EQ(one.effect("BlockSizes"), "none");
}

TEST(SlurmTopology, StandsBesideALaunchScript) {
  const Imported both = import_texts(
      {{"run.sh",
        "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
        "--seq-length 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64"},
       {"topology.conf", kTree}},
      machines());
  EXPECT_EQ(both.problems(), "");
  EXPECT_TRUE(both.result.complete());
  EXPECT_NE(both.result.scenario.find("tiers"), std::string::npos);
}

struct Wrong {
  const char* text;
  const char* problem;
};

TEST(SlurmTopology, SaysWhatIsWrongAndWhere) {
  for (const Wrong& wrong : {
           Wrong{"SwitchName=s0 Nodes=tux[0-3\n",
                 "topology.conf:1:15: error: SwitchName.s0.Nodes: is no list of names"},
           Wrong{"SwitchName=s0 Nodes=a1\nSwitchName=s1 Switches=s0,s7\n",
                 "topology.conf:2:15: error: SwitchName.s1.Switches: names s7, which is no "
                 "SwitchName"},
           Wrong{"SwitchName=s0 Switches=s1\nSwitchName=s1 Switches=s0\n", "is above itself"},
           Wrong{"SwitchName=s0 Nodes=a1\nSwitchName=s0 Nodes=a2\n",
                 "topology.conf:2:1: error: SwitchName: s0 stands twice"},
           Wrong{"SwitchName=s0 Nodes\n", "topology.conf:1:15: error: Nodes: is no NAME=VALUE"},
           Wrong{"SwitchName=s0 Nodes=a[1-9] Weight=4\n", "SwitchName.s0.Weight: not understood"},
           Wrong{"- topology: all\n  flat: true\n",
                 "topology.conf:1:3: error: topology: is neither a tree nor a block"},
           Wrong{"- topology: a\n  tree: {switches: [{switch: s, nodes: n1}]}\n"
                 "- topology: b\n  flat: true\n",
                 "cluster_default: is true in none of 2 topologies"},
           Wrong{"- topology: a\n  tree:\n    switches:\n    - switch: s\n      nodes: n[1\n",
                 "topology.conf:5:7: error: SwitchName.s.Nodes: is no list of names"},
       }) {
    const Imported tree = import_texts({{"topology.conf", wrong.text}});
    EXPECT_NE(tree.problems().find(wrong.problem), std::string::npos)
        << wrong.text << tree.problems();
  }
}

// A node of eight GPUs as NCCL 2.22 writes it, on virtual machines of IBM with eight subnets (its
// documentation, 2024-11-21); `card` is the PCI class of the NICs.
std::string node_of(int gpus, const std::string& card, int rate = 200000, int gdr = 1) {
  std::string text = "<system version=\"1\">\n";
  for (int cpu = 0; cpu < 2; ++cpu) {
    text += fmt::format("  <cpu host_hash=\"0xa5f31daa95182da8\" numaid=\"{}\" arch=\"x86_64\">\n",
                        cpu);
    for (int i = cpu * gpus / 2; i < (cpu + 1) * gpus / 2; ++i) {
      text += fmt::format(
          "    <pci busid=\"0000:a{0}:00.0\" class=\"0x060400\" link_speed=\"2.5 GT/s PCIe\">\n"
          "      <pci busid=\"0000:b{0}:00.0\" class=\"{1}\" vendor=\"0x15b3\" device=\"0x101e\">\n"
          "        <nic>\n          <net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"{2}\" port=\"1\" "
          "latency=\"0.000000\" guid=\"0x{0}\" maxconn=\"131072\" gdr=\"{3}\"/>\n        </nic>\n  "
          "    </pci>\n"
          "      <pci busid=\"0000:c{0}:00.0\" class=\"0x030200\" vendor=\"0x10de\" "
          "device=\"0x2330\">\n"
          "        <gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\">\n"
          "          <nvlink target=\"0000:f5:00.0\" count=\"18\" tclass=\"0x068000\"/>\n        "
          "</gpu>\n"
          "      </pci>\n    </pci>\n",
          i, card, rate, gdr);
    }
    text += "  </cpu>\n";
  }
  return text + "</system>\n";
}

TEST(NcclTopology, GpusAndNicsOfANode) {
  const Imported node = import_texts({{"topo.xml", node_of(8, "0x020000")}});
  EXPECT_EQ(node.problems(), "");
  EXPECT_EQ(node.value("cluster.gpus_per_node"), "8");
  EXPECT_EQ(node.value("cluster.network.nic_rate"), "200Gbps");
  EXPECT_EQ(node.value("cluster.network.nics_per_node"), "8");
  EXPECT_EQ(node.value("cluster.network.fabric"), "roce");
  EXPECT_EQ(node.value("cluster.network.nvlink_domain"), "");
  EXPECT_EQ(node.effect("gpu.sm"), "none");
  EXPECT_EQ(node.effect("pci.link_speed"), "small");
  EXPECT_EQ(node.line("cluster.network.nic_rate"), 6);
  const Imported infiniband = import_texts({{"topo.xml", node_of(4, "0x020700", 400000)}});
  EXPECT_EQ(infiniband.value("cluster.network.fabric"), "infiniband");
  EXPECT_EQ(infiniband.value("cluster.gpus_per_node"), "4");
}

TEST(NcclTopology, ASlowerNicIsNotForTraining) {
  std::string text = node_of(8, "0x020700", 400000);
  const std::size_t end = text.rfind("  </cpu>");
  text.insert(end, "    <nic><net name=\"eth0\" dev=\"8\" speed=\"10000\" gdr=\"1\"/></nic>\n");
  const Imported node = import_texts({{"topo.xml", text}});
  EXPECT_EQ(node.problems(), "");
  EXPECT_EQ(node.value("cluster.network.nics_per_node"), "8");
  EXPECT_EQ(node.why("cluster.network.nics_per_node"),
            "those of 400000 Mbit/s; 1 slower ones are left out");
}

TEST(NcclTopology, WithoutGpuDirectItStops) {
  const Imported node = import_texts({{"topo.xml", node_of(8, "0x020700", 400000, 0)}});
  EXPECT_NE(node.problems().find("net.gdr: without GPUDirect RDMA"), std::string::npos)
      << node.problems();
}

TEST(NcclTopology, SaysWhatIsWrongAndWhere) {
  std::string cut_off = node_of(8, "0x020700");
  cut_off.resize(cut_off.size() - 20);
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {cut_off, "`cpu` is not closed: the file is cut off"},
           {"<system version=\"1\"><cpu numaid=\"0\"></system></cpu>",
            "topo.xml:1:45: error: `system` is closed here, but not open"},
           {"<system version=\"1\"><cpu numaid=0></cpu></system>",
            "topo.xml:1:32: error: `cpu` has an attribute that is no NAME=\"VALUE\""},
           {"<system version=\"1\"><cpu numaid=\"0\"><nic><net speed=\"fast\" "
            "gdr=\"1\"/></nic></cpu></system>",
            "net.speed: `fast` is no rate in Mbit/s"},
           {"<system version=\"1\"><cpu numaid=\"0\"><warp drive=\"9\"/></cpu></system>",
            "warp.drive: not understood"},
       }) {
    const Imported node = import_texts({{"topo.xml", text}});
    EXPECT_NE(node.problems().find(problem), std::string::npos) << problem << node.problems();
  }
}

}  // namespace
}  // namespace orrery::import_config::testing
