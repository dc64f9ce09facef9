#include "sim/step/model/transformer_ops.hpp"

#include <array>

#include "sim/step/model/adapters.hpp"
#include "sim/step/model/layer_blocks.hpp"

namespace orrery::model {

namespace {

constexpr std::size_t kTypicalPassLength = 40;

void layer_forward(Pass& pass, const LayerContext& context, std::int64_t layer) {
  const LayerKind kind = context.model.kind_of(layer);
  if (kind.attention && context.model.mla) {
    latent_attention_forward(pass, context);
  } else if (kind.attention && context.model.compressed_attention) {
    compressed_attention_forward(pass, context);
  } else if (kind.attention) {
    attention_forward(pass, context);
  }
  if (kind.recurrence) {
    recurrent_forward(pass, context, kind);
  }
  if (kind.mlp == Mlp::moe) {
    moe_forward(pass, context);
  } else if (kind.mlp == Mlp::dense) {
    dense_mlp_forward(pass, context);
  }
  freeze_forward(pass, context, FrozenPart::layer);
}

// Counts the products of a layer as the framework runs them: one per query, key, value, gate and up
// projection, where this simulator multiplies them in one.
class EverySecondProduct {
 public:
  explicit EverySecondProduct(const LayerContext& context) : context_(context) {}

  // Columns of this product that are computed again: those of its every second part.
  std::int64_t recomputed_columns(const GemmOp& gemm) {
    const ShardDims& dims = context_.dims;
    if (gemm.part == Part::qkv) {
      return columns(std::array{dims.heads * dims.head_dim_qk, dims.groups * dims.head_dim_qk,
                                dims.groups * dims.head_dim_v});
    }
    if (gemm.part == Part::mlp_up && dims.activation_inputs == 2) {
      return columns(std::array{gemm.n / 2, gemm.n / 2});
    }
    return columns(std::array{gemm.n});
  }

 private:
  template <std::size_t kParts>
  std::int64_t columns(const std::array<std::int64_t, kParts>& parts) {
    std::int64_t sum = 0;
    for (const std::int64_t part : parts) {
      ++count_;
      sum += count_ % 2 == 0 ? part : 0;
    }
    return sum;
  }

  const LayerContext& context_;
  std::int64_t count_ = 0;
};

// The forward without what selective recomputation by operation saves: the attention core with its
// exchange, the sums of tensor-parallel regions, every other product. Batched products are none of
// the saved ones.
Pass without_saved(const Pass& forward, const LayerContext& context) {
  EverySecondProduct products(context);
  Pass again;
  for (const PassOp& entry : forward) {
    if (const auto* gemm = std::get_if<GemmOp>(&entry.op)) {
      PassOp kept = entry;
      if (gemm->batch == 1 && gemm->part != Part::adapter_a && gemm->part != Part::adapter_b) {
        std::get<GemmOp>(kept.op).n = products.recomputed_columns(*gemm);
      }
      if (std::get<GemmOp>(kept.op).n > 0) {
        again.push_back(kept);
      }
      continue;
    }
    const auto* collective = std::get_if<CollectiveOp>(&entry.op);
    const bool saved =
        std::holds_alternative<AttentionOp>(entry.op) ||
        (collective != nullptr && (collective->axis == CommAxis::context ||
                                   (collective->axis == CommAxis::tensor &&
                                    collective->kind != CollectiveKind::all_gather)));
    if (!saved) {
      again.push_back(entry);
    }
  }
  return again;
}

}  // namespace

LayerPasses layer_passes(const ModelSpec& model, const OpOptions& options, std::int64_t layer) {
  if (model.reference) {
    return with_reference(model, options, [layer](const ModelSpec& one, const OpOptions& how) {
      return layer_passes(one, how, layer);
    });
  }
  const LayerModel of_layer = model.of_layer(layer);
  const ModelSpec& own = of_layer.spec();
  const LayerContext context{own, options, shard_dims(own, options), model.window_of(layer)};
  LayerPasses passes;
  passes.forward.reserve(kTypicalPassLength);
  passes.backward_input.reserve(kTypicalPassLength);
  layer_forward(passes.forward, context, layer);
  const LayerKind kind = model.kind_of(layer);
  if (kind.mlp == Mlp::moe) {
    moe_backward(passes, context);
  } else if (kind.mlp == Mlp::dense) {
    dense_mlp_backward(passes, context);
  }
  passes.mlp_weight_ops = passes.backward_weight.size();
  if (kind.recurrence) {
    recurrent_backward(passes, context, kind);
  }
  if (kind.attention && model.mla) {
    latent_attention_backward(passes, context);
  } else if (kind.attention && model.compressed_attention) {
    compressed_attention_backward(passes, context);
  } else if (kind.attention) {
    attention_backward(passes, context);
  }
  freeze_backward(passes, context, FrozenPart::layer);
  add_fills(passes, options.precision);
  return passes;
}

Pass recompute_pass(const ModelSpec& model, const OpOptions& options, std::int64_t layer,
                    Recompute policy) {
  Pass pass;
  if (policy == Recompute::none || model.ends_at_head()) {
    return pass;
  }
  const LayerModel of_layer = model.of_layer(layer);
  const ModelSpec& own = of_layer.spec();
  const LayerContext context{own, options, shard_dims(own, options), model.window_of(layer)};
  if (policy == Recompute::modules) {
    modules_forward(pass, context, layer);
    freeze_forward(pass, context, FrozenPart::layer);
  } else if (policy == Recompute::selective) {
    if (model.kind_of(layer).attention) {
      attention_core_forward(pass, core_context(context));
    }
  } else {
    layer_forward(pass, context, layer);
    if (options.recompute_stops_early) {
      stop_before_last_product(pass);
    }
  }
  if (policy == Recompute::selective_operations) {
    pass = without_saved(pass, context);
  }
  add_fills(pass, options.precision);
  for (PassOp& op : pass) {
    op.recomputed = true;
  }
  return pass;
}

Pass head_recompute_pass(const ModelSpec& model, const OpOptions& options, Recompute policy) {
  Pass pass;
  for (std::int64_t i = 0; i < model.mtp_layers; ++i) {
    const Pass layer = recompute_pass(model, options, model.num_layers, policy);
    pass.insert(pass.end(), layer.begin(), layer.end());
  }
  return pass;
}

}  // namespace orrery::model
