#pragma once

// The operations of each block of a layer: attention (MHA and GQA, or latent), a linear mixer, a
// dense MLP, a mixture of experts. Backward functions append in the order in which they run, so a
// layer's backward calls its blocks in reverse. Used inside model/ only.

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/step/model/pass_builder.hpp"
#include "sim/step/model/shard_dims.hpp"
#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

struct LayerContext {
  const ModelSpec& model;
  const OpOptions& options;
  ShardDims dims;
  std::int64_t window = 0;  // keys that a query sees at most; 0: all

  [[nodiscard]] Dtype activation() const { return options.precision.activation; }

  // What moves when the ranks of a tensor group gather the operand of a linear layer.
  [[nodiscard]] Dtype gathered() const {
    return gathers_low() ? options.precision.compute : activation();
  }

  // Ranks that share the cast of such an operand.
  [[nodiscard]] std::int64_t casters() const { return gathers_low() ? dims.tensor : 1; }

  // Keys that are chosen among all must be there.
  [[nodiscard]] ContextMethod context_method() const {
    return model.sparse_attention ? ContextMethod::all_gather : options.shard.context_method;
  }

  [[nodiscard]] bool gathers_low() const {
    return options.precision.gathers_low && dims.low_precision && dims.sequence_parallel &&
           options.precision.fp8_scaling != Fp8Scaling::rowwise;
  }
};

// softmax(Q K^T) V alone: what selective recomputation runs again.
void attention_core_forward(Pass& pass, const LayerContext& context);
void attention_core_backward(Pass& pass, const LayerContext& context);

// The core with what its ranks exchange before, beside and behind it (context parallelism).
void context_exchange_forward(Pass& pass, const LayerContext& context);
void context_exchange_backward(Pass& pass, const LayerContext& context);

void attention_forward(Pass& pass, const LayerContext& context);
void attention_backward(LayerPasses& passes, const LayerContext& context);

void latent_attention_forward(Pass& pass, const LayerContext& context);
void latent_attention_backward(LayerPasses& passes, const LayerContext& context);
// From the latents to Q, K and V: norms of the latents, then both up projections and the rotation.
void latent_norms_forward(Pass& pass, const LayerContext& context);
void latent_up_forward(Pass& pass, const LayerContext& context);

// Compressed attention (DeepSeek-V4), and its queries from the latent on.
void compressed_attention_forward(Pass& pass, const LayerContext& context);
void compressed_attention_backward(LayerPasses& passes, const LayerContext& context);
void compressed_up_forward(Pass& pass, const LayerContext& context);

// The context of the core, and the choice of its keys where attention is sparse.
[[nodiscard]] LayerContext core_context(const LayerContext& context);
void index_forward(Pass& pass, const LayerContext& context);
void index_backward(LayerPasses& passes, const LayerContext& context);

void recurrent_forward(Pass& pass, const LayerContext& context, const LayerKind& kind);
void recurrent_backward(LayerPasses& passes, const LayerContext& context, const LayerKind& kind);

void dense_mlp_forward(Pass& pass, const LayerContext& context);
void dense_mlp_backward(LayerPasses& passes, const LayerContext& context);
// Between norm and residual.
void dense_mlp_inner_forward(Pass& pass, const LayerContext& context);

void moe_forward(Pass& pass, const LayerContext& context);
void moe_backward(LayerPasses& passes, const LayerContext& context);
// Between norm and residual: router, routed and shared experts; the latter alone.
void moe_inner_forward(Pass& pass, const LayerContext& context);
void shared_experts_forward(Pass& pass, const LayerContext& context);

// The modules of options.recompute_modules, in the order of the forward.
void modules_forward(Pass& pass, const LayerContext& context, std::int64_t layer);

// Leaves out the last product and what follows it: the backward needs its input, not its result.
void stop_before_last_product(Pass& pass);

// The non-linear function between the two projections of an MLP with `rows` x `width` results.
// `kept`: bytes per element of the inputs that wait for the backward; absent: as they are computed.
void activation_forward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                        const std::optional<Bytes>& kept = {});
void activation_backward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                         const std::optional<Bytes>& kept = {});
// Runs again from what is kept.
void activation_again(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                      const std::optional<Bytes>& kept = {});

// The attention output in the type in which it waits for the backward, where that is stated:
// written beside the output, and brought back for the core and its projection.
void keep_attention_output(Pass& pass, const LayerContext& context);
void restore_attention_output(Pass& pass, const LayerContext& context);

// Linear layers of an MLP that every token takes: the dense one, or the shared experts.
[[nodiscard]] LinearLayer mlp_up(const LayerContext& context, Part part, std::int64_t width);
[[nodiscard]] LinearLayer mlp_down(const LayerContext& context, Part part, std::int64_t width);

}  // namespace orrery::model
