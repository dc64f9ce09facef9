#include "calibrate/command/sweep_summary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/profile/kernel_points.hpp"
#include "calibrate/samples/summary.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using Kind = std::tuple<kernels::Operation, kernels::Role, kernels::Precision>;

std::string name_of(const Kind& kind) {
  const auto& [operation, role, precision] = kind;
  std::string name(kernels::to_string(operation));
  if (role != kernels::Role::none) {
    name += " " + std::string(kernels::to_string(role));
  }
  return name + " " + std::string(kernels::to_string(precision));
}

bool counts_flop(const KernelCase& kernel) {
  return kernels::work_of(kernel).flop > flop(0.0);
}

double median_seconds(const Sample& sample) {
  return in_seconds(microseconds(summarise(sample.times).median));
}

double rate_of(const Sample& sample) {
  const kernels::Work work = kernels::work_of(sample.kernel);
  const double amount = counts_flop(sample.kernel) ? in_flop(work.flop) : in_bytes(work.moved());
  return amount / median_seconds(sample);
}

FamilyRates family_of(const Kind& kind, const std::vector<const Sample*>& samples) {
  FamilyRates family;
  family.name = name_of(kind);
  family.counts_flop = counts_flop(samples.front()->kernel);
  family.points = static_cast<std::int64_t>(samples.size());
  family.implementation = samples.front()->implementation;
  std::vector<double> rates;
  std::vector<double> errors;
  for (const Sample* sample : samples) {
    rates.push_back(rate_of(*sample));
    errors.push_back(summarise(sample->times).error);
    if (sample->implementation != family.implementation) {
      family.implementation = "mixed";
    }
  }
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  family.low = *low;
  family.high = *high;
  family.median = summarise(rates).median;
  family.noise = summarise(errors).median;
  return family;
}

void add_anchor(const Sample& sample, SweepSummary& summary) {
  if (sample.kernel != anchor_case() || sample.repeat != 0 || !sample.condition.alone()) {
    return;
  }
  const bool burst = sample.regime == Regime::burst;
  (burst ? summary.burst : summary.sustained) = rate_of(sample);
  (burst ? summary.burst_clock : summary.sustained_clock) = sample.state.sm_clock;
}

// Rates of copies set the measure for everything that only moves bytes.
void compare_with_copies(std::vector<FamilyRates>& families) {
  const auto copy = std::find_if(families.begin(), families.end(), [](const FamilyRates& family) {
    return family.name.starts_with("copy ");
  });
  if (copy == families.end()) {
    return;
  }
  const double best = copy->high;
  for (FamilyRates& family : families) {
    const bool over_pcie =
        family.name.starts_with("host_to_device") || family.name.starts_with("device_to_host");
    if (!family.counts_flop && !over_pcie) {
      family.of_copy = family.high / best;
    }
  }
}

double spread(const std::vector<double>& values) {
  if (values.size() < 2) {
    return 0.0;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / summarise(values).median;
}

}  // namespace

SweepSummary summarise(const Measurements& measurements, const SweepReport& report) {
  SweepSummary summary;
  summary.fingerprint = measurements.fingerprint;
  summary.report = report;
  std::map<Kind, std::vector<const Sample*>> kinds;
  // By operation, precision, role: equal names stand together.
  const auto by_name = [](const Kind& a, const Kind& b) {
    return std::tie(std::get<0>(a), std::get<2>(a), std::get<1>(a)) <
           std::tie(std::get<0>(b), std::get<2>(b), std::get<1>(b));
  };
  std::set<Kind, decltype(by_name)> unsupported(by_name);
  std::set<std::string> throttled;
  std::vector<double> anchors;
  for (const Sample& sample : measurements.samples) {
    const KernelCase& kernel = sample.kernel;
    const Kind kind = {kernel.operation, kernel.role, kernel.precision};
    throttled.insert(sample.state.throttled.begin(), sample.state.throttled.end());
    if (is_failure(sample)) {
      summary.failures.push_back(
          fmt::format("{}: {}", kernels::to_text(sample.kernel), sample.status));
      continue;
    }
    if (!sample.supported && !sample.condition.alone()) {
      continue;
    }
    if (!sample.supported) {
      unsupported.insert(kind);
      continue;
    }
    add_anchor(sample, summary);
    if (sample.repeat != 0) {
      anchors.push_back(median_seconds(sample));
    } else {
      ++summary.points;
      if (is_evidence(sample)) {
        kinds[kind].push_back(&sample);
      }
    }
  }
  for (const auto& [kind, samples] : kinds) {
    summary.families.push_back(family_of(kind, samples));
  }
  compare_with_copies(summary.families);
  for (const Kind& kind : unsupported) {
    const auto& [operation, role, precision] = kind;
    const std::string name = name_of({operation, kernels::Role::none, precision});
    const bool said = !summary.unsupported.empty() && summary.unsupported.back() == name;
    if (!kinds.contains(kind) && !said) {
      summary.unsupported.push_back(name);
    }
  }
  summary.throttled.assign(throttled.begin(), throttled.end());
  summary.derived = derived_figures(measurements.samples);
  summary.first_choices = first_choices(measurements.samples);
  summary.anchors = static_cast<std::int64_t>(anchors.size());
  summary.anchor_spread = spread(anchors);
  return summary;
}

}  // namespace orrery::calibrate
