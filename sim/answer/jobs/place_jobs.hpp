#pragma once

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

#include <stop_token>
#include <vector>

#include "sim/answer/jobs/share_cluster.hpp"

namespace orrery::jobs {

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
