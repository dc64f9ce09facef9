#pragma once

// The file format of several jobs on one network, `orrery-jobs/1`.
//
//   format: orrery-jobs/1
//   name: Two jobs below one spine
//   steps: 20                                # of every job; default 20
//   cluster:
//     nodes: 32                              # of the machine, at least what the jobs take
//     network: {preset: infiniband-400g}     # as cluster.network of a scenario, for all jobs
//   jobs:
//     - name: a                              # default: job 1, job 2, ...
//       scenario: llama3-70b-64h100.yaml     # seen from this file, or a shipped name
//       set: {batch.global: 512}             # keys of the scenario, as behind --set
//       placement: packed                    # default; or spread over the lowest blocks
//     - name: b
//       scenario: llama3-70b-64h100.yaml
//       nodes: [8, 9, 10, 11, 12, 13, 14, 15]   # in place of a placement
//       start: 300ms                         # of its first step; default 0
//   expect:
//     - a.slowdown < 1.2                     # parse_jobs_expectation
//
// All problems are reported with file, line, column and key.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/cluster_spec.hpp"

namespace orrery::step {
struct SharedJobResult;
}

namespace orrery::jobs {

// What a file of jobs asks for: one comparison a line.
//
//   line   = job "." metric cmp value     metric = step_time | alone | slowdown | lost
//   cmp    = >= | <= | > | <              value  = a time; of slowdown a number
//
// symbol    | meaning                                              | unit | origin
// ----------|------------------------------------------------------|------|----------------
// step_time | mean step of the job beside the others               | s    | share_jobs.hpp
// alone     | the same without them                                | s    | share_jobs.hpp
// slowdown  | step_time / alone                                    | 1    | computed
// lost      | step_time - alone                                    | s    | computed

enum class JobMetric { step_time, alone, slowdown, lost };

enum class JobComparison { at_least, at_most, above, below };

struct JobsExpectation {
  std::string text;
  std::string job;
  JobMetric metric = JobMetric::slowdown;
  JobComparison comparison = JobComparison::at_most;
  double bound = 0.0;  // s, or a number
  SourceLocation where;
};

[[nodiscard]] std::optional<JobsExpectation> parse_jobs_expectation(std::string_view text,
                                                                    const SourceLocation& where,
                                                                    Diagnostics& diagnostics);

[[nodiscard]] double job_value(JobMetric metric, const step::SharedJobResult& job);

[[nodiscard]] bool holds(const JobsExpectation& expectation, const step::SharedJobResult& job);

// "1.48", "2.61 s".
[[nodiscard]] std::string job_value_text(JobMetric metric, double value);

inline constexpr std::string_view kJobsFormat = "orrery-jobs/1";

// packed: the first nodes that are free; spread: one after another from each block of the lowest
// tier.
enum class NodePlacement { packed, spread };

struct JobEntry {
  std::string name;
  std::filesystem::path scenario;  // seen from the current directory
  SourceLocation where;
  std::vector<scenario::KeyValue> settings;
  NodePlacement placement = NodePlacement::packed;
  std::vector<std::int32_t> nodes;  // empty: by placement
  Seconds start;
};

struct JobsFile {
  std::string name;
  std::string file;
  std::int64_t steps = 20;
  std::int64_t nodes = 1;
  scenario::KeyValue network;                                       // cluster.network as text
  hardware::NetworkDetail detail = hardware::NetworkDetail::flows;  // as it says
  SourceLocation nodes_where;
  std::vector<JobEntry> jobs;
  std::vector<JobsExpectation> expect;
};

[[nodiscard]] std::optional<JobsFile> read_jobs_file(std::string_view text,
                                                     const std::string& file_name,
                                                     Diagnostics& diagnostics);

// Throws Error(io) when it cannot be read.
[[nodiscard]] std::optional<JobsFile> load_jobs_file(const std::string& path,
                                                     Diagnostics& diagnostics);

}  // namespace orrery::jobs
