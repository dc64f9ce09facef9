#include "calibrate/validate/case_prediction.hpp"

#include <algorithm>

#include "sim/cost/attention.hpp"
#include "sim/cost/gemm.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;

const hardware::GemmRate& rate_of(Precision precision, const hardware::GpuProfile& gpu) {
  bool substituted = false;
  return cost::gemm_rate(gpu, cost::dtype_of(precision), substituted);
}

bool is_even(const KernelCase& kernel) {
  const std::vector<std::int64_t> rows = kernels::group_rows(kernel);
  return rows.front() == rows.back();
}

}  // namespace

std::optional<cost::KernelPrediction> predict_case(const KernelCase& kernel,
                                                   const hardware::GpuProfile& gpu) {
  if (!gpu.kernels) {
    return std::nullopt;
  }
  const bool skewed = kernel.operation == Operation::grouped_gemm && !is_even(kernel);
  if (const auto gemm = cost::gemm_of(kernel); gemm && !skewed) {
    return cost::predict_gemm(*gemm, gpu);
  }
  if (const auto attention = cost::attention_of(kernel)) {
    return cost::predict_attention(
        *attention, gpu, cost::library_attention_time(*attention, gpu.attention, gpu));
  }
  const hardware::KernelSeries* series =
      gpu.kernels->find(kernel.operation, kernel.role, kernel.precision);
  if (series == nullptr) {
    return std::nullopt;
  }
  const kernels::Work work = kernels::work_of(kernel);
  const auto gemm = cost::gemm_of(kernel);
  const Bytes moved = gemm ? cost::gemm_bytes(*gemm) : work.moved();
  const Flop flop = gemm ? cost::effective_work(*gemm, gpu) : work.flop;
  return cost::predict_kernel(*series,
                              kernel,
                              moved,
                              cost::line_time(series->line, flop, moved),
                              gpu.launch_latency.value());
}

Seconds roofline_time(const KernelCase& kernel, const hardware::GpuProfile& gpu) {
  const kernels::Work work = kernels::work_of(kernel);
  return std::max(work.flop / rate_of(kernel.precision, gpu).peak.value(),
                  work.moved() / gpu.hbm_bandwidth.value());
}

Seconds burst_time(const KernelCase& kernel, const hardware::GpuProfile& gpu) {
  const kernels::Work work = kernels::work_of(kernel);
  if (in_flop(work.flop) == 0.0) {
    return work.moved() / (gpu.hbm_bandwidth.value() * gpu.memory_efficiency.value());
  }
  const hardware::GemmRate& rate = rate_of(kernel.precision, gpu);
  return work.flop / (rate.burst ? rate.burst->value() : rate.sustained.value());
}

Seconds fixed_mfu_time(Flop work, Precision precision, const hardware::GpuProfile& gpu) {
  return work / (kFixedMfu * rate_of(precision, gpu).peak.value());
}

}  // namespace orrery::calibrate
