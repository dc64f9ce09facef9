#include "kernels/reference/operations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery::kernels::reference {

ProductElement product_element(const MatrixView& a, const MatrixView& b, std::size_t row,
                               std::size_t column, std::size_t terms) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t l = 0; l < terms; ++l) {
    const double term = a.at(row, l) * b.at(l, column);
    sum += term;
    squares += term * term;
  }
  return {.value = sum, .magnitude = std::sqrt(squares)};
}

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

NormRow norm_row(NormKind kind, std::span<const double> x, std::span<const double> weight,
                 std::span<const double> bias, double epsilon) {
  const Statistics statistics = statistics_of(kind, x, epsilon);
  NormRow row{.output = {}, .mean = statistics.mean, .scale = statistics.scale};
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double normal = (x[j] - statistics.mean) * statistics.scale;
    row.output.push_back(normal * weight[j] + (bias.empty() ? 0.0 : bias[j]));
  }
  return row;
}

std::vector<double> norm_input_gradient(NormKind kind, std::span<const double> x,
                                        std::span<const double> weight,
                                        std::span<const double> gradient, double epsilon) {
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

void add_norm_weight_gradient(NormKind kind, std::span<const double> x,
                              std::span<const double> gradient, double epsilon,
                              std::span<double> weight_gradient, std::span<double> bias_gradient) {
  const Statistics statistics = statistics_of(kind, x, epsilon);
  for (std::size_t j = 0; j < x.size(); ++j) {
    weight_gradient[j] += gradient[j] * (x[j] - statistics.mean) * statistics.scale;
    if (!bias_gradient.empty()) {
      bias_gradient[j] += gradient[j];
    }
  }
}

namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

double rotary_angle(double position, std::size_t pair, std::size_t dim, double base) {
  return position * std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}

std::vector<double> rotary(std::span<const double> x, std::span<const double> cosine,
                           std::span<const double> sine, Turn turn) {
  const std::size_t half = x.size() / 2;
  const double direction = turn == Turn::forward ? 1.0 : -1.0;
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    y[i] = x[i] * cosine[i] - direction * x[i + half] * sine[i];
    y[i + half] = x[i + half] * cosine[i] + direction * x[i] * sine[i];
  }
  return y;
}

double swiglu(double gate, double up) { return gate * sigmoid(gate) * up; }

SwigluGradient swiglu_gradient(double gate, double up, double gradient) {
  const double s = sigmoid(gate);
  return {.gate = gradient * up * s * (1.0 + gate * (1.0 - s)), .up = gradient * gate * s};
}

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

CombinedRow combined_row(std::span<const double> y, std::size_t columns,
                         std::span<const std::int32_t> places, std::span<const double> weights) {
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
                                   std::span<const double> gradient, std::int64_t id,
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
  std::ranges::stable_sort(order, [experts](std::int32_t a, std::int32_t b) {
    return experts[static_cast<std::size_t>(a)] < experts[static_cast<std::size_t>(b)];
  });
  std::vector<std::int32_t> places(experts.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    places[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  }
  return places;
}

TokenLoss cross_entropy(std::span<const double> logits, std::size_t target) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const double logit : logits) {
    sum += std::exp(logit - most);
  }
  const double log_sum = most + std::log(sum);
  return {.loss = log_sum - logits[target], .log_sum = log_sum};
}

std::vector<double> cross_entropy_gradient(std::span<const double> logits, std::size_t target,
                                           double gradient) {
  const double log_sum = cross_entropy(logits, target).log_sum;
  std::vector<double> result;
  for (const double logit : logits) {
    result.push_back(gradient * std::exp(logit - log_sum));
  }
  result[target] -= gradient;
  return result;
}

AdamwState adamw(const AdamwSettings& settings, const AdamwState& state, double gradient) {
  const double g = settings.clip * gradient;
  AdamwState next;
  next.first = settings.beta1 * state.first + (1.0 - settings.beta1) * g;
  next.second = settings.beta2 * state.second + (1.0 - settings.beta2) * g * g;
  const double first = next.first / (1.0 - std::pow(settings.beta1, settings.step));
  const double second = next.second / (1.0 - std::pow(settings.beta2, settings.step));
  const double direction =
      first / (std::sqrt(second) + settings.epsilon) + settings.decay * state.weight;
  next.weight = state.weight - settings.rate * direction;
  return next;
}

double gradient_norm(std::span<const double> gradient) {
  double sum = 0.0;
  for (const double g : gradient) {
    sum += g * g;
  }
  return std::sqrt(sum);
}

namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

void add_scaled(std::span<double> sum, double factor, std::span<const double> row) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += factor * row[i];
  }
}

double score(const AttentionHead& head, std::size_t query, std::size_t key) {
  return head.scale * dot(head.queries.row(query), head.keys.row(key));
}

std::size_t keys_of(const AttentionHead& head, std::size_t query) {
  return head.causal ? std::min(query + 1, head.keys.count) : head.keys.count;
}

}  // namespace

AttentionRow attention_row(const AttentionHead& head, std::size_t query) {
  const std::size_t count = keys_of(head, query);
  std::vector<double> scores(count);
  for (std::size_t j = 0; j < count; ++j) {
    scores[j] = score(head, query, j);
  }
  const double most = *std::ranges::max_element(scores);
  double sum = 0.0;
  for (const double s : scores) {
    sum += std::exp(s - most);
  }
  AttentionRow row{.output = std::vector<double>(head.values.width),
                   .log_sum = most + std::log(sum),
                   .magnitude = 0.0};
  std::vector<double> squares(head.values.width);
  for (std::size_t j = 0; j < count; ++j) {
    const double p = std::exp(scores[j] - row.log_sum);
    const std::span<const double> value = head.values.row(j);
    add_scaled(row.output, p, value);
    for (std::size_t i = 0; i < squares.size(); ++i) {
      squares[i] += p * p * value[i] * value[i];
    }
  }
  row.magnitude = std::sqrt(*std::ranges::max_element(squares));
  return row;
}

std::vector<double> query_gradient(const AttentionHead& head, std::size_t query,
                                   std::span<const double> output_gradient,
                                   std::span<const double> output, double log_sum) {
  const double along = dot(output_gradient, output);
  std::vector<double> gradient(head.queries.width);
  for (std::size_t j = 0; j < keys_of(head, query); ++j) {
    const double p = std::exp(score(head, query, j) - log_sum);
    const double ds = p * (dot(output_gradient, head.values.row(j)) - along);
    add_scaled(gradient, head.scale * ds, head.keys.row(j));
  }
  return gradient;
}

KeyValueGradient key_value_gradient(const AttentionHead& head, std::size_t key,
                                    const RowsView& output_gradients, const RowsView& outputs,
                                    std::span<const double> log_sums) {
  KeyValueGradient gradient{.key = std::vector<double>(head.keys.width),
                            .value = std::vector<double>(head.values.width)};
  for (std::size_t i = head.causal ? key : 0; i < head.queries.count; ++i) {
    const std::span<const double> output_gradient = output_gradients.row(i);
    const double p = std::exp(score(head, i, key) - log_sums[i]);
    const double along = dot(output_gradient, outputs.row(i));
    const double ds = p * (dot(output_gradient, head.values.row(key)) - along);
    add_scaled(gradient.value, p, output_gradient);
    add_scaled(gradient.key, head.scale * ds, head.queries.row(i));
  }
  return gradient;
}

}  // namespace orrery::kernels::reference
