#pragma once

// The sizes on one rank: the model's dimensions divided by the degrees of the shard context.
//
// expert_rows follows from conservation: T k rows of width f_expert are shared by the t ranks of a
// tensor group, and each row is held by et ranks. Used inside model/ only.

#include <cstdint>

#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

// The product of counts as a double: byte and FLOP counts exceed no range in doubles.
template <typename... Numbers>
[[nodiscard]] constexpr double product(Numbers... numbers) {
  return (static_cast<double>(numbers) * ...);
}

[[nodiscard]] constexpr std::int64_t divide_rounding_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// sequence_parallel: and the tensor degree is above one.
struct ShardDims : ShardContext {
  std::int64_t hidden = 0;
  std::int64_t streams = 1;       // copies of the residual stream
  std::int64_t tokens = 0;        // T = b s / c
  std::int64_t local_tokens = 0;  // T / t with sequence parallelism, else T
  std::int64_t sequences = 0;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t heads = 0;   // a / t query heads
  std::int64_t groups = 0;  // max(1, g / t) key/value heads
  std::int64_t head_dim_qk = 0;
  std::int64_t head_dim_v = 0;
  std::int64_t ffn = 0;      // f / t
  std::int64_t vocab = 0;    // V / t
  std::int64_t experts = 0;  // E / e
  std::int64_t rows_per_expert = 0;
  std::int64_t expert_rows = 0;    // T k et / t, times the imbalance, rounded up per expert
  std::int64_t expert_ffn = 0;     // f_expert / et
  std::int64_t expert_hidden = 0;  // of the vectors that go to experts and come back
  std::int64_t shared_ffn = 0;
  std::int64_t routed_tokens = 0;      // tokens this rank sends to experts, before top_k copies
  double row_imbalance = 1.0;          // rows of the busiest rank / average
  double row_spread = 0.0;             // of the experts on a rank: sqrt(load_spread^2 + 1 / rows)
  std::int64_t activation_inputs = 1;  // columns of the up projection per inner element: 2 if gated
  double element_bytes = 2.0;          // of the activation type
  double linear_input_bytes = 2.0;     // of the type in which linear layers multiply
  bool keeps_gathered_input = false;   // sequence parallelism without a second gather
  bool low_precision = false;  // linear layers multiply in fewer bytes than the activations have
};

// With the heads of the attention core, which for attention to chosen keys are those of latent
// attention without its up projections: all queries on one key of kv_lora_rank + rope channels,
// whose first kv_lora_rank are the value.
[[nodiscard]] ShardDims core_dims(const ModelSpec& model, ShardDims dims);

[[nodiscard]] ShardDims shard_dims(const ModelSpec& model, const OpOptions& options);

// Defaults of fields that a scenario may leave out (0).
[[nodiscard]] std::int64_t query_groups(const ModelSpec& model);
[[nodiscard]] std::int64_t query_head_dim(const ModelSpec& model);
[[nodiscard]] std::int64_t value_head_dim(const ModelSpec& model);
[[nodiscard]] std::int64_t dense_ffn(const ModelSpec& model);
[[nodiscard]] std::int64_t position_rows(const ModelSpec& model);  // 0: no learned positions

}  // namespace orrery::model
