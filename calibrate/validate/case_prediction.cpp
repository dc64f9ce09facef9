#include "calibrate/validate/case_prediction.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/cost/attention.hpp"
#include "sim/cost/gemm.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;

model::Dtype dtype_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return model::Dtype::fp32;
    case Precision::tf32:
      return model::Dtype::tf32;
    case Precision::bf16:
      return model::Dtype::bf16;
    case Precision::fp16:
      return model::Dtype::fp16;
    case Precision::nvfp4:
      return model::Dtype::fp4;
    default:
      return model::Dtype::fp8;
  }
}

const hardware::GemmRate& rate_of(Precision precision, const hardware::GpuProfile& gpu) {
  bool substituted = false;
  return cost::gemm_rate(gpu, dtype_of(precision), substituted);
}

// The case in the words of the simulator.
hardware::KernelCall call_of(const KernelCase& kernel) {
  const hardware::ReadCall read = hardware::read_call(kernels::to_text(kernel));
  ORRERY_CHECK(read.call, "the simulator knows every case of kernels/cases");
  return *read.call;
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
  const hardware::KernelCall call = call_of(kernel);
  const bool skewed = kernel.operation == Operation::grouped_gemm && !is_even(kernel);
  if (const auto gemm = cost::gemm_of(call); gemm && !skewed) {
    return cost::predict_gemm(*gemm, gpu);
  }
  if (const auto attention = cost::attention_of(call)) {
    return cost::predict_attention(
        *attention, gpu, cost::library_attention_time(*attention, gpu.attention, gpu));
  }
  const hardware::KernelSeries* series =
      gpu.kernels->find(call.operation, call.role, call.precision);
  if (series == nullptr) {
    return std::nullopt;
  }
  const kernels::Work work = kernels::work_of(kernel);
  const auto gemm = cost::gemm_of(call);
  const Bytes moved = gemm ? cost::gemm_bytes(*gemm) : work.moved();
  return cost::predict_kernel(*series,
                              call,
                              moved,
                              cost::line_time(series->line, work.flop, moved),
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
