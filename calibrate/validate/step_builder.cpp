#include "calibrate/validate/step_builder.hpp"

#include <fmt/core.h>

#include <utility>

#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;
using kernels::Role;

std::int64_t padded(std::int64_t count) {
  return (count + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
}

}  // namespace

StepBuilder::StepBuilder(const StepShape& shape) { program_.shape = shape; }

StepProgram StepBuilder::take() { return std::move(program_); }

int StepBuilder::own(std::string_view name, std::int64_t count, BufferType type, BufferKind kind) {
  std::string full = layer < 0 ? std::string(name) : fmt::format("{}.{}", layer, name);
  program_.buffers.push_back({.name = std::move(full), .kind = kind, .type = type, .count = count});
  return static_cast<int>(program_.buffers.size()) - 1;
}

int StepBuilder::shared(std::string_view name, std::int64_t count, BufferType type) {
  const auto found = shared_.find(std::string(name));
  if (found != shared_.end()) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(found->second)];
    ORRERY_CHECK(buffer.count == count && buffer.type == type,
                 "a shared buffer has the same size in every layer");
    return found->second;
  }
  const std::int64_t here = std::exchange(layer, -1);
  const int buffer = own(name, count, type);
  layer = here;
  shared_.emplace(name, buffer);
  return buffer;
}

int StepBuilder::parameter(std::string_view name, std::int64_t rows, std::int64_t columns) {
  Parameter parameter{.name = std::string(name), .layer = layer, .rows = rows, .columns = columns};
  parameter.narrow = own(name, parameter.count(), BufferType::bf16, BufferKind::parameter);
  parameter.gradient = own(fmt::format("{}.gradient", name), parameter.count(), BufferType::fp32,
                           BufferKind::gradient);
  program_.parameters.push_back(parameter);
  return static_cast<int>(program_.parameters.size()) - 1;
}

void StepBuilder::finish_parameters() {
  std::int64_t all = 0;
  for (const Parameter& parameter : program_.parameters) {
    for (const int view : {parameter.narrow, parameter.gradient}) {
      program_.buffers[static_cast<std::size_t>(view)].first = all;
    }
    all += padded(parameter.count());
  }
  program_.narrow = own("narrow", all, BufferType::bf16, BufferKind::parameter);
  program_.gradients = own("gradients", all, BufferType::fp32, BufferKind::gradient);
  program_.master = own("master", all, BufferType::fp32, BufferKind::state);
  program_.first_moment = own("first_moment", all, BufferType::fp32, BufferKind::state);
  program_.second_moment = own("second_moment", all, BufferType::fp32, BufferKind::state);
  for (const Parameter& parameter : program_.parameters) {
    program_.buffers[static_cast<std::size_t>(parameter.narrow)].whole = program_.narrow;
    program_.buffers[static_cast<std::size_t>(parameter.gradient)].whole = program_.gradients;
  }
}

void StepBuilder::call(std::string name, KernelCase kernel, std::vector<int> reads,
                       std::vector<int> writes) {
  const auto problem = kernels::problem_of(kernel);
  ORRERY_CHECK(!problem, "every call of a step is a sound case");
  program_.operations.push_back({.name = std::move(name),
                                 .phase = phase,
                                 .layer = layer,
                                 .kernel = kernel,
                                 .reads = std::move(reads),
                                 .writes = std::move(writes)});
}

std::int64_t StepBuilder::rows_of(const Linear& linear) const {
  return linear.grouped ? shape().expert_rows() : shape().tokens();
}

KernelCase StepBuilder::product_case(const Linear& linear, Role role) const {
  const bool weight = role == Role::wgrad_accumulate;
  const std::int64_t rows = linear.grouped ? shape().rows_per_expert() : rows_of(linear);
  const std::int64_t m = weight ? linear.outputs : rows;
  const std::int64_t n = role == Role::fprop ? linear.outputs : linear.inputs;
  const std::int64_t k = weight ? rows : role == Role::fprop ? linear.inputs : linear.outputs;
  KernelCase kernel{.operation = Operation::gemm,
                    .role = role,
                    .precision = linear.narrow ? shape().precision : Precision::bf16,
                    .extents = {m, n, k}};
  if (linear.grouped) {
    const std::int64_t largest = shape().experts->largest > 0 ? shape().experts->largest : rows;
    kernel.operation = Operation::grouped_gemm;
    kernel.extents = {shape().experts->experts, m, n, k, largest};
  }
  return kernel;
}

StepBuilder::Codes StepBuilder::cast(std::string name, int input, std::int64_t rows,
                                     std::int64_t columns, Role role, Codes codes) {
  call(std::move(name),
       {.operation = Operation::quantize_transpose,
        .role = role,
        .precision = shape().precision,
        .extents = {rows, columns}},
       {input}, {codes.plain, codes.transposed});
  return codes;
}

int StepBuilder::product_forward(Linear& linear, int input, int output) {
  int weight = parameter(linear.weight).narrow;
  int tokens = input;
  if (linear.narrow) {
    const std::int64_t rows = rows_of(linear);
    const Parameter& weights = parameter(linear.weight);
    linear.codes_transposed =
        own(linear.name + ".input_transposed", rows * linear.inputs, BufferType::e4m3);
    linear.weight_codes = shared(linear.name + ".weight_codes", weights.count(), BufferType::e4m3);
    linear.weight_transposed =
        own(linear.name + ".weight_transposed", weights.count(), BufferType::e4m3);
    tokens = shared(linear.name + ".input_codes", rows * linear.inputs, BufferType::e4m3);
    cast(linear.name + "_input_cast", input, rows, linear.inputs, Role::forward,
         {tokens, linear.codes_transposed});
    cast(linear.name + "_weight_cast", weight, weights.rows, weights.columns, Role::forward,
         {linear.weight_codes, linear.weight_transposed});
    weight = linear.weight_codes;
  }
  call(linear.name, product_case(linear, Role::fprop), {tokens, weight}, {output});
  return output;
}

void StepBuilder::product_backward(const Linear& linear, int input, int gradient,
                                   int input_gradient) {
  const Parameter& weights = parameter(linear.weight);
  int weight = weights.narrow;
  int transposed = gradient;
  if (linear.narrow) {
    const std::int64_t elements = rows_of(linear) * linear.outputs;
    const Codes codes = cast(
        linear.name + "_gradient_cast", gradient, rows_of(linear), linear.outputs, Role::backward,
        {shared(linear.name + ".gradient_codes", elements, BufferType::e5m2),
         shared(linear.name + ".gradient_transposed", elements, BufferType::e5m2)});
    gradient = codes.plain;
    transposed = codes.transposed;
    weight = linear.weight_transposed;
    input = linear.codes_transposed;
  }
  call(linear.name + "_dgrad", product_case(linear, Role::dgrad), {gradient, weight},
       {input_gradient});
  call(linear.name + "_wgrad", product_case(linear, Role::wgrad_accumulate),
       {transposed, input, weights.gradient}, {weights.gradient});
}

int StepBuilder::norm_forward(std::string_view name, int parameter_index, int input, int output) {
  const int scale = own(fmt::format("{}.scale", name), shape().tokens(), BufferType::fp32);
  call(std::string(name),
       {.operation = Operation::rms_norm,
        .role = Role::forward,
        .extents = {shape().tokens(), shape().hidden}},
       {input, parameter(parameter_index).narrow}, {output, scale});
  return scale;
}

void StepBuilder::norm_backward(std::string_view name, int parameter_index, int input, int scale,
                                int gradient, int input_gradient) {
  const Parameter& weights = parameter(parameter_index);
  call(fmt::format("{}_backward", name),
       {.operation = Operation::rms_norm,
        .role = Role::backward,
        .extents = {shape().tokens(), shape().hidden}},
       {input, weights.narrow, gradient, scale}, {input_gradient, weights.gradient});
}

void StepBuilder::add(std::string_view name, int a, int b, int y) {
  call(std::string(name),
       {.operation = Operation::residual_add, .extents = {shape().tokens(), shape().hidden}},
       {a, b}, {y});
}

}  // namespace orrery::calibrate
