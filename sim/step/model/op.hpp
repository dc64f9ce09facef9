#pragma once

// The work of one rank as operations with shapes, FLOP counts and byte counts, without times.
//
// A pass (forward or backward of one layer, of the embedding or of the head, for one micro-batch on
// one rank) is a list of operations in the order in which the rank runs them. Shapes are those of
// the rank's own shard: tensor, context and expert parallelism are already applied.
//
// FLOP of a GEMM: 2 m n k batch. FLOP of attention: see AttentionOp. Bytes of a memory-bound
// operation are those that must cross the HBM interface once: read + written.
//
// Sizes of collectives follow NCCL's convention without ambiguity: bytes_per_rank_in is what one
// rank contributes, bytes_total is the whole logical buffer (all-reduce: in == total; all-gather:
// total = n * in; reduce-scatter: in == total of the result before scattering, so in = total;
// all-to-all: in = what one rank sends in all, total = n * in).

// What an operation is, is its part and its role; costs, launches and memory follow from these. Its
// name is for people (part_name).

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::model {

enum class Dtype { fp32, tf32, bf16, fp16, fp8, fp4 };

[[nodiscard]] Bytes bytes_per_element(Dtype dtype);

// How the scale of an 8-bit or 4-bit tensor is found and how many values share it: see
// model/precision.hpp.
enum class Fp8Scaling { delayed, tensorwise, block, rowwise, mx, nvfp4 };

// How the ranks of a context group exchange keys and values.
enum class ContextMethod { all_gather, ring, all_to_all };

// Which pass an operation belongs to. Products: forward, input gradient or weight gradient (fprop,
// dgrad, wgrad); others: forward or backward.
using kernels::Role;

// What an operation does in the model, forward or backward.
enum class Part : std::uint8_t {
  other,  // a product, a kernel or a collective outside a layer: rows of measurements
  // Products
  qkv,
  query,
  query_down,
  query_up,
  key_value_down,
  key_value_up,
  attention,  // one fused kernel
  scan,       // the kernels of one recurrence
  attention_scores,
  attention_context,
  attention_output,
  attention_output_down,  // of groups of heads to their ranks
  key_value_compress,     // what becomes entries and their weights
  stream_weights,         // of hyper-connections
  mlp_up,
  mlp_down,
  index_query,
  index_key,
  index_scores,
  index_target,
  mixer_in,
  mixer_low_rank_down,
  mixer_low_rank_up,
  mixer_out,
  router,
  expert_latent_down,
  expert_latent_up,
  expert_up,
  expert_down,
  shared_expert_up,
  shared_expert_down,
  logits,
  mtp_projection,
  adapter_a,
  adapter_b,
  // Memory-bound kernels
  norm,
  attention_norm,
  mixer_norm,
  mlp_norm,
  query_norm,
  key_value_norm,
  embedding_norm,
  final_norm,
  mtp_embedding_norm,
  mtp_hidden_norm,
  rotary,
  key_concat,
  key_value_repeat,
  softmax,
  attention_dropout,
  attention_output_keep,
  attention_gate,
  index_top_k,
  key_value_pool,  // entries of compressed keys
  stream_mix,      // of hyper-connections, in place of a residual addition
  mixer_convolution,
  mixer_gate,
  context_merge,
  residual_add,
  dropout_residual_add,
  dropout,
  activation,
  router_top_k,
  permute,
  unpermute,
  expert_sort,
  expert_unsort,
  dispatch_cast,
  embedding,
  embedding_gradient_sort,
  position,
  cross_entropy,
  fp8_amax,
  fp8_cast,
  fp8_transpose,
  fp8_cast_transpose,
  weight_cast,  // of the optimizer step
  gradient_add,
  bias_gradient,
  deterministic_fill,
  quantise,
  adapter_dropout,
  adapter_scale,
  adapter_add,
  adapter_activation,
  adapter_norm,       // of the weights with their adapter (DoRA)
  adapter_magnitude,  // what their magnitudes scale
  nf4_unpack,
  // Collectives
  tensor_all_gather,
  tensor_all_gather_again,
  tensor_reduce_scatter,
  tensor_all_reduce,
  context_all_gather,
  context_reduce_scatter,
  context_ring,
  context_ring_gradients,
  context_heads,
  context_tokens,
  expert_dispatch,
  expert_combine,
  expert_all_gather,
  expert_reduce_scatter,
  expert_all_reduce,
  expert_token_all_gather,
  loss_maximum,
  loss_target_logit,
  loss_exponential_sum,
  mtp_projection_exchange,
  adapter_exchange,
  count_
};

// Part of a layer that an operation opens or belongs to. `running`: it belongs to the block of the
// operation before it.
enum class Block : std::uint8_t {
  running,
  attention,
  mlp,     // dense, or the norm before router and experts
  router,  // and shared experts
  experts
};

// "mlp_up", "expert_dispatch_backward", "residual_gradient_add"
[[nodiscard]] std::string_view part_name(Part part, Role role = Role::forward);

[[nodiscard]] Block block_of(Part part);

// The kernel whose measurements stand for a memory-bound part; norms: rms_norm, whichever they are.
[[nodiscard]] std::optional<kernels::Operation> kernel_of(Part part);

[[nodiscard]] bool is_norm(Part part);

// What a cast of a tensor to 8 or 4 bits is made of.
[[nodiscard]] bool is_cast(Part part);

struct GemmOp {
  Part part = Part::other;
  Role role = Role::fprop;
  std::int64_t m = 0;      // rows: tokens for fprop and dgrad
  std::int64_t n = 0;      // columns of the result
  std::int64_t k = 0;      // reduced dimension
  std::int64_t batch = 1;  // independent products of this shape (grouped GEMM: experts on the rank)
  Dtype dtype = Dtype::bf16;
  Fp8Scaling scaling = Fp8Scaling::delayed;  // of 8-bit and 4-bit operands
  bool grouped = false;                      // one product for each expert
  double row_spread = 0.0;                   // of grouped ones: standard deviation of m / m
  bool accumulates = false;                  // wgrad added into a main gradient of this type
  Dtype accumulator = Dtype::fp32;
};

// Scaled dot-product attention of one rank: `heads` query heads of `query_groups` groups.
//   FLOP forward = 2 * sequences * heads * s_q * s_kv * (d_qk + d_v) * (1/2 if causal)
//   with a window w < s_kv each query counts w - w^2 / (2 s_kv) keys, causal or not
//   FLOP backward = 2.5 x forward for a fused kernel (5 products for 2), 2 x for the unfused one
struct AttentionOp {
  std::int64_t sequences = 0;  // micro-batch
  std::int64_t heads = 0;
  std::int64_t query_groups = 0;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t head_dim_qk = 0;
  std::int64_t head_dim_v = 0;
  std::int64_t window = 0;  // keys that a query sees at most; 0: all
  bool causal = true;
  bool backward = false;
  bool deterministic = false;  // gradients are added up in a fixed order
  bool dropout = false;        // of the probabilities, inside the kernel
  Dtype dtype = Dtype::bf16;
  std::int64_t key_blocks = 1;  // kernels that share the keys (ring)
  bool across_ranks = false;    // queries or keys of other context ranks take part
  double imbalance = 1.0;       // work of the slowest rank / mean, 1 when the mask is balanced
};

// What a scan computes; all run over a sequence in chunks of C tokens that hand on a state.
//   state_space    Mamba-2: S = a S + k v                         (SSD, arXiv 2405.21060)
//   delta          gated delta rule: S = a (I - b k k') S + b k v' (arXiv 2412.06464)
//   channel_delta  the same with a decay for each channel of the key (KDA, arXiv 2510.26692)
//   retention      S = a S + k v' with a fixed decay               (lightning, arXiv 2501.08313)
enum class ScanKind { state_space, delta, channel_delta, retention };

// The recurrence of a linear mixer on one rank, in its chunked form. FLOP that the kernels execute,
// per token (full C x C tiles where they skip none):
//
//   kind          | forward                                 | backward
//   --------------|-----------------------------------------|------------------------------------
//   state_space   | H (4 K V + C V) + 2 G C K               | H (10 K V + 3 C V) + 6 G C K
//   (ch.) delta   | H (6 K V + 6 C K + 4 C V + C^2)         | H (16 K V + 20 C K + 10 C V + 4 C^2)
//   retention     | H (4 K V + C (K + V))                   | 2.5 x forward
//
// and bytes through the memory interface, 16-bit operands and states between the kernels:
//
//   state_space   | H (10 + 8 V + 12 K V / C) + 8 G (K + C) | 2.5 x forward
//   delta         | H (12 K + 12 V + 2 C + 4 K V / C)       | H (42 K + 30 V + 4 C + 8 K V / C)
//   channel_delta | 18 H K more                             | 45 H K more
//   retention     | H (6 K + 6 V + 4 K V / C)               | 2.5 x forward
//
// Source: counted kernel by kernel from state-spaces/mamba (ssd_combined.py) and
// fla-org/flash-linear-attention bc3b101d (gated_delta_rule, kda, simple_gla); 2.5 and 45 assumed
// from the ratios of the counted ones.
struct ScanOp {
  ScanKind kind = ScanKind::state_space;
  std::int64_t sequences = 0;
  std::int64_t length = 0;     // tokens of each
  std::int64_t heads = 0;      // H: value heads
  std::int64_t key_heads = 0;  // G
  std::int64_t key_dim = 0;    // K
  std::int64_t value_dim = 0;  // V
  std::int64_t chunk = 0;      // C
  bool backward = false;
};

// Norms, activations, residuals, rotary, embedding, cross-entropy, casts, permutations.
struct MemoryOp {
  Part part = Part::other;
  Role role = Role::forward;
  Bytes read;
  Bytes written;
  int kernels = 1;         // launches in an unfused implementation
  std::int64_t width = 0;  // elements of a row, of norms; 0: not stated
};

// What a communication of a layer is for; the group it runs in follows from the axis.
enum class CommAxis { tensor, context, expert, expert_tensor, data, pipeline };
enum class CollectiveKind {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  send_receive
};

// An operation that neither waits for the collective nor feeds it, so that both may run at once:
// a GEMM, or the blocks of ring attention.
enum class Beside { nothing, next_gemm, previous_gemm, next_attention, previous_attention };

// How the tokens of one rank spread over the experts of its group, when copies for one node travel
// together. `tokens` counts those that this rank sends, of `token_bytes` each.
struct TokenRouting {
  double tokens = 0.0;
  Bytes token_bytes;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t node_limit = 0;  // most nodes a token goes to; 0: no limit

  friend bool operator==(const TokenRouting& a, const TokenRouting& b) = default;
};

struct CollectiveOp {
  Part part = Part::other;
  Role role = Role::forward;
  CollectiveKind kind = CollectiveKind::all_reduce;
  CommAxis axis = CommAxis::tensor;
  Bytes bytes_per_rank_in;
  Bytes bytes_total;
  Dtype dtype = Dtype::bf16;
  Beside beside = Beside::nothing;
  std::optional<TokenRouting> routing = {};  // of a hierarchical all-to-all
};

using Op = std::variant<GemmOp, AttentionOp, ScanOp, MemoryOp, CollectiveOp>;

[[nodiscard]] Part part_of(const Op& op);

struct PassOp {
  Op op;
  bool recomputed = false;  // belongs to a recomputation: booked as recompute, not as compute
};

using Pass = std::vector<PassOp>;

// Keys that a query sees on average inside its window: w - w^2 / (2 s); all of them without one.
[[nodiscard]] double keys_in_window(const AttentionOp& op);

[[nodiscard]] Flop flop_count(const GemmOp& op);
[[nodiscard]] Flop flop_count(const AttentionOp& op);
[[nodiscard]] Flop flop_count(const ScanOp& op);
// 0 for memory-bound operations and collectives: model FLOP counts leave them out by convention.
[[nodiscard]] Flop flop_count(const Op& op);

// Bytes that a scan moves.
[[nodiscard]] Bytes scan_bytes(const ScanOp& op);

}  // namespace orrery::model
