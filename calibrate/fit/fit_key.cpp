#include "calibrate/fit/fit_key.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <type_traits>

#include "sim/base/units.hpp"

namespace orrery::fit {

namespace {

using hardware::SoftwareProfile;
using Number = Coefficient<double>;
using Time = Coefficient<Seconds>;
using Size = Coefficient<Bytes>;

double plain(double value) {
  return value;
}

double plain(Seconds value) {
  return in_seconds(value);
}

double plain(Bytes value) {
  return in_bytes(value);
}

template <typename Q>
Q quantity(double value) {
  if constexpr (std::is_same_v<Q, Seconds>) {
    return seconds(value);
  } else if constexpr (std::is_same_v<Q, Bytes>) {
    return bytes(value);
  } else {
    return value;
  }
}

template <typename Q>
double value_of(const Coefficient<Q>& coefficient) {
  return plain(coefficient.value());
}

template <typename Q>
double value_of(const std::optional<Coefficient<Q>>& coefficient) {
  return coefficient ? plain(coefficient->value()) : 0.0;
}

template <typename Q>
void assign(Coefficient<Q>& coefficient, double value, const Source& source) {
  coefficient = Coefficient<Q>(quantity<Q>(value), source);
}

template <typename Q>
void assign(std::optional<Coefficient<Q>>& coefficient, double value, const Source& source) {
  coefficient = Coefficient<Q>(quantity<Q>(value), source);
}

template <auto Member>
double get(const SoftwareProfile& profile) {
  return value_of(profile.*Member);
}

template <auto Member>
void set(SoftwareProfile& profile, double value, const Source& source) {
  assign(profile.*Member, value, source);
}

using Neutral = std::optional<double>;

template <auto Member>
constexpr FitKey make_key(std::string_view key,
                          Unit unit,
                          double lower,
                          double upper,
                          double sigma,
                          Scale scale,
                          double offset,
                          Neutral neutral) {
  return {key, unit, lower, upper, sigma, scale, offset, neutral, get<Member>, set<Member>};
}

// A share or a rate relative to the GPU's, on a logarithmic scale.
template <auto Member>
constexpr FitKey rate(
    std::string_view key, double lower, double upper, double sigma, Neutral neutral = {}) {
  return make_key<Member>(key, Unit::share, lower, upper, sigma, Scale::logarithmic, 0.0, neutral);
}

// A share that may well be 0, on a linear scale.
template <auto Member>
constexpr FitKey share(
    std::string_view key, double lower, double upper, double sigma, Neutral neutral = {}) {
  return make_key<Member>(key, Unit::share, lower, upper, sigma, Scale::linear, 0.0, neutral);
}

// A time; far below the offset it does not matter how small it is.
template <auto Member>
constexpr FitKey time(
    std::string_view key, double upper, double offset, double sigma, Neutral neutral = {}) {
  return make_key<Member>(
      key, Unit::seconds, 0.0, upper, sigma, Scale::logarithmic, offset, neutral);
}

template <auto Member>
constexpr FitKey traffic(std::string_view key, double lower, double upper, double sigma) {
  return make_key<Member>(key, Unit::bytes, lower, upper, sigma, Scale::logarithmic, 0.0, {});
}

// key, bounds (a time: upper bound and offset), prior sigma, neutral value of an optional key. A
// coefficient of SoftwareProfile becomes fittable by a line here.
constexpr std::array kKeys = {
    rate<&SoftwareProfile::gemm_efficiency>("gemm_efficiency", 0.4, 1.15, 0.15),
    rate<&SoftwareProfile::memory_efficiency>("memory_efficiency", 0.3, 1.1, 0.20),
    rate<&SoftwareProfile::attention_efficiency>("attention_efficiency", 0.2, 1.5, 0.30),
    traffic<&SoftwareProfile::loss_bytes_per_logit>("loss_bytes_per_logit", 6.0, 100.0, 0.40),
    traffic<&SoftwareProfile::optimizer_traffic>("optimizer_traffic", 12.0, 120.0, 0.30),
    time<&SoftwareProfile::kernel_gap>("kernel_gap", 50.0 * kMicro, kMicro, 0.60),
    time<&SoftwareProfile::host_layer_time>("host_layer_time", 3.0 * kMilli, 0.05 * kMilli, 0.50),
    share<&SoftwareProfile::score_passes>("score_passes", 2.0, 16.0, 2.0),
    rate<&SoftwareProfile::nvlink_efficiency>("nvlink_efficiency", 0.25, 1.15, 0.25),
    rate<&SoftwareProfile::network_efficiency>("network_efficiency", 0.08, 1.0, 0.40),
    time<&SoftwareProfile::collective_overhead>(
        "collective_overhead", 1.5 * kMilli, 10.0 * kMicro, 0.70),
    time<&SoftwareProfile::transfer_overhead>(
        "transfer_overhead", 20.0 * kMilli, 20.0 * kMicro, 1.0),
    share<&SoftwareProfile::tensor_exposed>("tensor_exposed", 0.0, 1.0, 0.25),
    share<&SoftwareProfile::communication_slowdown>("communication_slowdown", 0.0, 1.0, 0.20),
    time<&SoftwareProfile::fixed_step_time>("fixed_step_time", 0.6, 10.0 * kMilli, 0.80),
    share<&SoftwareProfile::jitter_per_doubling>("jitter_per_doubling", 0.0, 0.03, 0.006),
    time<&SoftwareProfile::host_launch_time>(
        "host_launch_time", 60.0 * kMicro, 2.0 * kMicro, 0.60, 0.0),
    time<&SoftwareProfile::grouped_call_time>(
        "grouped_call_time", 60.0 * kMicro, 2.0 * kMicro, 0.60, 0.0),
    share<&SoftwareProfile::softmax_fallback_passes>(
        "softmax_fallback_passes", 0.0, 20.0, 2.0, 0.0),
    share<&SoftwareProfile::ring_nic_exponent>("ring_nic_exponent", 0.0, 1.0, 0.30, 1.0),
    rate<&SoftwareProfile::cross_rail_efficiency>("cross_rail_efficiency", 0.1, 1.0, 0.30, 1.0),
    rate<&SoftwareProfile::compile_speedup>("compile_speedup", 1.0, 4.0, 0.30, 1.0),
    rate<&SoftwareProfile::context_attention_efficiency>(
        "context_attention_efficiency", 0.4, 1.0, 0.30, 1.0),
    rate<&SoftwareProfile::fp8_gemm_efficiency>("fp8_gemm_efficiency", 0.3, 1.3, 0.15, 0.0),
    rate<&SoftwareProfile::fp8_rowwise_gemm_efficiency>(
        "fp8_rowwise_gemm_efficiency", 0.2, 1.3, 0.30, 0.0),
    share<&SoftwareProfile::cast_share>("cast_share", 0.0, 1.0, 0.30, 1.0),
    time<&SoftwareProfile::broadcast_time>(
        "broadcast_time", 10.0 * kMilli, 0.2 * kMilli, 0.60, 0.0),
};

}  // namespace

std::span<const FitKey> fit_keys() {
  return kKeys;
}

const FitKey* find_fit_key(std::string_view key) {
  const auto* found = std::find_if(
      kKeys.begin(), kKeys.end(), [key](const FitKey& entry) { return entry.key == key; });
  return found == kKeys.end() ? nullptr : found;
}

double to_scale(const FitKey& key, double value) {
  return key.scale == Scale::linear ? value : std::log(value + key.offset);
}

double from_scale(const FitKey& key, double u) {
  const double value = key.scale == Scale::linear ? u : std::exp(u) - key.offset;
  return std::clamp(value, key.lower, key.upper);
}

std::string value_text(const FitKey& key, double value) {
  switch (key.unit) {
    case Unit::share:
      return fmt::format("{:.3g}", value);
    case Unit::bytes:
      return fmt::format("{:.3g}B", value);
    case Unit::seconds:
      break;
  }
  if (value < kNano) {
    return "0us";
  }
  if (value >= 1.0) {
    return fmt::format("{:.3g}s", value);
  }
  return value >= kMilli ? fmt::format("{:.3g}ms", value / kMilli)
                         : fmt::format("{:.3g}us", value / kMicro);
}

}  // namespace orrery::fit
