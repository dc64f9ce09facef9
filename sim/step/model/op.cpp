#include "sim/step/model/op.hpp"

#include <array>

#include "sim/step/model/shard_dims.hpp"

namespace orrery::model {

namespace {

using Kernel = std::optional<kernels::Operation>;

struct PartRow {
  Part part;
  std::string_view name;
  Block block = Block::running;
  std::string_view backward = {};  // empty: the name of the forward
  Kernel kernel = std::nullopt;
};

constexpr std::size_t kParts = static_cast<std::size_t>(Part::count_);

constexpr std::array<PartRow, kParts> kRows = {{
    {Part::other, "other"},
    {Part::qkv, "qkv", Block::attention},
    {Part::query, "query"},
    {Part::query_down, "query_down"},
    {Part::query_up, "query_up"},
    {Part::key_value_down, "key_value_down"},
    {Part::key_value_up, "key_value_up"},
    {Part::attention, "attention", Block::attention},
    {Part::scan, "scan", Block::attention},
    {Part::attention_scores, "attention_scores", Block::attention},
    {Part::attention_context, "attention_context", Block::attention},
    {Part::attention_output, "attention_output", Block::attention},
    {Part::attention_output_down, "attention_output_down", Block::attention},
    {Part::key_value_compress, "key_value_compress", Block::attention},
    {Part::stream_weights, "stream_weights"},
    {Part::mlp_up, "mlp_up", Block::mlp},
    {Part::mlp_down, "mlp_down", Block::mlp},
    {Part::index_query, "index_query", Block::attention},
    {Part::index_key, "index_key", Block::attention},
    {Part::index_scores, "index_scores", Block::attention},
    {Part::index_target, "index_target", Block::attention},
    {Part::mixer_in, "mixer_in", Block::attention},
    {Part::mixer_low_rank_down, "mixer_low_rank_down", Block::attention},
    {Part::mixer_low_rank_up, "mixer_low_rank_up", Block::attention},
    {Part::mixer_out, "mixer_out", Block::attention},
    {Part::router, "router", Block::router},
    {Part::expert_latent_down, "expert_latent_down", Block::experts},
    {Part::expert_latent_up, "expert_latent_up", Block::experts},
    {Part::expert_up, "expert_up", Block::experts},
    {Part::expert_down, "expert_down", Block::experts},
    {Part::shared_expert_up, "shared_expert_up", Block::router},
    {Part::shared_expert_down, "shared_expert_down", Block::router},
    {Part::logits, "logits"},
    {Part::mtp_projection, "mtp_projection"},
    {Part::adapter_a, "adapter_a"},
    {Part::adapter_b, "adapter_b"},
    {Part::norm, "norm", Block::running, "norm_backward", kernels::Operation::rms_norm},
    {Part::attention_norm, "attention_norm", Block::attention, "attention_norm_backward",
     kernels::Operation::rms_norm},
    {Part::mixer_norm, "mixer_norm", Block::attention, "mixer_norm_backward",
     kernels::Operation::rms_norm},
    {Part::mlp_norm, "mlp_norm", Block::mlp, "mlp_norm_backward", kernels::Operation::rms_norm},
    {Part::query_norm, "query_norm", Block::running, "query_norm_backward",
     kernels::Operation::rms_norm},
    {Part::key_value_norm, "key_value_norm", Block::running, "key_value_norm_backward",
     kernels::Operation::rms_norm},
    {Part::embedding_norm, "embedding_norm", Block::running, "embedding_norm_backward",
     kernels::Operation::rms_norm},
    {Part::final_norm, "final_norm", Block::running, "final_norm_backward",
     kernels::Operation::rms_norm},
    {Part::mtp_embedding_norm, "mtp_embedding_norm", Block::running, "mtp_embedding_norm_backward",
     kernels::Operation::rms_norm},
    {Part::mtp_hidden_norm, "mtp_hidden_norm", Block::running, "mtp_hidden_norm_backward",
     kernels::Operation::rms_norm},
    {Part::rotary, "rotary", Block::attention, "rotary_backward", kernels::Operation::rotary},
    {Part::key_concat, "key_concat", Block::running, "key_concat_backward"},
    {Part::key_value_repeat, "key_value_repeat", Block::running, "key_value_repeat_backward"},
    {Part::softmax, "softmax", Block::running, "softmax_backward"},
    {Part::attention_dropout, "attention_dropout", Block::attention, "attention_dropout_backward"},
    {Part::attention_output_keep, "attention_output_keep", Block::attention,
     "attention_output_restore"},
    {Part::attention_gate, "attention_gate", Block::attention, "attention_gate_backward"},
    {Part::index_top_k, "index_top_k", Block::attention},
    {Part::key_value_pool, "key_value_pool", Block::attention, "key_value_pool_backward"},
    {Part::stream_mix, "stream_mix", Block::running, "stream_mix_backward"},
    {Part::mixer_convolution, "mixer_convolution", Block::attention, "mixer_convolution_backward"},
    {Part::mixer_gate, "mixer_gate", Block::attention, "mixer_gate_backward"},
    {Part::context_merge, "context_merge", Block::running, "context_merge_backward"},
    {Part::residual_add, "residual_add", Block::running, "residual_gradient_add",
     kernels::Operation::residual_add},
    {Part::dropout_residual_add, "dropout_residual_add"},
    {Part::dropout, "dropout", Block::running, "dropout_backward"},
    {Part::activation, "activation", Block::running, "activation_backward",
     kernels::Operation::swiglu},
    {Part::router_top_k, "router_top_k", Block::router, "router_top_k_backward"},
    {Part::permute, "permute", Block::experts, "permute_backward", kernels::Operation::permute},
    {Part::unpermute, "unpermute", Block::experts, "unpermute_backward",
     kernels::Operation::unpermute},
    {Part::expert_sort, "expert_sort", Block::experts, "expert_sort_backward"},
    {Part::expert_unsort, "expert_unsort", Block::experts, "expert_unsort_backward"},
    {Part::dispatch_cast, "dispatch_cast", Block::experts},
    {Part::embedding, "embedding", Block::running, "embedding_gradient",
     kernels::Operation::embedding},
    {Part::embedding_gradient_sort, "embedding_gradient_sort"},
    {Part::position, "position_add", Block::running, "position_gradient"},
    {Part::cross_entropy, "cross_entropy", Block::running, "cross_entropy_backward",
     kernels::Operation::cross_entropy},
    {Part::fp8_amax, "fp8_amax"},
    {Part::fp8_cast, "fp8_cast", Block::running, {}, kernels::Operation::quantize},
    {Part::fp8_transpose, "fp8_transpose"},
    {Part::fp8_cast_transpose,
     "fp8_cast_transpose",
     Block::running,
     {},
     kernels::Operation::quantize_transpose},
    {Part::weight_cast, "fp8_weight_cast"},
    {Part::gradient_add, "gradient_add"},
    {Part::bias_gradient, "bias_gradient"},
    {Part::deterministic_fill, "deterministic_fill"},
    {Part::quantise, "quantise"},
    {Part::adapter_dropout, "adapter_dropout", Block::running, "adapter_dropout_backward"},
    {Part::adapter_scale, "adapter_scale", Block::running, "adapter_scale_backward"},
    {Part::adapter_add, "adapter_add", Block::running, "adapter_gradient_add"},
    {Part::adapter_activation, "adapter_activation", Block::running, "adapter_activation_backward"},
    {Part::adapter_norm, "adapter_norm"},
    {Part::adapter_magnitude, "adapter_magnitude", Block::running, "adapter_magnitude_backward"},
    {Part::nf4_unpack, "nf4_unpack"},
    {Part::tensor_all_gather, "tensor_all_gather"},
    {Part::tensor_all_gather_again, "tensor_all_gather_again"},
    {Part::tensor_reduce_scatter, "tensor_reduce_scatter"},
    {Part::tensor_all_reduce, "tensor_all_reduce"},
    {Part::context_all_gather, "context_all_gather", Block::running, "context_all_gather_again"},
    {Part::context_reduce_scatter, "context_reduce_scatter"},
    {Part::context_ring, "context_ring", Block::running, "context_ring_again"},
    {Part::context_ring_gradients, "context_ring_gradients"},
    {Part::context_heads, "context_heads"},
    {Part::context_tokens, "context_tokens"},
    {Part::expert_dispatch, "expert_dispatch", Block::experts, "expert_dispatch_backward"},
    {Part::expert_combine, "expert_combine", Block::experts, "expert_combine_backward"},
    {Part::expert_all_gather, "expert_all_gather", Block::experts, "expert_all_gather_backward"},
    {Part::expert_reduce_scatter, "expert_reduce_scatter", Block::experts,
     "expert_reduce_scatter_backward"},
    {Part::expert_all_reduce, "expert_all_reduce", Block::experts, "expert_all_reduce_backward"},
    {Part::expert_token_all_gather, "expert_token_all_gather", Block::experts},
    {Part::loss_maximum, "loss_maximum"},
    {Part::loss_target_logit, "loss_target_logit"},
    {Part::loss_exponential_sum, "loss_exponential_sum"},
    {Part::mtp_projection_exchange, "mtp_projection_exchange"},
    {Part::adapter_exchange, "adapter_exchange"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kParts; ++i) {
    if (kRows[i].part != static_cast<Part>(i)) {
      return false;
    }
  }
  return true;
}

static_assert(in_order());

const PartRow& row_of(Part part) { return kRows[static_cast<std::size_t>(part)]; }

constexpr double kFusedBackwardFactor = 2.5;  // five products where the forward has two

constexpr double kScanBackwardFactor = 2.5;

struct PartVisitor {
  Part operator()(const AttentionOp&) const { return Part::attention; }

  Part operator()(const ScanOp&) const { return Part::scan; }

  template <typename Other>
  Part operator()(const Other& op) const {
    return op.part;
  }
};

struct FlopVisitor {
  Flop operator()(const GemmOp& op) const { return flop_count(op); }

  Flop operator()(const AttentionOp& op) const { return flop_count(op); }

  Flop operator()(const ScanOp& op) const { return flop_count(op); }

  Flop operator()(const MemoryOp&) const { return flop(0.0); }

  Flop operator()(const CollectiveOp&) const { return flop(0.0); }
};

}  // namespace

std::string_view part_name(Part part, Role role) {
  const PartRow& row = row_of(part);
  return role == Role::backward && !row.backward.empty() ? row.backward : row.name;
}

Block block_of(Part part) { return row_of(part).block; }

std::optional<kernels::Operation> kernel_of(Part part) { return row_of(part).kernel; }

bool is_norm(Part part) { return kernel_of(part) == kernels::Operation::rms_norm; }

bool is_cast(Part part) {
  return part == Part::fp8_amax || part == Part::fp8_cast || part == Part::fp8_transpose ||
         part == Part::fp8_cast_transpose;
}

Part part_of(const Op& op) { return std::visit(PartVisitor{}, op); }

Bytes bytes_per_element(Dtype dtype) {
  static constexpr double kBytes[] = {4.0, 4.0, 2.0, 2.0, 1.0, 0.5};  // by Dtype
  return bytes(kBytes[static_cast<std::size_t>(dtype)]);
}

Flop flop_count(const GemmOp& op) { return flop(product(2, op.m, op.n, op.k, op.batch)); }

double keys_in_window(const AttentionOp& op) {
  const auto length = static_cast<double>(op.key_length);
  const auto window = static_cast<double>(op.window);
  const bool limited = op.window > 0 && op.window < op.key_length;
  return limited ? window - window * window / (2.0 * length) : length;
}

Flop flop_count(const AttentionOp& op) {
  const double full =
      product(2, op.sequences, op.heads, op.query_length, op.head_dim_qk + op.head_dim_v) *
      keys_in_window(op);
  const bool limited = op.window > 0 && op.window < op.key_length;
  const double counted = op.causal && !limited ? full / 2.0 : full;
  return flop(op.backward ? kFusedBackwardFactor * counted : counted);
}

Flop flop_count(const ScanOp& op) {
  const double state = product(op.heads, op.key_dim, op.value_dim);
  const double keys = product(op.heads, op.chunk, op.key_dim);
  const double values = product(op.heads, op.chunk, op.value_dim);
  const double shared = product(op.key_heads, op.chunk, op.key_dim);
  const double tiles = product(op.heads, op.chunk, op.chunk);
  double count = 0.0;
  switch (op.kind) {
    case ScanKind::state_space:
      count = op.backward ? 10.0 * state + 3.0 * values + 6.0 * shared
                          : 4.0 * state + values + 2.0 * shared;
      break;
    case ScanKind::delta:
    case ScanKind::channel_delta:
      count = op.backward ? 16.0 * state + 20.0 * keys + 10.0 * values + 4.0 * tiles
                          : 6.0 * state + 6.0 * keys + 4.0 * values + tiles;
      break;
    case ScanKind::retention:
      count = (4.0 * state + keys + values) * (op.backward ? kScanBackwardFactor : 1.0);
      break;
  }
  return flop(count * product(op.sequences, op.length));
}

Bytes scan_bytes(const ScanOp& op) {
  const double keys = product(op.heads, op.key_dim);
  const double values = product(op.heads, op.value_dim);
  const double states = product(op.heads, op.key_dim, op.value_dim) / product(op.chunk);
  const double tiles = product(op.heads, op.chunk);
  double moved = 0.0;
  switch (op.kind) {
    case ScanKind::state_space:
      moved = (10.0 * product(op.heads) + 8.0 * values + 12.0 * states +
               8.0 * product(op.key_heads, op.key_dim + op.chunk)) *
              (op.backward ? kScanBackwardFactor : 1.0);
      break;
    case ScanKind::delta:
    case ScanKind::channel_delta: {
      const double gates = op.kind == ScanKind::channel_delta ? keys : 0.0;
      moved = op.backward ? 42.0 * keys + 30.0 * values + 4.0 * tiles + 8.0 * states + 45.0 * gates
                          : 12.0 * keys + 12.0 * values + 2.0 * tiles + 4.0 * states + 18.0 * gates;
      break;
    }
    case ScanKind::retention:
      moved =
          (6.0 * keys + 6.0 * values + 4.0 * states) * (op.backward ? kScanBackwardFactor : 1.0);
      break;
  }
  return bytes(moved * product(op.sequences, op.length));
}

Flop flop_count(const Op& op) { return std::visit(FlopVisitor{}, op); }

}  // namespace orrery::model
