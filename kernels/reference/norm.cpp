#include "kernels/reference/norm.hpp"

#include <cmath>

namespace orrery::kernels::reference {

namespace {

struct Statistics {
  double mean = 0.0;
  double scale = 0.0;
};

Statistics statistics_of(NormKind kind, std::span<const double> x, double epsilon) {
  const auto count = static_cast<double>(x.size());
  Statistics statistics;
  if (kind == NormKind::layer) {
    for (const double value : x) {
      statistics.mean += value / count;
    }
  }
  double variance = 0.0;
  for (const double value : x) {
    const double distance = value - statistics.mean;
    variance += distance * distance / count;
  }
  statistics.scale = 1.0 / std::sqrt(variance + epsilon);
  return statistics;
}

}  // namespace

NormRow norm_row(NormKind kind,
                 std::span<const double> x,
                 std::span<const double> weight,
                 std::span<const double> bias,
                 double epsilon) {
  const Statistics statistics = statistics_of(kind, x, epsilon);
  NormRow row{.output = {}, .mean = statistics.mean, .scale = statistics.scale};
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double normal = (x[j] - statistics.mean) * statistics.scale;
    row.output.push_back(normal * weight[j] + (bias.empty() ? 0.0 : bias[j]));
  }
  return row;
}

std::vector<double> norm_input_gradient(NormKind kind,
                                        std::span<const double> x,
                                        std::span<const double> weight,
                                        std::span<const double> gradient,
                                        double epsilon) {
  const Statistics statistics = statistics_of(kind, x, epsilon);
  const auto count = static_cast<double>(x.size());
  double along_mean = 0.0;
  double along_row = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double normal = (x[j] - statistics.mean) * statistics.scale;
    along_mean += gradient[j] * weight[j] / count;
    along_row += gradient[j] * weight[j] * normal / count;
  }
  if (kind == NormKind::rms) {
    along_mean = 0.0;
  }
  std::vector<double> result;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double normal = (x[j] - statistics.mean) * statistics.scale;
    result.push_back(statistics.scale *
                     (gradient[j] * weight[j] - along_mean - normal * along_row));
  }
  return result;
}

void add_norm_weight_gradient(NormKind kind,
                              std::span<const double> x,
                              std::span<const double> gradient,
                              double epsilon,
                              std::span<double> weight_gradient,
                              std::span<double> bias_gradient) {
  const Statistics statistics = statistics_of(kind, x, epsilon);
  for (std::size_t j = 0; j < x.size(); ++j) {
    weight_gradient[j] += gradient[j] * (x[j] - statistics.mean) * statistics.scale;
    if (!bias_gradient.empty()) {
      bias_gradient[j] += gradient[j];
    }
  }
}

}  // namespace orrery::kernels::reference
