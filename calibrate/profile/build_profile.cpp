#include "calibrate/profile/build_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibrate/profile/kernel_points.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/hardware/calibration_profile.hpp"

namespace orrery::calibrate {

namespace {

template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string(hardware::kUnknownField);
}

std::string text_of(const std::string& value) {
  return value.empty() ? std::string(hardware::kUnknownField) : value;
}

std::string count_text(std::int64_t value) {
  return value > 0 ? fmt::format("{}", value) : std::string(hardware::kUnknownField);
}

}  // namespace

hardware::Fingerprint machine_fields(const Fingerprint& from) {
  hardware::Fingerprint to;
  to.set("gpu.name", text_of(from.gpu));
  to.set("gpu.count", count_text(from.gpus));
  to.set("gpu.cc", text_of(from.compute_capability));
  to.set("gpu.sm_count", count_text(from.multiprocessors));
  to.set("gpu.l2_bytes", count_text(from.l2_bytes));
  to.set("gpu.mem_bytes", count_text(from.memory_bytes));
  to.set("gpu.pci_gen", text_of(from.pcie_generation));
  to.set("gpu.pci_width", text_of(from.pcie_width));
  to.set("gpu.mig", text_of(from.mig));
  to.set("gpu.ecc", text_of(from.ecc));
  to.set("gpu.uuid", text_of(from.gpu_uuid.value_or("")));
  to.set("driver", text_of(from.driver.value_or("")));
  to.set("cuda.compiled", text_of(from.cuda_compiled));
  to.set("cuda.runtime", text_of(from.cuda_runtime));
  to.set("cuda.driver_api", text_of(from.cuda_driver));
  for (const auto& [name, versions] :
       {std::pair("cublaslt", from.cublaslt), std::pair("cudnn", from.cudnn),
        std::pair("nccl", from.nccl)}) {
    to.set(fmt::format("libs.{}.header", name), text_of(versions.header));
    to.set(fmt::format("libs.{}.runtime", name), text_of(versions.runtime));
  }
  if (from.nvlink) {
    to.set("nvlink.links", fmt::format("{}", from.nvlink->links));
    to.set("nvlink.version", text_of(from.nvlink->version.value_or("")));
    to.set("nvlink.switched", from.nvlink->switched ? "true" : "false");
    to.set("nvlink.peers", fmt::format("{}", fmt::join(from.nvlink->peers, ", ")));
  }
  to.set("power_limit_w", text_of(from.power_limit));
  to.set("clocks_mhz.sm_max", text_of(from.most_sm_clock));
  to.set("host.cpu", text_of(from.cpu));
  to.set("host.cores", count_text(from.cores));
  to.set("tool.version", text_of(from.tool));
  return to;
}

std::string machine_id(const Fingerprint& fingerprint) {
  return hardware::fingerprint_id(machine_fields(fingerprint));
}

namespace {

using hardware::CalibrationProfile;
using kernels::Operation;

constexpr std::size_t kFolds = 5;

// Clocks and throttling, as they were while it measured.
void set_seen(const std::vector<Sample>& samples, hardware::Fingerprint& to) {
  std::vector<double> clocks;
  std::set<std::string> reasons;
  for (const Sample& sample : samples) {
    if (sample.regime == Regime::sustained && sample.state.sm_clock) {
      clocks.push_back(*sample.state.sm_clock);
    }
    reasons.insert(sample.state.throttled.begin(), sample.state.throttled.end());
  }
  if (!clocks.empty()) {
    const Summary summary = summarise(clocks);
    to.set("clocks_mhz.sm_sustained_median", fmt::format("{}", summary.median));
    to.set("clocks_mhz.sm_sustained_p10", fmt::format("{}", summary.p10));
  }
  to.set("throttle_reasons_seen", fmt::format("{}", fmt::join(reasons, ", ")));
}

hardware::CalibrationSample sample_of(const Sample& sample, std::size_t index) {
  const Summary summary = summarise(sample.times);
  hardware::CalibrationSample out;
  out.id = sample_id(index);
  out.call = sample.kernel;
  out.implementation = sample.implementation;
  out.burst = sample.regime == Regime::burst;
  out.count = static_cast<std::int64_t>(summary.count);
  out.median = microseconds(summary.median);
  out.p10 = microseconds(summary.p10);
  out.p90 = microseconds(summary.p90);
  out.minimum = microseconds(summary.least);
  if (kernels::is_memory_bound(out.call.operation)) {
    out.moved = fit_bytes(sample.kernel);
  }
  out.clock_mhz = sample.state.sm_clock;
  out.power_watts = sample.state.power;
  out.first_over_best = sample.first_choice;
  return out;
}

void add_samples(const std::vector<Sample>& samples, CalibrationProfile& profile) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (!sample.supported) {
      profile.unsupported.push_back({sample.kernel, sample.status});
    } else if (is_sound(sample) && sample.condition.alone() &&
               !kernels::is_collective(sample.kernel.operation)) {
      profile.samples.push_back(sample_of(sample, i));
    }
    profile.measured_at = std::max(profile.measured_at, sample.taken_at);
  }
}

// In the order of the names.
void add_derived(const std::vector<Sample>& samples, std::optional<double> clock,
                 CalibrationProfile& profile) {
  const DerivedFigures figures = derived_figures(samples);
  for (const std::string_view name : hardware::derived_names()) {
    const auto at =
        std::ranges::find_if(figures, [name](const auto& one) { return one.first == name; });
    if (at != figures.end()) {
      profile.derived.emplace_back(name, at->second);
    } else if (name == hardware::kStepClock && clock) {
      profile.derived.emplace_back(name, *clock);
    }
  }
}

std::vector<std::string> warnings_of(const std::vector<Sample>& samples,
                                     const ProfileRequest& request, bool has_clock) {
  std::vector<std::string> warnings = request.warnings;
  const auto drifted =
      std::ranges::count_if(samples, [](const Sample& sample) { return sample.drifted; });
  if (drifted > 0) {
    warnings.push_back(
        fmt::format("{} samples are left out: the clock moved around them; the same command "
                    "measures them again",
                    drifted));
  }
  if (!has_clock && !request.step.empty()) {
    warnings.emplace_back(
        "clock, power or the power limit is not known: times of products stand at the clock at "
        "which they were measured, which may not be that of a step");
  }
  return warnings;
}

void set_range(const EvidenceSeries& series, hardware::CalibrationFit& fit) {
  const bool by_bytes = kernels::is_memory_bound(fit.operation);
  for (std::size_t axis = 0; axis < hardware::place_axes(fit.operation); ++axis) {
    bool first = true;
    for (const KernelEvidence& one : series.points) {
      const double extent =
          by_bytes ? in_bytes(one.moved) : static_cast<double>(one.point.call.extents[axis]);
      fit.lowest[axis] = first ? extent : std::min(fit.lowest[axis], extent);
      fit.highest[axis] = first ? extent : std::max(fit.highest[axis], extent);
      first = false;
    }
  }
}

FitReport line_report(const EvidenceKey& key, EvidenceSeries& series, bool products,
                      std::optional<double> trust) {
  const LineFit fitted = fit_line(series.points, products);
  FitReport report;
  report.fit = {.operation = key.operation,
                .role = key.role,
                .precision = key.precision,
                .implementation = series.implementation,
                .line = fitted.line};
  report.fit.line.trust = trust;
  report.deviation = fitted.deviation;
  const std::vector<double> errors =
      left_out_errors(series.points, products, trust, series.points.size());
  const auto worst = std::ranges::max_element(errors);
  report.worst = series.points[static_cast<std::size_t>(worst - errors.begin())].point.id;
  report.fit.line.residual = residual_of(errors);
  report.five_fold = residual_of(left_out_errors(series.points, products, trust, kFolds)).mean;
  for (KernelEvidence& one : series.points) {
    one.point.fitted = cost::line_time(fitted.line, one.work, one.moved);
  }
  set_range(series, report.fit);
  return report;
}

// All roles of one operation and precision share their trust.
void fit_lines(Evidence& evidence, std::vector<FitReport>& reports) {
  std::map<std::pair<Operation, kernels::Precision>, std::vector<std::vector<KernelEvidence>>>
      families;
  for (const auto& [key, series] : evidence) {
    families[{key.operation, key.precision}].push_back(series.points);
  }
  for (auto& [key, series] : evidence) {
    if (key.operation == Operation::attention) {
      continue;
    }
    const bool products = !kernels::is_memory_bound(key.operation);
    const auto trust = choose_trust(families.at({key.operation, key.precision}), products);
    reports.push_back(line_report(key, series, products, trust));
  }
}

void set_fitted(const Evidence& evidence, CalibrationProfile& profile) {
  std::map<std::string, Seconds> fitted;
  for (const auto& [key, series] : evidence) {
    for (const KernelEvidence& one : series.points) {
      fitted[one.point.id] = one.point.fitted;
    }
  }
  for (hardware::CalibrationSample& sample : profile.samples) {
    if (const auto at = fitted.find(sample.id); at != fitted.end()) {
      sample.fitted = at->second;
    }
  }
}

std::optional<model::CollectiveKind> collective_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return model::CollectiveKind::all_reduce;
    case Operation::all_gather:
      return model::CollectiveKind::all_gather;
    case Operation::reduce_scatter:
      return model::CollectiveKind::reduce_scatter;
    case Operation::all_to_all:
      return model::CollectiveKind::all_to_all;
    case Operation::send_receive:
      return model::CollectiveKind::send_receive;
    default:
      return std::nullopt;
  }
}

using Sizes = std::map<std::int64_t, Seconds>;

// By operation, ranks and nodes, out of place. The time depends on bytes: of several element types
// the one with the most sizes stands for all.
std::map<std::tuple<Operation, std::int64_t, std::int64_t>, Sizes> collective_points(
    const std::vector<Sample>& samples) {
  std::map<std::tuple<Operation, std::int64_t, std::int64_t>, std::map<kernels::Precision, Sizes>>
      found;
  for (const Sample& sample : samples) {
    const kernels::KernelCase& call = sample.kernel;
    if (is_evidence(sample) && kernels::is_collective(call.operation) && call.extents[0] >= 2 &&
        call.extents[3] == 0) {
      found[{call.operation, call.extents[0], call.extents[1]}][call.precision][call.extents[2]] =
          microseconds(summarise(sample.times).median);
    }
  }
  std::map<std::tuple<Operation, std::int64_t, std::int64_t>, Sizes> points;
  for (const auto& [key, types] : found) {
    points[key] = std::ranges::max_element(types, [](const auto& a, const auto& b) {
                    return a.second.size() < b.second.size();
                  })->second;
  }
  return points;
}

std::optional<hardware::CollectiveTables> collective_tables(const std::vector<Sample>& samples,
                                                            const CollectiveRig& rig,
                                                            const hardware::GpuProfile& gpu,
                                                            const CalibrationProfile& profile) {
  hardware::CollectiveTables tables;
  for (const auto& [key, sizes] : collective_points(samples)) {
    hardware::CollectiveTable table;
    table.rig = rig.rig;
    table.gpu = gpu.name;
    table.arch = gpu.arch;
    table.nvlink = gpu.nvlink ? gpu.nvlink->bandwidth.value() : BytesPerSecond{};
    table.operation = *collective_of(std::get<0>(key));
    table.nvls = gpu.nvlink && gpu.nvlink->nvls;
    table.ranks = std::get<1>(key);
    table.nodes = std::get<2>(key);
    table.nvlink_domain = gpu.nvlink ? rig.nvlink_domain : 1;
    table.fabric = rig.fabric;
    table.nic_rate = rig.nic_rate;
    table.nics_per_node = rig.nics_per_node;
    table.as_of = profile.measured_at;
    table.source = {SourceKind::measured, "calibration of this machine"};
    for (const auto& [size, time] : sizes) {
      table.points.push_back({bytes(static_cast<double>(size)), time});
    }
    hardware::finish_table(table);
    tables.tables.push_back(std::move(table));
  }
  return tables.tables.empty() ? std::nullopt : std::optional(std::move(tables));
}

std::string base_name(const Measurements& measurements, const ProfileRequest& request,
                      const hardware::ProfileSearch& search, Diagnostics& diagnostics) {
  if (!request.base.empty()) {
    return request.base;
  }
  const auto known =
      hardware::profiles_of_device(hardware::gpu_names(search), measurements.fingerprint.gpu);
  if (known.size() != 1) {
    diagnostics.error(
        {}, "base",
        fmt::format("{} shipped profile has the name {}", known.empty() ? "no" : "more than one",
                    yaml::display(measurements.fingerprint.gpu)),
        "name the profile whose datasheet values hold for it");
    return {};
  }
  return known.front();
}

}  // namespace

std::optional<BuiltProfile> build_profile(const Measurements& measurements,
                                          const ProfileRequest& request,
                                          const hardware::ProfileSearch& search,
                                          Diagnostics& diagnostics) {
  BuiltProfile built;
  CalibrationProfile& profile = built.profile;
  profile.base = base_name(measurements, request, search, diagnostics);
  if (profile.base.empty()) {
    return std::nullopt;
  }
  auto base = hardware::load_gpu_profile(profile.base, search, {}, "base", diagnostics);
  if (!base) {
    return std::nullopt;
  }
  if (measurements.fingerprint.multiprocessors > 0) {
    base->sm_count = measurements.fingerprint.multiprocessors;
  }
  const std::optional<double> clock =
      step_clock(measurements.samples, measurements.fingerprint.power_limit, request.step, *base);
  Evidence evidence = evidence_of(measurements.samples, *base, clock);
  if (evidence.empty()) {
    diagnostics.error({}, "samples", "nothing was measured that could be fitted");
    return std::nullopt;
  }
  profile.fingerprint = machine_fields(measurements.fingerprint);
  set_seen(measurements.samples, profile.fingerprint);
  profile.id = hardware::fingerprint_id(profile.fingerprint);
  add_samples(measurements.samples, profile);
  add_derived(measurements.samples, clock, profile);
  built.settling = measurements.settling;
  built.warnings = warnings_of(measurements.samples, request, clock.has_value());
  fit_lines(evidence, built.reports);
  // The law of attention stands on the memory, the SMs and the launch of this machine.
  const auto gpu = hardware::calibrated(*base, profile, diagnostics);
  if (!gpu) {
    return std::nullopt;
  }
  for (hardware::CalibrationFit& fit : fit_attention(evidence, *gpu)) {
    set_range(evidence.at({fit.operation, fit.precision, fit.role}), fit);
    built.reports.push_back({.fit = std::move(fit)});
  }
  for (const FitReport& report : built.reports) {
    profile.fits.push_back(report.fit);
  }
  set_fitted(evidence, profile);
  if (request.rig) {
    profile.collectives = collective_tables(measurements.samples, *request.rig, *base, profile);
  }
  return built;
}

std::optional<std::string> write_profile(const Measurements& measurements,
                                         const ProfileRequest& request,
                                         const hardware::ProfileSearch& search,
                                         Diagnostics& diagnostics) {
  const auto built = build_profile(measurements, request, search, diagnostics);
  return built ? std::optional(profile_yaml(*built, request)) : std::nullopt;
}

}  // namespace orrery::calibrate
