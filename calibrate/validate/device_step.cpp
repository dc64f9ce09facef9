#include "calibrate/validate/device_step.hpp"

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <utility>

#include "kernels/device/element.hpp"
#include "kernels/device/fill.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/families.hpp"
#include "kernels/own/own_kernels.hpp"
#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

using kernels::DeviceBuffer;
using kernels::Element;
using kernels::KernelCase;
using kernels::Operation;
using kernels::Role;
using kernels::Stream;
using Bf16 = __nv_bfloat16;

constexpr float kEpsilon = 1e-5F;

// Each scale has the alignment of a buffer, as in the product that is measured alone.
constexpr std::size_t kScaleStride = kernels::kMemoryAlignment / sizeof(float);

Element element_of(BufferType type) {
  switch (type) {
    case BufferType::bf16:
      return Element::bf16;
    case BufferType::e4m3:
      return Element::e4m3;
    case BufferType::e5m2:
      return Element::e5m2;
    default:
      return Element::fp32;
  }
}

template <typename T>
void upload(void* data, const std::vector<T>& values, Stream stream) {
  kernels::copy_to_device(data, values.data(), static_cast<std::int64_t>(values.size() * sizeof(T)),
                          stream);
}

}  // namespace

DeviceStep::DeviceStep(const StepProgram& program, const StepInputs& inputs, std::uint64_t seed,
                       float rate, Stream stream)
    : program_(program) {
  const std::int64_t wanted = memory_bytes(program) + kernels::product_workspace_bytes();
  (void)kernels::operand_sets(wanted, 0,
                              kernels::memory_budget({}));  // throws where it is too much
  workspace_ = std::make_unique<DeviceBuffer>(kernels::product_workspace_bytes());
  allocate();
  fill(inputs, seed, stream);
  prepare_scales(stream);
  for (const StepOperation& operation : program.operations) {
    add(operation, rate, stream);
  }
  kernels::check(cudaStreamSynchronize(stream), "prepare a step");
}

void DeviceStep::enqueue(Stream stream, const kernels::ClockProbe* clock) const {
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    if (clock != nullptr && i == 0) {
      clock->begin(stream);
    }
    const Operation operation = program_.operations[i].kernel.operation;
    if (clock != nullptr && operation == Operation::gradient_norm) {
      clock->end(stream);
    }
    launches_[i](stream);
  }
}

std::vector<float> DeviceStep::read(int buffer, Stream stream) const {
  const Buffer& described = program_.buffers[static_cast<std::size_t>(buffer)];
  return kernels::read_elements(data(buffer), element_of(described.type), 0, described.count,
                                stream);
}

DeviceBuffer& DeviceStep::memory(int buffer) {
  ORRERY_CHECK(memory_[static_cast<std::size_t>(buffer)] != nullptr, "a view has no memory");
  return *memory_[static_cast<std::size_t>(buffer)];
}

void* DeviceStep::data(int buffer) const {
  const Buffer& described = program_.buffers[static_cast<std::size_t>(buffer)];
  if (described.whole < 0) {
    return memory_[static_cast<std::size_t>(buffer)]->data();
  }
  return static_cast<char*>(data(described.whole)) +
         described.first * element_bytes(described.type);
}

void* DeviceStep::scratch(std::int64_t bytes) {
  scratch_.push_back(std::make_unique<DeviceBuffer>(bytes));
  return scratch_.back()->data();
}

void DeviceStep::allocate() {
  for (const Buffer& buffer : program_.buffers) {
    const std::int64_t bytes = kernels::aligned(buffer.count * element_bytes(buffer.type));
    memory_.push_back(buffer.whole < 0 ? std::make_unique<DeviceBuffer>(bytes) : nullptr);
  }
}

void DeviceStep::fill(const StepInputs& inputs, std::uint64_t seed, Stream stream) {
  upload(data(program_.ids), inputs.ids, stream);
  upload(data(program_.targets), inputs.targets, stream);
  upload(data(program_.angles), inputs.angles, stream);
  if (program_.shape.experts) {
    upload(data(program_.places), inputs.places, stream);
    upload(data(program_.weights), inputs.weights, stream);
  }
  for (const int state : {program_.narrow, program_.master, program_.gradients,
                          program_.first_moment, program_.second_moment}) {
    const DeviceBuffer& buffer = memory(state);
    kernels::check(
        cudaMemsetAsync(buffer.data(), 0, static_cast<std::size_t>(buffer.bytes()), stream),
        "clear the state of the optimizer");
  }
  auto* const master = as<float>(program_.master);
  for (std::size_t p = 0; p < program_.parameters.size(); ++p) {
    const Parameter& parameter = program_.parameters[p];
    const Buffer& view = program_.buffers[static_cast<std::size_t>(parameter.narrow)];
    if (parameter.is_norm()) {
      const std::vector<float> ones(static_cast<std::size_t>(parameter.count()), 1.0F);
      const std::vector<std::uint16_t> narrow(ones.size(), 0x3F80U);  // 1 in bf16
      upload(data(parameter.narrow), narrow, stream);
      upload(master + view.first, ones, stream);
      continue;
    }
    const ParameterStart start = start_of(program_, p, seed);
    const kernels::Normal normal{.seed = start.seed, .deviation = start.deviation, .first = 0};
    kernels::fill_normal(data(parameter.narrow), Element::bf16, parameter.count(), normal, stream);
    kernels::fill_normal(master + view.first, Element::fp32, parameter.count(), normal, stream);
  }
}

// Multipliers of all casts, in the order of the program.
void DeviceStep::prepare_scales(Stream stream) {
  constexpr float kActivations = 8.0F;
  constexpr float kGradients = 16.0F;
  for (const StepOperation& operation : program_.operations) {
    if (operation.kernel.operation != Operation::quantize_transpose) {
      continue;
    }
    const Buffer& input = program_.buffers[static_cast<std::size_t>(operation.reads[0])];
    float multiplier = kActivations;
    if (operation.is_backward()) {
      multiplier = kGradients * static_cast<float>(program_.shape.tokens());
    } else if (input.kind == BufferKind::parameter) {
      multiplier = kActivations * std::sqrt(static_cast<float>(operation.axis(1)));
    }
    multipliers_.push_back(multiplier);
  }
  if (multipliers_.empty()) {
    return;
  }
  std::vector<float> scales(multipliers_.size() * kScaleStride);
  for (std::size_t i = 0; i < multipliers_.size(); ++i) {
    scales[i * kScaleStride] = 1.0F / multipliers_[i];
  }
  const auto bytes = static_cast<std::int64_t>(multipliers_.size() * sizeof(float));
  multipliers_on_device_ = static_cast<float*>(scratch(bytes));
  scales_ = static_cast<float*>(scratch(bytes * static_cast<std::int64_t>(kScaleStride)));
  magnitudes_ = static_cast<std::uint32_t*>(scratch(bytes));
  upload(multipliers_on_device_, multipliers_, stream);
  upload(scales_, scales, stream);
  upload(magnitudes_, std::vector<std::uint32_t>(multipliers_.size(), 0U), stream);
}

void DeviceStep::add(const StepOperation& operation, float rate, Stream stream) {
  switch (operation.kernel.operation) {
    case Operation::gemm:
      return add_product(operation, stream);
    case Operation::grouped_gemm:
      return add_grouped(operation, stream);
    case Operation::attention:
      return add_attention(operation);
    case Operation::rotary:
      return add_rotary(operation);
    case Operation::rms_norm:
      return add_norm(operation);
    case Operation::residual_add:
    case Operation::swiglu:
      return add_elementwise(operation);
    case Operation::cross_entropy:
    case Operation::embedding:
      return add_loss(operation);
    case Operation::permute:
    case Operation::unpermute:
      return add_routing(operation);
    case Operation::quantize_transpose:
      return add_cast(operation);
    case Operation::gradient_norm:
    case Operation::adamw:
      return add_optimizer(operation, rate);
    case Operation::copy: {
      const DeviceBuffer& cleared = memory(operation.writes[0]);
      launches_.emplace_back([&cleared](Stream on) {
        kernels::check(
            cudaMemsetAsync(cleared.data(), 0, static_cast<std::size_t>(cleared.bytes()), on),
            "clear the gradients");
      });
      return;
    }
    default:
      ORRERY_CHECK(false, "a step holds no other operations");
  }
}

void DeviceStep::add_product(const StepOperation& operation, Stream stream) {
  const KernelCase& kernel = operation.kernel;
  const auto [place, fresh] = products_.try_emplace(kernel, kernel, *workspace_);
  kernels::ProductPointers pointers{
      .a = data(operation.reads[1]), .b = data(operation.reads[0]), .d = data(operation.writes[0])};
  if (kernel.precision != kernels::Precision::bf16) {
    pointers.a_scale = scales_ + cast_of_.at(operation.reads[1]) * kScaleStride;
    pointers.b_scale = scales_ + cast_of_.at(operation.reads[0]) * kScaleStride;
  }
  if (fresh) {
    place->second.choose(pointers, stream);
  }
  launches_.emplace_back(
      [call = &place->second, pointers](Stream on) { call->launch(pointers, on); });
}

// Groups lie one after another, without gaps: rows of tokens in the order of the groups, weights of
// one group after those of the one before. A group without tokens has no product, its weights have
// a place all the same.
void DeviceStep::add_grouped(const StepOperation& operation, Stream stream) {
  const KernelCase& kernel = operation.kernel;
  const bool weight = kernel.role == Role::wgrad || kernel.role == Role::wgrad_accumulate;
  const auto* a = static_cast<const char*>(data(operation.reads[1]));
  const auto* b = static_cast<const char*>(data(operation.reads[0]));
  auto* d = static_cast<char*>(data(operation.writes[0]));
  std::vector<kernels::Product> products;
  std::vector<kernels::ProductPointers> parts;
  for (const std::int64_t tokens : group_rows(kernel)) {
    const kernels::Product product =
        kernels::product_of(kernel.role, kernel.precision, weight ? extent(kernel, "m") : tokens,
                            extent(kernel, "n"), weight ? tokens : extent(kernel, "k"));
    if (tokens > 0) {
      products.push_back(product);
      parts.push_back({.a = a, .b = b, .d = d});
    }
    a += kernels::bytes_of(product.a.element, product.a.count());
    b += kernels::bytes_of(product.b.element, product.b.count());
    d += kernels::bytes_of(product.result, product.m * product.n);
  }
  const auto place = grouped_.try_emplace(kernel, std::move(products), lanes_).first;
  groups_.push_back(std::make_unique<kernels::GroupedCall::Operands>(
      place->second.bind(std::move(parts), stream)));
  launches_.emplace_back([call = &place->second, operands = groups_.back().get()](Stream on) {
    call->launch(*operands, on);
  });
}

// The set of operands holds its memory, so that it is lent for the time of the call.
void DeviceStep::add_attention(const StepOperation& operation) {
  auto& runnable = attention_[operation.kernel];
  if (runnable == nullptr) {
    auto made = kernels::make_attention(operation.kernel, {});
    auto* attention = dynamic_cast<kernels::AttentionRunnable*>(made.get());
    ORRERY_CHECK(attention != nullptr, "every attention runs on operands of others");
    runnable.reset(attention);
    (void)made.release();
  }
  std::vector<std::pair<DeviceBuffer kernels::AttentionSet::*, DeviceBuffer*>> operands;
  using Set = kernels::AttentionSet;
  const auto lend = [&](DeviceBuffer Set::*member, int buffer) {
    operands.emplace_back(member, &memory(buffer));
  };
  lend(&Set::q, operation.reads[0]);
  lend(&Set::k, operation.reads[1]);
  lend(&Set::v, operation.reads[2]);
  if (operation.is_backward()) {
    lend(&Set::o, operation.reads[3]);
    lend(&Set::log_sum, operation.reads[4]);
    lend(&Set::d_o, operation.reads[5]);
    lend(&Set::d_q, operation.writes[0]);
    lend(&Set::d_k, operation.writes[1]);
    lend(&Set::d_v, operation.writes[2]);
    const std::int64_t rows = program_.shape.tokens() * program_.shape.heads;
    (void)scratch(kernels::bytes_of(Element::fp32, rows));
    operands.emplace_back(&Set::delta, scratch_.back().get());
  } else {
    lend(&Set::o, operation.writes[0]);
    lend(&Set::log_sum, operation.writes[1]);
  }
  launches_.emplace_back([attention = runnable.get(), operands](Stream stream) {
    Set set;
    for (const auto& [member, buffer] : operands) {
      set.*member = std::move(*buffer);
    }
    attention->launch_on(set, stream);
    for (const auto& [member, buffer] : operands) {
      *buffer = std::move(set.*member);
    }
  });
}

void DeviceStep::add_rotary(const StepOperation& operation) {
  const StepShape& shape = program_.shape;
  const bool back = operation.is_backward();
  const std::vector<int>& parts = back ? operation.reads : operation.writes;
  const kernels::RotaryParts rotary{
      .joined = as<Bf16>(back ? operation.writes[0] : operation.reads[0]),
      .angles = as<float>(program_.angles),
      .q = as<Bf16>(parts[0]),
      .k = as<Bf16>(parts[1]),
      .v = as<Bf16>(parts[2]),
      .tokens = shape.tokens(),
      .heads = shape.heads,
      .groups = shape.groups,
      .dim = shape.head_dim,
      .positions = shape.sequence_length};
  launches_.emplace_back([rotary, back](Stream stream) {
    back ? kernels::launch_rotary_join(rotary, stream)
         : kernels::launch_rotary_parts(rotary, stream);
  });
}

void DeviceStep::add_norm(const StepOperation& operation) {
  if (!operation.is_backward()) {
    push<kernels::NormForward<Bf16>>(kernels::launch_norm_forward,
                                     {.x = as<Bf16>(operation.reads[0]),
                                      .weight = as<Bf16>(operation.reads[1]),
                                      .y = as<Bf16>(operation.writes[0]),
                                      .scale = as<float>(operation.writes[1]),
                                      .rows = operation.axis(0),
                                      .columns = operation.axis(1),
                                      .epsilon = kEpsilon});
    return;
  }
  kernels::NormBackward<Bf16> norm{.x = as<Bf16>(operation.reads[0]),
                                   .weight = as<Bf16>(operation.reads[1]),
                                   .gradient = as<Bf16>(operation.reads[2]),
                                   .scale = as<float>(operation.reads[3]),
                                   .input_gradient = as<Bf16>(operation.writes[0]),
                                   .weight_gradient = as<float>(operation.writes[1]),
                                   .rows = operation.axis(0),
                                   .columns = operation.axis(1)};
  const int blocks = kernels::norm_backward_blocks(norm);
  norm.partial = static_cast<float*>(
      scratch(kernels::bytes_of(Element::fp32, std::int64_t{blocks} * norm.columns)));
  launches_.emplace_back(
      [norm, blocks](Stream stream) { kernels::launch_norm_backward(norm, blocks, stream); });
}

void DeviceStep::add_elementwise(const StepOperation& operation) {
  if (operation.kernel.operation == Operation::residual_add) {
    push<kernels::ResidualAdd<Bf16>>(kernels::launch_residual_add,
                                     {.a = as<Bf16>(operation.reads[0]),
                                      .b = as<Bf16>(operation.reads[1]),
                                      .y = as<Bf16>(operation.writes[0]),
                                      .elements = operation.axis(0) * operation.axis(1)});
  } else if (operation.is_backward()) {
    push<kernels::SwigluBackward<Bf16>>(kernels::launch_swiglu_backward,
                                        {.gate_up = as<Bf16>(operation.reads[0]),
                                         .gradient = as<Bf16>(operation.reads[1]),
                                         .gate_up_gradient = as<Bf16>(operation.writes[0]),
                                         .rows = operation.axis(0),
                                         .columns = operation.axis(1)});
  } else {
    push<kernels::SwigluForward<Bf16>>(kernels::launch_swiglu_forward,
                                       {.gate_up = as<Bf16>(operation.reads[0]),
                                        .y = as<Bf16>(operation.writes[0]),
                                        .rows = operation.axis(0),
                                        .columns = operation.axis(1)});
  }
}

void DeviceStep::add_loss(const StepOperation& operation) {
  const bool loss = operation.kernel.operation == Operation::cross_entropy;
  const std::int64_t rows = operation.axis(0);
  const std::int64_t columns = operation.axis(1);
  const auto* ids = as<std::int64_t>(operation.reads[1]);
  if (loss && operation.is_backward()) {
    push<kernels::CrossEntropyBackward<Bf16>>(kernels::launch_cross_entropy_backward,
                                              {.logits = as<Bf16>(operation.reads[0]),
                                               .targets = ids,
                                               .log_sum = as<float>(operation.reads[2]),
                                               .gradient = as<Bf16>(operation.writes[0]),
                                               .rows = rows,
                                               .columns = columns,
                                               .scale = 1.0F / static_cast<float>(rows)});
  } else if (loss) {
    push<kernels::CrossEntropyForward<Bf16>>(kernels::launch_cross_entropy_forward,
                                             {.logits = as<Bf16>(operation.reads[0]),
                                              .targets = ids,
                                              .loss = as<float>(operation.writes[0]),
                                              .log_sum = as<float>(operation.writes[1]),
                                              .rows = rows,
                                              .columns = columns});
  } else if (operation.is_backward()) {
    push<kernels::EmbeddingBackward<Bf16>>(kernels::launch_embedding_backward,
                                           {.gradient = as<Bf16>(operation.reads[0]),
                                            .ids = ids,
                                            .table_gradient = as<float>(operation.writes[0]),
                                            .rows = rows,
                                            .columns = columns});
  } else {
    push<kernels::EmbeddingForward<Bf16>>(kernels::launch_embedding_forward,
                                          {.table = as<Bf16>(operation.reads[0]),
                                           .ids = ids,
                                           .y = as<Bf16>(operation.writes[0]),
                                           .rows = rows,
                                           .columns = columns});
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
    push<kernels::Scatter<Bf16>>(kernels::launch_scatter, {.x = as<Bf16>(operation.reads[0]),
                                                           .places = places,
                                                           .y = as<Bf16>(operation.writes[0]),
                                                           .rows = rows,
                                                           .columns = columns,
                                                           .copies = copies});
  } else if (permute || !operation.is_backward()) {
    push<kernels::Combine<Bf16>>(kernels::launch_combine, {.y = as<Bf16>(operation.reads[0]),
                                                           .places = places,
                                                           .weights = permute ? nullptr : weights,
                                                           .x = as<Bf16>(operation.writes[0]),
                                                           .rows = rows,
                                                           .columns = columns,
                                                           .copies = copies});
  } else {
    push<kernels::CombineBackward<Bf16>>(kernels::launch_combine_backward,
                                         {.gradient = as<Bf16>(operation.reads[0]),
                                          .y = as<Bf16>(operation.reads[1]),
                                          .places = places,
                                          .weights = weights,
                                          .y_gradient = as<Bf16>(operation.writes[0]),
                                          .weight_gradient = as<float>(operation.writes[1]),
                                          .rows = rows,
                                          .columns = columns,
                                          .copies = copies});
  }
}

void DeviceStep::add_cast(const StepOperation& operation) {
  const std::size_t index = casts_++;
  for (const int codes : operation.writes) {
    cast_of_[codes] = index;
  }
  push<kernels::Cast>(kernels::launch_cast, {.recipe = kernels::CastRecipe::tensor,
                                             .wide_range = operation.is_backward(),
                                             .x = as<Bf16>(operation.reads[0]),
                                             .codes = as<std::uint8_t>(operation.writes[0]),
                                             .transposed = as<std::uint8_t>(operation.writes[1]),
                                             .magnitude = magnitudes_ + index,
                                             .multiplier = multipliers_on_device_ + index,
                                             .rows = operation.axis(0),
                                             .columns = operation.axis(1)});
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
