#include "calibrate/profile/kernel_points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "calibrate/samples/sample.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/hardware/calibration_profile.hpp"

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

std::string sample_id(std::size_t index) { return fmt::format("s{}", index + 1); }

Evidence evidence_of(const std::vector<Sample>& samples, const hardware::GpuProfile& gpu,
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
                                                   sample.state.sm_clock, step_clock),
                   .fitted = {}},
         .work = fit_work(call, gpu),
         .moved = moved});
  }
  return evidence;
}

namespace {

using Kind = Condition::Kind;
using kernels::Operation;

double median_us(const Sample& sample) { return summarise(sample.times).median; }

// Of the fastest sample of an operation.
std::optional<double> fastest_gbps(const std::vector<Sample>& samples, Operation operation) {
  std::optional<double> best;
  for (const Sample& sample : samples) {
    if (is_sound(sample) && sample.condition.alone() && sample.kernel.operation == operation) {
      const Seconds time = microseconds(median_us(sample));
      const double rate = in_gigabytes_per_second(fit_bytes(sample.kernel) / time);
      best = std::max(best.value_or(0.0), rate);
    }
  }
  return best;
}

std::optional<double> burst_over_sustained(const std::vector<Sample>& samples) {
  std::map<kernels::KernelCase, std::array<double, 2>> medians;
  for (const Sample& sample : samples) {
    if (is_sound(sample) && sample.condition.alone()) {
      medians[sample.kernel][sample.regime == Regime::burst ? 1 : 0] = median_us(sample);
    }
  }
  std::vector<double> ratios;
  for (const auto& [kernel, both] : medians) {
    if (both[0] > 0.0 && both[1] > 0.0) {
      ratios.push_back(both[0] / both[1]);
    }
  }
  return ratios.empty() ? std::nullopt : std::optional(summarise(ratios).median);
}

struct Line {
  double at_zero = 0.0;
  double slope = 0.0;
};

// T(n) with equal relative errors; nothing with fewer than two sizes of graphs.
std::optional<Line> graph_line(const std::vector<Sample>& samples) {
  std::map<std::int64_t, double> replays;  // calls -> us of a whole replay
  for (const Sample& sample : samples) {
    if (is_sound(sample) && sample.condition.kind == Kind::graph) {
      replays[sample.condition.count] =
          median_us(sample) * static_cast<double>(sample.condition.count);
    }
  }
  if (replays.size() < 2) {
    return std::nullopt;
  }
  double w = 0.0;
  double wn = 0.0;
  double wnn = 0.0;
  double wt = 0.0;
  double wnt = 0.0;
  for (const auto& [calls, time] : replays) {
    const auto n = static_cast<double>(calls);
    const double weight = 1.0 / (time * time);
    w += weight;
    wn += weight * n;
    wnn += weight * n * n;
    wt += weight * time;
    wnt += weight * n * time;
  }
  const double determinant = w * wnn - wn * wn;
  return Line{.at_zero = (wnn * wt - wn * wnt) / determinant,
              .slope = (w * wnt - wn * wt) / determinant};
}

std::optional<double> enqueued_us(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    if (is_sound(sample) && sample.condition.kind == Kind::enqueued) {
      return median_us(sample);
    }
  }
  return std::nullopt;
}

// The largest ratio to the same call alone, beside cases that `wanted` takes.
template <typename Wanted>
std::optional<double> slowdown_beside(const std::vector<Sample>& samples, const Wanted& wanted) {
  std::optional<double> largest;
  for (const Sample& sample : samples) {
    if (is_sound(sample) && sample.condition.kind == Kind::beside && sample.alone &&
        wanted(sample.condition.other->operation)) {
      largest = std::max(largest.value_or(0.0), median_us(sample) / *sample.alone);
    }
  }
  return largest;
}

std::optional<double> slowdown_per_sm(const std::vector<Sample>& samples, Kind kind) {
  double xx = 0.0;
  double xy = 0.0;
  for (const Sample& sample : samples) {
    if (is_sound(sample) && sample.condition.kind == kind && sample.alone) {
      const auto x = static_cast<double>(sample.condition.count);
      xx += x * x;
      xy += x * (median_us(sample) / *sample.alone - 1.0);
    }
  }
  return xx > 0.0 ? std::optional(xy / xx) : std::nullopt;
}

bool to_host(Operation operation) { return operation == Operation::device_to_host; }

bool on_device(Operation operation) { return operation == Operation::copy; }

bool between_gpus(Operation operation) { return operation >= Operation::all_reduce; }

}  // namespace

DerivedFigures derived_figures(const std::vector<Sample>& samples) {
  std::map<std::string_view, double> found;
  const auto keep = [&found](std::string_view name, const std::optional<double>& value) {
    if (value && *value > 0.0) {
      found[name] = *value;
    }
  };
  keep("copy_gbps", fastest_gbps(samples, Operation::copy));
  keep("d2h_pinned_gbps", fastest_gbps(samples, Operation::device_to_host));
  keep("h2d_pinned_gbps", fastest_gbps(samples, Operation::host_to_device));
  keep("burst_over_sustained", burst_over_sustained(samples));
  if (const std::optional<Line> line = graph_line(samples)) {
    keep("graph_launch_us", line->at_zero);
    keep("graph_node_us", line->slope);
  }
  keep("stream_launch_us", enqueued_us(samples));
  keep("d2h_gemm_slowdown", slowdown_beside(samples, to_host));
  keep("copy_gemm_slowdown", slowdown_beside(samples, on_device));
  keep("gemm_slowdown_per_sm_removed", slowdown_per_sm(samples, Kind::fewer_multiprocessors));
  keep("gemm_slowdown_per_sm_streaming", slowdown_per_sm(samples, Kind::streaming));
  keep("gemm_slowdown_under_collective", slowdown_beside(samples, between_gpus));
  DerivedFigures figures;
  for (const std::string_view name : hardware::derived_names()) {
    if (const auto at = found.find(name); at != found.end()) {
      figures.emplace_back(name, at->second);
    }
  }
  return figures;
}

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

std::optional<double> balanced_clock(std::span<const MixedKernel> mix, double limit,
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
