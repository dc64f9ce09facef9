#pragma once

// Reference for the attention of one query head and its gradients:
//
//   s_ij = scale q_i . k_j     p_ij = exp(s_ij - lse_i)     lse_i = log sum over j of exp(s_ij)
//   o_i = sum over j of p_ij v_j
//   dv_j = sum over i of p_ij do_i          ds_ij = p_ij (do_i . v_j - do_i . o_i)
//   dq_i = scale sum over j of ds_ij k_j    dk_j = scale sum over i of ds_ij q_i
//
// symbol  | meaning                                                   | unit | origin
// --------|-----------------------------------------------------------|------|---------
// q, k, v | rows of one head; do: gradients of its results o          | -    | operands
// scale   | 1 / sqrt(dim_qk)                                          | -    | operands
//
// A causal mask lets query i see keys j <= i. With grouped queries several query heads share keys
// and values: their dk and dv are the sums over those heads, which the caller forms.
// Rows are those of one head, `stride` elements apart, so that any layout of heads can be viewed.
// One query or one key at a time: large cases are checked on samples.
//
// Source: Vaswani et al. 2017 (arXiv 1706.03762); Dao 2023 (arXiv 2307.08691) for the gradients.

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::kernels::reference {

// Row i starts at values[first + i * stride] and has `width` numbers.
struct RowsView {
  std::span<const double> values;
  std::size_t first = 0;
  std::size_t stride = 0;
  std::size_t width = 0;
  std::size_t count = 0;

  [[nodiscard]] std::span<const double> row(std::size_t i) const {
    return values.subspan(first + i * stride, width);
  }
};

struct AttentionHead {
  RowsView queries;
  RowsView keys;
  RowsView values;
  bool causal = false;
  double scale = 1.0;
};

struct AttentionRow {
  std::vector<double> output;  // o_i
  double log_sum = 0.0;        // lse_i
  double magnitude = 0.0;      // largest root of the sum over j of (p_ij v_j)^2
};

[[nodiscard]] AttentionRow attention_row(const AttentionHead& head, std::size_t query);

// dq_i from do_i, o_i and lse_i.
[[nodiscard]] std::vector<double> query_gradient(const AttentionHead& head, std::size_t query,
                                                 std::span<const double> output_gradient,
                                                 std::span<const double> output, double log_sum);

struct KeyValueGradient {
  std::vector<double> key;
  std::vector<double> value;
};

// dk_j and dv_j of this head from all do_i, o_i and lse_i.
[[nodiscard]] KeyValueGradient key_value_gradient(const AttentionHead& head, std::size_t key,
                                                  const RowsView& output_gradients,
                                                  const RowsView& outputs,
                                                  std::span<const double> log_sums);

}  // namespace orrery::kernels::reference
