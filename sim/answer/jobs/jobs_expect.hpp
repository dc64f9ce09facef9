#pragma once

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

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"

namespace orrery::step {
struct SharedJobResult;
}

namespace orrery::jobs {

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

}  // namespace orrery::jobs
