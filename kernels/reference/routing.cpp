#include "kernels/reference/routing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery::kernels::reference {

namespace {

void add_term(CombinedRow& sum, std::size_t column, double term) {
  sum.values[column] += term;
  sum.magnitudes[column] += term * term;
}

void finish(CombinedRow& sum) {
  for (double& magnitude : sum.magnitudes) {
    magnitude = std::sqrt(magnitude);
  }
}

}  // namespace

CombinedRow combined_row(std::span<const double> y,
                         std::size_t columns,
                         std::span<const std::int32_t> places,
                         std::span<const double> weights) {
  CombinedRow sum{.values = std::vector<double>(columns),
                  .magnitudes = std::vector<double>(columns)};
  for (std::size_t c = 0; c < places.size(); ++c) {
    const double weight = weights.empty() ? 1.0 : weights[c];
    const auto row = y.subspan(static_cast<std::size_t>(places[c]) * columns, columns);
    for (std::size_t j = 0; j < columns; ++j) {
      add_term(sum, j, weight * row[j]);
    }
  }
  finish(sum);
  return sum;
}

double weight_gradient(std::span<const double> row, std::span<const double> output_gradient) {
  return std::inner_product(row.begin(), row.end(), output_gradient.begin(), 0.0);
}

CombinedRow embedding_gradient_row(std::span<const std::int64_t> ids,
                                   std::span<const double> gradient,
                                   std::int64_t id,
                                   std::span<const double> given) {
  const std::size_t columns = given.size();
  CombinedRow sum{.values = std::vector<double>(columns),
                  .magnitudes = std::vector<double>(columns)};
  for (std::size_t j = 0; j < columns; ++j) {
    add_term(sum, j, given[j]);
  }
  for (std::size_t t = 0; t < ids.size(); ++t) {
    for (std::size_t j = 0; ids[t] == id && j < columns; ++j) {
      add_term(sum, j, gradient[t * columns + j]);
    }
  }
  finish(sum);
  return sum;
}

std::vector<std::int32_t> places_by_expert(std::span<const std::int32_t> experts) {
  std::vector<std::int32_t> order(experts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [experts](std::int32_t a, std::int32_t b) {
    return experts[static_cast<std::size_t>(a)] < experts[static_cast<std::size_t>(b)];
  });
  std::vector<std::int32_t> places(experts.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    places[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  }
  return places;
}

}  // namespace orrery::kernels::reference
