#include "sim/step/model/memory.hpp"

#include <algorithm>

#include "sim/step/model/parameters.hpp"
#include "sim/step/model/precision.hpp"
#include "sim/step/model/recurrence.hpp"
#include "sim/step/model/shard_dims.hpp"

namespace orrery::model {

namespace {

constexpr double kIndexBytes = 4.0;  // of the place of a chosen key

struct Activations {
  const ModelSpec& model;
  const ActivationOptions& options;
  ShardDims dims;

  [[nodiscard]] bool dropout() const { return options.dropout || options.ops.dropout; }

  // Bytes per element that a linear layer keeps of its input: for the gradient of its weight, or of
  // a frozen one for its adapter's, with the mask of that one's dropout.
  [[nodiscard]] double kept_input(bool AdapterTargets::*target) const {
    const bool of_mlp = target == &AdapterTargets::fc1 || target == &AdapterTargets::fc2;
    if (model.trains(of_mlp ? &TrainedModules::mlp : &TrainedModules::attention)) {
      return dims.linear_input_bytes;
    }
    const double mask = model.lora && model.lora->dropout > 0.0 ? 1.0 : 0.0;
    const bool beside = model.lora && model.lora->kind != AdapterKind::bottleneck;
    return beside && model.lora->targets.*target ? dims.element_bytes + mask : 0.0;
  }

  [[nodiscard]] bool trains_mlp() const { return model.trains(&TrainedModules::mlp); }

  [[nodiscard]] bool unfused() const { return options.ops.attention == AttentionKernel::unfused; }
};

// Attention to chosen keys works on the latents: what its core keeps has their widths.
Activations activations(const ModelSpec& model, const ActivationOptions& options) {
  return {model, options, core_dims(model, shard_dims(model, options.ops))};
}

// Bytes of `width` elements for every token of the rank's own share.
double local(const Activations& a, std::int64_t width, double element_bytes) {
  return product(a.dims.local_tokens, width) * element_bytes;
}

// The residual stream, in all its copies.
double stream(const Activations& a) {
  return local(a, a.dims.streams * a.dims.hidden, a.dims.element_bytes);
}

// Bytes of `width` elements for every token of the tensor group.
double gathered(const Activations& a, std::int64_t width, double element_bytes) {
  return product(a.dims.tokens, width) * element_bytes;
}

// Input of a column-parallel linear layer: the rank's own share, gathered again in the backward, or
// the gathered tensor where the stack keeps it.
double projection_input(const Activations& a, bool AdapterTargets::*target) {
  const bool whole =
      a.dims.sequence_parallel && (a.dims.keeps_gathered_input || a.model.lora.has_value());
  const double element = a.kept_input(target);
  return whole ? gathered(a, a.dims.hidden, element) : local(a, a.dims.hidden, element);
}

// What the core keeps beside Q, K, V and its output. Unfused: softmax output, and with dropout its
// mask and the dropped output. Fused: the softmax statistics, one fp32 number per row and head.
double attention_core(const Activations& a) {
  const ShardDims& dims = a.dims;
  const double rows = product(dims.sequences, dims.heads, dims.query_length);
  if (!a.unfused()) {
    return rows * kFp32Bytes;
  }
  const double kept = a.dropout() ? 2.0 * dims.element_bytes + 1.0 : dims.element_bytes;
  return rows * product(dims.key_length) * kept;
}

double queries_keys_values(const Activations& a) {
  const ShardDims& dims = a.dims;
  return gathered(a, (dims.heads + dims.groups) * dims.head_dim_qk + dims.groups * dims.head_dim_v,
                  dims.element_bytes);
}

// Q, K, V, and the output, which is the input of the output projection: one tensor in 16 bits. In
// FP8 the projection keeps its own copy, and the fused kernel needs the 16-bit output beside it.
double attention_operands(const Activations& a) {
  const ShardDims& dims = a.dims;
  const double operands = queries_keys_values(a);
  const std::int64_t output = dims.heads * dims.head_dim_v;
  if (!a.model.trains(&TrainedModules::attention)) {
    // The kernel's own; a dropped copy and its mask beside it for the adapter.
    const auto& lora = a.model.lora;
    const bool drops = lora && lora->dropout > 0.0 && lora->targets.proj;
    return operands + gathered(a, output, dims.element_bytes) +
           (drops ? gathered(a, output, a.kept_input(&AdapterTargets::proj)) : 0.0);
  }
  if (const auto& kept = a.options.ops.precision.kept_attention_output) {
    return operands + gathered(a, output, in_bytes(*kept));  // one copy for both
  }
  const double output_bytes =
      dims.low_precision ? dims.linear_input_bytes + (a.unfused() ? 0.0 : dims.element_bytes)
                         : dims.element_bytes;
  return operands + gathered(a, output, output_bytes);
}

// Results of the latents' norms: inputs of the linear layers behind them.
double normed_latents(const Activations& a) {
  const MlaSpec& mla = *a.model.mla;
  return local(a, mla.q_lora_rank + mla.kv_lora_rank, a.kept_input(&AdapterTargets::qkv));
}

// Inputs of the latents' norms and of the linear layers behind them.
double latents(const Activations& a) {
  const MlaSpec& mla = *a.model.mla;
  return local(a, mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim, a.dims.element_bytes) +
         normed_latents(a);
}

// Results of the norms behind the latent of the queries.
double compressed_queries(const Activations& a) {
  return local(a, a.model.compressed_attention->q_lora_rank, a.dims.linear_input_bytes);
}

// The latent and the key before their norms, what becomes entries, and the input of the output's
// second product.
double compressed_block(const Activations& a) {
  const CompressedAttentionSpec& spec = *a.model.compressed_attention;
  const std::int64_t entries = compressed_columns(spec, a.dims.head_dim_qk);
  const std::int64_t groups = divide_rounding_up(spec.output_groups, a.dims.tensor);
  return local(a, spec.q_lora_rank + a.dims.head_dim_qk + entries, a.dims.element_bytes) +
         compressed_queries(a) + gathered(a, groups * spec.output_rank, a.dims.linear_input_bytes);
}

double attention_block(const Activations& a) {
  double total = stream(a);  // input of the norm
  total += projection_input(a, &AdapterTargets::qkv);
  if (a.model.mla) {
    total += latents(a);
  } else if (a.model.compressed_attention) {
    total += compressed_block(a);
  }
  total += attention_operands(a) + attention_core(a);
  if (a.model.output_gate) {  // the gate, and where it is not kept yet the core's output
    const double copies = a.dims.low_precision ? 1.0 : 2.0;
    total += copies * gathered(a, a.dims.heads * a.dims.head_dim_v, a.dims.element_bytes);
  }
  if (const auto& indexer = a.model.sparse_attention) {  // its queries, and the chosen keys
    const std::int64_t values = a.model.mla ? a.dims.heads * a.model.mla->v_head_dim : 0;
    total += gathered(a, indexer->heads * indexer->dim + values, a.dims.element_bytes) +
             gathered(a, indexer->top_k, kIndexBytes);
  }
  if (a.dropout()) {
    total += local(a, a.dims.hidden, 1.0);
  }
  return total;
}

// Input of the down projection.
double down_input(const Activations& a, std::int64_t width) {
  return gathered(a, width, a.kept_input(&AdapterTargets::fc2));
}

// Of the routed experts, which have no adapters.
double expert_down_input(const Activations& a) {
  const double element = a.trains_mlp() ? a.dims.linear_input_bytes : 0.0;
  return product(a.dims.expert_rows) * product(a.dims.expert_ffn) * element;
}

// Inputs of the activation, of `input_bytes` per element.
double activation_input(const ShardDims& dims, double rows, std::int64_t width,
                        double input_bytes) {
  return rows * product(width) * product(dims.activation_inputs) * input_bytes;
}

double dense_inner(const Activations& a) {
  const double rows = product(a.dims.tokens);
  return activation_input(a.dims, rows, a.dims.ffn, a.dims.element_bytes) +
         down_input(a, a.dims.ffn);
}

double dense_mlp(const Activations& a) {
  return projection_input(a, &AdapterTargets::fc1) + dense_inner(a);
}

double expert_input_bytes(const Activations& a) {
  const auto& kept = a.options.ops.precision.kept_expert_inner;
  return kept ? in_bytes(*kept) : a.dims.element_bytes;
}

double shared_inner(const Activations& a) {
  const double rows = product(a.dims.tokens);
  return activation_input(a.dims, rows, a.dims.shared_ffn, expert_input_bytes(a)) +
         down_input(a, a.dims.shared_ffn);
}

// The shared experts' copy of the router's input; of a dense branch the input, which is its own.
double shared_input(const Activations& a) {
  const bool copies = a.dims.shared_ffn > 0 &&
                      (a.dims.low_precision || !a.trains_mlp() || a.model.moe->dense_branch > 0);
  return copies ? local(a, a.dims.hidden, a.kept_input(&AdapterTargets::fc1)) : 0.0;
}

// Router input and probabilities, permuted rows and inner results of the experts, shared experts
// (whose input is the router's, or an FP8 copy of it).
double moe_inner(const Activations& a) {
  const ShardDims& dims = a.dims;
  const double rows = product(dims.expert_rows);
  const double permuted =
      a.trains_mlp() ? rows * product(dims.expert_hidden) * dims.linear_input_bytes : 0.0;
  return local(a, a.model.moe->num_experts, kFp32Bytes) + permuted +
         (activation_input(dims, rows, dims.expert_ffn, expert_input_bytes(a)) +
          expert_down_input(a)) +
         local(a, 2 * a.model.moe->latent_size, dims.linear_input_bytes) + shared_inner(a);
}

double moe_mlp(const Activations& a) {
  const double router = a.trains_mlp() ? local(a, a.dims.hidden, a.dims.element_bytes) : 0.0;
  return router + moe_inner(a) + shared_input(a);
}

double mlp_block(const Activations& a, Mlp mlp) {
  double total = stream(a);  // input of the norm
  total += mlp == Mlp::moe ? moe_mlp(a) : dense_mlp(a);
  if (a.dropout()) {
    total += local(a, a.dims.hidden, 1.0);
  }
  return total;
}

MixerDims mixer_of(const Activations& a, const LayerKind& kind) {
  return mixer_dims(a.model, *kind.recurrence, a.dims.tensor);
}

// Beside attention it has the norm's input and result in common with it.
double recurrent_block(const Activations& a, const LayerKind& kind) {
  const MixerDims mixer = mixer_of(a, kind);
  double total = product(a.dims.tokens) *
                 kept_per_token(mixer, a.dims.element_bytes, a.dims.linear_input_bytes);
  total += gathered(a, 2 * mixer.low_rank, a.dims.linear_input_bytes);
  if (!kind.attention) {
    total +=
        local(a, a.dims.hidden, a.dims.element_bytes) + projection_input(a, &AdapterTargets::qkv);
  }
  return total + (a.dropout() ? local(a, a.dims.hidden, 1.0) : 0.0);
}

// DoRA's magnitudes need both results that they scale; a bottleneck its input, and before and
// behind its activation what that works on.
double adapter_results(const Activations& a, std::int64_t layer) {
  const auto& lora = a.model.lora;
  if (!lora || lora->kind == AdapterKind::lora) {
    return 0.0;
  }
  const double outputs = adapted_outputs(a.model, layer);
  const double elements =
      lora->kind == AdapterKind::dora
          ? 2.0 * outputs
          : outputs + 2.0 * product(lora->rank) * (outputs / product(a.dims.hidden));
  return product(a.dims.tokens) * elements * a.dims.element_bytes;
}

double whole_layer(const Activations& a, std::int64_t layer) {
  const LayerKind kind = a.model.kind_of(layer);
  double total = kind.attention ? attention_block(a) : 0.0;
  total += kind.recurrence ? recurrent_block(a, kind) : 0.0;
  total += adapter_results(a, layer);
  return total + (kind.mlp != Mlp::none ? mlp_block(a, kind.mlp) : 0.0);
}

// What the products leave behind that selective recomputation by operation saves.
double saved_operations(const Activations& a, std::int64_t layer) {
  const ShardDims& dims = a.dims;
  const LayerKind kind = a.model.kind_of(layer);
  double total = local(a, dims.hidden, dims.element_bytes);
  if (kind.attention) {
    total +=
        gathered(a,
                 dims.heads * (dims.head_dim_qk + dims.head_dim_v) + dims.groups * dims.head_dim_v,
                 dims.element_bytes) +
        attention_core(a);
  }
  total += kind.recurrence ? gathered(a, mixer_of(a, kind).projected, dims.element_bytes) : 0.0;
  if (dims.sequence_parallel) {
    total += local(a, dims.hidden, dims.element_bytes);  // the scattered sum behind the core
  }
  if (kind.mlp != Mlp::dense) {
    return total;  // grouped products are none of the saved operations
  }
  total += gathered(a, dims.ffn, dims.element_bytes);
  const bool down_is_saved = dims.activation_inputs == 2;  // the seventh product, not the sixth
  if (a.options.ops.keeps_unused_results && down_is_saved) {
    total += gathered(a, dims.hidden, dims.element_bytes);
  }
  return total;
}

// What the recomputed modules give up in the attention block.
double attention_given_up(const Activations& a) {
  const RecomputeModules& modules = a.options.ops.recompute_modules;
  double total = modules.layernorm ? projection_input(a, &AdapterTargets::qkv) : 0.0;
  if (modules.mla_up_projection && a.model.mla) {
    total += normed_latents(a) + queries_keys_values(a);
  } else if (modules.mla_up_projection && a.model.compressed_attention) {
    total += compressed_queries(a) + queries_keys_values(a);
  }
  return total + (modules.core_attention ? attention_core(a) : 0.0);
}

double dense_given_up(const Activations& a) {
  const RecomputeModules& modules = a.options.ops.recompute_modules;
  double total = modules.layernorm ? projection_input(a, &AdapterTargets::fc1) : 0.0;
  if (modules.mlp) {
    total += dense_inner(a);
  } else if (modules.mlp_activation) {
    total += down_input(a, a.dims.ffn);
  }
  return total;
}

double moe_given_up(const Activations& a) {
  const RecomputeModules& modules = a.options.ops.recompute_modules;
  const ShardDims& dims = a.dims;
  const bool shared = modules.moe || modules.shared_experts;
  double total = modules.layernorm || shared ? shared_input(a) : 0.0;
  total += modules.layernorm && a.trains_mlp() ? local(a, dims.hidden, dims.element_bytes) : 0.0;
  if (modules.moe) {
    return total + moe_inner(a);
  }
  total += modules.moe_activation ? expert_down_input(a) : 0.0;
  if (shared) {
    return total + shared_inner(a);
  }
  return total + (modules.mlp_activation ? down_input(a, dims.shared_ffn) : 0.0);
}

double mixer_given_up(const Activations& a, std::int64_t layer) {
  const LayerKind kind = a.model.kind_of(layer);
  if (kind.attention) {
    return attention_given_up(a);
  }
  const bool norm = kind.recurrence && a.options.ops.recompute_modules.layernorm;
  return norm ? projection_input(a, &AdapterTargets::qkv) : 0.0;
}

double mlp_given_up(const Activations& a, std::int64_t layer) {
  const Mlp mlp = a.model.kind_of(layer).mlp;
  if (mlp == Mlp::none) {
    return 0.0;
  }
  return mlp == Mlp::moe ? moe_given_up(a) : dense_given_up(a);
}

// Keys, values and their gradients of other ranks, or the heads exchanged for tokens.
double context_exchange(const Activations& a) {
  const ShardDims& dims = a.dims;
  if (dims.context == 1) {
    return 0.0;
  }
  const double slice =
      gathered(a, dims.groups * (dims.head_dim_qk + dims.head_dim_v), dims.element_bytes);
  const ContextMethod method =
      a.model.sparse_attention ? ContextMethod::all_gather : a.options.ops.shard.context_method;
  switch (method) {
    case ContextMethod::all_gather:
      return 2.0 * product(dims.context) * slice;
    case ContextMethod::ring:
      return 2.0 * 2.0 * slice;
    case ContextMethod::all_to_all:
      return slice + gathered(a, dims.heads * dims.head_dim_qk, dims.element_bytes);
  }
  return 0.0;  // not reached: every enumerator returns above
}

double kept_layer(const Activations& a, std::int64_t layer) {
  switch (a.options.recompute) {
    case Recompute::none:
      return whole_layer(a, layer);
    case Recompute::selective:
      return whole_layer(a, layer) - (a.model.kind_of(layer).attention ? attention_core(a) : 0.0);
    case Recompute::full:
      return stream(a);
    case Recompute::selective_operations:
      return saved_operations(a, layer);
    case Recompute::modules:
      return whole_layer(a, layer) - mixer_given_up(a, layer) - mlp_given_up(a, layer);
  }
  return 0.0;  // not reached: every enumerator returns above
}

// Of what the layer keeps, the inputs of the modules that are moved away. A tensor that two modules
// share is moved once; what recomputation gives up is not there.
double offloaded(const Activations& a, const OffloadModules& modules, std::int64_t layer) {
  const bool by_module = a.options.recompute == Recompute::modules;
  if (a.options.recompute == Recompute::full) {  // the layer's input alone is kept
    return modules.attn_norm ? stream(a) : 0.0;
  }
  const RecomputeModules again = by_module ? a.options.ops.recompute_modules : RecomputeModules{};
  const LayerKind kind = a.model.kind_of(layer);
  double total = 0.0;
  if (kind.attention) {
    const bool up = again.mla_up_projection && (a.model.mla || a.model.compressed_attention);
    const double operands = queries_keys_values(a);
    total += modules.attn_norm ? stream(a) : 0.0;
    total += modules.qkv_linear && !again.layernorm ? projection_input(a, &AdapterTargets::qkv) : 0;
    total += modules.core_attn && !up ? operands : 0.0;
    total += modules.attn_proj ? attention_operands(a) - operands : 0.0;
  }
  if (kind.mlp != Mlp::none) {
    total += modules.mlp_norm ? stream(a) : 0.0;
  }
  if (kind.mlp == Mlp::moe && !again.moe) {
    const double rows = product(a.dims.expert_rows);
    const double input = a.trains_mlp() ? a.dims.linear_input_bytes : 0.0;
    total += modules.expert_fc1 ? rows * product(a.dims.expert_hidden) * input : 0.0;
    total += modules.moe_act
                 ? activation_input(a.dims, rows, a.dims.expert_ffn, expert_input_bytes(a))
                 : 0.0;
  }
  return total;
}

// Final norm's input, the logits layer's input (16 bit) and the logits in fp32.
double main_head(const Activations& a) {
  const bool trained = a.model.trains(&TrainedModules::head);
  const double inputs = trained ? 2.0 : 1.0;  // a frozen product keeps none
  double total = local(a, a.dims.hidden, inputs * a.dims.element_bytes);
  if (a.dims.sequence_parallel && a.dims.keeps_gathered_input && trained) {
    total += gathered(a, a.dims.hidden, a.dims.element_bytes);
  }
  return a.options.logits_bytes ? total : total + gathered(a, a.dims.vocab, kFp32Bytes);
}

// What recomputation brings back. By module: the MLP's is gone before the attention's comes, which
// may need its output in 16 bits.
double brought_back(const Activations& a, std::int64_t layer) {
  const bool narrow = a.options.ops.precision.kept_attention_output.has_value();
  const double restored = narrow && a.model.kind_of(layer).attention
                              ? gathered(a, a.dims.heads * a.dims.head_dim_v, a.dims.element_bytes)
                              : 0.0;
  if (a.options.recompute == Recompute::modules) {
    return std::max(mixer_given_up(a, layer) + restored, mlp_given_up(a, layer));
  }
  return whole_layer(a, layer) - kept_layer(a, layer) + restored;
}

// Gradients of a scan's operands, and what it computes again: both sides of the convolution, the
// states in fp32.
double scan_gradients(const Activations& a, const LayerKind& kind) {
  const MixerDims mixer = mixer_of(a, kind);
  const double states = product(mixer.heads, mixer.key_dim, mixer.value_dim) / product(mixer.chunk);
  return gathered(a, mixer.projected + 2 * mixer.convolved, a.dims.element_bytes) +
         product(a.dims.tokens) * states * kFp32Bytes;
}

// Gradients alive at once: of the widest operation's output and input.
double widest_gradients(const Activations& a, std::int64_t layer) {
  const ShardDims& dims = a.dims;
  const LayerKind kind = a.model.kind_of(layer);
  const bool moe = kind.mlp == Mlp::moe;
  const std::int64_t ffn = moe ? dims.expert_ffn : dims.ffn;
  // Around the activation, or around the up projection: experts are often narrower than the stream.
  const std::int64_t inner =
      std::max((dims.activation_inputs + 1) * ffn,
               dims.activation_inputs * ffn + (moe ? dims.expert_hidden : dims.hidden));
  const double mlp = kind.mlp == Mlp::none ? 0.0
                                           : product(moe ? dims.expert_rows : dims.tokens, inner) *
                                                 dims.element_bytes;
  double mixer = 0.0;
  if (kind.attention) {
    mixer = gathered(a, (dims.heads + dims.groups) * (dims.head_dim_qk + dims.head_dim_v),
                     dims.element_bytes);
    if (a.unfused()) {
      mixer += 2.0 * dims.element_bytes *
               product(dims.sequences, dims.heads, dims.query_length, dims.key_length);
    }
  }
  return std::max({mlp, mixer, kind.recurrence ? scan_gradients(a, kind) : 0.0});
}

}  // namespace

Bytes layer_activation_bytes(const ModelSpec& model, const ActivationOptions& options,
                             std::int64_t layer) {
  const LayerModel of_layer = model.of_layer(layer);
  const ModelSpec& own = of_layer.spec();
  return own.ends_at_head() ? Bytes{} : bytes(kept_layer(activations(own, options), layer));
}

Bytes layer_offloaded_bytes(const ModelSpec& model, const ActivationOptions& options,
                            const OffloadModules& modules, std::int64_t layer) {
  const LayerModel of_layer = model.of_layer(layer);
  const ModelSpec& own = of_layer.spec();
  return bytes(offloaded(activations(own, options), modules, layer));
}

Bytes embedding_activation_bytes(const ModelSpec& model, const ActivationOptions& options) {
  const Activations a = activations(model, options);
  double total = 0.0;
  if (model.embedding_norm) {
    total += local(a, a.dims.hidden, a.dims.element_bytes);
  }
  if (a.dropout()) {
    total += local(a, a.dims.hidden, 1.0);
  }
  return bytes(total);
}

Bytes head_activation_bytes(const ModelSpec& model, const ActivationOptions& options) {
  const Activations a = activations(model, options);
  double total = main_head(a);
  if (model.mtp_layers > 0) {
    // Inputs of both norms, of the projection (both halves), then the layer and its own head.
    const double module = local(a, 2 * a.dims.hidden, a.dims.element_bytes) +
                          local(a, 2 * a.dims.hidden, a.dims.linear_input_bytes) +
                          kept_layer(a, model.num_layers) + main_head(a);
    total += product(model.mtp_layers) * module;
  }
  return bytes(total);
}

Bytes layer_working_bytes(const ModelSpec& model, const ActivationOptions& options,
                          std::int64_t layer) {
  const LayerModel of_layer = model.of_layer(layer);
  const ModelSpec& own = of_layer.spec();
  const Activations a = activations(own, options);
  double total = brought_back(a, layer) + widest_gradients(a, layer);
  total += 2.0 * stream(a);  // its gradients
  if (a.dims.sequence_parallel) {
    total += gathered(a, a.dims.hidden, a.dims.element_bytes);  // gathered input
  }
  total += context_exchange(a);
  return bytes(total);
}

Bytes head_working_bytes(const ModelSpec& model, const ActivationOptions& options) {
  const Activations a = activations(model, options);
  const double per_logit =
      options.logits_bytes ? in_bytes(*options.logits_bytes) : a.dims.element_bytes;
  const Bytes logits = bytes(gathered(a, a.dims.vocab, per_logit));
  return model.mtp_layers > 0
             ? std::max(logits, layer_working_bytes(model, options, model.num_layers))
             : logits;
}

}  // namespace orrery::model
