#pragma once

// Steps of several jobs whose flows share one network.
//
//   slowdown(j) = time of its steps together / time of the same steps alone, on the same nodes
//   loss(j)     = mean step together - mean step alone
//   matrix      = loss(j) divided among the other jobs as the flow seconds that j lost to them
//
// Jobs run at the nominal speed of their GPUs, without waiting for data. A job that has done its
// steps no longer disturbs: means are over steps that met the others only in part at both ends.

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::step {

struct SharedJob {
  StepInput input;
  const cost::CostModel* costs = nullptr;  // of a network with `detail: flows`
  // Where its ranks stand: node i of the job is nodes[i] of the cluster; jobs share switches, not
  // nodes
  std::vector<std::int32_t> nodes;
  SimTime start;  // when the first step of a job begins
};

struct SharedJobResult {
  std::vector<SimTime> steps;  // how long each took
  Seconds alone;               // mean step without the other jobs
  Seconds together;            // mean step with them
  std::vector<Seconds> lost;   // by culprit, per step; adds up to together - alone
};

// A link on which jobs lose time to one another or to its own narrowness.
struct JobsLink {
  std::string name;
  std::size_t alike = 1;
  double load = 0.0;          // mean share of its capacity until the last job has ended
  std::vector<Seconds> lost;  // flow seconds, by job
};

struct SharedJobsResult {
  std::vector<SharedJobResult> jobs;
  std::vector<JobsLink> links;  // the ten that cost most, the dearest first
  std::int64_t flows = 0;
};

// Of the job with this number.
struct SharedJobProblem {
  std::size_t job = 0;
  StepProblem problem;
};

[[nodiscard]] std::variant<SharedJobsResult, SharedJobProblem> simulate_jobs(
    const hardware::ClusterSpec& cluster, std::span<const SharedJob> jobs, std::int64_t steps);

}  // namespace orrery::step
