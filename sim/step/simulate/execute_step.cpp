#include "sim/step/simulate/execute_step.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/files/stop_point.hpp"
#include "sim/step/simulate/replay/paced_replay.hpp"
#include "sim/step/simulate/shared_links/share_links.hpp"

namespace orrery::step {

namespace {

struct Draw {
  SimTime time;
  std::vector<DeviceSpeed> speeds;
  std::int64_t number = 0;
};

bool knows_ranks(const ExecutionInput& of) {
  return of.network != nullptr &&
         of.network->cluster.network.detail == hardware::NetworkDetail::ranks;
}

// The group's own slowest GPUs against the mean of all; types that differ come on top.
std::vector<DeviceSpeed> group_speeds(const SpeedDraw& drawn, std::size_t group, double jitter,
                                      const StageCosts& stages) {
  std::vector<DeviceSpeed> speeds;
  for (std::size_t d = 0; d < drawn.mean.size(); ++d) {
    const DeviceSpeed types = stages.speeds.empty() ? DeviceSpeed{} : stages.speeds[d];
    speeds.push_back({beyond_jitter(drawn.groups[group][d], jitter) * types.slowest,
                      drawn.mean[d] * types.mean});
  }
  return speeds;
}

std::vector<std::vector<DeviceSpeed>> all_speeds(const SpeedDraw& drawn, double jitter,
                                                 const StageCosts& stages) {
  std::vector<std::vector<DeviceSpeed>> speeds;
  for (std::size_t group = 0; group < drawn.groups.size(); ++group) {
    speeds.push_back(group_speeds(drawn, group, jitter, stages));
  }
  return speeds;
}

// Replays of one step at the speeds of one group after another, for their makespans alone.
class GroupReplays {
 public:
  GroupReplays(const schedule::StepGraph& graph, const StageCosts& stages, double slowdown)
      : replay_(graph, slowdown),
        times_(graph, stages, std::vector<DeviceSpeed>(stages.devices.size())) {}

  SimTime makespan(std::span<const DeviceSpeed> speeds) {
    times_.set_speeds(speeds);
    return replay_.run(times_, packed_);
  }

 private:
  PacedReplay replay_;
  TaskTimes times_;
  engine::Timing::Packed packed_;
};

}  // namespace

Execution execute(const ExecutionInput& of, std::span<const DeviceSpeed> speeds) {
  TaskTimes times(of.graph, of.stages, speeds);
  if (of.network != nullptr) {
    return share_links(of, std::move(times));
  }
  Execution run{std::move(times), {}};
  PacedReplay(of.graph, of.slowdown).run(run.times, run.timing);
  return run;
}

SlowestReplica find_slowest_replica(const StepInput& input, const cost::CostModel& costs,
                                    const ExecutionInput& of, SpeedDraws& kept,
                                    const ParallelOptions& parallel) {
  const VariationSpec& spec = input.spec.variation;
  if (!spec.any()) {
    return {of.stages.speeds, {}};
  }
  const double jitter = jitter_share(input, costs);
  const std::int64_t lockstep = lockstep_replicas(input);
  const bool ranks = knows_ranks(of);
  const ExecutionInput alone{of.graph, of.stages, of.slowdown};
  const Seconds nominal = to_seconds(execute(alone, of.stages.speeds).timing.makespan);
  const std::span<const SpeedDraw> speeds = kept.of(input, lockstep, parallel);
  std::vector<Draw> draws(speeds.size());
  const auto slowest_of = [&](const SpeedDraw& drawn, GroupReplays& replays) {
    Draw slowest;
    for (const std::size_t group : slowest_first(drawn)) {
      stop_point(parallel.stop);
      const std::vector<double>& devices = drawn.groups[group];
      const double bound = std::max(1.0, beyond_jitter(*std::ranges::max_element(devices), jitter));
      if (nominal * bound < to_seconds(slowest.time)) {
        break;
      }
      std::vector<DeviceSpeed> of_group = group_speeds(drawn, group, jitter, of.stages);
      const SimTime time = replays.makespan(of_group);
      if (time > slowest.time) {
        slowest = {.time = time, .speeds = std::move(of_group)};
      }
    }
    if (of.network != nullptr) {
      slowest.time = execute(of, slowest.speeds).timing.makespan;
    }
    return slowest;
  };
  const auto of_ranks = [&](const SpeedDraw& drawn) {
    stop_point(parallel.stop);
    if (speeds.size() == 1) {
      return Draw{};  // the step itself
    }
    const auto replicas = all_speeds(drawn, jitter, of.stages);
    ExecutionInput together = of;
    together.replicas = replicas;
    return Draw{execute(together, {}).timing.makespan, {}};
  };
  const bool complete = parallel_for(
      static_cast<std::int64_t>(draws.size()), parallel, [&](std::int64_t begin, std::int64_t end) {
        GroupReplays replays(of.graph, of.stages, of.slowdown);
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          draws[i] = ranks ? of_ranks(speeds[i]) : slowest_of(speeds[i], replays);
          draws[i].number = static_cast<std::int64_t>(i);
        }
      });
  if (!complete) {
    stop_point(parallel.stop);
  }
  std::ranges::stable_sort(draws, {}, &Draw::time);
  SlowestReplica result;
  const Draw& median = draws[(draws.size() - 1) / 2];
  result.speeds = median.speeds;
  result.draw = median.number;
  if (ranks) {
    result.replicas =
        all_speeds(speeds[static_cast<std::size_t>(median.number)], jitter, of.stages);
  }
  for (const Draw& draw : draws) {
    result.draws.push_back(draw.time);
  }
  return result;
}

}  // namespace orrery::step
