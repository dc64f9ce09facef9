#include "sim/step/step_simulator.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/replay.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/step_graph.hpp"
#include "sim/step/attribution.hpp"
#include "sim/step/memory_account.hpp"
#include "sim/step/stage_costs.hpp"
#include "sim/step/step_limits.hpp"
#include "sim/step/task_times.hpp"
#include "sim/step/unit_times.hpp"

namespace orrery::step {

namespace {

using layout::Sharding;
using schedule::ScheduleKind;

schedule::DataParallelComm data_parallel_comm(const StepInput& input,
                                              const cost::CostModel& costs) {
  schedule::DataParallelComm comm;
  if (!has_replicas(input)) {
    return comm;
  }
  const bool gathers_per_use =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  comm.gradients = gradient_reduction(input, costs) == hardware::GradientReduction::per_micro_batch
                       ? schedule::GradientReduction::per_micro_batch
                       : schedule::GradientReduction::per_step;
  comm.overlap_gradients = input.spec.overlap.data && costs.software().can_overlap_gradients;
  if (input.layout.sharding != Sharding::none) {
    comm.parameters =
        gathers_per_use ? schedule::ParameterGather::per_use : schedule::ParameterGather::per_step;
  }
  comm.overlap_parameters = input.spec.overlap.data && costs.software().can_overlap_parameters;
  comm.prefetch =
      static_cast<int>(input.spec.fsdp.prefetch.value_or(costs.software().gather_prefetch));
  comm.backward_prefetch = input.spec.fsdp.backward_prefetch;
  comm.gather_for_backward = input.spec.fsdp.reshard;
  return comm;
}

schedule::P2pMode p2p_mode(const StepInput& input, const cost::CostModel& costs) {
  if (input.layout.pipeline <= 1) {
    return schedule::P2pMode::none;
  }
  const auto named = [](hardware::PipelineTransfer transfer) {
    return transfer == hardware::PipelineTransfer::latency ? schedule::P2pMode::latency
                                                           : schedule::P2pMode::rendezvous_fused;
  };
  if (input.spec.schedule == ScheduleKind::one_f_one_b) {
    return named(costs.software().plain_1f1b_transfer);
  }
  // Without overlap the copy occupies the sender; with it only the latency is seen.
  const schedule::P2pMode wanted = named(costs.software().interleaved_transfer);
  return input.spec.overlap.pipeline && schedule::p2p_mode_applies(wanted, input.spec.schedule)
             ? wanted
             : schedule::P2pMode::occupying;
}

std::variant<schedule::Schedule, StepProblem> make_schedule(const StepInput& input) {
  const schedule::ScheduleRequest request = {
      .kind = input.spec.schedule,
      .devices = static_cast<int>(input.layout.pipeline),
      .chunks = static_cast<int>(input.layout.virtual_stages),
      .micro_batches = static_cast<int>(input.layout.micro_batches),
      .group_size = std::nullopt,
      .backward_order = std::nullopt};
  auto made = schedule::generate(request);
  if (auto* refusal = std::get_if<schedule::ScheduleRefusal>(&made)) {
    return StepProblem{"layout.schedule", refusal->message, refusal->allowed};
  }
  return std::get<schedule::Schedule>(std::move(made));
}

// GPU time by source of the coefficients: busy parts as they are, waiting in the same proportions.
void account_for_trust(StepResult& result, const StageCosts& costs, const StepInput& input) {
  const double micro_batches = micro_batches_per_chunk(input);
  Parts sum;
  std::vector<double> uses(costs.buckets.size(), 0.0);
  for (const DeviceCosts& device : costs.devices) {
    for (const ChunkCosts& chunk : device.chunks) {
      for (const std::uint32_t bucket : chunk.buckets) {
        uses[bucket] += micro_batches;
      }
    }
    sum.add(device.optimizer);
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    sum.add(costs.buckets[i].forward, uses[i]);
    sum.add(costs.buckets[i].backward, uses[i]);
  }
  Seconds known;
  for (const Seconds part : sum.by_source) {
    known += part;
  }
  const Seconds whole = to_seconds(result.step_time) * static_cast<double>(result.gpus);
  const double scale = known > Seconds{} ? whole / known : 0.0;
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    result.by_source[i] = sum.by_source[i] * scale;
  }
  result.extrapolated = sum.extrapolated * scale;
}

// The device that waits least: its operations decide the step.
std::int64_t busiest_device(const StepResult& result) {
  std::size_t busiest = 0;
  for (std::size_t d = 1; d < result.stage_ledgers.size(); ++d) {
    const auto waiting = [&result](std::size_t i) {
      return result.stage_ledgers[i].gpu_nanoseconds(StepCategory::bubble) +
             result.stage_ledgers[i].gpu_nanoseconds(StepCategory::idle);
    };
    if (waiting(d) < waiting(busiest)) {
      busiest = d;
    }
  }
  return static_cast<std::int64_t>(busiest);
}

void keep_slices(StepResult& result,
                 const schedule::StepGraph& graph,
                 const engine::Timing& timing) {
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (graph.tasks[i].kind != schedule::TaskKind::join && timing.end[i] > timing.start[i]) {
      result.slices.push_back({graph.tasks[i], timing.start[i], timing.end[i]});
    }
  }
}

}  // namespace

std::variant<StepResult, StepProblem> simulate_step(const StepInput& input,
                                                    const cost::CostModel& costs,
                                                    const StepOptions& options) {
  auto made = make_schedule(input);
  if (auto* problem = std::get_if<StepProblem>(&made)) {
    return std::move(*problem);
  }
  const schedule::Schedule& plan = std::get<schedule::Schedule>(made);
  const std::vector<std::vector<int>> buckets = buckets_per_chunk(input);
  const schedule::StepGraphOptions graph_options = {.p2p = p2p_mode(input, costs),
                                                    .buckets = buckets,
                                                    .comm = data_parallel_comm(input, costs),
                                                    .optimizer = true};
  if (auto problem = graph_too_large(plan, graph_options)) {
    return *std::move(problem);
  }
  auto built = schedule::build_step_graph(plan, graph_options);
  if (auto* deadlock = std::get_if<schedule::Deadlock>(&built)) {
    return StepProblem{"layout.schedule", deadlock->message, {}};
  }
  const schedule::StepGraph& graph = std::get<schedule::StepGraph>(built);
  const StageCosts stages = stage_costs(input, costs, buckets);
  if (auto problem = step_too_long(stages, graph.tasks.size())) {
    return *std::move(problem);
  }
  TaskTimes times(graph, stages);
  engine::Timing timing;
  engine::replay_linear(graph.graph, times.durations(), times.delays(), timing);
  if (times.stretch_overlapped(timing, costs.software().communication_slowdown.value())) {
    engine::replay_linear(graph.graph, times.durations(), times.delays(), timing);
  }

  StepResult result;
  result.gpus = input.layout.gpus;
  result.step_time = timing.makespan;
  result.stage_ledgers =
      attribute_step({.graph = graph,
                      .timing = timing,
                      .delays = times.delays(),
                      .parts = times.parts(),
                      .stretch = times.stretch(),
                      .devices = input.layout.pipeline,
                      .gpus_per_device = input.layout.gpus / input.layout.pipeline});
  for (const StepLedger& ledger : result.stage_ledgers) {
    result.ledger += ledger;
  }
  result.memory = memory_account(input, costs, plan, stages);
  result.feasibility = judge(result.memory);
  account_for_trust(result, stages, input);
  if (options.timeline) {
    keep_slices(result, graph, options.ticks ? unit_timing(graph, input.layout, buckets) : timing);
  }
  if (options.operations) {
    result.operations = operation_account(input, costs, busiest_device(result));
  }
  return result;
}

}  // namespace orrery::step
