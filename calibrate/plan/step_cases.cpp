#include "calibrate/plan/step_cases.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "sim/step/step_operations.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;
using kernels::Role;
using model::Dtype;

Precision eight_bits(model::Fp8Scaling scaling) {
  switch (scaling) {
    case model::Fp8Scaling::block:
      return Precision::fp8_block;
    case model::Fp8Scaling::rowwise:
      return Precision::fp8_row;
    case model::Fp8Scaling::mx:
      return Precision::mxfp8;
    case model::Fp8Scaling::delayed:
    case model::Fp8Scaling::tensorwise:
    case model::Fp8Scaling::nvfp4:
      break;
  }
  return Precision::fp8_tensor;
}

Precision precision_of(Dtype dtype, model::Fp8Scaling scaling) {
  switch (dtype) {
    case Dtype::fp32:
      return Precision::fp32;
    case Dtype::tf32:
      return Precision::tf32;
    case Dtype::bf16:
      return Precision::bf16;
    case Dtype::fp16:
      return Precision::fp16;
    case Dtype::fp8:
      return eight_bits(scaling);
    case Dtype::fp4:
      break;
  }
  return Precision::nvfp4;
}

Role role_of(const model::GemmOp& op) {
  switch (op.role) {
    case model::GemmRole::fprop:
      return Role::fprop;
    case model::GemmRole::dgrad:
      return Role::dgrad;
    case model::GemmRole::wgrad:
      break;
  }
  return op.accumulates ? Role::wgrad_accumulate : Role::wgrad;
}

struct ToCase {
  std::optional<KernelCase> operator()(const model::GemmOp& op) const {
    KernelCase kernel{.operation = Operation::gemm,
                      .role = role_of(op),
                      .precision = precision_of(op.dtype, op.scaling)};
    if (op.grouped) {
      const bool over_rows = op.role == model::GemmRole::wgrad;
      kernel.operation = Operation::grouped_gemm;
      kernel.extents = {op.batch, op.m, op.n, op.k, over_rows ? op.k : op.m};
    } else if (op.batch == 1) {
      kernel.extents = {op.m, op.n, op.k};
    } else {
      return std::nullopt;
    }
    return kernel;
  }

  std::optional<KernelCase> operator()(const model::AttentionOp& op) const {
    if (op.window > 0 || op.key_blocks != 1) {
      return std::nullopt;
    }
    const bool narrow = op.dtype == Dtype::fp8;
    return KernelCase{.operation = Operation::attention,
                      .role = op.backward ? Role::backward : Role::forward,
                      .precision = narrow ? Precision::fp8_tensor
                                          : precision_of(op.dtype, model::Fp8Scaling::delayed),
                      .extents = {op.sequences,
                                  op.heads,
                                  op.query_groups,
                                  op.query_length,
                                  op.key_length,
                                  op.head_dim_qk,
                                  op.head_dim_v,
                                  op.causal ? 1 : 0}};
  }

  std::optional<KernelCase> operator()(const model::MemoryOp&) const {
    return std::nullopt;
  }

  std::optional<KernelCase> operator()(const model::CollectiveOp&) const {
    return std::nullopt;
  }
};

}  // namespace

std::vector<StepCase> step_cases(const step::StepInput& input, const cost::CostModel& costs) {
  std::map<KernelCase, double> calls;
  double all = 0.0;
  for (std::size_t device = 0; device < input.layout.stages.size(); ++device) {
    for (const step::CountedPass& counted :
         step::device_passes(input, costs, static_cast<std::int64_t>(device))) {
      for (const model::PassOp& entry : counted.pass) {
        const std::optional<KernelCase> kernel = std::visit(ToCase{}, entry.op);
        if (kernel && !kernels::problem_of(*kernel)) {
          calls[*kernel] += counted.count;
          all += counted.count * in_flop(kernels::work_of(*kernel).flop);
        }
      }
    }
  }
  std::vector<StepCase> cases;
  for (const auto& [kernel, count] : calls) {
    const double work = count * in_flop(kernels::work_of(kernel).flop);
    cases.push_back({kernel, count, all > 0.0 ? work / all : 0.0});
  }
  std::stable_sort(cases.begin(), cases.end(), [](const StepCase& a, const StepCase& b) {
    return a.share > b.share;
  });
  return cases;
}

}  // namespace orrery::calibrate
