#include "sim/model/transformer_ops.hpp"

#include "sim/model/layer_blocks.hpp"

namespace orrery::model {

namespace {

constexpr std::size_t kTypicalPassLength = 40;

void layer_forward(Pass& pass, const LayerContext& context, std::int64_t layer) {
  if (context.model.mla) {
    latent_attention_forward(pass, context);
  } else {
    attention_forward(pass, context);
  }
  if (context.model.is_moe_layer(layer)) {
    moe_forward(pass, context);
  } else {
    dense_mlp_forward(pass, context);
  }
}

}  // namespace

LayerPasses layer_passes(const ModelSpec& model, const OpOptions& options, std::int64_t layer) {
  const LayerContext context{model, options, shard_dims(model, options)};
  LayerPasses passes;
  passes.forward.reserve(kTypicalPassLength);
  passes.backward_input.reserve(kTypicalPassLength);
  layer_forward(passes.forward, context, layer);
  if (model.is_moe_layer(layer)) {
    moe_backward(passes, context);
  } else {
    dense_mlp_backward(passes, context);
  }
  passes.mlp_weight_ops = passes.backward_weight.size();
  if (model.mla) {
    latent_attention_backward(passes, context);
  } else {
    attention_backward(passes, context);
  }
  return passes;
}

Pass recompute_pass(const ModelSpec& model,
                    const OpOptions& options,
                    std::int64_t layer,
                    Recompute policy) {
  Pass pass;
  if (policy == Recompute::none) {
    return pass;
  }
  const LayerContext context{model, options, shard_dims(model, options)};
  if (policy == Recompute::selective) {
    attention_core_forward(pass, context);
  } else {
    layer_forward(pass, context, layer);
  }
  for (PassOp& op : pass) {
    op.recomputed = true;
  }
  return pass;
}

}  // namespace orrery::model
