#include "sim/step/simulate/local_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::step {

std::optional<StepProblem> check_islands(const StepInput& input) {
  const std::int64_t islands = input.spec.local_steps.islands;
  const layout::Layout& layout = input.layout;
  const auto problem = [islands](std::string_view what, std::int64_t value) {
    return StepProblem{"local_steps.islands",
                       fmt::format("{} islands do not divide {} = {} (remainder {})", islands, what,
                                   value, value % islands),
                       fmt::format("a divisor of {}", value)};
  };
  if (layout.data % islands != 0) {
    return problem("layout.data", layout.data);
  }
  if (layout.expert_data % islands != 0) {
    return problem("the replicas of the experts", layout.expert_data);
  }
  return std::nullopt;
}

StepInput island_of(const StepInput& input) {
  StepInput island = input;
  const std::int64_t islands = input.spec.local_steps.islands;
  island.layout.gpus /= islands;
  island.layout.data /= islands;
  island.layout.expert_data /= islands;
  // A shard group never reaches beyond the island.
  const std::int64_t ranks = island.layout.data * island.layout.context;
  island.layout.shard_group = std::gcd(island.layout.shard_group, ranks);
  island.cluster.gpus = island.layout.gpus;
  return island;
}

Seconds outer_time(const StepInput& input, const cost::CostModel& costs) {
  const LocalStepsSpec& spec = input.spec.local_steps;
  const auto islands = static_cast<double>(spec.islands);
  const hardware::ClusterSpec& cluster = costs.cluster();
  const double nodes =
      static_cast<double>(input.layout.gpus) / islands / static_cast<double>(cluster.gpus_per_node);
  const BytesPerSecond nics =
      cluster.network.nic_rate * (static_cast<double>(cluster.network.nics_per_node) * nodes);
  const model::ParameterCounts counts = model::count_parameters(input.model);
  const Bytes whole =
      bytes(static_cast<double>(counts.trained() + counts.mtp) * spec.bits / kBitsPerByte);
  return whole * (2.0 * (islands - 1.0) / islands) / spec.rate.value_or(nics) +
         spec.latency * (2.0 * (islands - 1.0));
}

void prolong(StepResult& result, StepCategory category, SimTime time) {
  if (time <= SimTime{}) {
    return;
  }
  if (result.operation_timeline) {
    auto longer = std::make_shared<OperationTimeline>(*result.operation_timeline);
    for (std::size_t d = 0; d < result.stage_ledgers.size(); ++d) {
      longer->waits.push_back(
          {static_cast<std::int32_t>(d), category, result.step_time, result.step_time + time});
    }
    std::ranges::stable_sort(longer->waits, {}, &DeviceWait::device);
    result.operation_timeline = std::move(longer);
  }
  result.step_time += time;
  if (category != StepCategory::exposed_data) {
    result.without_communication += time;
  }
  if (!result.stage_ledgers.empty()) {
    result.ledger.book(category, result.gpus, time);
  }
  const auto devices = static_cast<std::int64_t>(result.stage_ledgers.size());
  for (StepLedger& stage : result.stage_ledgers) {
    stage.book(category, result.gpus / devices, time);
  }
  result.by_source[static_cast<std::size_t>(SourceKind::given)] +=
      to_seconds(time) * static_cast<double>(result.gpus);
}

void add_outer_step(StepResult& result, const StepInput& input, const cost::CostModel& costs) {
  const LocalStepsSpec& spec = input.spec.local_steps;
  const Seconds inner = to_seconds(result.step_time);
  StepLedger all;
  std::vector<StepLedger> stages(result.stage_ledgers.size());
  for (std::int64_t island = 0; island < spec.islands; ++island) {
    all += result.ledger;
    for (std::size_t d = 0; d < stages.size(); ++d) {
      stages[d] += result.stage_ledgers[d];
    }
  }
  const auto islands = static_cast<double>(spec.islands);
  result.gpus *= spec.islands;
  result.ledger = all;
  result.stage_ledgers = std::move(stages);
  for (Seconds& source : result.by_source) {
    source = source * islands;
  }
  result.extrapolated = result.extrapolated * islands;
  const Seconds share = outer_time(input, costs) / static_cast<double>(spec.every);
  const Seconds exposed = spec.overlap ? std::max(Seconds{}, share - inner) : share;
  for (SimTime& draw : result.draws) {
    const Seconds rest = spec.overlap ? std::max(Seconds{}, share - to_seconds(draw)) : share;
    draw += to_sim_time(rest);
  }
  prolong(result, StepCategory::exposed_data, to_sim_time(exposed));
}

}  // namespace orrery::step
