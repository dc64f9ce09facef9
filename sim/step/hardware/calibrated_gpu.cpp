// A shipped GPU profile with what was measured on one machine in place of what it says.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "sim/base/text/format.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::hardware {

namespace {

using model::Dtype;

constexpr double kLargeProduct = 0.1 * kTera;  // FLOP from which a product shows its rate

// The type whose rate a precision stands for; 8 bit with finer scales is a ratio of its own.
struct RatePrecision {
  kernels::Precision precision;
  Dtype dtype;
};

constexpr std::array<RatePrecision, 6> kRates = {{{kernels::Precision::fp32, Dtype::fp32},
                                                  {kernels::Precision::tf32, Dtype::tf32},
                                                  {kernels::Precision::bf16, Dtype::bf16},
                                                  {kernels::Precision::fp16, Dtype::fp16},
                                                  {kernels::Precision::fp8_tensor, Dtype::fp8},
                                                  {kernels::Precision::nvfp4, Dtype::fp4}}};

Source measured_source(const CalibrationProfile& profile, std::string_view what) {
  constexpr std::size_t kShortId = 12;
  return {SourceKind::measured,
          fmt::format("{} on {}, {}, profile {}", what, profile.fingerprint.get("gpu.name"),
                      profile.measured_at, profile.id.substr(0, kShortId))};
}

std::optional<double> number_in(const Fingerprint& fingerprint, std::string_view key) {
  const std::string& text = fingerprint.get(key);
  double value = 0.0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value > 0.0 ? std::optional(value) : std::nullopt;
}

double product_flop(const kernels::KernelCase& call) {
  return 2.0 * static_cast<double>(call.extents[0]) * static_cast<double>(call.extents[1]) *
         static_cast<double>(call.extents[2]);
}

// In a step, whose clock is not that of the kernel alone. A burst stays what it was.
Seconds time_in_step(const CalibrationProfile& profile, const CalibrationSample& sample) {
  return sample.burst ? sample.median
                      : at_step_clock(sample.call.operation, sample.median, sample.clock_mhz,
                                      profile.find_derived(kStepClock));
}

struct RateRange {
  FlopPerSecond fastest;
  std::optional<ValidRange> work = {};  // FLOP of the products that were measured
};

// The fastest product of a precision, at the clock of a step.
std::optional<RateRange> fastest(const CalibrationProfile& profile, kernels::Precision precision,
                                 bool burst) {
  std::optional<RateRange> found;
  for (const CalibrationSample& sample : profile.samples) {
    if (sample.call.operation != kernels::Operation::gemm || sample.call.precision != precision ||
        sample.burst != burst) {
      continue;
    }
    const double work = product_flop(sample.call);
    if (work < kLargeProduct) {
      continue;
    }
    const FlopPerSecond rate = flop(work) / time_in_step(profile, sample);
    if (!found) {
      found = RateRange{rate, ValidRange{work, work}};
    }
    found->fastest = std::max(found->fastest, rate);
    found->work = ValidRange{std::min(found->work->lo, work), std::max(found->work->hi, work)};
  }
  return found;
}

double residual_of(const CalibrationProfile& profile, kernels::Precision precision) {
  double mean = 0.0;
  for (const CalibrationFit& fit : profile.fits) {
    if (fit.operation == kernels::Operation::gemm && fit.precision == precision) {
      mean = std::max(mean, fit.line.residual.mean);
    }
  }
  return mean;
}

std::optional<Coefficient<double>> ratio_to_tensor(const CalibrationProfile& profile,
                                                   kernels::Precision precision) {
  const auto scaled = fastest(profile, precision, false);
  const auto whole = fastest(profile, kernels::Precision::fp8_tensor, false);
  if (!scaled || !whole) {
    return std::nullopt;
  }
  return Coefficient<double>(
      std::min(1.0, scaled->fastest / whole->fastest),
      measured_source(profile, fmt::format("fastest {} product / fastest with one scale per tensor",
                                           to_string(precision))));
}

void report_peak(const CalibrationProfile& profile, kernels::Precision precision,
                 const GemmRate& rate, FlopPerSecond measured, Diagnostics& diagnostics) {
  diagnostics.error(profile.base_where, "base",
                    fmt::format("{} products run at {}, above the peak of {}", to_string(precision),
                                format_flop_rate(measured), profile.base),
                    "a base with a peak above " + format_flop_rate(rate.peak.value()));
}

void replace_rates(GpuProfile& gpu, const CalibrationProfile& profile, Diagnostics& diagnostics) {
  for (const RatePrecision& pair : kRates) {
    const auto sustained = fastest(profile, pair.precision, false);
    const auto found = std::ranges::find(gpu.gemm, pair.dtype, &GemmRate::dtype);
    if (!sustained || found == gpu.gemm.end()) {
      continue;
    }
    GemmRate& rate = *found;
    const auto burst = fastest(profile, pair.precision, true);
    const FlopPerSecond highest =
        std::max(sustained->fastest, burst ? burst->fastest : FlopPerSecond{});
    if (highest > rate.peak.value()) {
      report_peak(profile, pair.precision, rate, highest, diagnostics);
      continue;
    }
    rate.sustained =
        Coefficient<FlopPerSecond>(sustained->fastest, measured_source(profile, "fastest product"),
                                   residual_of(profile, pair.precision), sustained->work);
    if (burst) {
      rate.burst = Coefficient<FlopPerSecond>(burst->fastest,
                                              measured_source(profile, "burst of a product"));
    }
    if (pair.dtype == Dtype::fp8) {
      auto block = ratio_to_tensor(profile, kernels::Precision::fp8_block);
      auto mx = ratio_to_tensor(profile, kernels::Precision::mxfp8);
      rate.block_ratio = block ? std::move(block) : std::move(rate.block_ratio);
      rate.mx_ratio = mx ? std::move(mx) : std::move(rate.mx_ratio);
    }
  }
}

template <typename T>
Coefficient<T> fitted(const CalibrationProfile& profile, const CalibrationFit& fit, T value) {
  return Coefficient<T>(value, measured_source(profile, fit.implementation + " attention"),
                        fit.line.residual.mean, std::nullopt);
}

void replace(std::optional<Coefficient<double>>& coefficient, const std::optional<double>& value,
             const CalibrationProfile& profile, const CalibrationFit& fit) {
  if (value) {
    coefficient = fitted(profile, fit, *value);
  }
}

void replace_forward(AttentionRate& rate, const CalibrationProfile& profile,
                     const CalibrationFit& fit) {
  constexpr std::size_t kKeys = 4;  // axis of attention
  rate.forward = fitted(profile, fit, fit.attention->rate);
  rate.half_length = Coefficient<double>(
      fit.attention->half_length.value_or(0.0),
      measured_source(profile, fit.implementation + " attention"), fit.line.residual.mean,
      ValidRange{fit.lowest[kKeys] / 2.0, fit.highest[kKeys] * 2.0});
  replace(rate.full_ratio, fit.attention->full_ratio, profile, fit);
  replace(rate.head_64, fit.attention->head_64, profile, fit);
  replace(rate.head_256, fit.attention->head_256, profile, fit);
  rate.generation =
      fit.implementation == "cudnn" ? std::optional(AttentionGeneration::cudnn_9) : std::nullopt;
}

// The type whose law stands for both 16-bit types.
kernels::Precision wide_precision(const CalibrationProfile& profile) {
  const bool has_bf16 = std::ranges::any_of(profile.fits, [](const CalibrationFit& fit) {
    return fit.attention && fit.precision == kernels::Precision::bf16;
  });
  return has_bf16 ? kernels::Precision::bf16 : kernels::Precision::fp16;
}

// Forward first: the other fits are stated on top of it.
void replace_attention(GpuProfile& gpu, const CalibrationProfile& profile) {
  AttentionRate rate = gpu.attention;
  const kernels::Precision wide = wide_precision(profile);
  bool any = false;
  for (const kernels::Role role : {kernels::Role::forward, kernels::Role::backward}) {
    for (const CalibrationFit& fit : profile.fits) {
      if (!fit.attention || fit.role != role) {
        continue;
      }
      any = true;
      const bool narrow = fit.precision == kernels::Precision::fp8_tensor;
      const bool forward = role == kernels::Role::forward;
      if (narrow) {
        (forward ? rate.forward_fp8 : rate.backward_fp8) =
            fitted(profile, fit, fit.attention->rate);
      } else if (fit.precision == wide && forward) {
        replace_forward(rate, profile, fit);
      } else if (fit.precision == wide) {
        rate.backward = fitted(profile, fit, fit.attention->rate);
        replace(rate.backward_ratio, fit.attention->backward_ratio, profile, fit);
      }
    }
  }
  if (!any) {
    return;
  }
  // The base's best kernel stays known by its name, for stacks that run it.
  if (gpu.attention.generation && gpu.attention.generation != rate.generation) {
    gpu.attention_kernels.push_back(gpu.attention);
  }
  gpu.attention = std::move(rate);
}

void replace_scalars(GpuProfile& gpu, const CalibrationProfile& profile) {
  if (const auto copy = profile.find_derived("copy_gbps")) {
    const double share = gigabytes_per_second(*copy) / gpu.hbm_bandwidth.value();
    gpu.memory_efficiency =
        Coefficient<double>(std::min(share, 1.0), measured_source(profile, "device copy"));
  }
  if (const auto node = profile.find_derived("graph_node_us")) {
    gpu.launch_latency = Coefficient<Seconds>(
        microseconds(*node), measured_source(profile, "gap between the kernels of a graph"));
  }
  if (const auto host = profile.find_derived("d2h_pinned_gbps")) {
    gpu.host_bandwidth = Coefficient<BytesPerSecond>(
        gigabytes_per_second(*host), measured_source(profile, "pinned copy to the host"));
  }
  if (const auto ratio = profile.find_derived("gemm_slowdown_under_collective")) {
    gpu.collective_slowdown = Coefficient<double>(
        std::max(*ratio - 1.0, 0.0), measured_source(profile, "product beside a collective"));
  }
  if (const auto count = number_in(profile.fingerprint, "gpu.sm_count")) {
    gpu.sm_count = static_cast<std::int64_t>(*count);
  }
  if (const auto memory = number_in(profile.fingerprint, "gpu.mem_bytes")) {
    gpu.memory = Coefficient<Bytes>(bytes(*memory), measured_source(profile, "memory"));
  }
  if (const auto watts = number_in(profile.fingerprint, "power_limit_w")) {
    gpu.power_watts = Coefficient<double>(*watts, measured_source(profile, "power limit"));
  }
}

KernelSeries series_of(const CalibrationProfile& profile, const CalibrationFit& fit) {
  KernelSeries series{.operation = fit.operation,
                      .role = fit.role,
                      .precision = fit.precision,
                      .implementation = fit.implementation,
                      .line = fit.line};
  for (const CalibrationSample& sample : profile.samples) {
    if (sample.burst || !sample.fitted || sample.call.operation != fit.operation ||
        sample.call.role != fit.role || sample.call.precision != fit.precision ||
        sample.implementation != fit.implementation) {
      continue;
    }
    series.points.push_back({.id = sample.id,
                             .call = sample.call,
                             .place = place_of(sample.call, sample.moved.value_or(Bytes{})),
                             .time = time_in_step(profile, sample),
                             .fitted = *sample.fitted});
  }
  for (std::size_t i = 0; i < place_axes(fit.operation); ++i) {
    series.low[i] = place_of(fit.lowest[i]);
    series.high[i] = place_of(fit.highest[i]);
  }
  return series;
}

}  // namespace

KernelTables kernel_tables(const CalibrationProfile& profile) {
  KernelTables tables;
  for (const CalibrationFit& fit : profile.fits) {
    KernelSeries series = series_of(profile, fit);
    if (!series.points.empty()) {
      tables.series.push_back(std::move(series));
    }
  }
  return tables;
}

std::optional<std::string> foreign_reason(const CalibrationProfile& profile, const GpuProfile& base,
                                          const ProfileSearch& search) {
  const std::string& device = profile.fingerprint.get("gpu.name");
  if (std::ranges::find(base.names, device) != base.names.end()) {
    return std::nullopt;
  }
  if (const auto own = profiles_of_device(gpu_names(search), device); !own.empty()) {
    return fmt::format("it was measured on {} ({}), its base is {}", device, own.front(),
                       base.name);
  }
  const auto count = number_in(profile.fingerprint, "gpu.sm_count");
  if (count && static_cast<std::int64_t>(*count) != base.sm_count) {
    return fmt::format("it was measured on {} with {} SMs, its base {} has {}", device, *count,
                       base.name, base.sm_count);
  }
  return std::nullopt;
}

std::optional<GpuProfile> calibrated(GpuProfile base, CalibrationProfile profile,
                                     Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.all().size();
  replace_rates(base, profile, diagnostics);
  replace_attention(base, profile);
  replace_scalars(base, profile);
  if (diagnostics.all().size() != before) {
    return std::nullopt;
  }
  base.kernels = std::make_shared<const KernelTables>(kernel_tables(profile));
  base.file = profile.file;
  base.calibration = CalibrationStamp{.id = profile.id,
                                      .measured_at = profile.measured_at,
                                      .device = profile.fingerprint.get("gpu.name")};
  if (profile.collectives) {
    base.collectives = std::make_shared<const CollectiveTables>(std::move(*profile.collectives));
  }
  return base;
}

bool follows_clock(kernels::Operation operation) {
  return !kernels::is_memory_bound(operation) && !kernels::is_collective(operation);
}

Seconds at_step_clock(kernels::Operation operation, Seconds median, std::optional<double> clock,
                      std::optional<double> step_clock) {
  return clock && step_clock && follows_clock(operation) ? median * (*clock / *step_clock) : median;
}

}  // namespace orrery::hardware
