#pragma once

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

#include "sim/step/model/shard_dims.hpp"
#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

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

}  // namespace orrery::model
