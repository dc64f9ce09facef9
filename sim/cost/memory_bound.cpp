#include "sim/cost/memory_bound.hpp"

namespace orrery::cost {

namespace {

Cost traffic(Bytes moved,
             const hardware::GpuProfile& gpu,
             const hardware::SoftwareProfile& software,
             SourceKind kind) {
  Cost cost = term(moved / memory_rate(gpu, software), kind);
  const auto& range = gpu.memory_efficiency.range();
  if (range.has_value() && !range->contains(in_bytes(moved))) {
    cost.extrapolated = cost.time;
  }
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

Cost kernel_gap(const hardware::GpuProfile& gpu,
                const hardware::SoftwareProfile& software,
                double kernels) {
  Cost cost = term(gpu.launch_latency.value() * kernels, gpu.launch_latency.kind());
  cost += term(software.kernel_gap.value() * kernels, software.kernel_gap.kind());
  cost.gap = cost.time;
  return cost;
}

Cost memory_bound_cost(const model::MemoryOp& op,
                       const hardware::GpuProfile& gpu,
                       const hardware::SoftwareProfile& software) {
  Cost cost = traffic(op.read + op.written, gpu, software, memory_source(gpu, software));
  cost += kernel_gap(gpu, software, static_cast<double>(op.kernels));
  return cost;
}

Cost optimizer_cost(double parameters,
                    const hardware::GpuProfile& gpu,
                    const hardware::SoftwareProfile& software) {
  const SourceKind kind = weaker(memory_source(gpu, software), software.optimizer_traffic.kind());
  Cost cost = traffic(software.optimizer_traffic.value() * parameters, gpu, software, kind);
  cost += kernel_gap(gpu, software, 1.0);
  return cost;
}

}  // namespace orrery::cost
