// The launches of a step around its layers: embedding, loss, experts, casts and the update.

#include <cuda_bf16.h>

#include "calibrate/validate/device_step.hpp"
#include "kernels/device/element.hpp"
#include "kernels/own/own_kernels.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Element;
using kernels::Operation;
using kernels::Role;
using kernels::Stream;
using Bf16 = __nv_bfloat16;

}  // namespace

void DeviceStep::add_loss(const StepOperation& operation) {
  const bool loss = operation.kernel.operation == Operation::cross_entropy;
  const std::int64_t rows = operation.axis(0);
  const std::int64_t columns = operation.axis(1);
  const auto* ids = as<std::int64_t>(operation.reads[1]);
  if (loss && operation.is_backward()) {
    const kernels::CrossEntropyBackward<Bf16> entropy{.logits = as<Bf16>(operation.reads[0]),
                                                      .targets = ids,
                                                      .log_sum = as<float>(operation.reads[2]),
                                                      .gradient = as<Bf16>(operation.writes[0]),
                                                      .rows = rows,
                                                      .columns = columns,
                                                      .scale = 1.0F / static_cast<float>(rows)};
    launches_.emplace_back(
        [entropy](Stream stream) { kernels::launch_cross_entropy_backward(entropy, stream); });
  } else if (loss) {
    const kernels::CrossEntropyForward<Bf16> entropy{.logits = as<Bf16>(operation.reads[0]),
                                                     .targets = ids,
                                                     .loss = as<float>(operation.writes[0]),
                                                     .log_sum = as<float>(operation.writes[1]),
                                                     .rows = rows,
                                                     .columns = columns};
    launches_.emplace_back(
        [entropy](Stream stream) { kernels::launch_cross_entropy_forward(entropy, stream); });
  } else if (operation.is_backward()) {
    const kernels::EmbeddingBackward<Bf16> table{.gradient = as<Bf16>(operation.reads[0]),
                                                 .ids = ids,
                                                 .table_gradient = as<float>(operation.writes[0]),
                                                 .rows = rows,
                                                 .columns = columns};
    launches_.emplace_back(
        [table](Stream stream) { kernels::launch_embedding_backward(table, stream); });
  } else {
    const kernels::EmbeddingForward<Bf16> table{.table = as<Bf16>(operation.reads[0]),
                                                .ids = ids,
                                                .y = as<Bf16>(operation.writes[0]),
                                                .rows = rows,
                                                .columns = columns};
    launches_.emplace_back(
        [table](Stream stream) { kernels::launch_embedding_forward(table, stream); });
  }
}

void DeviceStep::add_routing(const StepOperation& operation) {
  const bool permute = operation.kernel.operation == Operation::permute;
  const auto* places = as<std::int32_t>(program_.places);
  const auto* weights = as<float>(program_.weights);
  const std::int64_t rows = operation.axis(0);
  const std::int64_t columns = operation.axis(1);
  const std::int64_t copies = operation.axis(2);
  if (permute && !operation.is_backward()) {
    const kernels::Scatter<Bf16> scatter{.x = as<Bf16>(operation.reads[0]),
                                         .places = places,
                                         .y = as<Bf16>(operation.writes[0]),
                                         .rows = rows,
                                         .columns = columns,
                                         .copies = copies};
    launches_.emplace_back([scatter](Stream stream) { kernels::launch_scatter(scatter, stream); });
  } else if (permute || !operation.is_backward()) {
    const kernels::Combine<Bf16> combine{.y = as<Bf16>(operation.reads[0]),
                                         .places = places,
                                         .weights = permute ? nullptr : weights,
                                         .x = as<Bf16>(operation.writes[0]),
                                         .rows = rows,
                                         .columns = columns,
                                         .copies = copies};
    launches_.emplace_back([combine](Stream stream) { kernels::launch_combine(combine, stream); });
  } else {
    const kernels::CombineBackward<Bf16> combine{.gradient = as<Bf16>(operation.reads[0]),
                                                 .y = as<Bf16>(operation.reads[1]),
                                                 .places = places,
                                                 .weights = weights,
                                                 .y_gradient = as<Bf16>(operation.writes[0]),
                                                 .weight_gradient = as<float>(operation.writes[1]),
                                                 .rows = rows,
                                                 .columns = columns,
                                                 .copies = copies};
    launches_.emplace_back(
        [combine](Stream stream) { kernels::launch_combine_backward(combine, stream); });
  }
}

void DeviceStep::add_cast(const StepOperation& operation) {
  const std::size_t index = casts_++;
  for (const int codes : operation.writes) {
    cast_of_[codes] = index;
  }
  const kernels::Cast cast{.recipe = kernels::CastRecipe::tensor,
                           .wide_range = operation.is_backward(),
                           .x = as<Bf16>(operation.reads[0]),
                           .codes = as<std::uint8_t>(operation.writes[0]),
                           .transposed = as<std::uint8_t>(operation.writes[1]),
                           .magnitude = magnitudes_ + index,
                           .multiplier = multipliers_on_device_ + index,
                           .rows = operation.axis(0),
                           .columns = operation.axis(1)};
  launches_.emplace_back([cast](Stream stream) { kernels::launch_cast(cast, stream); });
}

void DeviceStep::add_optimizer(const StepOperation& operation, float rate) {
  const std::int64_t elements = operation.axis(0);
  if (operation.kernel.operation == Operation::gradient_norm) {
    kernels::GradientNorm<float> norm{.gradient = as<float>(operation.reads[0]),
                                      .norm = as<float>(operation.writes[0]),
                                      .elements = elements};
    const int blocks = kernels::gradient_norm_blocks(norm);
    norm.partial = static_cast<float*>(scratch(kernels::bytes_of(Element::fp32, blocks)));
    launches_.emplace_back(
        [norm, blocks](Stream stream) { kernels::launch_gradient_norm(norm, blocks, stream); });
    return;
  }
  kernels::AdamwUpdate<float> update{.gradient = as<float>(operation.reads[0]),
                                     .weight = as<float>(operation.writes[0]),
                                     .first = as<float>(operation.writes[1]),
                                     .second = as<float>(operation.writes[2]),
                                     .narrow = as<Bf16>(operation.writes[3]),
                                     .elements = elements,
                                     .rate = rate};
  update.first_correction = 1.0F / (1.0F - update.beta1);
  update.second_correction = 1.0F / (1.0F - update.beta2);
  launches_.emplace_back([update](Stream stream) { kernels::launch_adamw(update, stream); });
}

}  // namespace orrery::calibrate
