#include "calibrate/validate/reference_step.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/device/random.hpp"
#include "kernels/reference/number_format.hpp"
#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Operation;

template <typename T>
void assign(Values values, const std::vector<T>& given) {
  ORRERY_CHECK(values.size() == given.size(), "an input fills its buffer");
  std::transform(given.begin(), given.end(), values.begin(),
                 [](T value) { return static_cast<double>(value); });
}

void add(const Operands& operands) {
  std::transform(operands.reads[0].begin(), operands.reads[0].end(), operands.reads[1].begin(),
                 operands.writes[0].begin(), std::plus<>());
}

void clear(const Operands& operands) { std::ranges::fill(operands.writes[0], 0.0); }

void norm_of_gradients(const Operands& operands) {
  operands.writes[0][0] = kernels::reference::gradient_norm(operands.reads[0]);
}

void adamw(const Operands& operands, const kernels::reference::AdamwSettings& settings) {
  const Values gradient = operands.reads[0];
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const kernels::reference::AdamwState next = kernels::reference::adamw(
        settings, {operands.reads[1][i], operands.reads[2][i], operands.reads[3][i]}, gradient[i]);
    operands.writes[0][i] = next.weight;
    operands.writes[1][i] = next.first;
    operands.writes[2][i] = next.second;
    operands.writes[3][i] = next.weight;
  }
}

using Reference = void (*)(const Operands&);

Reference reference_of(Operation operation) {
  switch (operation) {
    case Operation::gemm:
      return reference_product;
    case Operation::grouped_gemm:
      return reference_grouped_product;
    case Operation::attention:
      return reference_attention;
    case Operation::rms_norm:
      return reference_norm;
    case Operation::residual_add:
      return add;
    case Operation::rotary:
      return reference_rotary;
    case Operation::swiglu:
      return reference_swiglu;
    case Operation::cross_entropy:
      return reference_cross_entropy;
    case Operation::embedding:
      return reference_embedding;
    case Operation::quantize_transpose:
      return reference_cast;
    case Operation::permute:
      return reference_permute;
    case Operation::unpermute:
      return reference_unpermute;
    case Operation::gradient_norm:
      return norm_of_gradients;
    case Operation::copy:
      return clear;
    default:
      break;
  }
  ORRERY_CHECK(false, "a step holds no other operations");
  return nullptr;
}

}  // namespace

ReferenceStep::ReferenceStep(const StepProgram& program, const StepInputs& inputs,
                             std::uint64_t seed)
    : program_(program) {
  for (const Buffer& buffer : program.buffers) {
    memory_.emplace_back(buffer.whole < 0 ? static_cast<std::size_t>(buffer.count) : 0);
  }
  assign(values(program.ids), inputs.ids);
  assign(values(program.targets), inputs.targets);
  assign(values(program.angles), inputs.angles);
  if (program.shape.experts) {
    assign(values(program.places), inputs.places);
    assign(values(program.weights), inputs.weights);
  }
  for (std::size_t p = 0; p < program.parameters.size(); ++p) {
    const ParameterStart start = start_of(program, p, seed);
    const bool norm = program.parameters[p].is_norm();
    const Values weights = values(program.parameters[p].narrow);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float random = kernels::rounded_mul(kernels::normal_at(start.seed, i), start.deviation);
      weights[i] =
          norm ? 1.0
               : kernels::reference::rounded(kernels::Element::bf16, static_cast<double>(random));
    }
  }
  const Values narrow = values(program.narrow);
  std::copy(narrow.begin(), narrow.end(), values(program.master).begin());
}

std::span<double> ReferenceStep::values(int buffer) {
  const Buffer& described = program_.buffers[static_cast<std::size_t>(buffer)];
  if (described.whole < 0) {
    return memory_[static_cast<std::size_t>(buffer)];
  }
  return values(described.whole)
      .subspan(static_cast<std::size_t>(described.first),
               static_cast<std::size_t>(described.count));
}

void ReferenceStep::run(const StepOperation& operation) {
  Operands operands{.shape = program_.shape, .kernel = operation.kernel, .reads = {}, .writes = {}};
  for (const int buffer : operation.reads) {
    operands.reads.push_back(values(buffer));
  }
  for (const int buffer : operation.writes) {
    operands.writes.push_back(values(buffer));
  }
  if (operation.kernel.operation == Operation::adamw) {
    adamw(operands, settings);
  } else {
    reference_of(operation.kernel.operation)(operands);
  }
}

void ReferenceStep::run() {
  for (const StepOperation& operation : program_.operations) {
    run(operation);
  }
}

void ReferenceStep::run_forward() {
  for (const StepOperation& operation : program_.operations) {
    if (operation.phase == Phase::forward) {
      run(operation);
    }
  }
}

double ReferenceStep::loss() {
  const Values tokens = values(program_.loss);
  return std::accumulate(tokens.begin(), tokens.end(), 0.0) / static_cast<double>(tokens.size());
}

}  // namespace orrery::calibrate
