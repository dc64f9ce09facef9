#include "calibrate/profile/kernel_points.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "calibrate/samples/summary.hpp"
#include "sim/cost/gemm.hpp"
#include "sim/cost/measured_kernels.hpp"
#include "sim/hardware/step_clock.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::string_view kOwn = "own";

// The library with the most points; our own kernels only where there is no other.
std::string chosen(const std::map<std::string, std::size_t>& counts) {
  std::string best;
  std::size_t most = 0;
  for (const auto& [name, count] : counts) {
    const bool better = best == kOwn || (name != kOwn && count > most);
    if (most == 0 || better) {
      best = name;
      most = count;
    }
  }
  return best;
}

}  // namespace

Flop fit_work(const kernels::KernelCase& kernel, const hardware::GpuProfile& gpu) {
  if (const auto product = cost::gemm_of(kernel)) {
    return cost::effective_work(*product, gpu);
  }
  if (const auto attention = cost::attention_of(kernel)) {
    return model::flop_count(*attention);
  }
  return kernels::work_of(kernel).flop;
}

Bytes fit_bytes(const kernels::KernelCase& kernel) {
  const auto product = cost::gemm_of(kernel);
  return product ? cost::gemm_bytes(*product) : kernels::work_of(kernel).moved();
}

bool is_evidence(const Sample& sample) {
  return is_sound(sample) && sample.condition.alone() && sample.regime == Regime::sustained;
}

bool is_sound(const Sample& sample) {
  return sample.supported && !sample.functional && !sample.drifted && sample.repeat == 0 &&
         sample.error.value_or(0.0) <= 1.0;
}

std::string sample_id(std::size_t index) {
  return fmt::format("s{}", index + 1);
}

Evidence evidence_of(const std::vector<Sample>& samples,
                     const hardware::GpuProfile& gpu,
                     std::optional<double> step_clock) {
  std::map<EvidenceKey, std::map<std::string, std::size_t>> counts;
  std::map<EvidenceKey, std::string> implementations;
  const auto key_of_sample = [](const kernels::KernelCase& call) {
    return EvidenceKey{call.operation, call.precision, call.role};
  };
  for (const Sample& sample : samples) {
    if (is_evidence(sample)) {
      ++counts[key_of_sample(sample.kernel)][sample.implementation];
    }
  }
  for (const auto& [key, names] : counts) {
    implementations[key] = chosen(names);
  }
  Evidence evidence;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (!is_evidence(sample)) {
      continue;
    }
    const kernels::KernelCase& call = sample.kernel;
    const EvidenceKey key = key_of_sample(call);
    if (kernels::is_collective(call.operation) ||
        sample.implementation != implementations.at(key)) {
      continue;
    }
    EvidenceSeries& series = evidence[key];
    series.implementation = sample.implementation;
    const Bytes moved = fit_bytes(sample.kernel);
    series.points.push_back(
        {.point = {.id = sample_id(i),
                   .call = call,
                   .place = hardware::place_of(call, moved),
                   .time = hardware::at_step_clock(call.operation,
                                                   microseconds(summarise(sample.times).median),
                                                   sample.state.sm_clock,
                                                   step_clock),
                   .fitted = {}},
         .work = fit_work(call, gpu),
         .moved = moved});
  }
  return evidence;
}

}  // namespace orrery::calibrate
