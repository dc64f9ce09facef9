#pragma once

// Reference for one element of a matrix product:
//
//   C(i, j) = sum over l of A(i, l) B(l, j)
//
// symbol | meaning                     | unit | origin
// -------|-----------------------------|------|---------
// A      | i x l                       | -    | operands
// B      | l x j                       | -    | operands
//
// A view locates element (row, column) in memory, so that transposed operands need no copy.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery::kernels::reference {

struct MatrixView {
  std::span<const double> values;
  std::size_t row_stride = 0;
  std::size_t column_stride = 1;

  [[nodiscard]] double at(std::size_t row, std::size_t column) const {
    return values[row * row_stride + column * column_stride];
  }

  [[nodiscard]] MatrixView transposed() const {
    return {.values = values, .row_stride = column_stride, .column_stride = row_stride};
  }
};

struct ProductElement {
  double value = 0.0;
  double magnitude = 0.0;  // root of the sum of the squares of the terms, for tolerance_of()
};

[[nodiscard]] ProductElement product_element(const MatrixView& a, const MatrixView& b,
                                             std::size_t row, std::size_t column,
                                             std::size_t terms);

// Reference for RMSNorm and LayerNorm of a row, and their gradients:
//
//   xh_j = (x_j - mean) r     r = 1 / sqrt(mean of (x - mean)^2 + epsilon)     y_j = xh_j w_j + b_j
//   dx_j = r (g_j - mean(g) - xh_j mean(g xh))     g_j = dy_j w_j
//   dw_j = sum over rows of dy_j xh_j              db_j = sum over rows of dy_j
//
// RMSNorm is the same with mean, mean(g) and b taken as zero.
//
// symbol  | meaning                     | unit | origin
// --------|-----------------------------|------|---------
// x, y    | a row before and after      | -    | operands
// w, b    | weight and bias, by column  | -    | operands
// epsilon | keeps r finite              | -    | operands
//
// Source: Zhang and Sennrich 2019 (arXiv 1910.07467); Ba et al. 2016 (arXiv 1607.06450).

enum class NormKind { rms, layer };

struct NormRow {
  std::vector<double> output;
  double mean = 0.0;
  double scale = 0.0;  // r
};

[[nodiscard]] NormRow norm_row(NormKind kind, std::span<const double> x,
                               std::span<const double> weight,
                               std::span<const double> bias,  // empty: none
                               double epsilon);

[[nodiscard]] std::vector<double> norm_input_gradient(NormKind kind, std::span<const double> x,
                                                      std::span<const double> weight,
                                                      std::span<const double> gradient,
                                                      double epsilon);

// Adds what a row contributes to the gradients of weight and bias (empty: none).
void add_norm_weight_gradient(NormKind kind, std::span<const double> x,
                              std::span<const double> gradient, double epsilon,
                              std::span<double> weight_gradient, std::span<double> bias_gradient);

// Reference for rotary embedding and SwiGLU of a vector, and their gradients:
//
//   rotary   y_i = x_i cos - x_(i + d/2) sin     y_(i + d/2) = x_(i + d/2) cos + x_i sin
//            angle_i = position base^(-2 i / d), i < d / 2; the gradient is rotated back by it
//   SwiGLU   y = g s(g) u     s(g) = 1 / (1 + exp(-g))
//            dg = dy u s(g) (1 + g (1 - s(g)))     du = dy g s(g)
//
// symbol | meaning                                 | unit | origin
// -------|-----------------------------------------|------|---------
// x, y   | one head of one token                   | -    | operands
// d      | its dimension, even                     | 1    | operands
// base   | of the angles, 10,000 in the paper      | 1    | model
// g, u   | results of the gate and up projections  | -    | operands
//
// Source: Su et al. 2021 (arXiv 2104.09864); Shazeer 2020 (arXiv 2002.05202).

[[nodiscard]] double rotary_angle(double position, std::size_t pair, std::size_t dim, double base);

enum class Turn { forward, back };

// cosine and sine: of the d / 2 angles.
[[nodiscard]] std::vector<double> rotary(std::span<const double> x, std::span<const double> cosine,
                                         std::span<const double> sine, Turn turn);

[[nodiscard]] double swiglu(double gate, double up);

struct SwigluGradient {
  double gate = 0.0;
  double up = 0.0;
};

[[nodiscard]] SwigluGradient swiglu_gradient(double gate, double up, double gradient);

// Reference for the movement of token rows: to their experts and back, and in and out of a table.
//
//   permute      y[place(t, c)] = x[t]              backward  dx[t] = sum over c of dy[place(t, c)]
//   unpermute    z[t] = sum over c of w(t, c) y[place(t, c)]
//                dy[place(t, c)] = w(t, c) dz[t]              dw(t, c) = dz[t] . y[place(t, c)]
//   embedding    y[t] = table[id(t)]       dtable[v] = given + sum over t with id(t) = v of dy[t]
//
// symbol      | meaning                                             | unit | origin
// ------------|-----------------------------------------------------|------|---------
// t, c        | token, and which of its copies (top-k)              | -    | -
// place(t, c) | row of the copy, in the order of the experts        | -    | router
// w(t, c)     | weight of the copy                                  | 1    | router

// Sum of the rows `places` of y, each times its weight (empty: 1), and for each column the root of
// the sum of the squares of its terms.
struct CombinedRow {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

[[nodiscard]] CombinedRow combined_row(std::span<const double> y, std::size_t columns,
                                       std::span<const std::int32_t> places,
                                       std::span<const double> weights);

// dw of one copy.
[[nodiscard]] double weight_gradient(std::span<const double> row,
                                     std::span<const double> output_gradient);

// Row `id` of the table's gradient: `given` and the rows of its tokens.
[[nodiscard]] CombinedRow embedding_gradient_row(std::span<const std::int64_t> ids,
                                                 std::span<const double> gradient, std::int64_t id,
                                                 std::span<const double> given);

// Tokens in the order of their experts: place of every copy. `experts` holds the expert of each
// copy, [token][copy]; copies of one expert keep the order of their tokens.
[[nodiscard]] std::vector<std::int32_t> places_by_expert(std::span<const std::int32_t> experts);

// Reference for the cross-entropy loss of a token and the gradient of its logits:
//
//   lse = log sum over j of exp(x_j)     loss = lse - x_target
//   dx_j = (exp(x_j - lse) - [j = target]) g
//
// symbol | meaning                                        | unit | origin
// -------|------------------------------------------------|------|---------
// x      | logits of one token over the vocabulary        | -    | operands
// g      | gradient of the loss, e.g. 1 / tokens          | -    | operands
//
// The largest logit is subtracted before exp, so that exp does not overflow.

struct TokenLoss {
  double loss = 0.0;
  double log_sum = 0.0;  // lse
};

[[nodiscard]] TokenLoss cross_entropy(std::span<const double> logits, std::size_t target);

[[nodiscard]] std::vector<double> cross_entropy_gradient(std::span<const double> logits,
                                                         std::size_t target, double gradient);

// Reference for one AdamW step of a weight, and for the norm of a gradient:
//
//   m' = b1 m + (1 - b1) c g     v' = b2 v + (1 - b2) (c g)^2
//   w' = w - rate (m' / (1 - b1^t) / (sqrt(v' / (1 - b2^t)) + epsilon) + decay w)
//   norm = sqrt(sum of g^2)
//
// symbol   | meaning                                         | unit | origin
// ---------|-------------------------------------------------|------|---------
// g, c     | gradient, and the factor that clips its norm    | -    | operands
// m, v     | moments                                         | -    | state
// w        | weight, fp32                                    | -    | state
// b1, b2   | decay of the moments                            | 1    | setting
// t        | step, from 1                                    | 1    | setting
//
// Source: Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2.

struct AdamwSettings {
  double rate = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double decay = 0.1;
  double clip = 1.0;  // c
  double step = 1.0;  // t
};

struct AdamwState {
  double weight = 0.0;
  double first = 0.0;   // m
  double second = 0.0;  // v
};

[[nodiscard]] AdamwState adamw(const AdamwSettings& settings, const AdamwState& state,
                               double gradient);

[[nodiscard]] double gradient_norm(std::span<const double> gradient);

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
