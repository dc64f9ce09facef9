#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/reference/operations.hpp"
#include "tests/unit/kernels/finite_difference.hpp"

namespace orrery::kernels::reference {
namespace {

constexpr double kAttentionExact = 1e-12;

RowsView rows(std::span<const double> values, std::size_t width) {
  return {.values = values,
          .first = 0,
          .stride = width,
          .width = width,
          .count = values.size() / width};
}

struct Problem {
  std::size_t heads = 1;  // that share keys and values
  std::size_t queries = 5;
  std::size_t keys = 5;
  std::size_t dim_qk = 4;
  std::size_t dim_v = 3;
  bool causal = false;
  double scale = 0.5;
};

// Inputs and output gradients of `heads` query heads over one head of keys and values; queries of
// all heads lie side by side, [query][head][dim].
struct Inputs {
  std::vector<double> q, k, v, dout;
};

Inputs random_inputs(const Problem& problem, std::uint64_t seed) {
  RandomStream random(seed, 0, Purpose::property_test);
  return {.q = random_values(problem.queries * problem.heads * problem.dim_qk, random),
          .k = random_values(problem.keys * problem.dim_qk, random),
          .v = random_values(problem.keys * problem.dim_v, random),
          .dout = random_values(problem.queries * problem.heads * problem.dim_v, random)};
}

RowsView head_rows(std::span<const double> values, const Problem& problem, std::size_t head,
                   std::size_t width) {
  return {.values = values,
          .first = head * width,
          .stride = problem.heads * width,
          .width = width,
          .count = problem.queries};
}

AttentionHead head_of(const Problem& problem, std::size_t head, std::span<const double> q,
                      std::span<const double> k, std::span<const double> v) {
  return {.queries = head_rows(q, problem, head, problem.dim_qk),
          .keys = rows(k, problem.dim_qk),
          .values = rows(v, problem.dim_v),
          .causal = problem.causal,
          .scale = problem.scale};
}

// Sum over all outputs of output x dout.
double objective(const Problem& problem, const Inputs& inputs, std::span<const double> q,
                 std::span<const double> k, std::span<const double> v) {
  double sum = 0.0;
  for (std::size_t h = 0; h < problem.heads; ++h) {
    const AttentionHead head = head_of(problem, h, q, k, v);
    const RowsView gradients = head_rows(inputs.dout, problem, h, problem.dim_v);
    for (std::size_t i = 0; i < problem.queries; ++i) {
      sum += dot(attention_row(head, i).output, gradients.row(i));
    }
  }
  return sum;
}

struct Gradients {
  std::vector<double> q, k, v;
};

Gradients gradients_of(const Problem& problem, const Inputs& inputs) {
  Gradients sums{.q = std::vector<double>(inputs.q.size()),
                 .k = std::vector<double>(inputs.k.size()),
                 .v = std::vector<double>(inputs.v.size())};
  for (std::size_t h = 0; h < problem.heads; ++h) {
    const AttentionHead head = head_of(problem, h, inputs.q, inputs.k, inputs.v);
    const RowsView dout = head_rows(inputs.dout, problem, h, problem.dim_v);
    std::vector<double> outputs;
    std::vector<double> log_sums;
    for (std::size_t i = 0; i < problem.queries; ++i) {
      const AttentionRow row = attention_row(head, i);
      outputs.insert(outputs.end(), row.output.begin(), row.output.end());
      log_sums.push_back(row.log_sum);
      const auto dq = query_gradient(head, i, dout.row(i), row.output, row.log_sum);
      for (std::size_t d = 0; d < problem.dim_qk; ++d) {
        sums.q[(i * problem.heads + h) * problem.dim_qk + d] = dq[d];
      }
    }
    for (std::size_t j = 0; j < problem.keys; ++j) {
      const KeyValueGradient row =
          key_value_gradient(head, j, dout, rows(outputs, problem.dim_v), log_sums);
      for (std::size_t d = 0; d < problem.dim_qk; ++d) {
        sums.k[j * problem.dim_qk + d] += row.key[d];
      }
      for (std::size_t d = 0; d < problem.dim_v; ++d) {
        sums.v[j * problem.dim_v + d] += row.value[d];
      }
    }
  }
  return sums;
}

void expect_gradients(const Problem& problem, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Inputs inputs = random_inputs(problem, seed);
  const Gradients gradients = gradients_of(problem, inputs);
  expect_gradient(inputs.q, gradients.q, [&](std::span<const double> x) {
    return objective(problem, inputs, x, inputs.k, inputs.v);
  });
  expect_gradient(inputs.k, gradients.k, [&](std::span<const double> x) {
    return objective(problem, inputs, inputs.q, x, inputs.v);
  });
  expect_gradient(inputs.v, gradients.v, [&](std::span<const double> x) {
    return objective(problem, inputs, inputs.q, inputs.k, x);
  });
}

TEST(AttentionReference, GradientsAreThoseOfFiniteDifferences) {
  expect_gradients({}, 1);
  expect_gradients({.causal = true}, 2);
  expect_gradients({.queries = 3, .keys = 7}, 3);
}

TEST(AttentionReference, GroupedQueriesAddTheirKeyAndValueGradients) {
  expect_gradients({.heads = 3, .queries = 4, .keys = 4, .causal = true}, 4);
  expect_gradients({.heads = 4, .queries = 3, .keys = 6}, 5);
}

// softmax sums to one: constant values come out as they are.
TEST(AttentionReference, WeightsSumToOne) {
  const Problem problem{.causal = true};
  Inputs inputs = random_inputs(problem, 6);
  std::fill(inputs.v.begin(), inputs.v.end(), 2.5);
  const AttentionHead head = head_of(problem, 0, inputs.q, inputs.k, inputs.v);
  for (std::size_t i = 0; i < problem.queries; ++i) {
    for (const double value : attention_row(head, i).output) {
      EXPECT_NEAR(value, 2.5, kAttentionExact);
    }
  }
}

TEST(AttentionReference, TheFirstCausalQuerySeesOneKeyAndEqualScoresAverage) {
  const Problem problem{.causal = true};
  Inputs inputs = random_inputs(problem, 7);
  const AttentionHead head = head_of(problem, 0, inputs.q, inputs.k, inputs.v);
  const AttentionRow first = attention_row(head, 0);
  for (std::size_t d = 0; d < problem.dim_v; ++d) {
    EXPECT_NEAR(first.output[d], inputs.v[d], kAttentionExact);
  }
  const double score = dot(std::span(inputs.q).first(4), std::span(inputs.k).first(4));
  EXPECT_NEAR(first.log_sum, 0.5 * score, kAttentionExact);
  std::fill(inputs.q.begin(), inputs.q.end(), 0.0);
  const AttentionRow last = attention_row(head_of(problem, 0, inputs.q, inputs.k, inputs.v), 4);
  EXPECT_NEAR(last.log_sum, std::log(5.0), kAttentionExact);
  for (std::size_t d = 0; d < problem.dim_v; ++d) {
    double mean = 0.0;
    for (std::size_t j = 0; j < problem.keys; ++j) {
      mean += inputs.v[j * problem.dim_v + d] / 5.0;
    }
    EXPECT_NEAR(last.output[d], mean, kAttentionExact);
  }
}

TEST(AttentionReference, SurvivesLargeScores) {
  const Problem problem{.scale = 1e4};
  const Inputs inputs = random_inputs(problem, 8);
  const AttentionRow row = attention_row(head_of(problem, 0, inputs.q, inputs.k, inputs.v), 0);
  for (const double value : row.output) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace orrery::kernels::reference
