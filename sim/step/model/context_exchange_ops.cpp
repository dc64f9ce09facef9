// What the ranks of a context group exchange around the attention core: keys and values gathered,
// passed round a ring, or all heads exchanged for all tokens.

#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/widths.hpp"

namespace orrery::model {

namespace {

// Keys and values of the whole sequence: each rank contributes its slice.
CollectiveShape key_value_collective(const LayerContext& context, PassPart part,
                                     CollectiveKind kind, Beside beside) {
  const ShardDims& dims = context.dims;
  return {.part = part,
          .kind = kind,
          .axis = CommAxis::context,
          .elements_total =
              product(dims.context, dims.tokens, dims.groups, dims.head_dim_qk + dims.head_dim_v),
          .ranks = dims.context,
          .dtype = context.activation(),
          .beside = beside};
}

// Every rank sends each other rank its tokens of that rank's heads. Fewer key and value heads than
// ranks: they are copied, so that each rank gets one.
CollectiveShape heads_for_tokens(const LayerContext& context, PassPart part,
                                 std::int64_t query_width, std::int64_t key_value_width) {
  const ShardDims& dims = context.dims;
  const std::int64_t groups = divide_rounding_up(dims.groups, dims.context) * dims.context;
  return {.part = part,
          .kind = CollectiveKind::all_to_all,
          .axis = CommAxis::context,
          .elements_total = product(dims.context, dims.tokens) *
                            product(dims.heads * query_width + groups * key_value_width),
          .ranks = dims.context,
          .dtype = context.activation()};
}

// Partial outputs of the c blocks are summed in fp32: each but the first reads and rescales the sum
// so far. A balanced causal mask leaves half of the rows, or of the keys, out of each.
void add_merge(Pass& pass, PassPart part, const LayerContext& context, double tensors) {
  const ShardDims& dims = context.dims;
  const double merges = product(dims.context - 1);
  const double elements = tensors * merges * product(dims.tokens, dims.heads, dims.head_dim_v);
  if (merges > 0.0) {
    add_memory(pass, part, elements * (dims.element_bytes + kFp32Bytes), elements * kFp32Bytes,
               static_cast<int>(dims.context - 1));
  }
}

}  // namespace

void context_exchange_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  switch (context.context_method()) {
    case ContextMethod::all_gather:
      add_collective(pass, key_value_collective(context, Part::context_all_gather,
                                                CollectiveKind::all_gather, Beside::nothing));
      attention_core_forward(pass, context);
      return;
    case ContextMethod::ring:
      add_collective(pass,
                     key_value_collective(context, Part::context_ring, CollectiveKind::all_gather,
                                          Beside::next_attention));
      attention_core_forward(pass, context);
      add_merge(pass, Part::context_merge, context, 1.0);
      return;
    case ContextMethod::all_to_all:
      add_collective(pass, heads_for_tokens(context, Part::context_heads, dims.head_dim_qk,
                                            dims.head_dim_qk + dims.head_dim_v));
      attention_core_forward(pass, context);
      add_collective(pass, heads_for_tokens(context, Part::context_tokens, dims.head_dim_v, 0));
      return;
  }
}

void context_exchange_backward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  switch (context.context_method()) {
    case ContextMethod::all_gather:
      add_collective(pass, key_value_collective(context, backward(Part::context_all_gather),
                                                CollectiveKind::all_gather, Beside::nothing));
      attention_core_backward(pass, context);
      add_collective(pass, key_value_collective(context, Part::context_reduce_scatter,
                                                CollectiveKind::reduce_scatter, Beside::nothing));
      return;
    case ContextMethod::ring:
      add_collective(pass,
                     key_value_collective(context, backward(Part::context_ring),
                                          CollectiveKind::all_gather, Beside::next_attention));
      attention_core_backward(pass, context);
      add_collective(
          pass, key_value_collective(context, Part::context_ring_gradients,
                                     CollectiveKind::reduce_scatter, Beside::previous_attention));
      add_merge(pass, backward(Part::context_merge), context, 1.0);
      return;
    case ContextMethod::all_to_all:
      add_collective(pass, heads_for_tokens(context, Part::context_heads, dims.head_dim_v, 0));
      attention_core_backward(pass, context);
      add_collective(pass, heads_for_tokens(context, Part::context_tokens, dims.head_dim_qk,
                                            dims.head_dim_qk + dims.head_dim_v));
      return;
  }
}

}  // namespace orrery::model
