#include "sim/step/cost/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/cost/memory_bound.hpp"

namespace orrery::cost {

namespace {

constexpr double kHeadDim = 128.0;
constexpr double kQueryTile = 128.0;
constexpr double kForwardKernels = 1.0;
constexpr double kBackwardKernels = 3.0;  // row sums, gradients, conversion of the accumulator
constexpr double kShortestMeasured = 512.0;

// Forward rates on an H100 (profile h100-sxm-80gb), by hardware::AttentionGeneration.
constexpr std::array<double, 6> kGenerationRates = {190.0, 352.0, 405.0, 558.0, 669.0, 718.0};

using hardware::AttentionGeneration;

double generation_rate(AttentionGeneration generation) {
  return kGenerationRates[static_cast<std::size_t>(generation)];
}

bool has_narrow_rate(const hardware::AttentionRate& rate, bool backward) {
  return backward ? rate.backward_fp8.has_value() : rate.forward_fp8.has_value();
}

double value_or(const std::optional<Coefficient<double>>& coefficient, double fallback) {
  return coefficient ? coefficient->value() : fallback;
}

double head_factor(const model::AttentionOp& op, const hardware::AttentionRate& rate,
                   const hardware::GpuCoefficients& laws) {
  const double dim = as_double(std::max<std::int64_t>({op.head_dim_qk, op.head_dim_v, 1}));
  const double doublings = std::log2(dim / kHeadDim);
  if (doublings < 0.0) {
    return std::pow(value_or(rate.head_64, laws.attention_head_64), -doublings);
  }
  const double wide = value_or(rate.head_256, 1.0);
  const bool narrow = is_narrow(op.dtype) && has_narrow_rate(rate, op.backward);
  return std::pow(narrow ? value_or(rate.head_256_fp8, wide) : wide, doublings);
}

const Coefficient<FlopPerSecond>& asymptote(const model::AttentionOp& op,
                                            const hardware::AttentionRate& rate) {
  if (is_narrow(op.dtype) && has_narrow_rate(rate, op.backward)) {
    return op.backward ? *rate.backward_fp8 : *rate.forward_fp8;
  }
  return op.backward ? rate.backward : rate.forward;
}

// Query tiles over what whole waves of the SMs could hold; long kernels balance by themselves.
double occupancy(const model::AttentionOp& op, std::int64_t sm_count) {
  const double tiles = as_double(op.sequences) * as_double(op.heads) *
                       std::ceil(as_double(op.query_length) / kQueryTile);
  return std::min(1.0, tiles / as_double(std::max<std::int64_t>(sm_count, 1)));
}

// Of the ranks that share the keys.
double doublings(const model::AttentionOp& op) {
  return std::log2(std::max(1.0, as_double(op.key_length) / as_double(op.query_length)));
}

bool is_cudnn(AttentionGeneration generation) {
  return generation == AttentionGeneration::cudnn_2024 ||
         generation == AttentionGeneration::cudnn_9;
}

bool is_wide(model::Dtype dtype) {
  return model::bytes_per_element(dtype) > model::bytes_per_element(model::Dtype::bf16);
}

// What products in 4 bytes reach of those in 16 bits: the rates of the kernels are in 16 bits.
double wide_ratio(model::Dtype dtype, const hardware::GpuProfile& gpu) {
  if (!is_wide(dtype)) {
    return 1.0;
  }
  bool substituted = false;
  const auto sustained = [&](model::Dtype of) {
    return gemm_rate(gpu, of, substituted).sustained.value();
  };
  return std::min(1.0, sustained(dtype) / sustained(model::Dtype::bf16));
}

// The kernel that runs: empty is the GPU's best one.
std::optional<AttentionGeneration> kernel_that_runs(const model::AttentionOp& op,
                                                    const hardware::GpuProfile& gpu,
                                                    const hardware::SoftwareProfile& software) {
  if (is_wide(op.dtype)) {
    return AttentionGeneration::triton_2023;
  }
  const std::optional<AttentionGeneration> usual =
      software.attention_kernel ? software.attention_kernel : gpu.attention.generation;
  const bool ordered = gpu.arch == hardware::GpuArch::hopper ||
                       (gpu.arch == hardware::GpuArch::blackwell && !op.dropout);
  if (op.deterministic && !ordered && usual && is_cudnn(*usual)) {
    return AttentionGeneration::fa2;
  }
  return software.attention_kernel;
}

double ordered_factor(const model::AttentionOp& op, std::optional<AttentionGeneration> kernel,
                      const hardware::GpuCoefficients& laws) {
  if (!op.deterministic || !op.backward) {
    return 1.0;
  }
  return kernel == AttentionGeneration::fa2 ? laws.deterministic_fa2_time : laws.deterministic_time;
}

// What stands between the law of the library and the rate inside a stack.
struct StackFactors {
  double scale = 1.0;
  double efficiency = 1.0;
  double across = 1.0;
  double ordered = 1.0;
};

FlopPerSecond rate_of(const model::AttentionOp& op, const hardware::AttentionRate& rate,
                      const hardware::GpuProfile& gpu, const StackFactors& factors) {
  const hardware::GpuCoefficients& laws = gpu.coefficients();
  double half = rate.half_length.value();
  half *= op.causal && op.window == 0 ? 1.0 : value_or(rate.full_ratio, laws.attention_full_ratio);
  const bool narrow = is_narrow(op.dtype) && has_narrow_rate(rate, op.backward);
  const double backward_ratio = value_or(rate.backward_ratio, laws.attention_backward_ratio);
  half *= !op.backward ? 1.0
          : narrow     ? value_or(rate.backward_ratio_fp8, backward_ratio)
                       : backward_ratio;
  const double keys = std::max(model::keys_in_window(op) / as_double(op.key_blocks), 1.0);
  const double masked =
      narrow && op.backward && op.causal ? value_or(rate.causal_backward_fp8, 1.0) : 1.0;
  return asymptote(op, rate).value() *
         (wide_ratio(op.dtype, gpu) * factors.scale / factors.ordered * masked *
          factors.efficiency * factors.across * head_factor(op, rate, laws) *
          occupancy(op, gpu.sm_count) / (1.0 + half / keys));
}

}  // namespace

Bytes attention_bytes(const model::AttentionOp& op) {
  const double query = as_double(op.sequences) * as_double(op.heads) * as_double(op.query_length) *
                       as_double(op.head_dim_qk + op.head_dim_v);
  const double keys = as_double(op.sequences) * as_double(op.query_groups) *
                      as_double(op.key_length) * as_double(op.head_dim_qk + op.head_dim_v);
  const double passes = op.backward ? 2.0 : 1.0;  // inputs again, and their gradients
  return model::bytes_per_element(op.dtype) * ((query + keys) * passes);
}

AttentionKernelRate attention_kernel_rate(const hardware::GpuProfile& gpu,
                                          const hardware::SoftwareProfile& software,
                                          const model::AttentionOp& op) {
  const std::optional<AttentionGeneration> kernel = kernel_that_runs(op, gpu, software);
  if (!kernel) {
    return {.rate = &gpu.attention};
  }
  if (const hardware::AttentionRate* rate = gpu.find_attention(*kernel)) {
    return {.rate = rate};
  }
  const double best = generation_rate(gpu.attention.generation.value_or(*kernel));
  const double scale = generation_rate(*kernel) / best;
  return {.rate = &gpu.attention, .scale = std::min(1.0, scale), .derived = true};
}

FlopPerSecond attention_rate(const model::AttentionOp& op, const hardware::GpuProfile& gpu,
                             const hardware::SoftwareProfile& software) {
  const AttentionKernelRate kernel = attention_kernel_rate(gpu, software, op);
  const std::optional<AttentionGeneration> named = kernel_that_runs(op, gpu, software);
  const double across = op.across_ranks
                            ? std::pow(software.context_attention_efficiency.value(), doublings(op))
                            : 1.0;
  return rate_of(
      op, *kernel.rate, gpu,
      {kernel.scale, software.attention_efficiency.value(), across,
       ordered_factor(op, named ? named : gpu.attention.generation, gpu.coefficients())});
}

Seconds library_attention_time(const model::AttentionOp& op, const hardware::AttentionRate& rate,
                               const hardware::GpuProfile& gpu) {
  const Seconds compute =
      model::flop_count(op) /
      rate_of(op, rate, gpu, {.ordered = ordered_factor(op, rate.generation, gpu.coefficients())}) *
      op.imbalance;
  const Seconds memory =
      attention_bytes(op) / (gpu.hbm_bandwidth.value() * gpu.memory_efficiency.value());
  return std::max(compute, memory) + gpu.launch_latency.value() * attention_kernels(op);
}

std::optional<KernelPrediction> measured_attention(const model::AttentionOp& op,
                                                   const hardware::GpuProfile& gpu,
                                                   const hardware::SoftwareProfile& software) {
  if (!gpu.kernels) {
    return std::nullopt;
  }
  const AttentionKernelRate kernel = attention_kernel_rate(gpu, software, op);
  return kernel.rate != &gpu.attention || kernel.derived
             ? std::nullopt
             : predict_attention(op, gpu, library_attention_time(op, gpu.attention, gpu));
}

double attention_kernels(const model::AttentionOp& op) {
  return (op.backward ? kBackwardKernels : kForwardKernels) * as_double(op.key_blocks);
}

Cost attention_cost(const model::AttentionOp& op, const hardware::GpuProfile& gpu,
                    const hardware::SoftwareProfile& software) {
  if (op.sequences <= 0 || op.heads <= 0 || op.query_length <= 0 || op.key_length <= 0) {
    return {};
  }
  if (const auto measured = measured_attention(op, gpu, software)) {
    return measured_cost(*measured, software.attention_efficiency, gpu, software,
                         attention_kernels(op));
  }
  const AttentionKernelRate kernel = attention_kernel_rate(gpu, software, op);
  const hardware::AttentionRate& rate = *kernel.rate;
  const Seconds compute = model::flop_count(op) / attention_rate(op, gpu, software) * op.imbalance;
  const Seconds memory = attention_bytes(op) / memory_rate(gpu, software);
  const SourceKind rate_kind = kernel.derived ? SourceKind::assumed : asymptote(op, rate).kind();
  Cost cost = compute >= memory ? term(compute, weaker(weaker(rate_kind, rate.half_length.kind()),
                                                       software.attention_efficiency.kind()))
                                : term(memory, memory_source(gpu, software));
  const double length = as_double(op.key_length);
  const auto& range = rate.half_length.range();
  const bool outside = range.has_value() ? !range->contains(length) : length < kShortestMeasured;
  cost += kernel_gap(gpu, software, attention_kernels(op));
  if (outside || is_wide(op.dtype) ||
      (is_narrow(op.dtype) && !has_narrow_rate(rate, op.backward))) {
    cost.extrapolated = cost.time;
  }
  return cost;
}

}  // namespace orrery::cost
