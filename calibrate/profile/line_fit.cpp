#include "calibrate/profile/line_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/step/cost/measured_kernels.hpp"

namespace orrery::calibrate {

namespace {

using Coefficients = Eigen::Vector3d;  // us, us/TFLOP, us/GB

constexpr int kRounds = 40;
constexpr double kKnee = 0.01;  // where the loss turns from quadratic to linear
constexpr std::size_t kFewProducts = 4;
constexpr std::size_t kFewMoved = 2;
constexpr unsigned kWork = 1U << 1U;
constexpr unsigned kMoved = 1U << 2U;
constexpr unsigned kAll = 8U;

struct System {
  Eigen::MatrixX3d rows;
  Eigen::VectorXd times;  // us
};

System system_of(std::span<const KernelEvidence> points) {
  const auto count = static_cast<Eigen::Index>(points.size());
  System system{Eigen::MatrixX3d(count, 3), Eigen::VectorXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    const KernelEvidence& point = points[static_cast<std::size_t>(i)];
    system.rows.row(i) << 1.0, in_teraflop(point.work), in_gigabytes(point.moved);
    system.times(i) = in_microseconds(point.point.time);
  }
  return system;
}

// Sets of coefficients that may be above 0: bit 0 a, bit 1 b, bit 2 c.
std::vector<unsigned> allowed_sets(std::size_t points, bool products) {
  if (points < (products ? kFewProducts : kFewMoved)) {
    return {products ? kWork : kMoved};
  }
  std::vector<unsigned> sets;
  for (unsigned set = 1; set < kAll; ++set) {
    if (products || (set & kWork) == 0U) {
      sets.push_back(set);
    }
  }
  return sets;
}

std::vector<Eigen::Index> columns_of(unsigned set) {
  std::vector<Eigen::Index> columns;
  for (Eigen::Index c = 0; c < 3; ++c) {
    if ((set >> static_cast<unsigned>(c) & 1U) != 0U) {
      columns.push_back(c);
    }
  }
  return columns;
}

// Weighted least squares in the columns of a set; nothing when one would be below 0.
std::optional<Coefficients> solve(const System& system, const Eigen::VectorXd& weights,
                                  unsigned set) {
  const std::vector<Eigen::Index> columns = columns_of(set);
  const auto count = static_cast<Eigen::Index>(columns.size());
  const Eigen::VectorXd roots = weights.cwiseSqrt();
  Eigen::MatrixXd rows(system.rows.rows(), count);
  for (Eigen::Index c = 0; c < count; ++c) {
    rows.col(c) = system.rows.col(columns[static_cast<std::size_t>(c)]).cwiseProduct(roots);
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> decomposed(rows);
  if (decomposed.rank() < count) {
    return std::nullopt;
  }
  const Eigen::VectorXd found = decomposed.solve(system.times.cwiseProduct(roots));
  if (found.minCoeff() < 0.0) {
    return std::nullopt;
  }
  Coefficients all = Coefficients::Zero();
  for (Eigen::Index c = 0; c < count; ++c) {
    all(columns[static_cast<std::size_t>(c)]) = found(c);
  }
  return all;
}

Coefficients non_negative(const System& system, const Eigen::VectorXd& weights,
                          const std::vector<unsigned>& sets) {
  double least = std::numeric_limits<double>::infinity();
  Coefficients best = Coefficients::Zero();
  for (const unsigned set : sets) {
    const auto found = solve(system, weights, set);
    if (!found) {
      continue;
    }
    const Eigen::VectorXd gap = system.rows * *found - system.times;
    const double error = gap.cwiseAbs2().dot(weights);
    if (error < least) {
      least = error;
      best = *found;
    }
  }
  return best;
}

Eigen::VectorXd relative_gaps(const System& system, const Coefficients& line) {
  return (system.rows * line - system.times).cwiseQuotient(system.times);
}

// Standard deviations by the weighted normal equations of the coefficients that are above 0.
Coefficients deviations(const System& system, const Eigen::VectorXd& weights,
                        const Coefficients& line) {
  unsigned set = 0;
  for (Eigen::Index c = 0; c < 3; ++c) {
    set |= line(c) > 0.0 ? 1U << static_cast<unsigned>(c) : 0U;
  }
  const std::vector<Eigen::Index> columns = columns_of(set);
  const auto count = static_cast<Eigen::Index>(columns.size());
  Coefficients result = Coefficients::Zero();
  const double freedom = static_cast<double>(system.rows.rows() - count);
  if (count == 0 || freedom <= 0.0) {
    return result;
  }
  Eigen::MatrixXd normal(count, count);
  for (Eigen::Index r = 0; r < count; ++r) {
    for (Eigen::Index c = 0; c < count; ++c) {
      const auto left = system.rows.col(columns[static_cast<std::size_t>(r)]);
      const auto right = system.rows.col(columns[static_cast<std::size_t>(c)]);
      normal(r, c) = left.cwiseProduct(weights).dot(right);
    }
  }
  const Eigen::VectorXd gaps = system.rows * line - system.times;
  const double spread = gaps.cwiseAbs2().dot(weights) / freedom;
  const Eigen::MatrixXd covariance = normal.inverse() * spread;
  for (Eigen::Index c = 0; c < count; ++c) {
    result(columns[static_cast<std::size_t>(c)]) = std::sqrt(std::max(covariance(c, c), 0.0));
  }
  return result;
}

// What a series without these points says of them.
double error_of(const hardware::KernelSeries& series, const KernelEvidence& point) {
  const cost::KernelPrediction prediction =
      cost::predict_kernel(series, point.point.call, point.moved,
                           cost::line_time(series.line, point.work, point.moved), Seconds{});
  return std::abs(prediction.time / point.point.time - 1.0);
}

}  // namespace

LineFit fit_line(std::span<const KernelEvidence> points, bool products) {
  ORRERY_CHECK(!points.empty(), "a line needs a point");
  const System system = system_of(points);
  const std::vector<unsigned> sets = allowed_sets(points.size(), products);
  Eigen::VectorXd weights = system.times.cwiseAbs2().cwiseInverse();
  Coefficients line = Coefficients::Zero();
  for (int round = 0; round < kRounds; ++round) {
    line = non_negative(system, weights, sets);
    const Eigen::VectorXd gaps = relative_gaps(system, line).cwiseAbs().cwiseMax(kKnee);
    weights = (system.times.cwiseAbs2().cwiseProduct(gaps)).cwiseInverse();
  }
  const Coefficients deviation = deviations(system, weights, line);
  constexpr double kPerFlop = kMicro / kTera;
  constexpr double kPerByte = kMicro / kGiga;
  LineFit fit;
  fit.line.a = microseconds(line(0));
  fit.line.b = line(1) * kPerFlop;
  fit.line.c = line(2) * kPerByte;
  fit.deviation = {deviation(0) * kMicro, deviation(1) * kPerFlop, deviation(2) * kPerByte};
  return fit;
}

hardware::KernelSeries series_of(const EvidenceKey& key, const EvidenceSeries& evidence,
                                 const hardware::KernelLine& line) {
  hardware::KernelSeries series{.operation = key.operation,
                                .role = key.role,
                                .precision = key.precision,
                                .implementation = evidence.implementation,
                                .line = line};
  for (const KernelEvidence& one : evidence.points) {
    series.points.push_back(one.point);
    series.points.back().fitted = cost::line_time(line, one.work, one.moved);
  }
  hardware::finish_series(series);
  return series;
}

std::vector<double> left_out_errors(std::span<const KernelEvidence> points, bool products,
                                    std::optional<double> trust, std::size_t folds) {
  std::vector<double> errors(points.size(), 0.0);
  const kernels::KernelCase& call = points.front().point.call;
  const EvidenceKey key{call.operation, call.precision, call.role};
  for (std::size_t fold = 0; fold < std::min(folds, points.size()); ++fold) {
    EvidenceSeries seen;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i % folds != fold) {
        seen.points.push_back(points[i]);
      }
    }
    if (seen.points.empty()) {
      errors[fold] = 1.0;  // nothing is left to predict it from
      continue;
    }
    hardware::KernelLine line = fit_line(seen.points, products).line;
    line.trust = trust;
    const hardware::KernelSeries series = series_of(key, seen, line);
    for (std::size_t i = fold; i < points.size(); i += folds) {
      errors[i] = error_of(series, points[i]);
    }
  }
  return errors;
}

std::optional<double> choose_trust(std::span<const std::vector<KernelEvidence>> roles,
                                   bool products) {
  return best_trust([&](std::optional<double> trust) {
    double sum = 0.0;
    for (const std::vector<KernelEvidence>& points : roles) {
      for (const double error : left_out_errors(points, products, trust, points.size())) {
        sum += error;
      }
    }
    return sum;
  });
}

hardware::FitResidual residual_of(std::vector<double> errors) {
  hardware::FitResidual residual;
  if (errors.empty()) {
    return residual;
  }
  std::sort(errors.begin(), errors.end());
  constexpr double kHigh = 0.9;
  const std::size_t last = errors.size() - 1;
  const auto rank = static_cast<std::size_t>(std::ceil(kHigh * static_cast<double>(last)));
  double sum = 0.0;
  for (const double error : errors) {
    sum += error;
  }
  residual.points = static_cast<std::int64_t>(errors.size());
  residual.mean = sum / static_cast<double>(errors.size());
  residual.median =
      errors.size() % 2 == 1 ? errors[last / 2] : 0.5 * (errors[last / 2] + errors[last / 2 + 1]);
  residual.p90 = errors[rank];
  return residual;
}

}  // namespace orrery::calibrate
