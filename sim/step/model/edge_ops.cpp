// The two ends of the model: embedding look-up, and final norm, logits and loss with the
// multi-token-prediction modules (DeepSeek-V3, arXiv 2412.19437, section 2.2).
//
// Loss over a vocabulary split by t ranks: three all-reduces of one fp32 number per token (maximum,
// sum of exponentials, logit of the target). 16 bytes cross memory per logit: the 16-bit logits are
// read and an fp32 copy written, the copy is read and replaced by its exponentials (counted once
// more with the sums), then read again for the gradient, which is written in 16 bits.

#include "sim/step/model/adapters.hpp"
#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/precision.hpp"

namespace orrery::model {

namespace {

constexpr double kTokenIdBytes = 8.0;
constexpr int kLossKernels = 4;

LinearLayer logits_linear(const LayerContext& context) {
  return {.part = Part::logits,
          .tokens = context.dims.tokens,
          .outputs = context.dims.vocab,
          .inputs = context.dims.hidden,
          .full_precision = true};
}

// [embedding; hidden state] of 2 h -> h, its columns split over the tensor ranks.
LinearLayer mtp_projection(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  return {.part = Part::mtp_projection,
          .tokens = dims.tokens,
          .outputs = divide_rounding_up(dims.hidden, dims.tensor),
          .inputs = 2 * dims.hidden};
}

void lookup_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double size = product(dims.tokens, dims.hidden) * dims.element_bytes;
  add_memory(pass, Part::embedding, size + product(dims.tokens) * kTokenIdBytes, size);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
}

// The rows' gradients are added into the table's gradient.
void lookup_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double elements = product(dims.tokens, dims.hidden);
  const double sum = in_bytes(bytes_per_element(context.options.precision.gradient));
  end_tensor_backward(passes.backward_input, dims, dims.hidden, context.activation());
  if (context.options.precision.deterministic) {  // rows of one token side by side, no atomics
    const double size = elements * dims.element_bytes;
    add_memory(passes.backward_weight, Part::embedding_gradient_sort, size, size);
  }
  add_memory(passes.backward_weight, backward(Part::embedding),
             elements * (dims.element_bytes + sum), elements * sum);
}

// Traffic of the loss relative to the count of its operations: fp32 logits are written and read
// once forward and read once backward beside the logits and their gradient.
double loss_scale(const LayerContext& context) {
  if (!context.options.loss_bytes_per_logit) {
    return 1.0;
  }
  const double counted = 3.0 * kFp32Bytes + 2.0 * context.dims.element_bytes;
  return in_bytes(*context.options.loss_bytes_per_logit) / counted;
}

void loss_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double logits = product(dims.tokens, dims.vocab) * loss_scale(context);
  add_memory(pass, Part::cross_entropy, logits * (dims.element_bytes + kFp32Bytes),
             logits * kFp32Bytes, kLossKernels);
  for (const Part part :
       {Part::loss_maximum, Part::loss_target_logit, Part::loss_exponential_sum}) {
    add_collective(pass, {.part = part,
                          .kind = CollectiveKind::all_reduce,
                          .elements_total = product(dims.tokens),
                          .ranks = dims.tensor,
                          .dtype = Dtype::fp32});
  }
}

void head_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  add_norm_forward(pass, Part::final_norm, dims, dims.hidden);
  begin_tensor_forward(pass, dims, dims.hidden, context.activation());
  add_linear_forward(pass, logits_linear(context), context.options.precision);
  loss_forward(pass, context);
}

void head_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double logits = product(dims.tokens, dims.vocab) * loss_scale(context);
  Pass& input = passes.backward_input;
  add_memory(input, backward(Part::cross_entropy), logits * kFp32Bytes,
             logits * dims.element_bytes);
  gather_input_again(input, dims, dims.hidden, context.activation());
  add_linear_backward(passes, logits_linear(context), context.options.precision);
  begin_tensor_backward(input, dims, dims.hidden, context.activation());
  add_norm_backward(input, Part::final_norm, dims, dims.hidden);
}

void append(Pass& pass, const Pass& tail) { pass.insert(pass.end(), tail.begin(), tail.end()); }

void mtp_forward(Pass& pass, const LayerContext& context, const LayerPasses& layer) {
  const ShardDims& dims = context.dims;
  lookup_forward(pass, context);
  add_norm_forward(pass, Part::mtp_embedding_norm, dims, dims.hidden);
  add_norm_forward(pass, Part::mtp_hidden_norm, dims, dims.hidden);
  begin_tensor_forward(pass, dims, 2 * dims.hidden, context.activation());
  add_linear_forward(pass, mtp_projection(context), context.options.precision);
  // The split columns become split tokens (sequence parallel) or whole rows on every rank.
  add_collective(pass, {.part = Part::mtp_projection_exchange,
                        .kind = dims.sequence_parallel ? CollectiveKind::all_to_all
                                                       : CollectiveKind::all_gather,
                        .elements_total = product(dims.tokens, dims.hidden),
                        .ranks = dims.tensor,
                        .dtype = context.activation()});
  append(pass, layer.forward);
  head_forward(pass, context);
}

void mtp_backward(LayerPasses& passes, const LayerContext& context, const LayerPasses& layer) {
  const ShardDims& dims = context.dims;
  Pass& input = passes.backward_input;
  head_backward(passes, context);
  append(input, layer.backward_input);
  append(passes.backward_weight, layer.backward_weight);
  if (dims.sequence_parallel) {
    add_collective(input, {.part = Part::mtp_projection_exchange,
                           .kind = CollectiveKind::all_to_all,
                           .elements_total = product(dims.tokens, dims.hidden),
                           .ranks = dims.tensor,
                           .dtype = context.activation()});
  }
  gather_input_again(input, dims, 2 * dims.hidden, context.activation());
  add_linear_backward(passes, mtp_projection(context), context.options.precision);
  begin_tensor_backward(input, dims, 2 * dims.hidden, context.activation());
  add_norm_backward(input, Part::mtp_hidden_norm, dims, dims.hidden);
  add_norm_backward(input, Part::mtp_embedding_norm, dims, dims.hidden);
  lookup_backward(passes, context);
}

}  // namespace

LayerPasses embedding_passes(const ModelSpec& model, const OpOptions& options) {
  if (model.reference) {
    return with_reference(model, options, embedding_passes);
  }
  const LayerContext context{model, options, shard_dims(model, options)};
  const ShardDims& dims = context.dims;
  const double elements = product(dims.local_tokens, dims.hidden);
  const double size = elements * dims.element_bytes;
  const bool positions = position_rows(model) > 0;
  LayerPasses passes;
  lookup_forward(passes.forward, context);
  if (positions) {
    add_memory(passes.forward, Part::position, 2.0 * size, size);
  }
  if (model.embedding_norm) {
    add_norm_forward(passes.forward, Part::embedding_norm, dims, dims.hidden);
  }
  if (options.dropout) {
    add_memory(passes.forward, Part::dropout, size, size + elements);
    add_memory(passes.backward_input, backward(Part::dropout), size + elements, size);
  }
  if (model.embedding_norm) {
    add_norm_backward(passes.backward_input, Part::embedding_norm, dims, dims.hidden);
  }
  if (positions) {
    const double sum = in_bytes(bytes_per_element(options.precision.gradient));
    add_memory(passes.backward_weight, backward(Part::position), size,
               product(dims.query_length, dims.hidden) * sum);
  }
  lookup_backward(passes, context);
  freeze_backward(passes, context, FrozenPart::embedding);
  add_fills(passes, options.precision);
  return passes;
}

LayerPasses head_passes(const ModelSpec& model, const OpOptions& options) {
  if (model.reference) {
    return with_reference(model, options, head_passes);
  }
  const LayerContext context{model, options, shard_dims(model, options)};
  LayerPasses layer;
  if (model.mtp_layers > 0) {
    layer = layer_passes(model, options, model.num_layers);
  }
  LayerPasses passes;
  head_forward(passes.forward, context);
  add_fills(passes.forward, options.precision);
  for (std::int64_t module = 0; module < model.mtp_layers; ++module) {
    mtp_forward(passes.forward, context, layer);
  }
  for (std::int64_t module = 0; module < model.mtp_layers; ++module) {
    mtp_backward(passes, context, layer);
  }
  LayerPasses own;
  head_backward(own, context);
  freeze_backward(own, context, FrozenPart::head);
  add_fills(own, options.precision);
  append(passes.backward_input, own.backward_input);
  append(passes.backward_weight, own.backward_weight);
  return passes;
}

}  // namespace orrery::model
