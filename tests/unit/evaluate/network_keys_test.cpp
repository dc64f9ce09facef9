// Keys of the network that need tiers, experts or several groups to show: each moves a metric.

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/evaluate/evaluate_fixture.hpp"

namespace orrery::evaluate::test {
namespace {

constexpr std::string_view kTiers = R"(format: orrery/1
name: tiers
model: {preset: llama3-8b, sequence_length: 4096}
cluster:
  gpu: h100-sxm-80gb
  nodes: 8
  network:
    nic_rate: 400Gbps
    nics_per_node: 8
    tiers: [{name: leaf, nodes: 2, oversubscription: 2}, {name: spine, nodes: 8, latency: 2us}]
layout: {tensor: 8, sequence_parallel: true}
software: {name: megatron-core, recipe: plain}
batch: {global: 64, micro: 1}
overlap: {data: false}
)";

double step_time(std::string_view text) {
  return value(must_evaluate(text, {.levers = false}), "step_time");
}

std::string with_network(std::string_view text, const std::string& key) {
  return replaced(text, "    nics_per_node: 8\n", "    nics_per_node: 8\n    " + key + "\n");
}

// Of the rings of a leaf with 2 nodes 8 leave it over 8 uplinks: hashed, the fullest carries 2.6 of
// them, spread evenly each carries one.
TEST(NetworkKeys, StaticHashingSlowsRingsThatLeaveTheirLeaf) {
  const double adaptive = step_time(kTiers);
  EXPECT_GT(step_time(with_network(kTiers, "routing: static_ecmp")), adaptive);
  EXPECT_DOUBLE_EQ(step_time(with_network(kTiers, "routing: spray")), adaptive);
}

// A lone NIC's traffic moves to a neighbour's: the rings of that rail have half the rate.
TEST(NetworkKeys, ABrokenLinkSlowsTheWholeJob) {
  const double whole = step_time(kTiers);
  const double broken = step_time(with_network(kTiers, "links_down: [{node: 5, nics: 1}]"));
  EXPECT_GT(broken, whole);
}

// Gradients of 64 GPUs over 8 nodes: a tree has fewer steps and another rate than a ring.
TEST(NetworkKeys, AForcedAlgorithmReplacesNcclsChoice) {
  std::string flat = replaced(kTiers, "tensor: 8, sequence_parallel: true", "tensor: 1");
  flat = with_network(replaced(flat, "global: 64", "global: 512"), "collectives: none");
  EXPECT_NE(step_time(with_network(flat, "algorithm: tree")),
            step_time(with_network(flat, "algorithm: ring")));
}

TEST(NetworkKeys, SwitchesThatReduceSaveTheStepsOfARing) {
  const std::string flat =
      replaced(replaced(kTiers, "tensor: 8, sequence_parallel: true", "tensor: 1"), "global: 64",
               "global: 512");
  EXPECT_LT(step_time(with_network(flat, "sharp: true")), step_time(flat));
}

// Experts on two nodes: seven eighths of what leaves a node goes to another rail.
TEST(NetworkKeys, CrossRailTrafficTakesTheSpineOrNvlink) {
  std::string experts = replaced(kTiers, "tensor: 8, sequence_parallel: true", "expert: 16");
  experts = replaced(experts, "sequence_length: 4096}",
                     "sequence_length: 4096,\n"
                     "        moe: {num_experts: 16, top_k: 2, ffn_hidden_size: 2048}}");
  experts = replaced(experts, "global: 64", "global: 512");
  const double leaf = step_time(experts);
  const double pxn = step_time(with_network(experts, "cross_rail: pxn"));
  const double spine = step_time(with_network(experts, "cross_rail: spine"));
  EXPECT_GT(pxn, leaf);
  EXPECT_GT(spine, pxn);
}

double with_fault(const std::string& fault) {
  return step_time(with_network(kTiers, "detail: flows\n    faults: [" + fault + "]"));
}

// Reductions that nothing hides: a NIC at half rate takes twice as long as all others, a later
// fault spares what has been sent before.
TEST(NetworkKeys, AFaultByPlaceAndTimeSlowsTheStep) {
  const double whole = step_time(with_network(kTiers, "detail: flows"));
  const double nic = with_fault("{node: 5, nic: 2, share: 0.25}");
  EXPECT_GT(nic, whole);
  EXPECT_DOUBLE_EQ(with_fault("{node: 5, share: 0.25}"), nic);  // its rings run in lockstep
  EXPECT_GT(with_fault("{tier: leaf, block: 1, share: 0.25}"), whole);
  EXPECT_GT(with_fault("{tier: spine, part: switch, share: 0.25}"), whole);
  EXPECT_DOUBLE_EQ(with_fault("{tier: spine, share: 0.25}"), whole);  // nothing above it
  const std::string late = "{node: 5, share: 0.25, from: " + std::to_string(whole) + "s}";
  EXPECT_DOUBLE_EQ(with_fault(late), whole);
  const double brief = with_fault("{node: 5, share: 0.25, until: 1ms}");
  EXPECT_LT(brief, nic);
}

// Even routing makes one link of the 8 uplinks of a leaf: some of them at a share of their rate
// are the whole link at the mean.
TEST(NetworkKeys, SomeUplinksOfASwitchCostTheirPart) {
  const auto slow = [](const std::string& keys) {
    return with_fault("{tier: leaf, block: 1, " + keys + "}");
  };
  EXPECT_DOUBLE_EQ(slow("uplinks: 8, share: 0.25"), slow("share: 0.25"));
  EXPECT_DOUBLE_EQ(slow("uplinks: 4, share: 0.5"), slow("share: 0.75"));
  EXPECT_LT(slow("uplinks: 1, share: 0.25"), slow("uplinks: 6, share: 0.25"));
}

// With a leaf per rail, all links of one leaf are the NICs of that rail and its uplinks.
TEST(NetworkKeys, AFaultOfARailTouchesItsNicsAlone) {
  const auto slow = [](const std::string& faults) {
    return step_time(
        with_network(kTiers, "cross_rail: pxn\n    detail: flows\n    faults: [" + faults + "]"));
  };
  const double rail = slow("{tier: leaf, block: 1, rail: 3, part: switch, share: 0.25}");
  EXPECT_DOUBLE_EQ(rail, slow("{node: 2, nic: 3, share: 0.25}, {node: 3, nic: 3, share: 0.25}, "
                              "{tier: leaf, block: 1, rail: 3, share: 0.25}"));
  EXPECT_GT(rail, slow("{tier: leaf, block: 1, rail: 3, part: switch, share: 1.0}"));
}

TEST(NetworkKeys, TheAnswerNamesWhereTrafficGoes) {
  const auto rule_of = [](const std::string& keys) {
    Diagnostics diagnostics;
    const auto evaluation = evaluate_text(with_network(kTiers, keys), diagnostics);
    std::string rules;
    for (const std::string& line : evaluation->assumed) {
      rules += line.rfind("cluster.network", 0) == 0 ? line : "";
    }
    return rules;
  };
  EXPECT_EQ(rule_of("detail: flows"), "");
  EXPECT_NE(rule_of("links_down: [{node: 5, nics: 1}]").find("at most what it costs"),
            std::string::npos);
  EXPECT_NE(
      rule_of("detail: flows\n    faults: [{node: 5, share: 0.5}]").find("nothing goes around"),
      std::string::npos);
}

TEST(NetworkKeys, AFaultNeedsAPlaceThatExists) {
  const auto message_of = [](const std::string& fault) {
    Diagnostics diagnostics;
    EXPECT_FALSE(evaluate_text(with_network(kTiers, "detail: flows\n    faults: [" + fault + "]"),
                               diagnostics));
    return to_string(diagnostics);
  };
  EXPECT_NE(message_of("{share: 0.5}").find("needs a place"), std::string::npos);
  EXPECT_NE(message_of("{share: 0.5, node: 8}").find("0 to 7"), std::string::npos);
  EXPECT_NE(message_of("{share: 0.5, node: 1, nic: 8}").find("0 to 7"), std::string::npos);
  EXPECT_NE(message_of("{share: 0.5, tier: rack}").find("leaf, spine"), std::string::npos);
  EXPECT_NE(message_of("{share: 0.5, tier: leaf, block: 4}").find("0 to 3"), std::string::npos);
  EXPECT_NE(message_of("{share: 0.5, tier: leaf, uplinks: 9}").find("a switch of it has 8"),
            std::string::npos);
  EXPECT_NE(message_of("{share: 0.5, tier: leaf, rail: 1}").find("cross_rail: pxn or spine"),
            std::string::npos);
  EXPECT_NE(
      message_of("{share: 0.5, tier: leaf, part: switch, uplinks: 1}").find("part or uplinks"),
      std::string::npos);
  EXPECT_NE(message_of("{share: 0.5, node: 1, from: 2s, until: 1s}").find("later than from"),
            std::string::npos);
}

TEST(NetworkKeys, ANodeWithoutNicsIsRefused) {
  Diagnostics diagnostics;
  EXPECT_FALSE(
      evaluate_text(with_network(kTiers, "links_down: [{node: 1, nics: 8}]"), diagnostics));
  EXPECT_NE(to_string(diagnostics).find("node 1 has lost 8 of its 8 NICs"), std::string::npos)
      << to_string(diagnostics);
}

TEST(NetworkKeys, AFileOfMeasuredCollectivesMustExist) {
  Diagnostics diagnostics;
  EXPECT_FALSE(evaluate_text(with_network(kTiers, "collectives: ./none-here.yaml"), diagnostics));
  EXPECT_NE(to_string(diagnostics).find("there is no file `./none-here.yaml`"), std::string::npos)
      << to_string(diagnostics);
}

}  // namespace
}  // namespace orrery::evaluate::test
