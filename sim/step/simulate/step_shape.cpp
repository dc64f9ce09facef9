// What follows from the input alone: options of the operations, groups, buckets, messages.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/step/layout/sharding.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

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
void settle(StepInput& input, const hardware::SoftwareProfile& software) {
  const bool combines = schedule::traits_of(input.spec.schedule).combines;
  const bool overlaps = input.model.moe.has_value() && input.layout.expert > 1 &&
                        input.spec.overlap.expert.value_or(combines);
  input.spec.precision = resolve_precision(input.spec, software);
  input.choices = {.reduction = reduction_of(input, software),
                   .experts = input.spec.experts.over(software.experts),
                   .overlaps_experts = overlaps,
                   .combines = overlaps && combines,
                   .prefetch = input.spec.fsdp.prefetch.value_or(software.gather_prefetch)};
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

std::vector<std::vector<int>> buckets_per_chunk(const StepInput& input) {
  std::vector<std::vector<int>> result;
  for (std::int64_t d = 0; d < input.layout.pipeline; ++d) {
    std::vector<int> counts;
    const auto& chunks = input.layout.stages[static_cast<std::size_t>(d)];
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const std::int64_t layers = std::max<std::int64_t>(1, chunks[c].num_layers);
      std::int64_t count = layers;
      if (input.spec.bucket) {
        const model::ShardParameters held = layout::chunk_shard_parameters(
            input.model, input.layout, d, static_cast<std::int64_t>(c));
        const Bytes size =
            model::bytes_per_element(input.spec.precision.gradient) * held.trained().all();
        const double wanted = std::ceil(size / *input.spec.bucket);
        count = wanted < static_cast<double>(layers)
                    ? std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted))
                    : layers;
      }
      counts.push_back(static_cast<int>(count));
    }
    result.push_back(std::move(counts));
  }
  return result;
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

// Layers [first, last) of bucket b when `layers` layers are cut into `buckets` groups.
std::pair<std::int64_t, std::int64_t> bucket_range(std::int64_t layers, int buckets, int b) {
  return {layers * b / buckets, layers * (b + 1) / buckets};
}

}  // namespace orrery::step
