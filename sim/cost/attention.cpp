#include "sim/cost/attention.hpp"

#include <algorithm>
#include <cmath>

#include "sim/cost/memory_bound.hpp"

namespace orrery::cost {

namespace {

constexpr double kFullHalfLength = 1.0 / 3.0;  // of the causal one
constexpr double kBackwardHalfLength = 1.2;
constexpr double kHeadDim = 128.0;
constexpr double kHeadExponent = 0.3;
constexpr double kQueryTile = 128.0;
constexpr double kForwardKernels = 1.0;
constexpr double kBackwardKernels = 3.0;  // row sums, gradients, conversion of the accumulator
constexpr double kShortestMeasured = 512.0;

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

bool is_narrow(model::Dtype dtype) {
  return dtype != model::Dtype::bf16 && dtype != model::Dtype::fp16;
}

// Query tiles over what whole waves of the SMs could hold; long kernels balance by themselves.
double occupancy(const model::AttentionOp& op, std::int64_t sm_count) {
  const double tiles = as_double(op.sequences) * as_double(op.heads) *
                       std::ceil(as_double(op.query_length) / kQueryTile);
  return std::min(1.0, tiles / as_double(std::max<std::int64_t>(sm_count, 1)));
}

Bytes attention_bytes(const model::AttentionOp& op) {
  const double query = as_double(op.sequences) * as_double(op.heads) * as_double(op.query_length) *
                       as_double(op.head_dim_qk + op.head_dim_v);
  const double keys = as_double(op.sequences) * as_double(op.query_groups) *
                      as_double(op.key_length) * as_double(op.head_dim_qk + op.head_dim_v);
  const double passes = op.backward ? 2.0 : 1.0;  // inputs again, and their gradients
  return model::bytes_per_element(op.dtype) * ((query + keys) * passes);
}

}  // namespace

FlopPerSecond attention_rate(const model::AttentionOp& op,
                             const hardware::GpuProfile& gpu,
                             const hardware::SoftwareProfile& software) {
  const hardware::AttentionRate& rate = gpu.attention;
  double half = rate.half_length.value();
  half *= op.causal ? 1.0 : kFullHalfLength;
  half *= op.backward ? kBackwardHalfLength : 1.0;
  const double length = std::max(as_double(op.key_length), 1.0);
  const double dim = as_double(std::max(op.head_dim_qk, op.head_dim_v));
  const double head = dim < kHeadDim ? std::pow(dim / kHeadDim, kHeadExponent) : 1.0;
  const FlopPerSecond asymptote = op.backward ? rate.backward.value() : rate.forward.value();
  return asymptote * (software.attention_efficiency.value() * head * occupancy(op, gpu.sm_count) /
                      (1.0 + half / length));
}

double attention_kernels(const model::AttentionOp& op) {
  return op.backward ? kBackwardKernels : kForwardKernels;
}

Cost attention_cost(const model::AttentionOp& op,
                    const hardware::GpuProfile& gpu,
                    const hardware::SoftwareProfile& software) {
  if (op.sequences <= 0 || op.heads <= 0 || op.query_length <= 0 || op.key_length <= 0) {
    return {};
  }
  const hardware::AttentionRate& rate = gpu.attention;
  const Seconds compute = model::flop_count(op) / attention_rate(op, gpu, software);
  const Seconds memory = attention_bytes(op) / memory_rate(gpu, software);
  const SourceKind rate_kind = op.backward ? rate.backward.kind() : rate.forward.kind();
  Cost cost = compute >= memory ? term(compute,
                                       weaker(weaker(rate_kind, rate.half_length.kind()),
                                              software.attention_efficiency.kind()))
                                : term(memory, memory_source(gpu, software));
  const double length = as_double(op.key_length);
  const auto& range = rate.half_length.range();
  const bool outside = range.has_value() ? !range->contains(length) : length < kShortestMeasured;
  cost += kernel_gap(gpu, software, attention_kernels(op));
  if (outside || is_narrow(op.dtype)) {
    cost.extrapolated = cost.time;
  }
  return cost;
}

}  // namespace orrery::cost
