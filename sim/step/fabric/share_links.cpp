#include "sim/step/fabric/share_links.hpp"

#include <algorithm>
#include <utility>

#include "sim/step/fabric/flow_replay.hpp"

namespace orrery::step {

namespace {

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
  std::stable_sort(network.links.begin(),
                   network.links.end(),
                   [](const SharedLink& a, const SharedLink& b) { return a.total() > b.total(); });
  return network;
}

cost::CostModel unshared_costs(const cost::CostModel& costs) {
  return {costs.gpu(), costs.software(), hardware::unshared(costs.cluster())};
}

}  // namespace

void share_links(const ExecutionInput& of, Execution& run) {
  engine::Timing::Packed packed;
  const SimTime alone = PacedReplay(of.graph, of.slowdown).run(run.times, packed);
  const SharedNetwork& network = *of.network;
  const NetworkWork work = find_network_work({.input = network.input,
                                              .costs = network.costs,
                                              .buckets = network.buckets,
                                              .graph = of.graph,
                                              .stages = of.stages,
                                              .times = run.times});
  const FabricJob placed{network.input.layout, network.input.cluster, work.paths};
  const FoldedFabric fabric = fold_fabric(network.cluster, {&placed, 1});
  const FlowJob job{of.graph, run.times.parts(), work, of.slowdown};
  FlowReplay replay(fabric, {&job, 1});
  if (network.loads) {
    replay.keep_loads();
  }
  FlowRun shared = replay.run();
  run.network = std::make_shared<const StepNetwork>(summary(fabric, shared, alone));
  run.timing = std::move(shared.jobs.front().timing);
  run.times.take_stretch(run.timing);
}

std::optional<UnsharedStep> unshared_step(const StepInput& input, const cost::CostModel& costs) {
  if (costs.cluster().network.detail != hardware::NetworkDetail::flows) {
    return std::nullopt;
  }
  UnsharedStep step{input, unshared_costs(costs)};
  for (GpuBlock& block : step.input.mixed) {
    block.costs = std::make_shared<const cost::CostModel>(unshared_costs(*block.costs));
  }
  return step;
}

}  // namespace orrery::step
