#include "sim/step/simulate/shared_links/share_links.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/step/simulate/shared_links/flow_replay.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"

namespace orrery::step {

namespace {

// Replicas that compute at the same speeds: their times, and what they put on the network when.
struct ReplicaSort {
  std::vector<DeviceSpeed> speeds;
  TaskTimes times;
  NetworkWork work;
};

class ReplicaSorts {
 public:
  explicit ReplicaSorts(const ExecutionInput& of) : of_(of) {
    for (const std::vector<DeviceSpeed>& speeds : of.replicas) {
      const auto known = std::ranges::find(sorts_, speeds, &ReplicaSort::speeds);
      of_replica_.push_back(static_cast<std::uint32_t>(known - sorts_.begin()));
      if (known == sorts_.end()) {
        add(speeds, TaskTimes(of.graph, of.stages, speeds));
      }
    }
  }

  void add(const std::vector<DeviceSpeed>& speeds, TaskTimes times) {
    const SharedNetwork& network = *of_.network;
    NetworkWork work = find_network_work({.input = network.input,
                                          .costs = network.costs,
                                          .buckets = network.buckets,
                                          .graph = of_.graph,
                                          .stages = of_.stages,
                                          .times = times});
    sorts_.push_back({speeds, std::move(times), std::move(work)});
  }

  [[nodiscard]] std::span<const std::uint32_t> of_replica() const { return of_replica_; }

  [[nodiscard]] ReplicaSort& of(std::size_t replica) {
    return sorts_[of_replica_.empty() ? 0 : of_replica_[replica]];
  }

  // The longest of them without sharing.
  [[nodiscard]] SimTime alone() {
    SimTime longest;
    PacedReplay replay(of_.graph, of_.slowdown);
    for (ReplicaSort& sort : sorts_) {
      engine::Timing::Packed packed;
      longest = std::max(longest, replay.run(sort.times, packed));
    }
    return longest;
  }

 private:
  const ExecutionInput& of_;
  std::vector<ReplicaSort> sorts_;
  std::vector<std::uint32_t> of_replica_;
};

// The class whose tasks end last: what it does decides the step.
std::size_t slowest(const FlowRun& run) {
  const auto ends = [](const JobRun& job) {
    return std::accumulate(job.timing.end.begin(), job.timing.end.end(), SimTime{});
  };
  const auto last = std::ranges::max_element(
      run.jobs, [&](const JobRun& a, const JobRun& b) { return ends(a) < ends(b); });
  return static_cast<std::size_t>(last - run.jobs.begin());
}

StepNetwork summary(const FoldedFabric& fabric, const FlowRun& run, SimTime alone) {
  StepNetwork network;
  network.sharing = run.jobs.front().timing.makespan - alone;
  network.flows = run.flows;
  for (std::size_t victim = 0; victim < kTraffics; ++victim) {
    std::copy(run.lost[victim].begin(), run.lost[victim].end(), network.lost[victim].begin());
  }
  const Seconds step = to_seconds(run.jobs.front().timing.makespan);
  for (std::size_t link = 0; link < fabric.links.size(); ++link) {
    SharedLink shared{fabric.links[link].name,
                      fabric.links[link].alike,
                      run.carried[link] / (fabric.capacities[link] * step),
                      {},
                      run.loads.empty() ? std::vector<LinkLoad>{} : run.loads[link]};
    std::copy(run.lost_on_link[link].begin(), run.lost_on_link[link].end(), shared.lost.begin());
    if (shared.total() > Seconds{}) {
      network.links.push_back(std::move(shared));
    }
  }
  std::ranges::stable_sort(network.links, std::ranges::greater{}, &SharedLink::total);
  return network;
}

cost::CostModel unshared_costs(const cost::CostModel& costs) {
  return {costs.gpu(), costs.software(), hardware::unshared(costs.cluster())};
}

}  // namespace

Execution share_links(const ExecutionInput& of, TaskTimes times) {
  const SharedNetwork& network = *of.network;
  ReplicaSorts replicas(of);
  if (of.replicas.empty()) {
    replicas.add({}, std::move(times));
  }
  const SimTime alone = replicas.alone();
  const bool ranks = network.cluster.network.detail == hardware::NetworkDetail::ranks;
  const FabricJob placed{network.input.layout,
                         network.input.cluster,
                         replicas.of(0).work.paths,
                         {},
                         ranks ? lockstep_replicas(network.input) : 0,
                         replicas.of_replica()};
  const FoldedFabric fabric = fold_fabric(network.cluster, {&placed, 1});
  std::vector<FlowJob> jobs;
  for (const ReplicaClass& alike : fabric.classes.front()) {
    const ReplicaSort& sort = replicas.of(alike.replica);
    jobs.push_back({.graph = of.graph,
                    .parts = sort.times.parts(),
                    .work = sort.work,
                    .slowdown = of.slowdown,
                    .joins = !jobs.empty(),
                    .share = alike.share});
  }
  FlowReplay replay(fabric, jobs);
  if (network.loads) {
    replay.keep_loads();
  }
  FlowRun shared = replay.run();
  const std::size_t shown = slowest(shared);
  auto network_of_step = std::make_shared<const StepNetwork>(summary(fabric, shared, alone));
  const std::size_t replica = fabric.classes.front()[shown].replica;
  Execution run{std::move(replicas.of(replica).times), std::move(shared.jobs[shown].timing),
                std::move(network_of_step), replica};
  run.times.take_stretch(run.timing);
  return run;
}

std::optional<UnsharedStep> unshared_step(const StepInput& input, const cost::CostModel& costs) {
  if (!hardware::flows_share_links(costs.cluster())) {
    return std::nullopt;
  }
  UnsharedStep step{input, unshared_costs(costs)};
  for (GpuBlock& block : step.input.mixed) {
    block.costs = std::make_shared<const cost::CostModel>(unshared_costs(*block.costs));
  }
  return step;
}

}  // namespace orrery::step
