#include <gtest/gtest.h>

#include <string>

#include "sim/answer/jobs/jobs_report.hpp"
#include "sim/answer/jobs/share_cluster.hpp"
#include "tests/checkout.hpp"

namespace orrery::jobs {
namespace {

std::optional<SharedCluster> two_jobs(int nodes, const std::string& a, const std::string& b,
                                      Diagnostics& diagnostics) {
  const std::string scenario = std::string(kSourceDir) + "/scenarios/slow-network-ddp.yaml";
  const std::string text =
      "format: orrery-jobs/1\nsteps: 4\ncluster:\n  nodes: " + std::to_string(nodes) +
      "\n  network: {nic_rate: 25Gbps, nics_per_node: 1,\n"
      "    tiers: [{name: leaf, nodes: 2, oversubscription: 2}, {name: spine, nodes: 8}]}\n"
      "jobs:\n  - {name: a, scenario: " +
      scenario + a + "}\n  - {name: b, scenario: " + scenario + b + "}\n";
  auto file = read_jobs_file(text, "jobs.yaml", diagnostics);
  return file ? SharedCluster::load(*std::move(file), {}, diagnostics) : std::nullopt;
}

// Packed jobs below leaves of their own never meet: nothing is better, whenever they start.
TEST(PlaceJobs, PacksJobsThatHaveLeavesOfTheirOwn) {
  Diagnostics diagnostics;
  const auto cluster = two_jobs(8, ", placement: spread", ", placement: spread", diagnostics);
  ASSERT_TRUE(cluster) << to_string(diagnostics);
  const auto tried = find_places(*cluster, {}, diagnostics);
  ASSERT_GE(tried.size(), 4U);  // two to the two, and those that another start betters
  EXPECT_NEAR(tried.front().lost, 0.0, 1e-12);
  for (const JobEntry& job : tried.front().jobs) {
    EXPECT_EQ(job.placement, NodePlacement::packed);
  }
  for (std::size_t i = 0; i + 1 < tried.size(); ++i) {
    EXPECT_LE(tried[i].lost, tried[i + 1].lost);
  }
  const std::string text = to_text(tried.front().answer, {}, tried);
  EXPECT_NE(text.find("a packed, b packed"), std::string::npos) << text;
}

// On nodes that are given only the start is left, and the phase decides.
TEST(PlaceJobs, ShiftsTheStartsOfJobsOnGivenNodes) {
  Diagnostics diagnostics;
  const auto cluster = two_jobs(8, ", nodes: [0, 2, 4, 6]", ", nodes: [1, 3, 5, 7]", diagnostics);
  ASSERT_TRUE(cluster) << to_string(diagnostics);
  const auto tried = find_places(*cluster, {}, diagnostics);
  ASSERT_EQ(tried.size(), 2U);
  EXPECT_LT(tried.front().lost, 0.9 * tried.back().lost);
  EXPECT_GT(tried.front().jobs[1].start, Seconds{});
  EXPECT_EQ(tried.back().jobs[1].start, Seconds{});
}

TEST(PlaceJobs, SaysWhereThereIsNoRoom) {
  Diagnostics diagnostics;
  const auto cluster = two_jobs(6, "", "", diagnostics);
  ASSERT_TRUE(cluster) << to_string(diagnostics);
  EXPECT_TRUE(find_places(*cluster, {}, diagnostics).empty());
  EXPECT_NE(to_string(diagnostics).find("b needs 4 nodes, 2 of 6 are free"), std::string::npos)
      << to_string(diagnostics);
}

}  // namespace
}  // namespace orrery::jobs
