#include "sim/step/simulate/step_structure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/text/format.hpp"
#include "sim/step/layout/sharding.hpp"
#include "sim/step/simulate/stages/bucket_cuts.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

// What follows from the input alone: options of the operations, groups, buckets, messages.

using layout::Sharding;

namespace {

// The precision with what the scenario leaves to the stack: the type of gradients, whether
// parameters stay in FP8 between the steps, how operands are cast and in which type they are
// gathered.
model::PrecisionSpec resolve_precision(const StepSpec& spec,
                                       const hardware::SoftwareProfile& software) {
  model::PrecisionSpec precision = spec.precision;
  if (spec.gradient_dtype) {
    precision.gradient = *spec.gradient_dtype;
  } else if (software.gradient_dtype == hardware::GradientType::activation) {
    precision.gradient = precision.activation;
  }
  const bool narrow = spec.fp8_parameters.value_or(software.fp8_parameters);
  precision.parameter =
      narrow && precision.compute == model::Dtype::fp8 ? model::Dtype::fp8 : precision.parameter;
  precision.cast_share = software.cast_share.value();
  precision.gathers_low = software.fp8_tensor_gather;
  precision.casts_weights =
      !software.caches_fp8_weights && precision.parameter == precision.activation;
  return precision;
}

// Sharded parameters (FSDP) reduce as they go.
hardware::GradientReduction reduction_of(const StepInput& input,
                                         const hardware::SoftwareProfile& software) {
  const bool sharded_parameters =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  return input.spec.reduction.value_or(sharded_parameters
                                           ? hardware::GradientReduction::per_micro_batch
                                           : software.gradient_reduction);
}

}  // namespace

// Experts overlap as the scenario says, else in schedules that are made for it.
void settle(StepInput& input, const cost::CostModel& costs) {
  const hardware::SoftwareProfile& software = costs.software();
  const bool combines = schedule::traits_of(input.spec.schedule).combines;
  const bool overlaps = input.model.moe.has_value() && input.layout.expert > 1 &&
                        input.spec.overlap.expert.value_or(combines);
  input.spec.precision = resolve_precision(input.spec, software);
  input.choices = {.reduction = reduction_of(input, software),
                   .experts = input.spec.experts.over(software.experts),
                   .overlaps_experts = overlaps,
                   .combines = overlaps && combines,
                   .prefetch = input.spec.fsdp.prefetch.value_or(software.gather_prefetch)};
  input.choices.bucket_cuts = bucket_cuts(input, costs);
}

model::OpOptions op_options(const StepInput& input, const cost::CostModel& costs) {
  const hardware::SoftwareProfile& software = costs.software();
  model::OpOptions options;
  options.shard = input.layout;
  options.precision = input.spec.precision;
  if (input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp) {
    // FSDP keeps no unsharded sum: a layer's gradients leave its products in the activation type.
    options.precision.gradient = options.precision.activation;
  }
  options.dropout = software.dropout;
  const hardware::ExpertOptions& experts = input.choices.experts;
  options.hierarchical_exchange = experts.dispatcher != hardware::ExpertDispatcher::alltoall;
  options.fused_experts = experts.grouped_gemm == hardware::GroupedGemm::fused;
  options.attention_fp8 = experts.attention_fp8;
  if (software.biased_activation_passes &&
      experts.grouped_gemm == hardware::GroupedGemm::per_expert) {
    options.biased_activation_passes = software.biased_activation_passes->value();
  }
  options.backward_passes = software.backward_passes.value();
  options.keeps_gathered_input = software.keeps_gathered_input;
  options.recompute_stops_early = software.recompute_stops_early;
  options.recompute_modules = input.spec.recompute.modules;
  options.keeps_unused_results = !software.compiled;
  options.loss_bytes_per_logit = software.loss_bytes_per_logit.value();
  if (software.attention == hardware::AttentionImplementation::unfused) {
    options.attention = model::AttentionKernel::unfused;
    options.score_passes = software.score_passes.value();
    if (software.softmax_fallback_passes) {
      options.softmax_fallback_passes = software.softmax_fallback_passes->value();
    }
  }
  return options;
}

cost::Placements placements(const StepInput& input) {
  const layout::RankMap map(input.layout);
  const auto place = [&](layout::GroupKind kind) {
    return layout::place_group(map, input.layout, kind, input.cluster);
  };
  cost::Placements places;
  places.tensor = place(layout::GroupKind::tensor);
  places.context = place(layout::GroupKind::context);
  places.data = place(layout::GroupKind::data_context);
  places.shard = place(layout::GroupKind::shard);
  places.replica = place(layout::GroupKind::replica);
  if (input.model.moe) {
    places.expert = place(layout::GroupKind::expert);
    places.expert_tensor = place(layout::GroupKind::expert_tensor);
    places.expert_data = place(layout::GroupKind::expert_data);
    places.expert_shard = place(layout::GroupKind::expert_shard);
    places.expert_replica = place(layout::GroupKind::expert_replica);
  }
  return places;
}

bool has_replicas(const StepInput& input) {
  return input.layout.data * input.layout.context > 1 ||
         (input.model.moe.has_value() && input.layout.expert_data > 1);
}

// Sequence parallelism leaves each rank its own slice; without it, Megatron scatters the message
// over the tensor group and gathers it behind the wire.
Bytes message_bytes(const StepInput& input, bool gradient) {
  const double models = input.model.reference && !gradient ? 2.0 : 1.0;
  const double tokens = static_cast<double>(input.layout.micro_batch) *
                        static_cast<double>(input.model.sequence_length) /
                        static_cast<double>(input.layout.context);
  return model::bytes_per_element(input.spec.precision.activation) *
         (models * tokens *
          static_cast<double>(input.model.residual_streams * input.model.hidden_size) /
          static_cast<double>(input.layout.tensor));
}

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
      buckets = *std::ranges::max_element(options.buckets[d]);
    }
    constexpr double kTasksPerBucket = 2.0;  // the pass and its gather or reduction
    tasks += static_cast<double>(schedule.lists[d].size()) * static_cast<double>(buckets) *
             kTasksPerBucket;
    if (!cuts_every_pass(options.comm) && !options.buckets.empty()) {  // one pass of each chunk
      for (const int chunk : options.buckets[d]) {
        tasks += static_cast<double>(chunk) * kTasksPerBucket;
      }
    }
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
