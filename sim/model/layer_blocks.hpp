#pragma once

// Which operations does each block of a layer append? Attention (MHA and GQA, or latent), then a
// dense MLP or a mixture of experts. Backward functions append in the order in which they run, so a
// layer's backward calls its blocks in reverse. Used inside model/ only.

#include <cstdint>
#include <string_view>

#include "sim/model/pass_builder.hpp"
#include "sim/model/shard_dims.hpp"
#include "sim/model/transformer_ops.hpp"

namespace orrery::model {

struct LayerContext {
  const ModelSpec& model;
  const OpOptions& options;
  ShardDims dims;

  [[nodiscard]] Dtype activation() const {
    return options.precision.activation;
  }

  // What moves when the ranks of a tensor group gather the operand of a linear layer.
  [[nodiscard]] Dtype gathered() const {
    return gathers_low() ? options.precision.compute : activation();
  }

  // Ranks that share the cast of such an operand.
  [[nodiscard]] std::int64_t casters() const {
    return gathers_low() ? dims.tensor : 1;
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

void dense_mlp_forward(Pass& pass, const LayerContext& context);
void dense_mlp_backward(LayerPasses& passes, const LayerContext& context);

void moe_forward(Pass& pass, const LayerContext& context);
void moe_backward(LayerPasses& passes, const LayerContext& context);

// The non-linear function between the two projections of an MLP with `rows` x `width` results.
void activation_forward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width);
void activation_backward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width);

// Linear layers of an MLP that every token takes: the dense one, or the shared experts.
[[nodiscard]] LinearLayer mlp_up(const LayerContext& context,
                                 std::string_view name,
                                 std::int64_t width);
[[nodiscard]] LinearLayer mlp_down(const LayerContext& context,
                                   std::string_view name,
                                   std::int64_t width);

}  // namespace orrery::model
