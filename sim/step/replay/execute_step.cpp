#include "sim/step/replay/execute_step.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/files/stop_point.hpp"

namespace orrery::step {

namespace {

struct Draw {
  SimTime time;
  std::vector<DeviceSpeed> speeds;
};

// What a slow GPU costs beyond the jitter, which its passes hold already.
double beyond(double slowest, double jitter) {
  return slowest <= 1.0 ? slowest : std::max(1.0, slowest - jitter);
}

// The group's own slowest GPUs against the mean of all; types that differ come on top.
std::vector<DeviceSpeed> group_speeds(const SpeedDraw& drawn,
                                      std::size_t group,
                                      double jitter,
                                      const StageCosts& stages) {
  std::vector<DeviceSpeed> speeds;
  for (std::size_t d = 0; d < drawn.mean.size(); ++d) {
    const DeviceSpeed types = stages.speeds.empty() ? DeviceSpeed{} : stages.speeds[d];
    speeds.push_back(
        {beyond(drawn.groups[group][d], jitter) * types.slowest, drawn.mean[d] * types.mean});
  }
  return speeds;
}

}  // namespace

Execution execute(const schedule::StepGraph& graph,
                  const StageCosts& stages,
                  double slowdown,
                  std::span<const DeviceSpeed> speeds) {
  Execution run{TaskTimes(graph, stages, speeds), {}};
  engine::replay_linear(graph.graph, run.times.durations(), run.times.delays(), run.timing);
  if (run.times.stretch_overlapped(run.timing, slowdown)) {
    engine::replay_linear(graph.graph, run.times.durations(), run.times.delays(), run.timing);
  }
  return run;
}

SlowestReplica find_slowest_replica(const StepInput& input,
                                    const cost::CostModel& costs,
                                    const schedule::StepGraph& graph,
                                    const StageCosts& stages,
                                    const std::stop_token& stop) {
  const VariationSpec& spec = input.spec.variation;
  if (!spec.any()) {
    return {stages.speeds, {}};
  }
  const double slowdown = costs.software().communication_slowdown.value();
  const double jitter = jitter_share(input, costs);
  const std::int64_t lockstep = lockstep_replicas(input, costs);
  const Seconds nominal =
      to_seconds(execute(graph, stages, slowdown, stages.speeds).timing.makespan);
  std::vector<Draw> draws;
  for (std::int64_t i = 0; i < spec.draws; ++i) {
    const SpeedDraw drawn = draw_speeds(input, lockstep, i);
    Draw slowest;
    for (const std::size_t group : slowest_first(drawn)) {
      stop_point(stop);
      const std::vector<double>& devices = drawn.groups[group];
      const double bound = std::max(1.0, *std::max_element(devices.begin(), devices.end()));
      if (nominal * bound < to_seconds(slowest.time)) {
        break;
      }
      std::vector<DeviceSpeed> speeds = group_speeds(drawn, group, jitter, stages);
      const SimTime time = execute(graph, stages, slowdown, speeds).timing.makespan;
      if (time > slowest.time) {
        slowest = {time, std::move(speeds)};
      }
    }
    draws.push_back(std::move(slowest));
  }
  std::stable_sort(
      draws.begin(), draws.end(), [](const Draw& a, const Draw& b) { return a.time < b.time; });
  SlowestReplica result;
  result.speeds = draws[(draws.size() - 1) / 2].speeds;
  for (const Draw& draw : draws) {
    result.draws.push_back(draw.time);
  }
  return result;
}

}  // namespace orrery::step
