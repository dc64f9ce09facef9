#include "sim/cost/memory_bound.hpp"

#include "sim/cost/measured_kernels.hpp"

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

// A norm of a named implementation: its own latency and rate.
Cost norm_cost(const model::MemoryOp& op,
               const hardware::NormRate& rate,
               const hardware::GpuProfile& gpu,
               const hardware::SoftwareProfile& software) {
  const bool backward = op.read > op.written;  // the gradient is read beside the input
  const auto& share = backward ? rate.backward : rate.forward;
  const auto& latency = backward ? rate.backward_latency : rate.forward_latency;
  Cost cost = term((op.read + op.written) / (gpu.hbm_bandwidth.value() * share.value()),
                   weaker(gpu.hbm_bandwidth.kind(), share.kind()));
  Cost gap = term(latency.value(), latency.kind());
  gap += term(software.kernel_gap.value(), software.kernel_gap.kind());
  gap.gap = gap.time;
  cost += gap;
  return cost;
}

}  // namespace

bool is_norm(const model::MemoryOp& op) {
  return op.name == "norm" || op.name.find("_norm") != std::string_view::npos;
}

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

std::optional<KernelPrediction> measured_memory(const model::MemoryOp& op,
                                                const hardware::GpuProfile& gpu,
                                                const hardware::SoftwareProfile& software) {
  const bool named = software.norm_kernel && is_norm(op) && gpu.find_norm(*software.norm_kernel);
  return named ? std::nullopt : predict_memory(op, gpu);
}

Cost memory_bound_cost(const model::MemoryOp& op,
                       const hardware::GpuProfile& gpu,
                       const hardware::SoftwareProfile& software) {
  if (software.norm_kernel && is_norm(op)) {
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

Cost optimizer_cost(double parameters,
                    const hardware::GpuProfile& gpu,
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

}  // namespace orrery::cost
