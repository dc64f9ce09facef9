// The mixture-of-experts block: norm, router, permutation, all-to-all dispatch, grouped experts,
// all-to-all combine, shared experts, residual.
//
// A rank sends the top_k copies of the tokens it routes; the busiest rank receives `imbalance`
// times the average, and its sizes are the ones counted. With sequence parallelism the dispatched
// rows are then gathered over the expert-tensor ranks and the results scattered back; without it
// the expert-tensor ranks route the same tokens and sum their results, and ranks that split the
// tokens of a tensor group gather them at the end.

#include "sim/step/model/layer_blocks.hpp"

namespace orrery::model {

// The dense MLP block: norm, up projection (gate and up together), activation, down projection,
// residual.

LinearLayer mlp_up(const LayerContext& context, Part part, std::int64_t width) {
  const ShardDims& dims = context.dims;
  return {.part = part,
          .tokens = dims.tokens,
          .outputs = dims.activation_inputs * width,
          .inputs = dims.hidden,
          .bias = context.model.linear_bias,
          .input_casters = context.casters()};
}

LinearLayer mlp_down(const LayerContext& context, Part part, std::int64_t width) {
  const ShardDims& dims = context.dims;
  return {.part = part,
          .tokens = dims.tokens,
          .outputs = dims.hidden,
          .inputs = width,
          .bias = context.model.linear_bias,
          .gradient_casters = context.casters()};
}

// One kernel reads the inputs, writes the result and, where they are kept in another type, a copy.
void activation_forward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                        const std::optional<Bytes>& kept) {
  const double elements = rows * product(width);
  const double size = elements * dims.element_bytes;
  const double inputs = product(dims.activation_inputs);
  const double copy = kept ? inputs * elements * in_bytes(*kept) : 0.0;
  add_memory(pass, Part::activation, inputs * size, size + copy);
}

// Reads the inputs and the output's gradient, writes the inputs' gradients.
void activation_backward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                         const std::optional<Bytes>& kept) {
  const double elements = rows * product(width);
  const double size = elements * dims.element_bytes;
  const double inputs = product(dims.activation_inputs);
  const double read = inputs * elements * (kept ? in_bytes(*kept) : dims.element_bytes);
  add_memory(pass, backward(Part::activation), read + size, inputs * size);
}

void activation_again(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                      const std::optional<Bytes>& kept) {
  const double elements = rows * product(width);
  const double input = kept ? in_bytes(*kept) : dims.element_bytes;
  add_memory(pass, Part::activation, product(dims.activation_inputs) * elements * input,
             elements * dims.element_bytes);
}

void dense_mlp_inner_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  begin_tensor_forward(pass, dims, dims.hidden, context.gathered());
  add_linear_forward(pass, mlp_up(context, Part::mlp_up, dims.ffn), precision);
  activation_forward(pass, dims, product(dims.tokens), dims.ffn);
  add_linear_forward(pass, mlp_down(context, Part::mlp_down, dims.ffn), precision);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
}

void dense_mlp_forward(Pass& pass, const LayerContext& context) {
  add_norm_forward(pass, Part::mlp_norm, context.dims, context.dims.hidden);
  dense_mlp_inner_forward(pass, context);
  add_residual_forward(pass, context.dims, context.options.dropout);
}

void dense_mlp_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  Pass& input = passes.backward_input;
  add_residual_backward(input, dims, context.options.dropout);
  end_tensor_backward(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, mlp_down(context, Part::mlp_down, dims.ffn), precision);
  activation_backward(input, dims, product(dims.tokens), dims.ffn);
  gather_input_again(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, mlp_up(context, Part::mlp_up, dims.ffn), precision);
  begin_tensor_backward(input, dims, dims.hidden, context.activation());
  add_norm_backward(input, Part::mlp_norm, dims, dims.hidden);
}

namespace {

constexpr double kProbabilityBytes = 4.0;  // routing probabilities are kept in fp32
constexpr double kScaleBytes = 4.0;        // of the fp32 scale of a tile of an FP8 tensor
constexpr double kScaleElements = 128.0;
constexpr int kRouterKernels = 3;  // softmax, top-k, map of the choices

LinearLayer router_linear(const LayerContext& context) {
  return {.part = Part::router,
          .tokens = context.dims.local_tokens,
          .outputs = context.model.moe->num_experts,
          .inputs = context.dims.hidden,
          .full_precision = true};
}

Dtype dispatch_type(const LayerContext& context) {
  return context.options.precision.dispatch.value_or(context.activation());
}

// Tokens are sent in fewer bytes than the activations have.
bool dispatches_low(const LayerContext& context) {
  return context.dims.expert > 1 &&
         bytes_per_element(dispatch_type(context)) < bytes_per_element(context.activation());
}

bool sends_per_node(const LayerContext& context) {
  return context.dims.expert > 1 && context.options.hierarchical_exchange;
}

LinearLayer expert_up(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  return {.part = Part::expert_up,
          .tokens = dims.rows_per_expert,
          .outputs = dims.activation_inputs * dims.expert_ffn,
          .inputs = dims.expert_hidden,
          .batch = dims.experts,
          .row_spread = dims.row_spread,
          .bias = context.model.linear_bias,
          .casts_inside = context.options.fused_experts,
          .received_low = dispatches_low(context)};
}

LinearLayer expert_down(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  return {.part = Part::expert_down,
          .tokens = dims.rows_per_expert,
          .outputs = dims.expert_hidden,
          .inputs = dims.expert_ffn,
          .batch = dims.experts,
          .row_spread = dims.row_spread,
          .bias = context.model.linear_bias,
          .casts_inside = context.options.fused_experts,
          .gradient_received_low = dispatches_low(context)};
}

// Into the width in which the experts work, and back: copied on all tensor ranks, each of which
// projects the tokens that it routes.
LinearLayer latent_linear(const LayerContext& context, bool down) {
  const ShardDims& dims = context.dims;
  return {.part = down ? Part::expert_latent_down : Part::expert_latent_up,
          .tokens = dims.local_tokens,
          .outputs = down ? dims.expert_hidden : dims.hidden,
          .inputs = down ? dims.hidden : dims.expert_hidden};
}

bool has_latent(const LayerContext& context) { return context.model.moe->latent_size > 0; }

// A dense MLP beside the experts has a norm and a residual of its own (Snowflake Arctic).
bool has_branch(const LayerContext& context) { return context.model.moe->dense_branch > 0; }

LinearLayer shared_up(const LayerContext& context) {
  return mlp_up(context, Part::shared_expert_up, context.dims.shared_ffn);
}

LinearLayer shared_down(const LayerContext& context) {
  return mlp_down(context, Part::shared_expert_down, context.dims.shared_ffn);
}

const std::optional<Bytes>& kept_inner(const LayerContext& context) {
  return context.options.precision.kept_expert_inner;
}

double routed_bytes(const LayerContext& context) {
  return product(context.dims.routed_tokens, context.dims.expert_hidden) *
         context.dims.element_bytes;
}

double copied_bytes(const LayerContext& context) {
  return routed_bytes(context) * product(context.model.moe->top_k);
}

double probability_bytes(const LayerContext& context) {
  return product(context.dims.local_tokens, context.model.moe->num_experts) * kProbabilityBytes;
}

enum class Way { to_experts, from_experts };

// Tokens to their experts (dispatch, and the gradients of what came back) or results from them.
void add_all_to_all(Pass& pass, PassPart part, Way way, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const MoeSpec& moe = *context.model.moe;
  const Dtype dtype = way == Way::to_experts ? dispatch_type(context) : context.activation();
  const double scales = bytes_per_element(dtype) < bytes_per_element(context.activation())
                            ? kScaleBytes / kScaleElements / in_bytes(bytes_per_element(dtype))
                            : 0.0;
  const double tokens = product(dims.routed_tokens) * dims.row_imbalance;
  const double width = product(dims.expert_hidden) * (1.0 + scales);
  std::optional<TokenRouting> routing;
  if (sends_per_node(context)) {
    routing = TokenRouting{.tokens = tokens,
                           .token_bytes = width * bytes_per_element(dtype),
                           .experts = moe.num_experts,
                           .top_k = moe.top_k,
                           .node_limit = moe.node_limit};
  }
  add_collective(pass, {.part = part,
                        .kind = CollectiveKind::all_to_all,
                        .axis = CommAxis::expert,
                        .elements_total = tokens * width * product(moe.top_k, dims.expert),
                        .ranks = dims.expert,
                        .dtype = dtype,
                        .routing = routing});
}

// Rows arrive ordered by sender and must be ordered by expert, and back.
void add_sort(Pass& pass, PassPart part, Way way, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  if (dims.expert > 1 && dims.experts > 1) {
    const bool low = way == Way::to_experts && dispatches_low(context);
    const double size =
        product(dims.expert_rows, dims.expert_hidden) *
        (low ? in_bytes(bytes_per_element(dispatch_type(context))) : dims.element_bytes);
    add_memory(pass, part, size, size);
  }
}

// Before the dispatch: a copy for every expert, in the order of the ranks. One copy per node is
// sent from where it lies, and copied on arrival, by the sort. A narrower type is cast first.
void add_permute(Pass& pass, PassPart part, const LayerContext& context) {
  if (dispatches_low(context)) {
    const double narrow = in_bytes(bytes_per_element(dispatch_type(context)));
    const double share = narrow / context.dims.element_bytes;
    add_memory(pass, Part::dispatch_cast, routed_bytes(context), routed_bytes(context) * share);
    if (!sends_per_node(context)) {
      add_memory(pass, part, routed_bytes(context) * share, copied_bytes(context) * share);
    }
  } else if (!sends_per_node(context)) {
    add_memory(pass, part, routed_bytes(context), copied_bytes(context));
  }
}

// Bias, clamp, gate and product of experts with biases as kernels of their own; absent where one
// kernel does it all.
std::optional<double> biased_bytes(const LayerContext& context) {
  const std::optional<double>& passes = context.options.biased_activation_passes;
  const ShardDims& dims = context.dims;
  if (!passes || !context.model.linear_bias || dims.activation_inputs < 2) {
    return std::nullopt;
  }
  return *passes * product(dims.expert_rows, dims.activation_inputs, dims.expert_ffn) *
         dims.element_bytes;
}

void expert_activation_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  if (const auto traffic = biased_bytes(context)) {
    add_memory(pass, Part::activation, *traffic / 2.0, *traffic / 2.0);
  } else if (!context.options.fused_experts) {
    activation_forward(pass, dims, product(dims.expert_rows), dims.expert_ffn, kept_inner(context));
  }
}

void expert_activation_backward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  if (const auto traffic = biased_bytes(context)) {
    const double half = context.options.backward_passes * *traffic / 2.0;
    add_memory(pass, backward(Part::activation), half, half);
  } else if (!context.options.fused_experts) {
    activation_backward(pass, dims, product(dims.expert_rows), dims.expert_ffn,
                        kept_inner(context));
  }
}

void add_expert_tensor(Pass& pass, PassPart part, CollectiveKind kind, const LayerContext& context,
                       double rows) {
  const ShardDims& dims = context.dims;
  add_collective(pass, {.part = part,
                        .kind = kind,
                        .axis = CommAxis::expert_tensor,
                        .elements_total = rows * product(dims.expert_hidden),
                        .ranks = dims.expert_tensor,
                        .dtype = context.activation()});
}

// Without sequence parallelism and with fewer expert-tensor than tensor ranks the routed tokens are
// a part of the rank's tokens: the whole is gathered (forward result, backward gradient).
void add_token_gather(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  if (!dims.sequence_parallel && dims.expert_tensor < dims.tensor) {
    add_collective(pass, {.part = Part::expert_token_all_gather,
                          .kind = CollectiveKind::all_gather,
                          .elements_total = product(dims.tokens, dims.expert_hidden),
                          .ranks = dims.tensor,
                          .dtype = context.activation()});
  }
}

void shared_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  if (dims.shared_ffn == 0) {
    return;
  }
  Pass& input = passes.backward_input;
  if (has_branch(context)) {
    add_residual_backward(input, dims, context.options.dropout);
  }
  end_tensor_backward(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, shared_down(context), context.options.precision);
  activation_backward(input, dims, product(dims.tokens), dims.shared_ffn, kept_inner(context));
  gather_input_again(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, shared_up(context), context.options.precision);
  begin_tensor_backward(input, dims, dims.hidden, context.activation());
  if (has_branch(context)) {
    add_norm_backward(input, Part::mlp_norm, dims, dims.hidden);
  }
}

void routed_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  const bool gather = dims.sequence_parallel;
  if (has_latent(context)) {
    add_linear_forward(pass, latent_linear(context, true), precision);
  }
  add_permute(pass, Part::permute, context);
  add_all_to_all(pass, Part::expert_dispatch, Way::to_experts, context);
  if (gather) {
    add_expert_tensor(pass, Part::expert_all_gather, CollectiveKind::all_gather, context,
                      product(dims.expert_rows));
  }
  add_sort(pass, Part::expert_sort, Way::to_experts, context);
  add_linear_forward(pass, expert_up(context), precision);
  expert_activation_forward(pass, context);
  add_linear_forward(pass, expert_down(context), precision);
  add_sort(pass, Part::expert_unsort, Way::from_experts, context);
  if (gather) {
    add_expert_tensor(pass, Part::expert_reduce_scatter, CollectiveKind::reduce_scatter, context,
                      product(dims.expert_rows));
  }
  add_all_to_all(pass, Part::expert_combine, Way::from_experts, context);
  add_memory(pass, Part::unpermute, copied_bytes(context), routed_bytes(context));
  if (!gather) {
    add_expert_tensor(pass, Part::expert_all_reduce, CollectiveKind::all_reduce, context,
                      product(dims.routed_tokens));
  }
  add_token_gather(pass, context);
  if (has_latent(context)) {
    add_linear_forward(pass, latent_linear(context, false), precision);
  }
}

void routed_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  const bool gather = dims.sequence_parallel;
  Pass& input = passes.backward_input;
  if (has_latent(context)) {
    add_linear_backward(passes, latent_linear(context, false), precision);
  }
  add_permute(input, backward(Part::unpermute), context);
  add_all_to_all(input, backward(Part::expert_combine), Way::to_experts, context);
  if (gather) {
    add_expert_tensor(input, backward(Part::expert_all_gather), CollectiveKind::all_gather, context,
                      product(dims.expert_rows));
  }
  add_sort(input, backward(Part::expert_unsort), Way::to_experts, context);
  add_linear_backward(passes, expert_down(context), precision);
  expert_activation_backward(input, context);
  add_linear_backward(passes, expert_up(context), precision);
  add_sort(input, backward(Part::expert_sort), Way::from_experts, context);
  if (gather) {
    add_expert_tensor(input, backward(Part::expert_reduce_scatter), CollectiveKind::reduce_scatter,
                      context, product(dims.expert_rows));
  }
  add_all_to_all(input, backward(Part::expert_dispatch), Way::from_experts, context);
  add_memory(input, backward(Part::permute), copied_bytes(context), routed_bytes(context));
  if (!gather) {
    add_expert_tensor(input, backward(Part::expert_all_reduce), CollectiveKind::all_reduce, context,
                      product(dims.routed_tokens));
  }
  add_token_gather(input, context);
  if (has_latent(context)) {
    add_linear_backward(passes, latent_linear(context, true), precision);
  }
}

}  // namespace

void shared_experts_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  if (dims.shared_ffn == 0) {
    return;
  }
  if (has_branch(context)) {
    add_norm_forward(pass, Part::mlp_norm, dims, dims.hidden);
  }
  begin_tensor_forward(pass, dims, dims.hidden, context.gathered());
  add_linear_forward(pass, shared_up(context), context.options.precision);
  activation_forward(pass, dims, product(dims.tokens), dims.shared_ffn, kept_inner(context));
  add_linear_forward(pass, shared_down(context), context.options.precision);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
  if (has_branch(context)) {
    add_residual_forward(pass, dims, context.options.dropout);
  }
}

void moe_inner_forward(Pass& pass, const LayerContext& context) {
  const double probabilities = probability_bytes(context);
  add_linear_forward(pass, router_linear(context), context.options.precision);
  add_memory(pass, Part::router_top_k, probabilities, probabilities, kRouterKernels);
  routed_forward(pass, context);
  shared_experts_forward(pass, context);
}

void moe_forward(Pass& pass, const LayerContext& context) {
  add_norm_forward(pass, Part::mlp_norm, context.dims, context.dims.hidden);
  moe_inner_forward(pass, context);
  add_residual_forward(pass, context.dims, context.options.dropout);
}

void moe_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double probabilities = probability_bytes(context);
  add_residual_backward(passes.backward_input, dims, context.options.dropout);
  shared_backward(passes, context);
  routed_backward(passes, context);
  add_memory(passes.backward_input, backward(Part::router_top_k), 2.0 * probabilities,
             probabilities, kRouterKernels);
  add_linear_backward(passes, router_linear(context), context.options.precision);
  add_norm_backward(passes.backward_input, Part::mlp_norm, dims, dims.hidden);
}

}  // namespace orrery::model
