#include "sim/step/model/shard_dims.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/check.hpp"
#include "sim/step/model/precision.hpp"

namespace orrery::model {

namespace {

constexpr std::int64_t kDefaultFfnRatio = 4;

void check_context(const ModelSpec& model, const ShardContext& shard) {
  ORRERY_CHECK(model.hidden_size > 0 && model.num_attention_heads > 0 && model.sequence_length > 0,
               "A model needs a hidden size ({}), attention heads ({}) and a sequence length ({}).",
               model.hidden_size, model.num_attention_heads, model.sequence_length);
  ORRERY_CHECK(shard.micro_batch > 0 && shard.tensor > 0 && shard.context > 0 && shard.expert > 0 &&
                   shard.expert_tensor > 0,
               "Degrees are at least one: micro batch {}, tensor {}, context {}, expert {} x {}.",
               shard.micro_batch, shard.tensor, shard.context, shard.expert, shard.expert_tensor);
}

// Share of a standard normal number above `x`.
double share_above(double x) { return std::erfc(x / std::sqrt(2.0)) / 2.0; }

// Where the share `above`, in (0, 1), lies above: Newton's method from the rational approximation
// 26.2.23 of Abramowitz and Stegun, which is 4.5e-4 off at most; each step squares the error.
double normal_quantile_above(double above) {
  if (above > 0.5) {
    return -normal_quantile_above(1.0 - above);
  }
  const double t = std::sqrt(-2.0 * std::log(above));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  constexpr int kSteps = 3;
  for (int i = 0; i < kSteps; ++i) {
    const double density = std::exp(-x * x / 2.0) / std::sqrt(2.0 * std::numbers::pi);
    x += (share_above(x) - above) / density;
  }
  return x;
}

// Expected maximum of n >= 2 standard normal numbers (Blom 1958).
double expected_maximum(double n) { return normal_quantile_above(1.0 - (n - 0.375) / (n + 0.25)); }

// Standard deviation of one expert's rows / average, where a share `skew` of the variance of the
// router's logits is common to all tokens: an expert is chosen by the tokens whose logit lies above
// the quantile that leaves top_k of the experts, and that quantile moves with the common part.
double spread_of_skew(const MoeSpec& moe) {
  constexpr double kMostSkew = 0.999;
  constexpr double kFarthest = 6.0;  // deviations
  constexpr int kSteps = 120;
  const double chosen = product(moe.top_k) / product(moe.num_experts);
  const double skew = std::min(moe.router_skew, kMostSkew);
  const double threshold = normal_quantile_above(chosen);
  double weights = 0.0;
  double squares = 0.0;
  for (int i = 0; i <= kSteps; ++i) {
    const double common = kFarthest * (2.0 * i / kSteps - 1.0);
    const double weight = std::exp(-common * common / 2.0);
    const double load =
        share_above((threshold - std::sqrt(skew) * common) / std::sqrt(1.0 - skew)) / chosen;
    weights += weight;
    squares += weight * load * load;
  }
  return std::sqrt(std::max(squares / weights - 1.0, 0.0));
}

double load_spread(const MoeSpec& moe) {
  return moe.router_skew > 0.0 ? std::hypot(moe.load_spread, spread_of_skew(moe)) : moe.load_spread;
}

// Rows of the busiest rank relative to the average. One expert rank holds every expert, so that
// nothing can be unbalanced; a capacity drops the rows beyond it. Loads of single experts average
// out over those of a rank, whose sums are near log-normal, and the busiest of all ranks counts; no
// rank gets more than all of them, or more than a copy of every token for each of its experts.
double row_imbalance(const MoeSpec& moe, const ShardContext& shard) {
  if (shard.expert == 1) {
    return 1.0;
  }
  const double ranks = product(shard.expert);
  const double per_rank = std::max(product(moe.num_experts) / ranks, 1.0);
  const double spread = load_spread(moe);
  const double variance = std::log1p(spread * spread / per_rank);
  const double busiest = std::exp(std::sqrt(variance) * expected_maximum(ranks) - variance / 2.0);
  const double most = std::min(ranks, product(moe.num_experts) / product(moe.top_k));
  const double imbalance = std::max(moe.imbalance, std::clamp(busiest, 1.0, std::max(most, 1.0)));
  return moe.capacity_factor > 0.0 ? std::min(imbalance, moe.capacity_factor) : imbalance;
}

void set_expert_dims(ShardDims& dims, const MoeSpec& moe, const ShardContext& shard) {
  dims.experts = divide_rounding_up(moe.num_experts, shard.expert);
  dims.expert_hidden = moe.latent_size > 0 ? moe.latent_size : dims.hidden;
  dims.expert_ffn = divide_rounding_up(moe.ffn_hidden_size, shard.expert_tensor);
  dims.shared_ffn = divide_rounding_up(moe.shared_width(), shard.tensor);
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
  dims.row_spread = std::hypot(load_spread(moe), 1.0 / std::sqrt(product(dims.rows_per_expert)));
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

ShardDims core_dims(const ModelSpec& model, ShardDims dims) {
  if (model.sparse_attention && model.mla) {
    dims.groups = 1;
    dims.head_dim_qk = model.mla->kv_lora_rank + model.mla->qk_rope_head_dim;
    dims.head_dim_v = model.mla->kv_lora_rank;
  }
  return dims;
}

ShardDims shard_dims(const ModelSpec& model, const OpOptions& options) {
  const ShardContext& shard = options.shard;
  check_context(model, shard);
  ShardDims dims{{shard}};
  dims.sequence_parallel = shard.sequence_parallel && shard.tensor > 1;
  dims.keeps_gathered_input = options.keeps_gathered_input;
  dims.hidden = model.hidden_size;
  dims.streams = model.residual_streams;
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
