#include "sim/step/cost/scan.hpp"

#include <algorithm>
#include <array>

#include "sim/step/cost/memory_bound.hpp"
#include "sim/step/cost/numbers.hpp"

namespace orrery::cost {

namespace {

constexpr double kForwardKernels = 6.0;
constexpr double kBackwardKernels = 12.0;

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
  return op.backward ? kBackwardKernels : kForwardKernels;
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
