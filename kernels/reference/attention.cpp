#include "kernels/reference/attention.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::kernels::reference {

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
  const double most = *std::max_element(scores.begin(), scores.end());
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
  row.magnitude = std::sqrt(*std::max_element(squares.begin(), squares.end()));
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
