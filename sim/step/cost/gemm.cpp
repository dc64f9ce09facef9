#include "sim/step/cost/gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "sim/base/check.hpp"
#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/cost/memory_bound.hpp"

namespace orrery::cost {

namespace {

using model::Dtype;

struct Tile {
  double m;
  double n;
};

constexpr std::array<Tile, 4> kTiles = {
    {{256.0, 128.0}, {128.0, 256.0}, {192.0, 128.0}, {128.0, 192.0}}};
constexpr std::size_t kTilesOfAll = 2;  // the others are Hopper's
constexpr double kSplitDepth = 8192.0;  // shortest part of a reduction that is split
constexpr double kMostParts = 16.0;
constexpr double kMostWaste = 2.0;  // of a product with fewer tiles than SMs
constexpr std::int64_t kAlignedBits = 128;
constexpr std::array<double, 3> kMisalignedBatched = {13.0, 3.0, 5.4};  // 2, 4, 8 bytes

// Wider types that can stand in, nearest first.
using Substitutes = std::array<Dtype, 4>;

constexpr std::array<Substitutes, 6> kSubstitutes = {
    {// by Dtype
     {Dtype::tf32, Dtype::bf16, Dtype::fp16, Dtype::fp16},
     {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp16},
     {Dtype::fp16, Dtype::tf32, Dtype::fp32, Dtype::fp32},
     {Dtype::bf16, Dtype::tf32, Dtype::fp32, Dtype::fp32},
     {Dtype::bf16, Dtype::fp16, Dtype::tf32, Dtype::fp32},
     {Dtype::fp8, Dtype::bf16, Dtype::fp16, Dtype::fp32}}};

// What the memory adds to `compute`. The tiles of a group are few: one that loads or stores is not
// hidden by another that computes, but it is hidden where the tensor cores fill and drain.
Seconds exposed_memory(const model::GemmOp& op, Seconds memory, Seconds fill,
                       const hardware::GpuCoefficients& laws) {
  if (is_attention_product(op)) {
    return {};
  }
  return op.grouped ? std::max(memory * laws.grouped_exposed_memory - fill, Seconds{})
                    : memory * laws.exposed_memory;
}

const Coefficient<double>& efficiency_of(const model::GemmOp& op,
                                         const hardware::SoftwareProfile& software) {
  return is_attention_product(op) ? software.attention_efficiency
                                  : hardware::gemm_efficiency(software, op.dtype);
}

struct Factor {
  double value = 1.0;
  SourceKind kind = SourceKind::given;

  void times(const Coefficient<double>& coefficient) {
    value *= coefficient.value();
    kind = weaker(kind, coefficient.kind());
  }
};

// What the scales cost: the table of gemm.hpp.
Factor scaling_of(const model::GemmOp& op, const hardware::GemmRate& rate,
                  const hardware::GpuProfile& gpu, const hardware::SoftwareProfile& software) {
  Factor factor{1.0, rate.sustained.kind()};
  const bool block = op.scaling == model::Fp8Scaling::block;
  if (op.dtype != Dtype::fp8 || rate.dtype != Dtype::fp8 ||
      (!block && op.scaling != model::Fp8Scaling::mx)) {
    return factor;
  }
  const bool own_kernels =
      software.block_products == hardware::BlockProducts::deepgemm && !rate.mx_ratio;
  if (block && rate.block_ratio && !own_kernels) {
    factor.times(*rate.block_ratio);
  } else if (rate.mx_ratio) {
    factor.times(*rate.mx_ratio);
  } else if (block && !own_kernels) {
    factor = {gpu.coefficients().block_ratio, weaker(factor.kind, SourceKind::assumed)};
  }
  return factor;
}

double short_factor(const model::GemmOp& op, const hardware::GemmRate& rate) {
  if (!rate.short_gain || !rate.short_work) {
    return 1.0;
  }
  const double work = in_flop(model::flop_count(op));
  return 1.0 + rate.short_gain->value() / (1.0 + work / rate.short_work->value());
}

// Mean of ceil(X) for X normal: whole tiles of rows, whole waves of tiles, that differ by chance.
double expected_ceil(double mean, double deviation) {
  constexpr double kSmooth = 1.0;  // beyond it the remainder is anything, a half on average
  constexpr double kFar = 5.0;
  if (deviation <= 0.0) {
    return std::ceil(mean);
  }
  if (deviation > kSmooth) {
    return mean + 0.5;
  }
  double sum = std::max(std::floor(mean - kFar * deviation), 0.0);
  for (double k = sum; k < mean + kFar * deviation; k += 1.0) {
    sum += 0.5 * std::erfc((k - mean) / (deviation * std::sqrt(2.0)));
  }
  return sum;
}

// A loop over the experts: every product after the first waits for its launch, and all of them for
// the host, where that needs longer for a call than the GPU for a product.
Cost call_gaps(Seconds busy, double calls, const Coefficient<Seconds>& call,
               const Coefficient<Seconds>& latency) {
  const Seconds launches = latency.value() * (calls - 1.0);
  const Seconds late = call.value() * calls - busy;
  Cost cost = late > launches ? term(late, call.kind()) : term(launches, latency.kind());
  cost.gap = cost.time;
  return cost;
}

double wave_penalty(const model::GemmOp& op, const hardware::GpuProfile& gpu) {
  return std::pow(wave_ratio(op, gpu), gpu.coefficients().wave_exponent);
}

bool outside(const std::optional<ValidRange>& range, double value) {
  return range.has_value() && !range->contains(value);
}

}  // namespace

bool is_attention_product(const model::GemmOp& op) {
  return !op.grouped &&
         (op.part == model::Part::attention_scores || op.part == model::Part::attention_context);
}

Bytes gemm_bytes(const model::GemmOp& op) {
  const double m = as_double(op.m);
  const double n = as_double(op.n);
  const double k = as_double(op.k);
  const double element = in_bytes(model::bytes_per_element(op.dtype));
  // 8-bit and 4-bit products still write 16-bit results.
  const double result = op.accumulates ? 2.0 * in_bytes(model::bytes_per_element(op.accumulator))
                                       : std::max(element, 2.0);
  return bytes(as_double(op.batch) * ((m * k + n * k) * element + m * n * result));
}

double alignment_penalty(const model::GemmOp& op, const hardware::GpuProfile& gpu) {
  const auto bits = static_cast<std::int64_t>(8.0 * in_bytes(model::bytes_per_element(op.dtype)));
  // The tokens, over which a weight gradient adds up, are no row of an operand.
  const bool tokens_reduced = op.role == model::Role::wgrad && !is_attention_product(op);
  const std::int64_t other = tokens_reduced ? op.m : op.k;
  std::int64_t aligned = kAlignedBits;
  while (aligned > bits && ((op.n * bits) % aligned != 0 || (other * bits) % aligned != 0)) {
    aligned /= 2;
  }
  if (aligned == kAlignedBits) {
    return 1.0;
  }
  if (!is_attention_product(op)) {
    return gpu.coefficients().misaligned_time;
  }
  const std::size_t width = aligned <= 16 ? 0 : aligned == 32 ? 1 : 2;
  return kMisalignedBatched[width];
}

double wave_ratio(const model::GemmOp& op, const hardware::GpuProfile& gpu) {
  const double m = as_double(op.m);
  const double n = as_double(op.n);
  const double batch = as_double(op.batch);
  const double sms = as_double(std::max<std::int64_t>(gpu.sm_count, 1));
  const double parts = std::clamp(std::floor(as_double(op.k) / kSplitDepth), 1.0, kMostParts);
  const double deviation = op.row_spread * m;
  const bool hopper = gpu.arch == hardware::GpuArch::hopper;
  double best = 0.0;
  for (const Tile& tile : std::span(kTiles).first(hopper ? kTiles.size() : kTilesOfAll)) {
    const double columns = std::ceil(n / tile.n);
    const double tiles = batch * expected_ceil(m / tile.m, deviation / tile.m) * columns;
    const double tiles_deviation = std::sqrt(batch) * (deviation / tile.m) * columns;
    for (double split = 1.0; split <= parts; split += 1.0) {
      const double waves =
          expected_ceil(tiles * split / sms, tiles_deviation * split / sms) / split;
      const double ratio = waves * sms * tile.m * tile.n / (batch * m * n);
      best = best == 0.0 ? ratio : std::min(best, ratio);
    }
  }
  return std::min(best, kMostWaste);
}

const hardware::GemmRate& gemm_rate(const hardware::GpuProfile& gpu, Dtype dtype,
                                    bool& substituted) {
  substituted = false;
  if (const hardware::GemmRate* rate = gpu.find_gemm(dtype)) {
    return *rate;
  }
  substituted = true;
  for (const Dtype other : kSubstitutes[static_cast<std::size_t>(dtype)]) {
    if (const hardware::GemmRate* rate = gpu.find_gemm(other)) {
      return *rate;
    }
  }
  ORRERY_CHECK(!gpu.gemm.empty(), "profile {} has no GEMM rate at all", gpu.name);
  return gpu.gemm.front();
}

Flop effective_work(const model::GemmOp& op, const hardware::GpuProfile& gpu) {
  bool substituted = false;
  const hardware::GemmRate& rate = gemm_rate(gpu, op.dtype, substituted);
  const double penalty = wave_penalty(op, gpu) * alignment_penalty(op, gpu);
  const double fill = 1.0 + rate.half_depth.value() / as_double(op.k);
  return model::flop_count(op) * (penalty * fill / short_factor(op, rate));
}

GemmTime gemm_time(const model::GemmOp& op, const hardware::GpuProfile& gpu,
                   const hardware::SoftwareProfile& software) {
  GemmTime time;
  if (op.m <= 0 || op.n <= 0 || op.k <= 0 || op.batch <= 0) {
    return time;
  }
  time.memory = gemm_bytes(op) / memory_rate(gpu, software);
  time.alignment_penalty = alignment_penalty(op, gpu);
  const hardware::GemmRate& rate = gemm_rate(gpu, op.dtype, time.substituted_dtype);
  time.wave_penalty = wave_penalty(op, gpu);
  time.short_factor = short_factor(op, rate);
  const double penalty = time.wave_penalty * time.alignment_penalty;
  const double efficiency = efficiency_of(op, software).value() *
                            scaling_of(op, rate, gpu, software).value * time.short_factor;
  const Seconds busy = model::flop_count(op) / (rate.sustained.value() * efficiency) * penalty;
  const Seconds fill = busy * (rate.half_depth.value() / as_double(op.k));
  time.compute = busy + fill;
  time.exposed = exposed_memory(op, time.memory, fill, gpu.coefficients());
  return time;
}

Cost gemm_cost(const model::GemmOp& op, const hardware::GpuProfile& gpu,
               const hardware::SoftwareProfile& software) {
  if (const auto measured = predict_gemm(op, gpu)) {
    return measured_cost(*measured, efficiency_of(op, software), gpu, software);
  }
  const GemmTime time = gemm_time(op, gpu, software);
  bool substituted = false;
  const hardware::GemmRate& rate = gemm_rate(gpu, op.dtype, substituted);
  const bool attention = is_attention_product(op);
  const SourceKind kind =
      weaker(weaker(scaling_of(op, rate, gpu, software).kind, rate.half_depth.kind()),
             efficiency_of(op, software).kind());
  Cost cost;
  if (time.compute + time.exposed >= time.memory) {
    cost = term(time.compute, kind);
    cost += term(time.exposed, memory_source(gpu, software));
  } else {
    cost = term(time.memory, memory_source(gpu, software));
  }
  const double batch = as_double(std::max<std::int64_t>(op.batch, 1));
  if (op.grouped && software.grouped_call_time) {
    cost += call_gaps(cost.time, batch, *software.grouped_call_time, gpu.launch_latency);
  }
  cost += kernel_gap(gpu, software, 1.0);
  const bool measured = !outside(rate.sustained.range(), in_flop(model::flop_count(op)) / batch) &&
                        !outside(rate.half_depth.range(), as_double(op.k));
  if (!attention && (substituted || !measured)) {
    cost.extrapolated = cost.time;
  }
  return cost;
}

}  // namespace orrery::cost
