#include "sim/model/shard_dims.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/model/precision.hpp"

namespace orrery::model {

namespace {

constexpr std::int64_t kDefaultFfnRatio = 4;

void check_context(const ModelSpec& model, const ShardContext& shard) {
  ORRERY_CHECK(model.hidden_size > 0 && model.num_attention_heads > 0 && model.sequence_length > 0,
               "A model needs a hidden size ({}), attention heads ({}) and a sequence length ({}).",
               model.hidden_size,
               model.num_attention_heads,
               model.sequence_length);
  ORRERY_CHECK(shard.micro_batch > 0 && shard.tensor > 0 && shard.context > 0 && shard.expert > 0 &&
                   shard.expert_tensor > 0,
               "Degrees are at least one: micro batch {}, tensor {}, context {}, expert {} x {}.",
               shard.micro_batch,
               shard.tensor,
               shard.context,
               shard.expert,
               shard.expert_tensor);
}

// Expected maximum of n >= 2 standard normal numbers (Blom 1958): the quantile of
// (n - 0.375) / (n + 0.25), found by bisection.
double expected_maximum(double n) {
  constexpr double kWidestQuantile = 8.0;
  constexpr int kHalvings = 40;
  const double above = 1.0 - (n - 0.375) / (n + 0.25);
  double low = 0.0;
  double high = kWidestQuantile;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2.0;
    (std::erfc(middle / std::sqrt(2.0)) / 2.0 > above ? low : high) = middle;
  }
  return low;
}

// Rows of the busiest rank relative to the average. One expert rank holds every expert, so that
// nothing can be unbalanced; a capacity drops the rows beyond it. Independent loads of the experts
// average out over those of one rank, and the busiest of all ranks counts.
double row_imbalance(const MoeSpec& moe, const ShardContext& shard) {
  if (shard.expert == 1) {
    return 1.0;
  }
  const double ranks = product(shard.expert);
  const double per_rank = std::max(product(moe.num_experts) / ranks, 1.0);
  const double spread =
      moe.load_spread > 0.0 ? moe.load_spread / std::sqrt(per_rank) * expected_maximum(ranks) : 0.0;
  const double imbalance = std::max(moe.imbalance, 1.0 + spread);
  return moe.capacity_factor > 0.0 ? std::min(imbalance, moe.capacity_factor) : imbalance;
}

void set_expert_dims(ShardDims& dims, const MoeSpec& moe, const ShardContext& shard) {
  dims.experts = divide_rounding_up(moe.num_experts, shard.expert);
  dims.expert_ffn = divide_rounding_up(moe.ffn_hidden_size, shard.expert_tensor);
  dims.shared_ffn = divide_rounding_up(moe.shared_experts * moe.ffn_hidden_size, shard.tensor);
  dims.row_imbalance = row_imbalance(moe, shard);
  // Sequence-parallel ranks route their own tokens; else the ranks that share an expert shard route
  // the same ones.
  dims.routed_tokens = dims.sequence_parallel
                           ? dims.local_tokens
                           : divide_rounding_up(dims.tokens * shard.expert_tensor, shard.tensor);
  const std::int64_t copies = dims.tokens * moe.top_k * shard.expert_tensor;
  const double average = product(copies) / product(shard.tensor, dims.experts);
  dims.rows_per_expert = static_cast<std::int64_t>(std::ceil(average * dims.row_imbalance));
  dims.expert_rows = dims.rows_per_expert * dims.experts;
  dims.row_spread = std::hypot(moe.load_spread, 1.0 / std::sqrt(product(dims.rows_per_expert)));
}

}  // namespace

std::int64_t query_groups(const ModelSpec& model) {
  return model.num_query_groups > 0 ? model.num_query_groups : model.num_attention_heads;
}

std::int64_t query_head_dim(const ModelSpec& model) {
  if (model.mla) {
    return model.mla->qk_nope_head_dim + model.mla->qk_rope_head_dim;
  }
  return model.head_dim > 0 ? model.head_dim : model.hidden_size / model.num_attention_heads;
}

std::int64_t value_head_dim(const ModelSpec& model) {
  return model.mla ? model.mla->v_head_dim : query_head_dim(model);
}

std::int64_t dense_ffn(const ModelSpec& model) {
  return model.ffn_hidden_size > 0 ? model.ffn_hidden_size : kDefaultFfnRatio * model.hidden_size;
}

std::int64_t position_rows(const ModelSpec& model) {
  if (model.position != PositionEmbedding::learned) {
    return 0;
  }
  return model.max_positions > 0 ? model.max_positions : model.sequence_length;
}

ShardDims shard_dims(const ModelSpec& model, const OpOptions& options) {
  const ShardContext& shard = options.shard;
  check_context(model, shard);
  ShardDims dims{{shard}};
  dims.sequence_parallel = shard.sequence_parallel && shard.tensor > 1;
  dims.keeps_gathered_input = options.keeps_gathered_input;
  dims.hidden = model.hidden_size;
  dims.sequences = shard.micro_batch;
  dims.query_length = divide_rounding_up(model.sequence_length, shard.context);
  dims.key_length = model.sequence_length;
  dims.tokens = dims.sequences * dims.query_length;
  dims.local_tokens =
      dims.sequence_parallel ? divide_rounding_up(dims.tokens, shard.tensor) : dims.tokens;
  dims.heads = divide_rounding_up(model.num_attention_heads, shard.tensor);
  // Latent attention expands keys and values to one per query head.
  dims.groups = model.mla ? dims.heads : divide_rounding_up(query_groups(model), shard.tensor);
  dims.head_dim_qk = query_head_dim(model);
  dims.head_dim_v = value_head_dim(model);
  dims.ffn = divide_rounding_up(dense_ffn(model), shard.tensor);
  dims.vocab = divide_rounding_up(model.vocab_size, shard.tensor);
  dims.activation_inputs = model.gated_mlp() ? 2 : 1;
  dims.element_bytes = in_bytes(bytes_per_element(options.precision.activation));
  dims.linear_input_bytes = in_bytes(bytes_per_element(options.precision.compute));
  dims.low_precision = dims.linear_input_bytes < dims.element_bytes;
  if (dims.low_precision) {
    dims.linear_input_bytes += scale_bytes(options.precision.fp8_scaling);
  }
  if (model.moe) {
    set_expert_dims(dims, *model.moe, shard);
  }
  return dims;
}

}  // namespace orrery::model
