#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "calibrate/fit/least_squares.hpp"
#include "calibrate/profile/line_fit.hpp"
#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/measured_kernels.hpp"

namespace orrery::calibrate {

namespace {

using hardware::AttentionRate;

using Points = std::vector<KernelEvidence>;

constexpr std::int64_t kHeadDim = 128;
constexpr double kScale = 0.3;  // of a logarithm: one step of the search
constexpr double kBound = 8.0;  // steps: a factor of e^2.4
constexpr double kPull = 1e-4;
constexpr std::size_t kDim = 5;  // axis of the head dimension
constexpr std::size_t kCausal = 7;

const Source& fit_source() {
  static const Source source{SourceKind::measured, "fit of attention"};
  return source;
}

Coefficient<double> number(double value) { return {value, fit_source()}; }

Coefficient<FlopPerSecond> rate(FlopPerSecond value) { return {value, fit_source()}; }

// One parameter of the law: how it is read and written.
struct Parameter {
  double (*get)(const AttentionRate& rate);
  void (*set)(AttentionRate& rate, double value);
};

double or_else(const std::optional<Coefficient<double>>& coefficient, double fallback) {
  return coefficient ? coefficient->value() : fallback;
}

constexpr double kFullRatio = 1.0 / 3.0;  // where neither points nor base say more
constexpr double kBackwardRatio = 1.2;
constexpr double kSmallHead = 0.81;

const Parameter kForward = {
    [](const AttentionRate& r) { return in_flop_per_second(r.forward.value()); },
    [](AttentionRate& r, double v) { r.forward = rate(flop_per_second(v)); }};
const Parameter kBackward = {
    [](const AttentionRate& r) { return in_flop_per_second(r.backward.value()); },
    [](AttentionRate& r, double v) { r.backward = rate(flop_per_second(v)); }};
const Parameter kHalfLength = {
    [](const AttentionRate& r) { return std::max(r.half_length.value(), 1.0); },
    [](AttentionRate& r, double v) { r.half_length = number(v); }};
const Parameter kFull = {[](const AttentionRate& r) { return or_else(r.full_ratio, kFullRatio); },
                         [](AttentionRate& r, double v) { r.full_ratio = number(v); }};
const Parameter kBackwardHalf = {
    [](const AttentionRate& r) { return or_else(r.backward_ratio, kBackwardRatio); },
    [](AttentionRate& r, double v) { r.backward_ratio = number(v); }};
const Parameter kHead64 = {[](const AttentionRate& r) { return or_else(r.head_64, kSmallHead); },
                           [](AttentionRate& r, double v) { r.head_64 = number(v); }};
const Parameter kHead256 = {[](const AttentionRate& r) { return or_else(r.head_256, 1.0); },
                            [](AttentionRate& r, double v) { r.head_256 = number(v); }};
const Parameter kForward8 = {
    [](const AttentionRate& r) { return in_flop_per_second(r.forward_fp8->value()); },
    [](AttentionRate& r, double v) { r.forward_fp8 = rate(flop_per_second(v)); }};
const Parameter kBackward8 = {
    [](const AttentionRate& r) { return in_flop_per_second(r.backward_fp8->value()); },
    [](AttentionRate& r, double v) { r.backward_fp8 = rate(flop_per_second(v)); }};

bool any(const Points& points, bool (*wanted)(const kernels::KernelCase&)) {
  return std::any_of(points.begin(), points.end(),
                     [wanted](const KernelEvidence& one) { return wanted(one.point.call); });
}

std::int64_t widest_head(const kernels::KernelCase& call) {
  return std::max(call.extents[kDim], call.extents[kDim + 1]);
}

std::vector<Parameter> parameters_for(const Points& points, bool narrow) {
  const bool forward = any(points, [](const auto& c) { return c.role == kernels::Role::forward; });
  const bool backward =
      any(points, [](const auto& c) { return c.role == kernels::Role::backward; });
  std::vector<Parameter> found;
  if (narrow) {
    if (forward) {
      found.push_back(kForward8);
    }
    if (backward) {
      found.push_back(kBackward8);
    }
    return found;
  }
  if (forward) {
    found.push_back(kForward);
  }
  found.push_back(kHalfLength);
  if (backward) {
    found.push_back(kBackward);
  }
  if (forward && backward) {
    found.push_back(kBackwardHalf);
  }
  const bool causal = any(points, [](const auto& c) { return c.extents[kCausal] != 0; });
  const bool full = any(points, [](const auto& c) { return c.extents[kCausal] == 0; });
  if (causal && full) {
    found.push_back(kFull);
  }
  if (any(points, [](const auto& c) { return widest_head(c) < kHeadDim; })) {
    found.push_back(kHead64);
  }
  if (any(points, [](const auto& c) { return widest_head(c) > kHeadDim; })) {
    found.push_back(kHead256);
  }
  return found;
}

Seconds law_time(const KernelEvidence& one, const AttentionRate& law,
                 const hardware::GpuProfile& gpu) {
  return cost::library_attention_time(*cost::attention_of(one.point.call), law, gpu);
}

// `start` with each parameter at its fitted value.
AttentionRate fit_law(const Points& points, const std::vector<Parameter>& parameters,
                      const AttentionRate& start, const hardware::GpuProfile& gpu) {
  if (parameters.empty()) {
    return start;
  }
  const auto count = static_cast<Eigen::Index>(parameters.size());
  const auto at = [&](const Eigen::VectorXd& z) {
    AttentionRate law = start;
    for (Eigen::Index i = 0; i < count; ++i) {
      const Parameter& parameter = parameters[static_cast<std::size_t>(i)];
      parameter.set(law, parameter.get(start) * std::exp(kScale * z(i)));
    }
    return law;
  };
  fit::LeastSquares problem;
  problem.residuals = [&](const std::vector<Eigen::VectorXd>& asked) {
    std::vector<Eigen::VectorXd> all;
    for (const Eigen::VectorXd& z : asked) {
      const AttentionRate law = at(z);
      Eigen::VectorXd gaps(static_cast<Eigen::Index>(points.size()));
      for (std::size_t i = 0; i < points.size(); ++i) {
        gaps(static_cast<Eigen::Index>(i)) =
            std::log(law_time(points[i], law, gpu) / points[i].point.time);
      }
      all.push_back(std::move(gaps));
    }
    return all;
  };
  problem.weights = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(points.size()));
  problem.lower = Eigen::VectorXd::Constant(count, -kBound);
  problem.upper = Eigen::VectorXd::Constant(count, kBound);
  problem.prior = kPull;
  problem.axis_search = false;
  return at(fit::minimise(problem, Eigen::VectorXd::Zero(count)).z);
}

// Points of one precision, forward and backward.
struct Role {
  EvidenceKey key;
  EvidenceSeries* series = nullptr;
};

Points all_points(const std::vector<Role>& roles) {
  Points points;
  for (const Role& role : roles) {
    points.insert(points.end(), role.series->points.begin(), role.series->points.end());
  }
  return points;
}

// Predictions of each point by the law without it, for the choice of trust and the residual.
struct LeftOut {
  std::vector<AttentionRate> laws;  // by all_points()
};

hardware::KernelSeries series_with(const Role& role, const AttentionRate& law,
                                   const hardware::GpuProfile& gpu, std::optional<double> trust,
                                   std::optional<std::size_t> without) {
  hardware::KernelSeries series{.operation = kernels::Operation::attention,
                                .role = role.key.role,
                                .precision = role.key.precision,
                                .implementation = role.series->implementation};
  series.line.trust = trust;
  for (std::size_t i = 0; i < role.series->points.size(); ++i) {
    if (i != without) {
      series.points.push_back(role.series->points[i].point);
      series.points.back().fitted = law_time(role.series->points[i], law, gpu);
    }
  }
  return series;
}

std::vector<double> errors_of(const Role& role, std::size_t first, const LeftOut& left_out,
                              const hardware::GpuProfile& gpu, std::optional<double> trust) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < role.series->points.size(); ++i) {
    const KernelEvidence& point = role.series->points[i];
    const AttentionRate& law = left_out.laws[first + i];
    hardware::KernelSeries series = series_with(role, law, gpu, trust, i);
    Seconds predicted = law_time(point, law, gpu);
    if (!series.points.empty()) {
      hardware::finish_series(series);
      predicted =
          cost::predict_kernel(series, point.point.call, Bytes{}, predicted, Seconds{}).time;
    }
    errors.push_back(std::abs(predicted / point.point.time - 1.0));
  }
  return errors;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

std::optional<double> trust_of(const std::vector<Role>& roles, const LeftOut& left_out,
                               const hardware::GpuProfile& gpu) {
  return best_trust([&](std::optional<double> trust) {
    double sum = 0.0;
    std::size_t first = 0;
    for (const Role& role : roles) {
      sum += sum_of(errors_of(role, first, left_out, gpu, trust));
      first += role.series->points.size();
    }
    return sum;
  });
}

std::optional<double> value_of(const std::optional<Coefficient<double>>& coefficient) {
  return coefficient ? std::optional(coefficient->value()) : std::nullopt;
}

hardware::AttentionFit stated(const Role& role, const AttentionRate& law, bool narrow) {
  hardware::AttentionFit fit;
  const bool forward = role.key.role == kernels::Role::forward;
  if (narrow) {
    fit.rate = forward ? law.forward_fp8->value() : law.backward_fp8->value();
  } else {
    fit.rate = forward ? law.forward.value() : law.backward.value();
  }
  if (forward) {
    fit.half_length = law.half_length.value();
    fit.full_ratio = value_of(law.full_ratio);
    fit.head_64 = value_of(law.head_64);
    fit.head_256 = value_of(law.head_256);
  } else {
    fit.backward_ratio = value_of(law.backward_ratio);
  }
  return fit;
}

enum class Law { wide, narrow, stands };

// One precision: its law, and a fit for each role.
void fit_precision(std::vector<Role>& roles, Law kind, AttentionRate& law,
                   const hardware::GpuProfile& gpu, std::vector<hardware::CalibrationFit>& fits) {
  const Points points = all_points(roles);
  const bool narrow = kind == Law::narrow;
  const std::vector<Parameter> parameters =
      kind == Law::stands ? std::vector<Parameter>() : parameters_for(points, narrow);
  const AttentionRate start = law;
  law = fit_law(points, parameters, start, gpu);
  LeftOut left_out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    Points others = points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    left_out.laws.push_back(others.empty() ? start : fit_law(others, parameters, start, gpu));
  }
  const std::optional<double> trust = trust_of(roles, left_out, gpu);
  std::size_t first = 0;
  for (Role& role : roles) {
    hardware::CalibrationFit fit;
    fit.operation = kernels::Operation::attention;
    fit.role = role.key.role;
    fit.precision = role.key.precision;
    fit.implementation = role.series->implementation;
    fit.line.trust = trust;
    fit.line.residual = residual_of(errors_of(role, first, left_out, gpu, trust));
    fit.attention = stated(role, law, narrow);
    first += role.series->points.size();
    for (KernelEvidence& one : role.series->points) {
      one.point.fitted = law_time(one, law, gpu);
    }
    fits.push_back(std::move(fit));
  }
}

}  // namespace

std::vector<hardware::CalibrationFit> fit_attention(Evidence& evidence,
                                                    const hardware::GpuProfile& gpu) {
  std::vector<hardware::CalibrationFit> fits;
  AttentionRate law = gpu.attention;
  bool wide = false;
  for (const kernels::Precision precision :
       {kernels::Precision::bf16, kernels::Precision::fp16, kernels::Precision::fp8_tensor}) {
    std::vector<Role> roles;
    for (auto& [key, series] : evidence) {
      if (key.operation == kernels::Operation::attention && key.precision == precision) {
        roles.push_back({key, &series});
      }
    }
    const bool narrow = precision == kernels::Precision::fp8_tensor;
    if (roles.empty() || (narrow && !wide)) {
      continue;
    }
    if (narrow) {
      law.forward_fp8 = law.forward_fp8.value_or(rate(law.forward.value()));
      law.backward_fp8 = law.backward_fp8.value_or(rate(law.backward.value()));
    }
    // One law for both 16-bit types: predictions know no other.
    const bool known = wide && !narrow;
    fit_precision(roles, known ? Law::stands : narrow ? Law::narrow : Law::wide, law, gpu, fits);
    wide = true;
  }
  return fits;
}

}  // namespace orrery::calibrate
