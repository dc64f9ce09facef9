#include "sim/answer/jobs/share_cluster.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>

#include "sim/answer/jobs/jobs_report.hpp"
#include "tests/checkout.hpp"

namespace orrery::jobs {
namespace {

// Two jobs of four nodes with one NIC each, below leaves of two nodes.
std::string two_jobs(const std::string& a, const std::string& b, double taper = 2.0) {
  const std::string scenario = std::string(kSourceDir) + "/scenarios/slow-network-ddp.yaml";
  return "format: orrery-jobs/1\nsteps: 4\n"
         "cluster:\n  nodes: 8\n  network: {nic_rate: 25Gbps, nics_per_node: 1,\n"
         "    tiers: [{name: leaf, nodes: 2, oversubscription: " +
         std::to_string(taper) +
         "}, {name: spine, nodes: 8}]}\n"
         "jobs:\n  - {name: a, scenario: " +
         scenario + ", " + a + "}\n  - {name: b, scenario: " + scenario + ", " + b + "}\n";
}

std::optional<ClusterAnswer> placed(JobsFile file, Diagnostics& diagnostics) {
  const auto cluster = SharedCluster::load(std::move(file), {}, diagnostics);
  return cluster ? cluster->place(cluster->file().jobs, diagnostics) : std::nullopt;
}

std::optional<ClusterAnswer> shared(const std::string& text, Diagnostics& diagnostics) {
  auto file = read_jobs_file(text, "jobs.yaml", diagnostics);
  return file ? placed(*std::move(file), diagnostics) : std::nullopt;
}

ClusterAnswer must_share(const std::string& text) {
  Diagnostics diagnostics;
  auto answer = shared(text, diagnostics);
  EXPECT_TRUE(answer) << to_string(diagnostics);
  return answer ? *std::move(answer) : ClusterAnswer{};
}

double slowdown(const ClusterAnswer& answer, std::size_t job) {
  return answer.result.jobs[job].together / answer.result.jobs[job].alone;
}

TEST(ShareCluster, PackedJobsBelowTheirOwnLeavesDoNotMeet) {
  const ClusterAnswer answer = must_share(two_jobs("placement: packed", "placement: packed"));
  EXPECT_EQ(answer.jobs[0].nodes, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(answer.jobs[1].nodes, (std::vector<std::int32_t>{4, 5, 6, 7}));
  EXPECT_DOUBLE_EQ(slowdown(answer, 0), 1.0);
  EXPECT_DOUBLE_EQ(slowdown(answer, 1), 1.0);
}

// All traffic of DDP is a collective of data, in which every replica meets every other.
TEST(ShareCluster, EveryRankOfDdpIsAsOne) {
  const std::string spread = two_jobs("placement: spread", "placement: spread");
  std::string ranks = spread;
  ranks.replace(ranks.find("{nic_rate"), 1, "{detail: ranks, ");
  const ClusterAnswer folded = must_share(spread);
  const ClusterAnswer unfolded = must_share(ranks);
  for (std::size_t job : {0U, 1U}) {
    EXPECT_EQ(folded.result.jobs[job].steps, unfolded.result.jobs[job].steps);
  }
}

TEST(ShareCluster, SpreadJobsInPhaseLoseAlikeAndInAll) {
  const ClusterAnswer answer = must_share(two_jobs("placement: spread", "placement: spread"));
  EXPECT_EQ(answer.jobs[0].nodes, (std::vector<std::int32_t>{0, 2, 4, 6}));
  EXPECT_EQ(answer.jobs[1].nodes, (std::vector<std::int32_t>{1, 3, 5, 7}));
  EXPECT_GT(slowdown(answer, 0), 1.3);
  EXPECT_DOUBLE_EQ(slowdown(answer, 0), slowdown(answer, 1));
  ASSERT_FALSE(answer.result.links.empty());
  EXPECT_EQ(answer.result.links.front().name.substr(0, 15), "uplinks of leaf");
  for (const step::SharedJobResult& job : answer.result.jobs) {
    const Seconds lost = std::accumulate(job.lost.begin(), job.lost.end(), Seconds{});
    EXPECT_NEAR(in_seconds(lost), in_seconds(job.together - job.alone), 1e-12);
    EXPECT_EQ(job.steps.size(), 4U);
  }
  const std::string text = to_text(answer, {});
  EXPECT_NE(text.find("to b"), std::string::npos) << text;
  EXPECT_NE(to_json(answer).find("orrery-shared/1"), std::string::npos);
}

TEST(ShareCluster, AnOffsetOfHalfAStepKeepsThemApart) {
  const ClusterAnswer together = must_share(two_jobs("placement: spread", "placement: spread"));
  const double half = in_seconds(together.result.jobs[0].alone) / 2.0;
  const ClusterAnswer apart = must_share(
      two_jobs("placement: spread", "placement: spread, start: " + std::to_string(half) + "s"));
  EXPECT_LT(slowdown(apart, 0), slowdown(together, 0));
}

TEST(ShareCluster, ShippedJobsMeetTheirExpectations) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/scenarios/jobs")) {
    Diagnostics diagnostics;
    auto file = load_jobs_file(entry.path().string(), diagnostics);
    const auto answer = file ? placed(*std::move(file), diagnostics) : std::nullopt;
    ASSERT_TRUE(answer) << to_string(diagnostics);
    EXPECT_FALSE(answer->expect.empty()) << entry.path();
    EXPECT_TRUE(answer->meets_expectations()) << to_text(*answer, {});
    ++files;
  }
  EXPECT_GE(files, 5U);
}

// What a job sets of its own cluster does not change the machine.
TEST(ShareCluster, AJobMayHaveOtherNodesThanItsScenario) {
  const ClusterAnswer answer =
      must_share(two_jobs("set: {cluster.nodes: 2}, placement: packed", "nodes: [4, 5, 6, 7]"));
  EXPECT_EQ(answer.jobs[0].nodes, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(answer.jobs[0].gpus, 16);
}

TEST(ShareCluster, NamesPlacesThatDoNotFit) {
  const auto problems = [](const std::string& a, const std::string& b) {
    Diagnostics diagnostics;
    EXPECT_FALSE(shared(two_jobs(a, b), diagnostics));
    return to_string(diagnostics);
  };
  EXPECT_NE(problems("nodes: [0, 1, 2, 3]", "nodes: [3, 4, 5, 6]").find("node 3, which a has"),
            std::string::npos);
  EXPECT_NE(problems("nodes: [0, 1, 2]", "placement: packed").find("has 3 nodes, its scenario 4"),
            std::string::npos);
  EXPECT_NE(problems("nodes: [0, 1, 2, 8]", "placement: packed").find("names node 8"),
            std::string::npos);
  EXPECT_NE(problems("set: {cluster.nodes: 8}", "placement: packed").find("0 of 8 are free"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::jobs
