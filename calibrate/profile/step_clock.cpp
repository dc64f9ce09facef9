#include "calibrate/profile/step_clock.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "calibrate/profile/kernel_points.hpp"
#include "calibrate/samples/summary.hpp"
#include "sim/cost/gemm.hpp"
#include "sim/cost/measured_kernels.hpp"
#include "sim/hardware/step_clock.hpp"

namespace orrery::calibrate {

namespace {

using CallKind = std::tuple<kernels::Operation, kernels::Role, kernels::Precision>;

constexpr int kHalvings = 60;
constexpr double kLowest = 0.2;  // of the highest clock: below it no GPU sustains anything

CallKind kind_of(const kernels::KernelCase& call) {
  return {call.operation, call.role, call.precision};
}

struct State {
  double power = 0.0;
  double clock = 0.0;
};

// Medians by kind, of samples that know both.
std::map<CallKind, State> states_of(const std::vector<Sample>& samples) {
  std::map<CallKind, std::array<std::vector<double>, 2>> readings;
  for (const Sample& sample : samples) {
    if (is_evidence(sample) && sample.state.power && sample.state.sm_clock) {
      auto& [powers, clocks] = readings[kind_of(sample.kernel)];
      powers.push_back(*sample.state.power);
      clocks.push_back(*sample.state.sm_clock);
    }
  }
  std::map<CallKind, State> states;
  for (const auto& [kind, both] : readings) {
    states[kind] = {summarise(both[0]).median, summarise(both[1]).median};
  }
  return states;
}

Seconds rough_time(const kernels::KernelCase& call, const hardware::GpuProfile& gpu) {
  const kernels::Work work = kernels::work_of(call);
  bool substituted = false;
  const hardware::GemmRate& rate =
      cost::gemm_rate(gpu, cost::dtype_of(call.precision), substituted);
  return std::max(work.flop / rate.sustained.value(),
                  work.moved() / (gpu.hbm_bandwidth.value() * gpu.memory_efficiency.value()));
}

// Power above the limit, in J per step.
double excess(std::span<const MixedKernel> mix, double limit, double clock) {
  double energy = 0.0;
  for (const MixedKernel& one : mix) {
    const double ratio = one.clocked ? clock / one.clock : 1.0;
    energy += one.time * (one.power * ratio * (one.clocked ? ratio : 1.0) - limit / ratio);
  }
  return energy;
}

}  // namespace

std::optional<double> balanced_clock(std::span<const MixedKernel> mix,
                                     double limit,
                                     double highest) {
  if (std::none_of(mix.begin(), mix.end(), [](const MixedKernel& one) { return one.clocked; })) {
    return std::nullopt;
  }
  if (excess(mix, limit, highest) <= 0.0) {
    return highest;
  }
  double low = kLowest * highest;
  double high = highest;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    (excess(mix, limit, middle) > 0.0 ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

std::optional<double> step_clock(const std::vector<Sample>& samples,
                                 std::optional<double> power_limit,
                                 std::span<const kernels::KernelCase> calls,
                                 const hardware::GpuProfile& gpu) {
  const std::map<CallKind, State> states = states_of(samples);
  if (!power_limit || states.empty()) {
    return std::nullopt;
  }
  double highest = 0.0;
  for (const Sample& sample : samples) {
    if (is_evidence(sample)) {
      highest = std::max(highest, sample.state.sm_clock.value_or(0.0));
    }
  }
  std::vector<MixedKernel> mix;
  for (const kernels::KernelCase& call : calls) {
    const auto state = states.find(kind_of(call));
    if (state != states.end()) {
      mix.push_back({.time = in_seconds(rough_time(call, gpu)),
                     .power = state->second.power,
                     .clock = state->second.clock,
                     .clocked = hardware::follows_clock(call.operation)});
    }
  }
  return balanced_clock(mix, *power_limit, highest);
}

}  // namespace orrery::calibrate
