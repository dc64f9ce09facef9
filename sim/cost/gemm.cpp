#include "sim/cost/gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/cost/memory_bound.hpp"

namespace orrery::cost {

namespace {

using model::Dtype;

struct Tile {
  double m;
  double n;
  double efficiency;  // of the inner loop against the largest tile
};

constexpr std::array<Tile, 6> kTiles = {{{256.0, 128.0, 1.0},
                                         {128.0, 256.0, 1.0},
                                         {128.0, 128.0, 0.93},
                                         {128.0, 64.0, 0.80},
                                         {64.0, 128.0, 0.80},
                                         {64.0, 64.0, 0.65}}};
constexpr double kExposedMemory = 0.25;
constexpr double kExposedMemoryGrouped = 1.0;
constexpr double kGroupedRows = 38.0;
constexpr std::int64_t kAlignment = 8;
constexpr double kMisaligned = 1.3;
constexpr double kAccumulatorBytes = 8.0;  // fp32 read and written

// Wider types that can stand in, nearest first.
using Substitutes = std::array<Dtype, 4>;

constexpr Substitutes substitutes(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp4:
      return {Dtype::fp8, Dtype::bf16, Dtype::fp16, Dtype::fp32};
    case Dtype::fp8:
      return {Dtype::bf16, Dtype::fp16, Dtype::tf32, Dtype::fp32};
    case Dtype::bf16:
      return {Dtype::fp16, Dtype::tf32, Dtype::fp32, Dtype::fp32};
    case Dtype::fp16:
      return {Dtype::bf16, Dtype::tf32, Dtype::fp32, Dtype::fp32};
    case Dtype::tf32:
      return {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp16};
    case Dtype::fp32:
      break;
  }
  return {Dtype::tf32, Dtype::bf16, Dtype::fp16, Dtype::fp16};
}

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

// Rows that one expert's tokens give: the reduced dimension of a weight gradient.
double rows_per_group(const model::GemmOp& op) {
  return std::max(as_double(op.role == model::GemmRole::wgrad ? op.k : op.m), 1.0);
}

// Share of the memory time that comes on top of compute.
double exposed_memory(const model::GemmOp& op) {
  if (is_attention_product(op)) {
    return 0.0;
  }
  return op.grouped ? kExposedMemoryGrouped : kExposedMemory;
}

bool outside(const std::optional<ValidRange>& range, double value) {
  return range.has_value() && !range->contains(value);
}

}  // namespace

bool is_attention_product(const model::GemmOp& op) {
  return !op.grouped && (op.name == "attention_scores" || op.name == "attention_context");
}

Bytes gemm_bytes(const model::GemmOp& op) {
  const double m = as_double(op.m);
  const double n = as_double(op.n);
  const double k = as_double(op.k);
  const double element = in_bytes(model::bytes_per_element(op.dtype));
  // 8-bit and 4-bit products still write 16-bit results.
  const double result = op.accumulates ? kAccumulatorBytes : std::max(element, 2.0);
  return bytes(as_double(op.batch) * ((m * k + n * k) * element + m * n * result));
}

double wave_ratio(const model::GemmOp& op, std::int64_t sm_count) {
  const double m = as_double(op.m);
  const double n = as_double(op.n);
  const double batch = as_double(op.batch);
  const double sms = as_double(std::max<std::int64_t>(sm_count, 1));
  double best = 0.0;
  for (const Tile& tile : kTiles) {
    const double tiles = batch * std::ceil(m / tile.m) * std::ceil(n / tile.n);
    const double waves = std::ceil(tiles / sms);
    const double ratio = waves * sms * tile.m * tile.n / (batch * m * n * tile.efficiency);
    best = best == 0.0 ? ratio : std::min(best, ratio);
  }
  return best;
}

const hardware::GemmRate& gemm_rate(const hardware::GpuProfile& gpu,
                                    Dtype dtype,
                                    bool& substituted) {
  substituted = false;
  if (const hardware::GemmRate* rate = gpu.find_gemm(dtype)) {
    return *rate;
  }
  substituted = true;
  for (const Dtype other : substitutes(dtype)) {
    if (const hardware::GemmRate* rate = gpu.find_gemm(other)) {
      return *rate;
    }
  }
  ORRERY_CHECK(!gpu.gemm.empty(), "profile {} has no GEMM rate at all", gpu.name);
  return gpu.gemm.front();
}

GemmTime gemm_time(const model::GemmOp& op,
                   const hardware::GpuProfile& gpu,
                   const hardware::SoftwareProfile& software) {
  GemmTime time;
  if (op.m <= 0 || op.n <= 0 || op.k <= 0 || op.batch <= 0) {
    return time;
  }
  time.memory = gemm_bytes(op) / memory_rate(gpu, software);
  if (op.n % kAlignment != 0 || op.k % kAlignment != 0) {
    time.alignment_penalty = kMisaligned;
  }
  if (is_attention_product(op)) {
    const double efficiency = software.attention_efficiency.value();
    time.compute = model::flop_count(op) / (gpu.attention.forward.value() * efficiency) *
                   time.alignment_penalty;
    return time;
  }
  const hardware::GemmRate& rate = gemm_rate(gpu, op.dtype, time.substituted_dtype);
  time.wave_penalty = std::sqrt(wave_ratio(op, gpu.sm_count));
  if (op.grouped) {
    time.row_penalty = 1.0 + kGroupedRows / rows_per_group(op);
  }
  const double depth = 1.0 + rate.half_depth.value() / as_double(op.k);
  const double penalty = depth * time.wave_penalty * time.alignment_penalty * time.row_penalty;
  time.compute =
      model::flop_count(op) / (rate.sustained.value() * software.gemm_efficiency.value()) * penalty;
  return time;
}

Cost gemm_cost(const model::GemmOp& op,
               const hardware::GpuProfile& gpu,
               const hardware::SoftwareProfile& software) {
  const GemmTime time = gemm_time(op, gpu, software);
  bool substituted = false;
  const hardware::GemmRate& rate = gemm_rate(gpu, op.dtype, substituted);
  const bool attention = is_attention_product(op);
  const SourceKind kind =
      attention ? weaker(gpu.attention.forward.kind(), software.attention_efficiency.kind())
                : weaker(weaker(rate.sustained.kind(), rate.half_depth.kind()),
                         software.gemm_efficiency.kind());
  const Seconds beside = time.memory * exposed_memory(op);
  Cost cost;
  if (time.compute + beside >= time.memory) {
    cost = term(time.compute, kind);
    cost += term(beside, memory_source(gpu, software));
  } else {
    cost = term(time.memory, memory_source(gpu, software));
  }
  cost += kernel_gap(gpu, software, 1.0);
  const double batch = as_double(std::max<std::int64_t>(op.batch, 1));
  const bool measured = !outside(rate.sustained.range(), in_flop(model::flop_count(op)) / batch) &&
                        !outside(rate.half_depth.range(), as_double(op.k));
  if (!attention && (substituted || !measured)) {
    cost.extrapolated = cost.time;
  }
  return cost;
}

}  // namespace orrery::cost
