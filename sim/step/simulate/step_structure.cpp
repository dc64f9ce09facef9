#include "sim/step/simulate/step_structure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/text/format.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

using layout::Sharding;
using schedule::ScheduleKind;

namespace {

// Limit of the simulation of a step, which legal but extreme input may exceed:
//
//   tasks = passes x buckets x (1 + gather + reduction) <= 2^24
//
// symbol  | meaning                                                   | unit  | origin
// --------|-----------------------------------------------------------|-------|----------
// passes  | forwards and backwards of all devices                     | -     | schedule
// buckets | groups of layers into which a pass is cut                 | -     | stage costs

constexpr double kMostTasks = 16'777'216.0;

// Whether every pass, and not only the first or the last of a chunk, is cut into its buckets.
bool cuts_every_pass(const schedule::DataParallelComm& comm) {
  return comm.parameters == schedule::ParameterGather::per_use ||
         comm.gradients == schedule::GradientReduction::per_micro_batch;
}

std::optional<StepProblem> graph_too_large(const schedule::Schedule& schedule,
                                           const schedule::StepGraphOptions& options) {
  double tasks = 0.0;
  for (std::size_t d = 0; d < schedule.lists.size(); ++d) {
    int buckets = 1;
    if (cuts_every_pass(options.comm) && !options.buckets.empty()) {
      buckets = *std::max_element(options.buckets[d].begin(), options.buckets[d].end());
    }
    constexpr double kTasksPerBucket = 2.0;  // the pass and its gather or reduction
    tasks += static_cast<double>(schedule.lists[d].size()) * static_cast<double>(buckets) *
             kTasksPerBucket;
  }
  if (tasks <= kMostTasks) {
    return std::nullopt;
  }
  return StepProblem{
      "batch.micro",
      fmt::format("a step of {} passes with their communication has about {} tasks, more than {}",
                  format_count(static_cast<double>(schedule.micro_batches)), format_count(tasks),
                  format_count(kMostTasks)),
      "larger micro-batches, a smaller global batch, or a larger overlap.bucket"};
}

}  // namespace

std::variant<StepStructure, StepProblem> build_structure(
    const schedule::ScheduleRequest& request, const schedule::StepGraphOptions& options) {
  auto made = schedule::generate(request);
  if (auto* refusal = std::get_if<schedule::ScheduleRefusal>(&made)) {
    return StepProblem{"layout.schedule", refusal->message, refusal->allowed};
  }
  auto& plan = std::get<schedule::Schedule>(made);
  if (auto problem = graph_too_large(plan, options)) {
    return *std::move(problem);
  }
  auto built = schedule::build_step_graph(plan, options);
  if (auto* deadlock = std::get_if<schedule::Deadlock>(&built)) {
    return StepProblem{"layout.schedule", deadlock->message, {}};
  }
  return StepStructure{std::move(plan), std::get<schedule::StepGraph>(std::move(built))};
}

schedule::StepGraphOptions graph_options(const StepInput& input, const cost::CostModel& costs,
                                         const std::vector<std::vector<int>>& buckets) {
  return {.p2p = p2p_mode(input, costs),
          .buckets = buckets,
          .comm = data_parallel_comm(input, costs),
          .optimizer = true};
}

schedule::DataParallelComm data_parallel_comm(const StepInput& input,
                                              const cost::CostModel& costs) {
  schedule::DataParallelComm comm;
  if (!has_replicas(input)) {
    return comm;
  }
  const bool gathers_per_use =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  comm.gradients = input.choices.reduction == hardware::GradientReduction::per_micro_batch
                       ? schedule::GradientReduction::per_micro_batch
                       : schedule::GradientReduction::per_step;
  comm.overlap_gradients = input.spec.overlap.data && costs.software().can_overlap_gradients;
  if (input.layout.sharding != Sharding::none) {
    comm.parameters =
        gathers_per_use ? schedule::ParameterGather::per_use : schedule::ParameterGather::per_step;
  }
  comm.overlap_parameters = input.spec.overlap.data && costs.software().can_overlap_parameters;
  comm.prefetch = static_cast<int>(input.choices.prefetch);
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
  const schedule::P2pMode wanted = schedule::traits_of(input.spec.schedule).stale
                                       ? schedule::P2pMode::latency
                                       : named(costs.software().interleaved_transfer);
  return input.spec.overlap.pipeline && schedule::p2p_mode_applies(wanted, input.spec.schedule)
             ? wanted
             : schedule::P2pMode::occupying;
}

schedule::ScheduleRequest schedule_request(const StepInput& input) {
  return {.kind = input.spec.schedule,
          .devices = static_cast<int>(input.layout.pipeline),
          .chunks = static_cast<int>(input.layout.virtual_stages),
          .micro_batches = static_cast<int>(input.layout.micro_batches),
          .group_size = std::nullopt,
          .backward_order = std::nullopt};
}

}  // namespace orrery::step
