#pragma once

// From a file of jobs to what they cost one another: scenarios, places, steps, verdicts.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/hardware/profile_search.hpp"
#include "sim/jobs/jobs_file.hpp"
#include "sim/step/share_jobs.hpp"

namespace orrery::jobs {

struct PlacedJob {
  std::string name;
  std::string scenario;  // its name
  std::int64_t gpus = 0;
  std::vector<std::int32_t> nodes;
  Seconds start;
};

struct ClusterAnswer {
  std::string name;
  std::string file;
  std::int64_t steps = 0;
  std::int64_t nodes = 0;  // of the cluster
  std::vector<PlacedJob> jobs;
  step::SharedJobsResult result;
  std::vector<JobsExpectation> expect;

  [[nodiscard]] const step::SharedJobResult& result_of(const std::string& job) const;
  [[nodiscard]] bool meets_expectations() const;
};

// Nothing when `diagnostics` holds an error. Throws Error(io) where a scenario cannot be read.
[[nodiscard]] std::optional<ClusterAnswer> share_cluster(
    const JobsFile& file,
    const std::optional<hardware::ProfileSearch>& search,
    Diagnostics& diagnostics);

}  // namespace orrery::jobs
