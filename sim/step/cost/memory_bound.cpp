#include "sim/step/cost/memory_bound.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/measured_kernels.hpp"

namespace orrery::cost {

namespace {

Cost traffic(Bytes moved, const hardware::GpuProfile& gpu,
             const hardware::SoftwareProfile& software, SourceKind kind) {
  Cost cost = term(moved / memory_rate(gpu, software), kind);
  const auto& range = gpu.memory_efficiency.range();
  if (range.has_value() && !range->contains(in_bytes(moved))) {
    cost.extrapolated = cost.time;
  }
  return cost;
}

// What the code of a norm makes of the width of its rows.
struct NormLaw {
  double row_picoseconds = 0.0;
  double wide = 0.0;    // exponent of the width beyond kWideRow
  double padded = 0.0;  // share of the time that an idle lane takes
  double chunk = 0.0;   // latency that kChunk elements of a row add
  double floor_microseconds = 0.0;
  double wave_microseconds = 0.0;  // of kRowsPerSm rows on each SM at least; 0: not row by row
};

constexpr double kWideRow = 4096.0;
constexpr double kChunk = 2048.0;
constexpr double kRowsPerSm = 16.0;  // blocks of 128 threads, one a row
constexpr double kElementBytes = 2.0;

constexpr NormLaw norm_law(hardware::NormImplementation implementation, bool backward,
                           hardware::GpuArch arch) {
  using hardware::NormImplementation;
  switch (implementation) {
    case NormImplementation::cudnn:
      return backward ? NormLaw{} : NormLaw{.row_picoseconds = 24.0};
    case NormImplementation::pytorch:
      return backward ? NormLaw{.floor_microseconds = 28.0}
                      : NormLaw{.wide = arch == hardware::GpuArch::hopper ? 0.25 : 0.0,
                                .floor_microseconds = 8.5,
                                .wave_microseconds = 0.95};
    case NormImplementation::torch_compile:
      break;
  }
  return backward ? NormLaw{.padded = 0.35} : NormLaw{.padded = 0.1, .chunk = 1.0};
}

// Idle lanes per busy one in the power of two that holds a row.
double idle_lanes(std::int64_t width) {
  const auto lanes = std::bit_ceil(static_cast<std::uint64_t>(width));
  return static_cast<double>(lanes) / static_cast<double>(width) - 1.0;
}

// Latency and traffic of a norm with the width of its rows taken into account.
struct NormTime {
  Seconds latency;
  Seconds traffic;
};

NormTime shaped(NormTime time, const model::MemoryOp& op, const NormLaw& law, double sms) {
  if (op.width > 0) {
    const auto width = static_cast<double>(op.width);
    const double rows = op.written / bytes(kElementBytes * width);
    time.latency = time.latency * (1.0 + law.chunk * std::min(width, kWideRow) / kChunk) +
                   microseconds(law.row_picoseconds * rows / kMega);
    time.traffic = time.traffic * std::pow(std::max(width / kWideRow, 1.0), law.wide) *
                   (1.0 + law.padded * idle_lanes(op.width));
    if (law.wave_microseconds > 0.0) {
      const double waves = rows / (kRowsPerSm * sms);
      time.traffic = std::max(time.traffic * (std::ceil(waves) / waves),
                              microseconds(law.wave_microseconds * std::ceil(waves)));
    }
  }
  const Seconds late = microseconds(law.floor_microseconds) - time.latency - time.traffic;
  time.latency = time.latency + std::max(late, Seconds{});
  return time;
}

// A norm of a named implementation: its own latency and rate.
Cost norm_cost(const model::MemoryOp& op, const hardware::NormRate& rate,
               const hardware::GpuProfile& gpu, const hardware::SoftwareProfile& software) {
  const bool backward = op.role == model::Role::backward;
  const auto& share = backward ? rate.backward : rate.forward;
  const auto& latency = backward ? rate.backward_latency : rate.forward_latency;
  const Seconds moving = (op.read + op.written) / (gpu.hbm_bandwidth.value() * share.value());
  const NormTime time =
      shaped({latency.value(), moving}, op, norm_law(rate.implementation, backward, gpu.arch),
             static_cast<double>(gpu.sm_count));
  Cost cost = term(time.traffic, weaker(gpu.hbm_bandwidth.kind(), share.kind()));
  Cost gap = term(time.latency, latency.kind());
  gap += term(software.kernel_gap.value(), software.kernel_gap.kind());
  gap.gap = gap.time;
  cost += gap;
  return cost;
}

}  // namespace

BytesPerSecond memory_rate(const hardware::GpuProfile& gpu,
                           const hardware::SoftwareProfile& software) {
  return gpu.hbm_bandwidth.value() * gpu.memory_efficiency.value() *
         software.memory_efficiency.value();
}

SourceKind memory_source(const hardware::GpuProfile& gpu,
                         const hardware::SoftwareProfile& software) {
  return weaker(weaker(gpu.hbm_bandwidth.kind(), gpu.memory_efficiency.kind()),
                software.memory_efficiency.kind());
}

Cost kernel_gap(const hardware::GpuProfile& gpu, const hardware::SoftwareProfile& software,
                double kernels) {
  Cost cost = term(gpu.launch_latency.value() * kernels, gpu.launch_latency.kind());
  cost += term(software.kernel_gap.value() * kernels, software.kernel_gap.kind());
  cost.gap = cost.time;
  return cost;
}

std::optional<KernelPrediction> measured_memory(const model::MemoryOp& op,
                                                const hardware::GpuProfile& gpu,
                                                const hardware::SoftwareProfile& software) {
  const bool named =
      software.norm_kernel && is_norm(op.part) && gpu.find_norm(*software.norm_kernel);
  return named ? std::nullopt : predict_memory(op, gpu);
}

Cost memory_bound_cost(const model::MemoryOp& op, const hardware::GpuProfile& gpu,
                       const hardware::SoftwareProfile& software) {
  if (software.norm_kernel && is_norm(op.part)) {
    if (const hardware::NormRate* rate = gpu.find_norm(*software.norm_kernel)) {
      return norm_cost(op, *rate, gpu, software);
    }
  }
  if (const auto measured = measured_memory(op, gpu, software)) {
    Cost cost = measured_cost(*measured, software.memory_efficiency, gpu, software);
    if (op.kernels > 1) {
      cost += kernel_gap(gpu, software, static_cast<double>(op.kernels - 1));
    }
    return cost;
  }
  Cost cost = traffic(op.read + op.written, gpu, software, memory_source(gpu, software));
  cost += kernel_gap(gpu, software, static_cast<double>(op.kernels));
  return cost;
}

Cost optimizer_cost(double parameters, const hardware::GpuProfile& gpu,
                    const hardware::SoftwareProfile& software) {
  const Bytes moved = software.optimizer_traffic.value() * parameters;
  if (const auto measured = predict_optimizer(moved, gpu)) {
    return measured_cost(*measured, software.memory_efficiency, gpu, software);
  }
  const SourceKind kind = weaker(memory_source(gpu, software), software.optimizer_traffic.kind());
  Cost cost = traffic(moved, gpu, software, kind);
  cost += kernel_gap(gpu, software, 1.0);
  return cost;
}

namespace {

constexpr double kForwardScanKernels = 6.0;
constexpr double kBackwardScanKernels = 12.0;

struct DirectionRate {
  double share = 0.0;  // of the memory's bandwidth
  double chain_microseconds = 0.0;
};

// Forward and backward, by ScanKind: the table of the header.
constexpr std::array<std::array<DirectionRate, 2>, 4> kUsual = {{{{{0.28, 0.0}, {0.28, 0.0}}},
                                                                 {{{0.69, 1.28}, {0.65, 3.65}}},
                                                                 {{{0.39, 1.28}, {0.37, 3.65}}},
                                                                 {{{0.44, 0.0}, {0.59, 0.0}}}}};

struct ScanTime {
  Seconds chunk;
  BytesPerSecond rate;
  SourceKind source = SourceKind::assumed;
};

ScanTime scan_time(const model::ScanOp& op, const hardware::GpuProfile& gpu) {
  if (const hardware::ScanRate* known = gpu.find_scan(op.kind)) {
    const auto& rate = op.backward ? known->backward : known->forward;
    const auto& chunk = op.backward ? known->backward_chunk : known->forward_chunk;
    return {chunk.value(), rate.value(), weaker(rate.kind(), chunk.kind())};
  }
  const DirectionRate& usual = kUsual[static_cast<std::size_t>(op.kind)][op.backward ? 1 : 0];
  return {microseconds(usual.chain_microseconds), gpu.hbm_bandwidth.value() * usual.share};
}

}  // namespace

double scan_kernels(const model::ScanOp& op) {
  return op.backward ? kBackwardScanKernels : kForwardScanKernels;
}

Cost scan_cost(const model::ScanOp& op, const hardware::GpuProfile& gpu,
               const hardware::SoftwareProfile& software) {
  if (op.sequences <= 0 || op.length <= 0 || op.heads <= 0) {
    return {};
  }
  const ScanTime known = scan_time(op, gpu);
  const BytesPerSecond rate = std::min(known.rate, memory_rate(gpu, software));
  const double chunks = as_double(op.length) / as_double(op.chunk);
  Cost cost = term(known.chunk * chunks + model::scan_bytes(op) / rate, known.source);
  Cost gap = term(software.kernel_gap.value() * scan_kernels(op), software.kernel_gap.kind());
  gap.gap = gap.time;
  cost += gap;
  return cost;
}

}  // namespace orrery::cost
