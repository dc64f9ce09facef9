// Recomputation by module: which operations of a forward run again (recompute.hpp).

#include <algorithm>
#include <iterator>

#include "sim/step/model/layer_blocks.hpp"

namespace orrery::model {

namespace {

bool is_product(const PassOp& entry) { return std::holds_alternative<GemmOp>(entry.op); }

// Appends a module that is a checkpoint of its own: it may end before its last product.
void append_checkpoint(Pass& pass, Pass module, const LayerContext& context) {
  if (context.options.recompute_stops_early) {
    stop_before_last_product(module);
  }
  pass.insert(pass.end(), module.begin(), module.end());
}

// The cast of what a product of the rank's own tokens keeps of its input.
void cast_again(Pass& pass, const LayerContext& context) {
  add_input_cast(pass, {.tokens = context.dims.local_tokens, .inputs = context.dims.hidden},
                 context.options.precision);
}

// A norm before a column-parallel product. Its result is gathered again only where the stack keeps
// the gathered tensor for the weight gradient.
void norm_again(Pass& pass, Part part, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  add_norm_forward(pass, part, dims, dims.hidden);
  if (!dims.sequence_parallel || !dims.keeps_gathered_input) {
    cast_again(pass, context);
    return;
  }
  begin_tensor_forward(pass, dims, dims.hidden, context.gathered());
  add_input_cast(pass,
                 {.tokens = dims.tokens, .inputs = dims.hidden, .input_casters = context.casters()},
                 context.options.precision);
}

// The activation of an MLP, and the cast of its result for the down projection.
void activation_module(Pass& pass, const LayerContext& context, std::int64_t rows,
                       std::int64_t width, std::int64_t experts, const std::optional<Bytes>& kept) {
  activation_again(pass, context.dims, product(rows, experts), width, kept);
  add_input_cast(pass, {.tokens = rows, .inputs = width, .batch = experts},
                 context.options.precision);
}

void attention_modules(Pass& pass, const LayerContext& context) {
  const RecomputeModules& modules = context.options.recompute_modules;
  const bool latent = context.model.mla || context.model.compressed_attention;
  if (modules.layernorm && latent) {
    add_norm_forward(pass, Part::attention_norm, context.dims, context.dims.hidden);
    cast_again(pass, context);
  } else if (modules.layernorm) {
    norm_again(pass, Part::attention_norm, context);
  }
  if (modules.mla_up_projection && context.model.mla) {
    latent_norms_forward(pass, context);
    latent_up_forward(pass, context);
  } else if (modules.mla_up_projection && context.model.compressed_attention) {
    compressed_up_forward(pass, context);
  }
  if (modules.core_attention) {
    attention_core_forward(pass, core_context(context));
  }
}

void dense_mlp_modules(Pass& pass, const LayerContext& context) {
  const RecomputeModules& modules = context.options.recompute_modules;
  if (modules.layernorm && modules.mlp) {
    add_norm_forward(pass, Part::mlp_norm, context.dims, context.dims.hidden);
  } else if (modules.layernorm) {
    norm_again(pass, Part::mlp_norm, context);
  }
  if (modules.mlp) {
    Pass mlp;
    dense_mlp_inner_forward(mlp, context);
    append_checkpoint(pass, std::move(mlp), context);
  } else if (modules.mlp_activation) {
    activation_module(pass, context, context.dims.tokens, context.dims.ffn, 1, {});
  }
}

void moe_modules(Pass& pass, const LayerContext& context) {
  const RecomputeModules& modules = context.options.recompute_modules;
  const ShardDims& dims = context.dims;
  const bool shared = dims.shared_ffn > 0;
  if (modules.layernorm) {
    add_norm_forward(pass, Part::mlp_norm, dims, dims.hidden);
    if (shared && !modules.moe && !modules.shared_experts) {
      if (context.model.moe->dense_branch > 0) {
        add_norm_forward(pass, Part::mlp_norm, dims, dims.hidden);
      }
      cast_again(pass, context);  // for the shared experts; the router multiplies in 16 bits
    }
  }
  if (modules.moe) {
    Pass moe;
    moe_inner_forward(moe, context);
    append_checkpoint(pass, std::move(moe), context);
    return;
  }
  const std::optional<Bytes>& kept = context.options.precision.kept_expert_inner;
  if (modules.moe_activation) {
    activation_module(pass, context, dims.rows_per_expert, dims.expert_ffn, dims.experts, kept);
  }
  if (shared && modules.shared_experts) {
    Pass experts;
    shared_experts_forward(experts, context);
    append_checkpoint(pass, std::move(experts), context);
  } else if (shared && modules.mlp_activation) {
    activation_module(pass, context, dims.tokens, dims.shared_ffn, 1, kept);
  }
}

}  // namespace

void stop_before_last_product(Pass& pass) {
  const auto last = std::find_if(pass.rbegin(), pass.rend(), is_product);
  if (last != pass.rend()) {
    pass.erase(std::prev(last.base()), pass.end());
  }
}

void modules_forward(Pass& pass, const LayerContext& context, std::int64_t layer) {
  const LayerKind kind = context.model.kind_of(layer);
  if (kind.attention) {
    attention_modules(pass, context);
  } else if (kind.recurrence && context.options.recompute_modules.layernorm) {
    norm_again(pass, Part::mixer_norm, context);
  }
  if (kind.mlp == Mlp::moe) {
    moe_modules(pass, context);
  } else if (kind.mlp == Mlp::dense) {
    dense_mlp_modules(pass, context);
  }
}

}  // namespace orrery::model
