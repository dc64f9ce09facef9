#include "sim/step/simulate/step_simulator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/engine/replay.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/execute_step.hpp"
#include "sim/step/simulate/local_steps.hpp"
#include "sim/step/simulate/memory/memory_account.hpp"
#include "sim/step/simulate/operations/operation_builder.hpp"
#include "sim/step/simulate/replay/attribution.hpp"
#include "sim/step/simulate/replay/execution.hpp"
#include "sim/step/simulate/shared_links/share_links.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/stages/unit_times.hpp"
#include "sim/step/simulate/step_bounds.hpp"
#include "sim/step/simulate/step_structure.hpp"

namespace orrery::step {

Seconds supply_time(const StepInput& input) {
  const layout::Layout& layout = input.layout;
  const auto sequences =
      static_cast<double>(layout.micro_batch * layout.micro_batches * layout.data);
  const double nodes = std::max(
      1.0, static_cast<double>(layout.gpus) / static_cast<double>(input.cluster.gpus_per_node));
  const double tokens = sequences * static_cast<double>(input.model.sequence_length) / nodes;
  const DataSpec& data = input.spec.data;
  Seconds time;
  if (data.read_bandwidth) {
    time = data.bytes_per_token * tokens / *data.read_bandwidth;
  }
  if (data.tokens_per_second) {
    time = std::max(time, seconds(tokens / *data.tokens_per_second));
  }
  return time;
}

Seconds data_stall(const StepInput& input, Seconds step) {
  const Seconds supply = supply_time(input);
  return input.spec.data.prefetch ? std::max(Seconds{}, supply - step) : supply;
}

namespace {

// Integer nanoseconds must not overflow: tasks x longest task <= 100 years. Reported to the user
// with the key that decides.
constexpr double kLongestStepInYears = 100.0;
constexpr double kDaysPerYear = 365.25;

std::optional<StepProblem> step_too_long(const StageCosts& costs, std::size_t tasks) {
  Seconds longest;
  const auto see = [&longest](const Parts& parts) { longest = std::max(longest, parts.total()); };
  for (const BucketCosts& bucket : costs.buckets) {
    for (const Parts* parts :
         {&bucket.forward, &bucket.backward, &bucket.backward_input, &bucket.backward_weight,
          &bucket.gradient_reduce, &bucket.parameter_gather, &bucket.parameter_gather_again}) {
      see(*parts);
    }
  }
  for (std::size_t d = 0; d < costs.devices.size(); ++d) {
    see(costs.devices[d].optimizer);
    see(costs.send_forward[d]);
    see(costs.send_backward[d]);
  }
  const Seconds limit = days(kLongestStepInYears * kDaysPerYear);
  const Seconds bound = longest * static_cast<double>(tasks);
  if (bound <= limit) {  // false for a rate so low that the time is not finite
    return std::nullopt;
  }
  return StepProblem{
      "cluster",
      fmt::format("one task of the step takes {}: with {} tasks that is beyond {} years",
                  format_time(longest), format_count(static_cast<double>(tasks)),
                  kLongestStepInYears),
      "faster network rates, a smaller model or batch"};
}

using schedule::StepGraph;

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
  const auto& ledgers = result.stage_ledgers;
  const auto least = std::ranges::min_element(ledgers, [](const auto& a, const auto& b) {
    return waiting_for_others(a) < waiting_for_others(b);
  });
  return least - ledgers.begin();
}

void keep_slices(StepResult& result, const schedule::StepGraph& graph,
                 const engine::Timing& timing) {
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (is_slice(graph.tasks[i], timing, i)) {
      result.slices.push_back({graph.tasks[i], timing.start[i], timing.end[i]});
    }
  }
}

void take_ledgers(StepResult& result, const StepInput& input, const StepGraph& graph,
                  const Execution& run, std::vector<DeviceWait>* waits) {
  Attribution booked = attribute_step({.step = {.graph = graph,
                                                .timing = run.timing,
                                                .delays = run.times.delays(),
                                                .parts = run.times.parts(),
                                                .stretch = run.times.stretch(),
                                                .devices = input.layout.pipeline},
                                       .gpus_per_device = input.layout.gpus / input.layout.pipeline,
                                       .waits = waits});
  result.stage_ledgers = std::move(booked.ledgers);
  result.without_communication = booked.without_communication;
  for (const StepLedger& ledger : result.stage_ledgers) {
    result.ledger += ledger;
  }
}

// What comes on top of the executed step: waiting for the next batch.
void wait_for_data(StepResult& result, const StepInput& input) {
  for (SimTime& draw : result.draws) {
    draw += to_sim_time(data_stall(input, to_seconds(draw)));
  }
  prolong(result, StepCategory::data_stall,
          to_sim_time(data_stall(input, to_seconds(result.step_time))));
}

}  // namespace

struct StepSimulator::Structure : StepStructure {
  schedule::ScheduleRequest request;
  schedule::StepGraphOptions options;
};

// By what a step asks of its schedule.
struct StepSimulator::KnownPeaks {
  std::map<std::tuple<schedule::ScheduleKind, int, int, int>, schedule::LivePeaks> of;
};

struct StepSimulator::KnownDraws {
  SpeedDraws speeds;
};

StepSimulator::StepSimulator()
    : peaks_(std::make_unique<KnownPeaks>()), draws_(std::make_unique<KnownDraws>()) {}

StepSimulator::~StepSimulator() = default;
StepSimulator::StepSimulator(StepSimulator&&) noexcept = default;
StepSimulator& StepSimulator::operator=(StepSimulator&&) noexcept = default;

std::variant<const StepSimulator::Structure*, StepProblem> StepSimulator::structure(
    const schedule::ScheduleRequest& request, const schedule::StepGraphOptions& options) {
  for (const auto& known : kept_) {
    if (known->request == request && known->options == options) {
      return known.get();
    }
  }
  auto built = build_structure(request, options);
  if (auto* problem = std::get_if<StepProblem>(&built)) {
    return std::move(*problem);
  }
  constexpr std::size_t kMost = 4;
  constexpr std::size_t kMostTasks = 1'000'000;  // some 150 bytes each
  std::size_t tasks = std::get<StepStructure>(built).graph.tasks.size();
  for (const auto& known : kept_) {
    tasks += known->graph.tasks.size();
  }
  while (!kept_.empty() && (kept_.size() >= kMost || tasks > kMostTasks)) {
    tasks -= kept_.front()->graph.tasks.size();
    kept_.erase(kept_.begin());
  }
  kept_.push_back(std::make_unique<Structure>(
      Structure{std::get<StepStructure>(std::move(built)), request, options}));
  return kept_.back().get();
}

std::variant<StepResult, StepProblem> StepSimulator::simulate(const StepInput& input,
                                                              const cost::CostModel& costs,
                                                              const StepOptions& options) {
  if (input.spec.local_steps.islands > 1) {
    return simulate_islands(input, costs, options);
  }
  if (const auto alone = unshared_step(input, costs)) {
    return simulate_on(&costs.cluster(), alone->input, alone->costs, options);
  }
  return simulate_on(nullptr, input, costs, options);
}

std::variant<StepResult, StepProblem> StepSimulator::simulate_on(
    const hardware::ClusterSpec* shared, const StepInput& input, const cost::CostModel& costs,
    const StepOptions& options) {
  const std::vector<std::vector<int>> buckets = buckets_per_chunk(input);
  auto found = structure(schedule_request(input), graph_options(input, costs, buckets));
  if (auto* problem = std::get_if<StepProblem>(&found)) {
    return std::move(*problem);
  }
  stop_point(options.stop);
  const Structure& shape = *std::get<const Structure*>(found);
  const StageCosts stages = cluster_stage_costs(input, costs, buckets, options.memo);
  if (auto problem = step_too_long(stages, shape.graph.tasks.size())) {
    return *std::move(problem);
  }
  std::optional<SharedNetwork> network;
  if (shared != nullptr) {
    network.emplace(SharedNetwork{input, costs, buckets, *shared, options.timeline});
  }
  ExecutionInput execution{shape.graph, stages, costs.software().communication_slowdown.value(),
                           network ? &*network : nullptr};
  SlowestReplica slowest = find_slowest_replica(input, costs, execution, draws_->speeds,
                                                {.threads = options.threads, .stop = options.stop});
  execution.replicas = slowest.replicas;
  const Execution run = execute(execution, slowest.speeds);
  if (!slowest.replicas.empty()) {
    slowest.speeds = slowest.replicas[run.replica];
  }
  if (slowest.draws.size() == 1) {
    slowest.draws.front() = run.timing.makespan;
  }
  stop_point(options.stop);
  StepResult result;
  result.gpus = input.layout.gpus;
  result.step_time = run.timing.makespan;
  result.draws = std::move(slowest.draws);
  result.network = run.network;
  std::vector<DeviceWait> waits;
  if (options.ledger) {
    take_ledgers(result, input, shape.graph, run, options.operation_timeline ? &waits : nullptr);
  }
  const schedule::ScheduleRequest few = schedule::as_few_micro_batches(schedule_request(input));
  const auto peaks =
      live_peaks(few, few.micro_batches == shape.plan.micro_batches ? &shape.plan : nullptr);
  result.memory =
      memory_account(input, costs, *std::get<const schedule::LivePeaks*>(peaks), stages);
  apply_smallest_memory(input, result.memory);
  result.feasibility = judge(result.memory, input);
  account_for_trust(result, stages, input);
  if (options.operation_timeline) {
    result.operation_timeline = build_operation_timeline({.input = input,
                                                          .costs = costs,
                                                          .buckets = buckets,
                                                          .graph = shape.graph,
                                                          .stages = stages,
                                                          .run = run,
                                                          .speeds = slowest.speeds,
                                                          .waits = std::move(waits),
                                                          .draw = slowest.draw});
  }
  wait_for_data(result, input);
  if (options.timeline) {
    keep_slices(result, shape.graph,
                options.ticks ? unit_timing(shape.graph, input.layout, buckets) : run.timing);
  }
  if (options.operations) {
    result.operations = operation_account(input, costs, busiest_device(result));
  }
  return result;
}

std::variant<const schedule::LivePeaks*, StepProblem> StepSimulator::live_peaks(
    const schedule::ScheduleRequest& request, const schedule::Schedule* made) {
  const std::tuple key(request.kind, request.devices, request.chunks, request.micro_batches);
  const auto known = peaks_->of.find(key);
  if (known != peaks_->of.end()) {
    return &known->second;
  }
  std::optional<schedule::LivePeaks> peaks;
  if (made != nullptr) {
    peaks = schedule::live_peaks(*made);
  } else {
    auto generated = schedule::generate(request);
    if (auto* refusal = std::get_if<schedule::ScheduleRefusal>(&generated)) {
      return StepProblem{"layout.schedule", refusal->message, refusal->allowed};
    }
    peaks = schedule::live_peaks(std::get<schedule::Schedule>(generated));
  }
  constexpr std::size_t kMost = 2048;
  if (peaks_->of.size() == kMost) {
    peaks_->of.clear();
  }
  return &peaks_->of.emplace(key, *std::move(peaks)).first->second;
}

std::variant<StepBound, StepProblem> StepSimulator::bound(const StepInput& input,
                                                          const cost::CostModel& costs,
                                                          CostMemo* memo) {
  if (input.spec.local_steps.islands > 1 || !input.mixed.empty()) {
    auto whole = simulate(input, costs,
                          {.timeline = false, .operations = false, .ledger = false, .memo = memo});
    if (auto* problem = std::get_if<StepProblem>(&whole)) {
      return std::move(*problem);
    }
    return StepBound{{}, std::get<StepResult>(whole).feasibility};
  }
  if (const auto alone = unshared_step(input, costs)) {
    return bound_of(alone->input, alone->costs, memo);
  }
  return bound_of(input, costs, memo);
}

std::variant<StepBound, StepProblem> StepSimulator::bound_of(const StepInput& input,
                                                             const cost::CostModel& costs,
                                                             CostMemo* memo) {
  auto peaks = live_peaks(schedule::as_few_micro_batches(schedule_request(input)));
  if (auto* problem = std::get_if<StepProblem>(&peaks)) {
    return std::move(*problem);
  }
  const StageCosts stages = stage_costs(input, costs, buckets_per_chunk(input), memo);
  const std::vector<StageMemory> memory =
      peak_memory(input, costs, *std::get<const schedule::LivePeaks*>(peaks), stages);
  return StepBound{least_step_time(input, costs, stages, memo), judge(memory, input)};
}

std::variant<StepResult, StepProblem> StepSimulator::simulate_islands(const StepInput& input,
                                                                      const cost::CostModel& costs,
                                                                      const StepOptions& options) {
  if (auto problem = check_islands(input)) {
    return *std::move(problem);
  }
  StepInput island = island_of(input);
  island.spec.local_steps = {};
  auto outcome = simulate(island, costs, options);
  if (auto* result = std::get_if<StepResult>(&outcome)) {
    add_outer_step(*result, input, costs);
  }
  return outcome;
}

std::variant<StepResult, StepProblem> simulate_step(const StepInput& input,
                                                    const cost::CostModel& costs,
                                                    const StepOptions& options) {
  return StepSimulator().simulate(input, costs, options);
}

}  // namespace orrery::step
