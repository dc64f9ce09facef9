#pragma once

// The operations of each block of a layer: attention (MHA and GQA, or latent), a linear mixer, a
// dense MLP, a mixture of experts. Backward functions append in the order in which they run, so a
// layer's backward calls its blocks in reverse. Used inside model/ only.

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/step/model/shard_dims.hpp"
#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

// Builders that append operations to a pass: linear layers with their three products, memory-bound
// operations, collectives, and the pairs of collectives around a tensor-parallel region.
//
//   fprop  Y[m, n]  = X[m, k] W[k, n]      2 m n k FLOP
//   dgrad  dX[m, k] = dY[m, n] W^T         2 m n k
//   wgrad  dW[n, k] = dY^T X               2 m n k
//
// A tensor-parallel region begins before a column-parallel linear layer and ends after a
// row-parallel one:
//   pass     | begin                             | end
//   forward  | SP: all-gather X; else nothing    | SP: reduce-scatter Y; else all-reduce Y
//   backward | SP: all-gather X again (wgrad; | SP: all-gather dY; else nothing
//            | not where the stack keeps it) and|
//            | reduce-scatter dX; else all-reduce|
// In the backward the second gather of X is needed by wgrad only and may run beside dgrad; the
// reduction of dX may run beside wgrad, which takes as long as the dgrad before it.
//
// Used inside model/ only.

// A part forward, or backward.
struct PassPart {
  Part part;
  Role role;

  // NOLINTNEXTLINE(google-explicit-constructor): a part alone means its forward
  constexpr PassPart(Part of, Role pass = Role::forward) : part(of), role(pass) {}
};

[[nodiscard]] constexpr PassPart backward(Part part) { return {part, Role::backward}; }

struct LinearLayer {
  Part part = Part::other;
  std::int64_t tokens = 0;  // m: rows of one product
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t batch = 1;       // products: experts on the rank
  double row_spread = 0.0;      // of their rows: standard deviation / tokens
  bool bias = false;            // its gradient is a reduction over the rows
  bool full_precision = false;  // in the activation type even if layers multiply in FP8
  bool casts_inside = false;    // its kernel casts what it multiplies
  bool received_low = false;    // its input comes in the low precision, cast before it was sent
  bool gradient_received_low = false;  // the same of the gradient of its output
  // Ranks that share the cast of the inputs, or of the output gradients, before they gather them.
  std::int64_t input_casters = 1;
  std::int64_t gradient_casters = 1;
};

void add_linear_forward(Pass& pass, const LinearLayer& linear, const PrecisionSpec& precision);
void add_linear_backward(LayerPasses& passes, const LinearLayer& linear,
                         const PrecisionSpec& precision);
// What precedes the product of a forward: the cast of its input, where it needs one.
void add_input_cast(Pass& pass, const LinearLayer& linear, const PrecisionSpec& precision);

void add_gemm(Pass& pass, const GemmOp& gemm);

// Bytes are counted once per crossing of the HBM interface.
void add_memory(Pass& pass, PassPart part, double bytes_read, double bytes_written,
                int kernels = 1);

// PyTorch's deterministic algorithms fill every tensor that they allocate before it is written
// (torch.utils.deterministic.fill_uninitialized_memory, on by default): each result once more.
// Collectives and sums into tensors that exist allocate nothing.
void add_fills(Pass& pass, const PrecisionSpec& precision);
void add_fills(LayerPasses& passes, const PrecisionSpec& precision);

struct CollectiveShape {
  PassPart part = Part::other;
  CollectiveKind kind = CollectiveKind::all_reduce;
  CommAxis axis = CommAxis::tensor;
  double elements_total = 0.0;  // of the whole logical buffer
  std::int64_t ranks = 1;       // a group of one adds nothing
  Dtype dtype = Dtype::bf16;
  Beside beside = Beside::nothing;
  std::optional<TokenRouting> routing = {};
};

void add_collective(Pass& pass, const CollectiveShape& shape);

// `width`: elements per token that cross the border of the region.
void begin_tensor_forward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype);
void end_tensor_forward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype);
void end_tensor_backward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype);
void gather_input_again(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype);
void begin_tensor_backward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype);

// Norm over `width` elements of `tokens` tokens; the backward reads input and output gradient.
void add_norm_forward(Pass& pass, Part part, const ShardDims& dims, std::int64_t width);
void add_norm_backward(Pass& pass, Part part, const ShardDims& dims, std::int64_t width);

// Residual addition on the local tokens, with the dropout of the branch when there is one. With n
// residual streams (hyper-connections, arXiv 2409.19606 and 2512.24880) in its place, for each
// block: a product of n (n + 2) weights a token from n h channels, made doubly stochastic by
// Sinkhorn's rounds, and the mixing as kernels of their own: (5 n + 1) h elements read (norm, in,
// out, across, addition), (3 n + 1) h written; backward twice that. Fused kernels move a third.
void add_residual_forward(Pass& pass, const ShardDims& dims, bool dropout);
void add_residual_backward(Pass& pass, const ShardDims& dims, bool dropout);

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
