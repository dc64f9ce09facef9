#include "sim/step/cost/measured_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/memory_bound.hpp"

namespace orrery::cost {

namespace {

using hardware::KernelPlace;
using hardware::KernelPoint;
using hardware::KernelSeries;
using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;
using kernels::Role;

constexpr std::size_t kNeighbours = 3;
constexpr double kNearest = 0.1;  // keeps the weight of a point that is almost hit finite
constexpr double kSamePlace = 1e-9;
constexpr double kReach = 0.6931471805599453;  // log 2

double distance(const KernelPlace& a, const KernelPlace& b, std::size_t axes) {
  double sum = 0.0;
  for (std::size_t i = 0; i < axes; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(sum);
}

struct NearPoint {
  double distance = std::numeric_limits<double>::infinity();
  const KernelPoint* point = nullptr;
};

// Ascending in distance; points of equal distance in the order of the series.
std::array<NearPoint, kNeighbours> nearest(const KernelSeries& series, const KernelPlace& place,
                                           std::size_t axes) {
  std::array<NearPoint, kNeighbours> found;
  for (const KernelPoint& point : series.points) {
    NearPoint candidate{distance(point.place, place, axes), &point};
    for (NearPoint& slot : found) {
      if (candidate.distance < slot.distance) {
        std::swap(slot, candidate);
      }
    }
  }
  return found;
}

bool is_outside(const KernelSeries& series, const KernelPlace& place, std::size_t axes) {
  for (std::size_t i = 0; i < axes; ++i) {
    if (place[i] < series.low[i] - kReach || place[i] > series.high[i] + kReach) {
      return true;
    }
  }
  return false;
}

bool is_hit(const NearPoint& near, const KernelCase& call) {
  return near.point != nullptr && near.distance < kSamePlace &&
         (kernels::is_memory_bound(call.operation) || near.point->call.extents == call.extents);
}

double neighbour_factor(const std::array<NearPoint, kNeighbours>& near, double trust) {
  double sum = 0.0;
  double weights = trust;
  for (const NearPoint& one : near) {
    if (one.point == nullptr) {
      break;
    }
    const double weight = 1.0 / (one.distance + kNearest);
    sum += weight * std::log(one.point->time / one.point->fitted);
    weights += weight;
  }
  return std::exp(sum / weights);
}

// What a precision of a case is in the words of the model, by Precision. A tensor with one scale
// is looked up however that scale is found.
struct PrecisionWords {
  model::Dtype dtype;
  model::Fp8Scaling scaling = model::Fp8Scaling::delayed;
};

constexpr PrecisionWords kPrecisionWords[] = {{model::Dtype::fp32},
                                              {model::Dtype::tf32},
                                              {model::Dtype::bf16},
                                              {model::Dtype::fp16},
                                              {model::Dtype::fp8},
                                              {model::Dtype::fp8, model::Fp8Scaling::rowwise},
                                              {model::Dtype::fp8, model::Fp8Scaling::block},
                                              {model::Dtype::fp8, model::Fp8Scaling::mx},
                                              {model::Dtype::fp4, model::Fp8Scaling::nvfp4}};

const PrecisionWords& words_of(Precision precision) {
  return kPrecisionWords[static_cast<std::size_t>(precision)];
}

Precision precision_of(model::Dtype dtype, model::Fp8Scaling scaling) {
  const auto same = std::ranges::find_if(kernels::kPrecisions, [&](Precision precision) {
    const PrecisionWords& words = words_of(precision);
    return words.dtype == dtype && (dtype != model::Dtype::fp8 || words.scaling == scaling);
  });
  return same == kernels::kPrecisions.end() ? Precision::fp8_tensor : *same;
}

// The role that comes nearest where a role was not measured.
Role stand_in(Role role) {
  switch (role) {
    case Role::wgrad_accumulate:
      return Role::wgrad;
    case Role::wgrad:
      return Role::wgrad_accumulate;
    default:
      return Role::fprop;
  }
}

const KernelSeries* first_of(const hardware::KernelTables& tables, Operation operation, Role role) {
  for (const KernelSeries& series : tables.series) {
    if (series.operation == operation && series.role == role) {
      return &series;
    }
  }
  return nullptr;
}

const KernelSeries* series_of(const model::MemoryOp& op, const hardware::KernelTables& tables) {
  const std::optional<Operation> kernel = model::kernel_of(op.part);
  if (!kernel) {
    return nullptr;
  }
  const bool has_passes = kernels::row_of(*kernel).roles.front() != Role::none;
  const Role role = has_passes ? op.role : Role::none;
  const KernelSeries* series = first_of(tables, *kernel, role);
  return series == nullptr && model::is_norm(op.part)
             ? first_of(tables, Operation::layer_norm, role)
             : series;
}

KernelPrediction predict_moved(const KernelSeries& series, Bytes moved, Seconds floor) {
  const KernelCase call{
      .operation = series.operation, .role = series.role, .precision = series.precision};
  return predict_kernel(series, call, moved, line_time(series.line, Flop{}, moved), floor);
}

}  // namespace

model::Dtype dtype_of(Precision precision) { return words_of(precision).dtype; }

std::string_view to_string(Reach reach) {
  static constexpr std::string_view kNames[] = {"exact", "interpolated", "extrapolated",
                                                "launch floor", "law"};
  return kNames[static_cast<std::size_t>(reach)];
}

Seconds line_time(const hardware::KernelLine& line, Flop work, Bytes moved) {
  return line.a + seconds(line.b * in_flop(work) + line.c * in_bytes(moved));
}

KernelPrediction predict_kernel(const KernelSeries& series, const KernelCase& call, Bytes moved,
                                Seconds line, Seconds floor) {
  const std::size_t axes = hardware::place_axes(series.operation);
  const KernelPlace place = hardware::place_of(call, moved);
  const std::array<NearPoint, kNeighbours> near = nearest(series, place, axes);
  if (is_hit(near[0], call)) {
    return {near[0].point->time, Reach::exact, 0.0};
  }
  KernelPrediction prediction{line, Reach::interpolated, series.line.residual.median};
  if (is_outside(series, place, axes)) {
    prediction.reach = Reach::extrapolated;
    prediction.residual = series.line.residual.p90;
  } else if (series.line.trust) {
    prediction.time = line * neighbour_factor(near, *series.line.trust);
  }
  if (prediction.time < floor) {
    return {floor, Reach::launch_floor, series.line.residual.p90};
  }
  return prediction;
}

KernelCase call_of(const model::GemmOp& op) {
  KernelCase call{.operation = op.grouped ? Operation::grouped_gemm : Operation::gemm,
                  .role = op.accumulates ? Role::wgrad_accumulate : op.role,
                  .precision = precision_of(op.dtype, op.scaling)};
  if (op.grouped) {
    const std::int64_t rows = op.role == Role::wgrad ? op.k : op.m;
    call.extents = {op.batch, op.m, op.n, op.k, rows};
  } else {
    call.extents = {op.m, op.n, op.k};
  }
  return call;
}

KernelCase call_of(const model::AttentionOp& op) {
  return {.operation = Operation::attention,
          .role = op.backward ? Role::backward : Role::forward,
          .precision = precision_of(op.dtype, model::Fp8Scaling::delayed),
          .extents = {op.sequences, op.heads, op.query_groups, op.query_length, op.key_length,
                      op.head_dim_qk, op.head_dim_v, op.causal ? 1 : 0}};
}

std::optional<model::GemmOp> gemm_of(const KernelCase& call) {
  const bool grouped = call.operation == Operation::grouped_gemm;
  if (!grouped && call.operation != Operation::gemm) {
    return std::nullopt;
  }
  const std::size_t first = grouped ? 1 : 0;
  const bool accumulates = call.role == Role::wgrad_accumulate;
  return model::GemmOp{.role = accumulates ? Role::wgrad : call.role,
                       .m = call.extents[first],
                       .n = call.extents[first + 1],
                       .k = call.extents[first + 2],
                       .batch = grouped ? call.extents[0] : 1,
                       .dtype = dtype_of(call.precision),
                       .scaling = words_of(call.precision).scaling,
                       .grouped = grouped,
                       .accumulates = accumulates};
}

std::optional<model::AttentionOp> attention_of(const KernelCase& call) {
  if (call.operation != Operation::attention) {
    return std::nullopt;
  }
  model::AttentionOp op;
  op.sequences = call.extents[0];
  op.heads = call.extents[1];
  op.query_groups = call.extents[2];
  op.query_length = call.extents[3];
  op.key_length = call.extents[4];
  op.head_dim_qk = call.extents[5];
  op.head_dim_v = call.extents[6];
  op.causal = call.extents[7] != 0;
  op.backward = call.role == Role::backward;
  op.dtype = dtype_of(call.precision);
  return op;
}

std::optional<KernelPrediction> predict_gemm(const model::GemmOp& op,
                                             const hardware::GpuProfile& gpu) {
  if (!gpu.kernels || is_attention_product(op) || (op.batch != 1 && !op.grouped)) {
    return std::nullopt;
  }
  KernelCase call = call_of(op);
  const KernelSeries* series = gpu.kernels->find(call.operation, call.role, call.precision);
  const bool measured = series != nullptr;
  if (!measured) {
    call.role = stand_in(call.role);
    series = gpu.kernels->find(call.operation, call.role, call.precision);
  }
  if (series == nullptr) {
    return std::nullopt;
  }
  const Bytes moved = gemm_bytes(op);
  KernelPrediction prediction =
      predict_kernel(*series, call, moved, line_time(series->line, effective_work(op, gpu), moved),
                     gpu.launch_latency.value());
  if (!measured) {
    prediction.reach = Reach::extrapolated;
    prediction.residual = series->line.residual.p90;
  }
  return prediction;
}

std::optional<KernelPrediction> predict_attention(const model::AttentionOp& op,
                                                  const hardware::GpuProfile& gpu, Seconds law) {
  if (!gpu.kernels || op.window != 0 || op.key_blocks != 1 || op.across_ranks || op.deterministic ||
      op.imbalance != 1.0) {
    return std::nullopt;
  }
  const KernelCase call = call_of(op);
  const KernelSeries* series = gpu.kernels->find(call.operation, call.role, call.precision);
  if (series == nullptr) {
    return std::nullopt;
  }
  return predict_kernel(*series, call, Bytes{}, law, gpu.launch_latency.value());
}

std::optional<KernelPrediction> predict_memory(const model::MemoryOp& op,
                                               const hardware::GpuProfile& gpu) {
  if (!gpu.kernels) {
    return std::nullopt;
  }
  const KernelSeries* series = series_of(op, *gpu.kernels);
  if (series == nullptr) {
    return std::nullopt;
  }
  return predict_moved(*series, op.read + op.written, gpu.launch_latency.value());
}

std::optional<KernelPrediction> predict_optimizer(Bytes traffic, const hardware::GpuProfile& gpu) {
  const KernelSeries* series =
      gpu.kernels ? first_of(*gpu.kernels, Operation::adamw, Role::none) : nullptr;
  if (series == nullptr) {
    return std::nullopt;
  }
  return predict_moved(*series, traffic, gpu.launch_latency.value());
}

Cost measured_cost(const KernelPrediction& prediction, const Coefficient<double>& efficiency,
                   const hardware::GpuProfile& gpu, const hardware::SoftwareProfile& software,
                   double launches) {
  const Seconds launch = std::min(gpu.launch_latency.value() * launches, prediction.time);
  const Seconds busy = prediction.time - launch;
  const Seconds stretched = busy / efficiency.value();
  // What the stack adds or takes away rests on its efficiency, the rest on the measurement.
  const Seconds changed =
      std::min(stretched > busy ? stretched - busy : busy - stretched, stretched);
  Cost cost = term(stretched - changed, SourceKind::measured);
  cost += term(changed, efficiency.kind());
  Cost gap = term(launch, SourceKind::measured);
  gap += term(software.kernel_gap.value() * launches, software.kernel_gap.kind());
  gap.gap = gap.time;
  cost += gap;
  if (prediction.reach == Reach::extrapolated) {
    cost.extrapolated = cost.time;
  }
  return cost;
}

}  // namespace orrery::cost
