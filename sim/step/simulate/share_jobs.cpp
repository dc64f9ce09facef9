#include "sim/step/simulate/share_jobs.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/step/simulate/shared_links/flow_replay.hpp"
#include "sim/step/simulate/shared_links/share_links.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"
#include "sim/step/simulate/step_structure.hpp"

namespace orrery::step {

namespace {

// One job with all that its replay reads.
struct PreparedJob {
  UnsharedStep step;
  StepStructure structure;
  StageCosts stages;
  TaskTimes times;
  NetworkWork work = {};

  PreparedJob(UnsharedStep alone, StepStructure built, const std::vector<std::vector<int>>& buckets)
      : step(std::move(alone)),
        structure(std::move(built)),
        stages(cluster_stage_costs(step.input, step.costs, buckets)),
        times(structure.graph, stages, stages.speeds) {
    work = find_network_work({.input = step.input,
                              .costs = step.costs,
                              .buckets = buckets,
                              .graph = structure.graph,
                              .stages = stages,
                              .times = times});
  }
};

std::variant<std::unique_ptr<PreparedJob>, StepProblem> prepare_job(const SharedJob& job) {
  if (job.input.spec.local_steps.islands > 1) {
    return StepProblem{"local_steps.islands", "a job of islands shares no network with others", {}};
  }
  auto alone = unshared_step(job.input, *job.costs);
  ORRERY_CHECK(alone.has_value(), "a job without flows on a network of flows");
  const auto buckets = buckets_per_chunk(alone->input);
  auto built = build_structure(schedule_request(alone->input),
                               graph_options(alone->input, alone->costs, buckets));
  if (auto* problem = std::get_if<StepProblem>(&built)) {
    return std::move(*problem);
  }
  return std::make_unique<PreparedJob>(*std::move(alone), std::get<StepStructure>(std::move(built)),
                                       buckets);
}

FlowRun run_jobs(const FoldedFabric& fabric, std::span<const std::unique_ptr<PreparedJob>> prepared,
                 std::span<const SharedJob> jobs, std::int64_t steps) {
  std::vector<FlowJob> flows;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const PreparedJob& job = *prepared[j];
    for (const ReplicaClass& alike : fabric.classes[j]) {
      flows.push_back({job.structure.graph, job.times.parts(), job.work,
                       job.step.costs.software().communication_slowdown.value(), jobs[j].start,
                       steps, &alike != fabric.classes[j].data(), alike.share});
    }
  }
  FlowRun run = FlowReplay(fabric, flows).run();
  std::vector<JobRun> firsts;  // classes of a job end their steps together
  for (std::size_t first = 0, j = 0; j < jobs.size(); first += fabric.classes[j++].size()) {
    firsts.push_back(std::move(run.jobs[first]));
  }
  run.jobs = std::move(firsts);
  return run;
}

FoldedFabric fold_jobs(const hardware::ClusterSpec& cluster,
                       std::span<const std::unique_ptr<PreparedJob>> prepared,
                       std::span<const SharedJob> jobs) {
  std::vector<FabricJob> placed;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const StepInput& input = prepared[j]->step.input;
    const bool ranks = cluster.network.detail == hardware::NetworkDetail::ranks;
    placed.push_back({input.layout, input.cluster, prepared[j]->work.paths, jobs[j].nodes,
                      ranks ? lockstep_replicas(input) : 0});
  }
  return fold_fabric(cluster, placed);
}

Seconds mean_step(const JobRun& run, SimTime start) {
  return to_seconds(run.step_ends.back() - start) / static_cast<double>(run.step_ends.size());
}

SharedJobResult result_of(const FlowRun& run, std::size_t job, SimTime start, Seconds alone) {
  SharedJobResult result;
  SimTime before = start;
  for (const SimTime end : run.jobs[job].step_ends) {
    result.steps.push_back(end - before);
    before = end;
  }
  result.alone = alone;
  result.together = mean_step(run.jobs[job], start);
  result.lost.resize(run.jobs.size());
  Seconds all;
  for (std::size_t victim = job * kTraffics; victim < (job + 1) * kTraffics; ++victim) {
    for (std::size_t culprit = 0; culprit < run.jobs.size() * kTraffics; ++culprit) {
      if (culprit / kTraffics != job) {
        result.lost[culprit / kTraffics] += run.lost[victim][culprit];
        all += run.lost[victim][culprit];
      }
    }
  }
  for (Seconds& lost : result.lost) {
    lost = all > Seconds{} ? (result.together - result.alone) * (lost / all) : Seconds{};
  }
  return result;
}

std::vector<JobsLink> worst_links(const FoldedFabric& fabric, const FlowRun& run,
                                  std::span<const SharedJob> jobs) {
  SimTime end;
  for (const JobRun& job : run.jobs) {
    end = std::max(end, job.step_ends.back());
  }
  std::vector<std::pair<Seconds, JobsLink>> found;
  for (std::size_t link = 0; link < fabric.links.size(); ++link) {
    JobsLink shared{fabric.links[link].name, fabric.links[link].alike,
                    run.carried[link] / (fabric.capacities[link] * to_seconds(end)),
                    std::vector<Seconds>(jobs.size())};
    Seconds all;
    for (std::size_t victim = 0; victim < jobs.size() * kTraffics; ++victim) {
      shared.lost[victim / kTraffics] += run.lost_on_link[link][victim];
      all += run.lost_on_link[link][victim];
    }
    if (all > Seconds{}) {
      found.emplace_back(all, std::move(shared));
    }
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kMost = 10;
  std::vector<JobsLink> links;
  for (std::size_t i = 0; i < std::min(kMost, found.size()); ++i) {
    links.push_back(std::move(found[i].second));
  }
  return links;
}

}  // namespace

std::variant<SharedJobsResult, SharedJobProblem> simulate_jobs(const hardware::ClusterSpec& cluster,
                                                               std::span<const SharedJob> jobs,
                                                               std::int64_t steps) {
  std::vector<std::unique_ptr<PreparedJob>> prepared;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    auto made = prepare_job(jobs[j]);
    if (auto* problem = std::get_if<StepProblem>(&made)) {
      return SharedJobProblem{j, std::move(*problem)};
    }
    prepared.push_back(std::get<std::unique_ptr<PreparedJob>>(std::move(made)));
  }
  const FoldedFabric fabric = fold_jobs(cluster, prepared, jobs);
  const FlowRun together = run_jobs(fabric, prepared, jobs, steps);
  SharedJobsResult result;
  result.flows = together.flows;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto own = std::span(prepared).subspan(j, 1);
    const auto job = jobs.subspan(j, 1);
    const FlowRun alone = run_jobs(fold_jobs(cluster, own, job), own, job, steps);
    result.jobs.push_back(
        result_of(together, j, jobs[j].start, mean_step(alone.jobs.front(), jobs[j].start)));
  }
  result.links = worst_links(fabric, together, jobs);
  return result;
}

}  // namespace orrery::step
