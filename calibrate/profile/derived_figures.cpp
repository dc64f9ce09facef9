#include "calibrate/profile/derived_figures.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "calibrate/profile/kernel_points.hpp"
#include "calibrate/samples/summary.hpp"
#include "sim/hardware/calibration_profile.hpp"

namespace orrery::calibrate {

namespace {

using Kind = Condition::Kind;
using kernels::Operation;

double median_us(const Sample& sample) {
  return summarise(sample.times).median;
}

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

bool to_host(Operation operation) {
  return operation == Operation::device_to_host;
}

bool on_device(Operation operation) {
  return operation == Operation::copy;
}

bool between_gpus(Operation operation) {
  return operation >= Operation::all_reduce;
}

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

}  // namespace orrery::calibrate
