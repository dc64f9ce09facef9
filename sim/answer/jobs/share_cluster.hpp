#pragma once

// From a file of jobs to what they cost one another: scenarios, places, steps, verdicts.

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/jobs/jobs_file.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "sim/step/simulate/share_jobs.hpp"

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

// A machine with its jobs, read once, to be placed in any way.
class SharedCluster {
 public:
  // Nothing when `diagnostics` holds an error. Throws Error(io) where a scenario cannot be read.
  [[nodiscard]] static std::optional<SharedCluster> load(
      JobsFile file, const std::optional<hardware::ProfileSearch>& search,
      Diagnostics& diagnostics);

  // `jobs`: those of the file, with other placements and starts. Nothing after an error.
  [[nodiscard]] std::optional<ClusterAnswer> place(std::span<const JobEntry> jobs,
                                                   Diagnostics& diagnostics) const;

  [[nodiscard]] const JobsFile& file() const { return file_; }

 private:
  JobsFile file_;
  hardware::ClusterSpec machine_;
  std::vector<scenario::Scenario> scenarios_;  // by job
  std::vector<evaluate::Resolved> resolved_;
};

// The best places and start offsets of the jobs of a file, by the GPU time that they lose.
//
//   lost = sum over jobs of GPUs x (1 - quickest / together) / all GPUs
//
// symbol   | meaning                                                      | unit | origin
// ---------|--------------------------------------------------------------|------|---------------
// together | mean step beside the other jobs                              | s    | share_jobs.hpp
// quickest | the least mean step without them, in any of the places tried | s    | share_jobs.hpp
//
// Tried are packed and spread for every job without nodes of its own (for more than four: alike for
// all), and at the two best of these the start of one job after another, at eighths of its step;
// kept where that is better.
// Places by rail do not exist: a job takes whole nodes, with all their NICs.

struct TriedPlacement {
  std::vector<JobEntry> jobs;
  ClusterAnswer answer;
  double lost = 0.0;  // share of the GPUs' time
};

// The best first. Empty when `diagnostics` holds an error. Throws Error(interrupted).
[[nodiscard]] std::vector<TriedPlacement> find_places(const SharedCluster& cluster,
                                                      std::stop_token stop,
                                                      Diagnostics& diagnostics);

}  // namespace orrery::jobs
