#include "sim/answer/jobs/jobs_file.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sim/step/simulate/share_jobs.hpp"
#include "tests/support.hpp"

namespace orrery::jobs {
namespace {

constexpr const char* kText = R"(format: orrery-jobs/1
name: two
steps: 5
cluster: {nodes: 8, network: {nic_rate: 25Gbps, nics_per_node: 1}}
jobs:
  - {name: a, scenario: one.yaml, set: {batch.global: 64}, placement: spread}
  - {scenario: two.yaml, nodes: [4, 5], start: 300ms}
expect:
  - a.slowdown < 1.2
  - job 2.lost >= 10ms
)";

std::string problems_of(const std::string& text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(read_jobs_file(text, "folder/jobs.yaml", diagnostics));
  return to_string(diagnostics);
}

TEST(JobsFile, ReadsJobsPlacesAndExpectations) {
  Diagnostics diagnostics;
  const auto file = read_jobs_file(kText, "folder/jobs.yaml", diagnostics);
  ASSERT_TRUE(file) << to_string(diagnostics);
  EXPECT_EQ(file->steps, 5);
  EXPECT_EQ(file->nodes, 8);
  EXPECT_EQ(file->network.value, "{nic_rate: 25Gbps, nics_per_node: 1}");
  ASSERT_EQ(file->jobs.size(), 2U);
  EXPECT_EQ(file->jobs[0].placement, NodePlacement::spread);
  EXPECT_EQ(file->jobs[0].settings.front().key, "batch.global");
  EXPECT_EQ(file->jobs[0].scenario, "folder/one.yaml");
  EXPECT_EQ(file->jobs[1].name, "job 2");
  EXPECT_EQ(file->jobs[1].nodes, (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(file->jobs[1].start, milliseconds(300.0));
  ASSERT_EQ(file->expect.size(), 2U);
  EXPECT_EQ(file->expect[1].job, "job 2");
  EXPECT_EQ(file->expect[1].metric, JobMetric::lost);
  EXPECT_DOUBLE_EQ(file->expect[1].bound, 0.01);
}

TEST(JobsFile, NamesWhatIsWrongAndWhere) {
  EXPECT_NE(problems_of(replaced(kText, "steps: 5", "steps: 0")).find("jobs.yaml:3:"),
            std::string::npos);
  EXPECT_NE(problems_of(replaced(kText, "nic_rate", "detail: groups, nic_rate"))
                .find("jobs.yaml:4:39: error: cluster.network.detail: jobs share links by their "
                      "flows only (flows, ranks)"),
            std::string::npos)
      << problems_of(replaced(kText, "nic_rate", "detail: groups, nic_rate"));
  EXPECT_NE(problems_of(replaced(kText, "placement: spread", "placement: wide")).find("spread"),
            std::string::npos);
  EXPECT_NE(problems_of(replaced(kText, "start: 300ms", "start: 300ms, name: a")).find("called a"),
            std::string::npos);
  EXPECT_NE(problems_of(replaced(kText, "nodes: [4, 5]", "nodes: [4, 5], placement: packed"))
                .find("beside placement"),
            std::string::npos);
  EXPECT_NE(problems_of(replaced(kText, "a.slowdown", "c.slowdown")).find("no job is called `c`"),
            std::string::npos);
  EXPECT_NE(problems_of(replaced(kText, "a.slowdown", "a.speed")).find("step_time, alone"),
            std::string::npos);
  EXPECT_NE(problems_of(replaced(kText, "< 1.2", "< 2s")).find("such as 1.2"), std::string::npos);
  EXPECT_NE(problems_of(replaced(kText, "orrery-jobs/1", "orrery-jobs/2")).find("orrery-jobs/1"),
            std::string::npos);
}

TEST(JobsFile, JudgesItsExpectations) {
  step::SharedJobResult job;
  job.alone = seconds(2.0);
  job.together = seconds(3.0);
  const auto judged = [&job](const std::string& line) {
    Diagnostics diagnostics;
    const auto made = parse_jobs_expectation(line, {}, diagnostics);
    EXPECT_TRUE(made) << to_string(diagnostics);
    return made && holds(*made, job);
  };
  EXPECT_TRUE(judged("a.slowdown >= 1.5"));
  EXPECT_FALSE(judged("a.slowdown > 1.5"));
  EXPECT_TRUE(judged("a.step_time <= 3s"));
  EXPECT_TRUE(judged("a.alone < 2001ms"));
  EXPECT_FALSE(judged("a.lost < 1s"));
}

}  // namespace
}  // namespace orrery::jobs
